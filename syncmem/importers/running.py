"""Running an import: an archive is looked through, and what is new in it becomes events of one batch.

Rules: nothing is written before the archive was read to its end; each portion is one transaction, so what is stopped
goes on when it is started again; what is known is not written again; all of it is observed when the archive says, never
now; a claim is never a mere affirmation, because what is one depends on what was imported before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from syncmem import statements
from syncmem.errors import InvalidInput
from syncmem.importers.archive import Archive
from syncmem.importers.looking import Looked, Marked, Said, chunks, look, marked
from syncmem.importers.records import ASSISTANT, DOCUMENT, SPOKEN, USER, End, Fact, Importer, Skipped, Turn
from syncmem.importers.reports import ImportReport
from syncmem.judging.extracting import Extractor
from syncmem.judging.matching import by_names
from syncmem.judging.rederiving import Extraction, derive, extraction, free
from syncmem.material import measured
from syncmem.model.event import Kind, Payload
from syncmem.model.imported import IMPORTED, origin
from syncmem.model.instant import EARLIEST, parse
from syncmem.observing import episode_of
from syncmem.replica.imports import Imports
from syncmem.results import Source
from syncmem.statements import UNDATED, Bounds

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

BATCH: Final = "import/"  # how the batches of imports begin
_ASIDE: Final = frozenset({"SET ASIDE", "REFUSED"})
_UNSAID: Final[dict[str, Any]] = {"title": None, "conversation": None, "mentions": ()}


def extraction_by(extractor: Extractor | str | None, version: object) -> Extraction | None:
    """An extractor under its own name, whose candidates find their predicates by names."""
    return None if extractor is None else extraction(extractor, version, None, by_names)


@dataclass(frozen=True, slots=True)
class Wanted:
    """How an archive is to be imported; see :meth:`syncmem.Memory.import_archive`."""

    archive: Archive
    importer: Importer
    scope: str
    name: str
    trust: int | str
    force: bool
    include_erased: bool
    extraction: Extraction | None
    progress: Callable[[int], None]


class Run:
    """One import."""

    def __init__(self, memory: Judging, wanted: Wanted) -> None:
        self._memory = memory
        self._wanted = wanted
        self._origin = origin(wanted.scope, wanted.importer.kind, wanted.name)
        self._batch = ""

    def look(self) -> ImportReport:
        """Look through the archive, write nothing."""
        return self._report(self._look(), dry_run=True)

    def write(self) -> ImportReport:
        """Look through the archive, and write what is new in it."""
        looked = self._look()
        if looked.refused is not None and not self._wanted.force:
            raise InvalidInput(looked.refused)
        new = any(looked.counts[each.__name__] for each in (Turn, Fact, End))
        if not new and self._wanted.extraction is None:
            return self._report(looked)
        if new:
            self._define()
        written, done = Counter[str](), 0
        for portion in self._portions():
            written += self._write([each for each in portion if not isinstance(each, Skipped)])
            done += len(portion)
            self._wanted.progress(done)
        looked.counts = Counter({k: n for k, n in looked.counts.items() if k not in _WRITTEN}) + written
        return self._report(looked)

    def _look(self) -> Looked:
        looked = look(self._portions(), self._origin, self._imports, self._judge, self._wanted.progress)
        if looked.counts.keys() == {"skipped"}:
            path, kind, first = self._wanted.archive.path, self._wanted.importer.kind, looked.problems[0]
            raise InvalidInput(f"nothing in {path} can be taken in as {kind} ({first}); is it the right file and kind?")
        self._batch = free(self._memory, f"{BATCH}{self._wanted.importer.kind}/{looked.name}")
        return looked

    def _portions(self) -> Iterator[list[Marked | Skipped]]:
        return chunks(marked(self._wanted.importer.read(self._wanted.archive), self._origin))

    def _report(self, looked: Looked, *, dry_run: bool = False) -> ImportReport:
        counts = looked.counts
        return ImportReport(
            kind=self._wanted.importer.kind,
            batch=self._batch,
            turns=counts["Turn"],
            claims=counts["Fact"],
            ends=counts["End"],
            known=counts["known"],
            repeated=counts["repeated"],
            skipped=counts["skipped"],
            erased=counts["erased"],
            lacking=looked.lacking,
            problems=tuple(looked.problems),
            refused=looked.refused,
            derived=counts["derived"],
            dry_run=dry_run,
        )

    # -- what is known ----------------------------------------------------------------------------------

    @contextmanager
    def _imports(self) -> Iterator[Imports]:
        with self._memory._looking():
            yield self._memory._replica.fold.imports

    def _judge(self, record: Marked) -> str | None:
        """Why a record cannot be stored; "" because it names what was erased; None: it can."""
        if not self._wanted.include_erased and any(map(self._is_erased, self._named(record[1]))):
            return ""
        try:
            self._event(record)
        except InvalidInput as error:
            return str(error)
        return None

    def _event_if_it_can(self, record: Marked) -> tuple[Kind, Payload] | None:
        if not self._wanted.include_erased and any(map(self._is_erased, self._named(record[1]))):
            return None
        try:
            return self._event(record)
        except InvalidInput:
            return None

    def _is_erased(self, entity: str) -> bool:
        erasures = self._memory._replica.erasures
        return any(map(erasures.acts, erasures.of_entity(self._wanted.scope, entity)))

    def _named(self, said: Said) -> list[str]:
        return [self._speaker(said)] if isinstance(said, Turn) else [said.entity, *said.mentions]

    # -- writing ----------------------------------------------------------------------------------------

    def _define(self) -> None:
        """Define the predicates of the importer that nobody defined."""
        wanted, memory = self._wanted, self._memory
        source = Source(wanted.importer.kind, wanted.name or None)
        with memory.transaction():
            for name, settings in wanted.importer.predicates(wanted.archive).items():
                if not memory._replica.catalog.predicate(wanted.scope, statements.name("predicate", name)).declared:
                    said = {"trust": "document", "source": source, "batch": self._batch, "scope": wanted.scope}
                    memory.define(name, **{**settings, **said})

    def _write(self, portion: list[Marked]) -> Counter[str]:
        """Write what is new in a portion, as one; then let the extractor read its turns, outside of all locks."""
        memory, counts = self._memory, Counter[str]()
        with memory.transaction():
            fresh: dict[bytes, Said] = {}
            items = []
            for sign, said in portion:
                known = sign in fresh or self._known(sign) is not None
                event = None if known else self._event_if_it_can((sign, said))
                if event is not None:
                    fresh[sign] = said
                    items.append(event)
            if items:
                memory._replica.append(self._wanted.scope, items)
            for sign, said in fresh.items():
                counts[type(said).__name__] += 1
                if isinstance(said, Turn):
                    self._keep(sign, said)
        if self._wanted.extraction is not None:
            counts["derived"] = sum(self._derive(sign, said) for sign, said in portion if isinstance(said, Turn))
        return counts

    def _known(self, sign: bytes) -> int | None:
        return self._memory._replica.fold.imports.known(sign)

    def _keep(self, sign: bytes, said: Turn) -> None:
        """Store the content of a long turn beside the log."""
        position, episodes = self._known(sign), self._memory._episodes
        if position is not None and (held := episodes.at(position)).said.chunk_count:
            for number, part in enumerate(measured(said.text, None).parts(), 1):
                episodes.keep(held, number, part)

    def _derive(self, sign: bytes, said: Turn) -> int:
        """How many statements an extractor made of what the user said."""
        by = self._wanted.extraction
        with self._imports() as imports:
            position = imports.known(sign)
            known = None if position is None else self._memory._episodes.at(position).id.hex()
        if by is None or known is None or said.form != SPOKEN or said.by == ASSISTANT:
            return 0
        return sum(judged.outcome not in _ASIDE for judged in derive(self._memory, known, by).judged)

    # -- from records to events -------------------------------------------------------------------------

    def _event(self, record: Marked) -> tuple[Kind, Payload]:
        sign, said = record
        return (Kind.EPISODE, self._episode(sign, said)) if isinstance(said, Turn) else self._statement(sign, said)

    def _episode(self, sign: bytes, said: Turn) -> Payload:
        given = {
            "kind": said.form,
            "speaker": self._speaker(said),
            "source": Source(self._whose(said), self._wanted.importer.kind),
            "conversation": said.conversation,
            "title": said.title,
            "batch": self._batch or BATCH,
            "mentions": (),
            "zone": self._wanted.archive.zone,
        }
        at = EARLIEST if said.at is None else parse(said.at, zone=self._zone).earliest
        return episode_of(measured(said.text, None), given, at, **{IMPORTED: sign})

    def _speaker(self, said: Turn) -> str:
        return self._wanted.archive.user if said.by == USER else said.by

    def _whose(self, said: Turn) -> str:
        """Whose word it is: the user's, the assistant's, that of a document, or of somebody in the archive."""
        if said.form == DOCUMENT:
            return "document"
        own = said.by in (USER, self._wanted.archive.user)
        return "user" if own else "assistant" if said.by == ASSISTANT else self._wanted.importer.kind

    def _statement(self, sign: bytes, said: Fact | End) -> tuple[Kind, Payload]:
        memory, wanted = self._memory, self._wanted
        words = memory._words(
            scope=wanted.scope,
            trust=wanted.trust,
            source=Source(wanted.importer.kind, ("/".join(said.id))[:200] or None),
            observed_at=UNDATED if said.observed_at is None else said.observed_at,
            batch=self._batch or BATCH,
            reason=None,
            zone=wanted.archive.zone,
            mentions=said.mentions,
        )
        words = replace(words, imported=sign)
        if isinstance(said, End):
            ending = statements.ending(said.entity, said.predicate, said.value, words, said.at, False, None)
            return Kind.END, ending
        ends = said.until is not None or said.valid_to is not None
        bounds = Bounds(said.since, said.changed_on, said.until, said.valid_to, "vacate" if ends else None)
        predicate = statements.name("predicate", said.predicate)
        definition = memory._replica.catalog.predicate(wanted.scope, predicate)
        now = memory._replica.now()
        return Kind.CLAIM, statements.claim(said.entity, predicate, said.value, words, bounds, definition, now)

    @property
    def _zone(self) -> Any:
        return self._memory._zone if self._wanted.archive.zone is None else self._wanted.archive.zone


_WRITTEN: Final = ("Turn", "Fact", "End", "derived")
