"""The verbs of episodes: observe, episode, episodes, read, episode_text, fetch.

Rules: what was observed is never changed, only erased; observing the same again writes nothing; reading asks the
mailboxes for what is not here, outside of all locks, and keeps what it was given.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any, Final

from syncmem import statements
from syncmem.codec import pack
from syncmem.errors import InvalidInput, NotFound
from syncmem.joining import Joining
from syncmem.material import Material, measured
from syncmem.model.episode import EPISODE_ID_BYTES, KIND_BYTES_MAX, Episode, episode_id
from syncmem.model.event import Kind, encode
from syncmem.model.imported import BATCH, batch_of_episode, mark_of
from syncmem.model.instant import BEGINNING, EARLIEST, FOREVER, dated, parse
from syncmem.observed import EpisodeInfo, Observation
from syncmem.replica.catalog import VAULT
from syncmem.replica.episodes import Held
from syncmem.results import Source
from syncmem.statements import UNDATED, When

TITLE_BYTES_MAX: Final = 4 * 1024
MENTIONS_MAX: Final = 256  # entities of one episode; a longer list is a document of its own
BESIDE: Final = "beside"  # in ``extra`` of an episode: what a program keeps with it
BESIDE_BYTES_MAX: Final = 8 * 1024
FETCH_POLICIES: Final = ("on_demand", "all")


class Observing(Joining):
    """observe, episode, episodes, read, content, episode_text, fetch."""

    @property
    def _episodes(self) -> Any:
        return self._replica.fold.episodes

    def observe(
        self,
        content: object,
        *,
        speaker: str | None = None,
        at: When | None = None,
        kind: str = "turn",
        conversation: str | None = None,
        title: str | None = None,
        media_type: str | None = None,
        mentions: Iterable[str] = (),
        source: Source | str | None = None,
        scope: str = VAULT,
        batch: str | None = None,
        zone: str | tzinfo | None = None,
        beside: Mapping[str, Any] | None = None,
    ) -> Observation:
        """Store what was said or written, as it was, for claims to point at.

        >>> from syncmem import Memory, Source
        >>> with Memory(":memory:") as memory:
        ...     turn = memory.observe("I moved to Lisbon in May.", speaker="ana", at="2024-06-01T09:00Z")
        ...     again = memory.observe("I moved to Lisbon in May.", speaker="ana", at="2024-06-01T09:00Z")
        ...     passage = Source("user", episode=turn.episode, span=(2, 17))
        ...     _ = memory.remember("ana", "home_city", "Lisbon", changed_on="2024-05-01T00:00Z", source=passage)
        ...     again.new, memory.episode_text(turn.episode), memory.history("ana", "home_city")[0].quote
        (False, 'I moved to Lisbon in May.', 'moved to Lisbon')

        Args:
            content: text, bytes, a ``pathlib.Path`` or a binary file that can seek; at most 64 MiB.
            speaker: the entity that spoke or wrote; with it, or with one of ``mentions``, the episode is erased.
            at: when; unsaid: now. A document needs it ("undated" if nobody knows).
            kind: "turn", "document" or a word of your own; ``conversation``: what turns belong to.
            media_type: unsaid: text/plain for text, else application/octet-stream. What is called text is UTF-8.
            source: whose word it is; unsaid: "document" for a document, else "user".
            batch: a name under which all of an import can be withdrawn: then it is kept, and no longer listed.
            zone: the zone in which its dates are meant, where that is not the memory's.
            beside: what a program keeps with it, a JSON object of at most 8 KiB; ``episode()`` tells it.

        Raises:
            InvalidInput: with the limit or the reason; nothing was written.
        """
        scope = statements.name("scope", scope)
        material = measured(content, media_type)
        given = {"speaker": speaker, "conversation": conversation, "title": title, "source": source, "kind": kind}
        rest = {"batch": batch, "mentions": mentions, "zone": zone}
        with self._lock, self._replica.transaction():
            noted = None if beside is None else _beside(beside)
            said = episode_of(material, given | rest, self._moment_of(kind, at, zone), **{BESIDE: noted})
            id = episode_id(scope, encode(said))
            known = self._episodes.find(id)
            if known is None:
                written = self._replica.append(scope, [(Kind.EPISODE, said)])
            held = known or self._episodes.at(written.positions[-1])
            if self._episodes.missing(held):
                for number, part in enumerate(material.parts(), 1):
                    self._episodes.keep(held, number, part)
            return self._observation(held, new=known is None)

    def _moment_of(self, kind: str, at: When | None, zone: str | tzinfo | None) -> int:
        if at == UNDATED:
            return EARLIEST
        if at is None:
            if kind == "document":
                raise InvalidInput("a document has a date; pass at= (or 'undated')")
            return self._now()
        return parse(at, zone=self._zone if zone is None else zone).earliest

    def _observation(self, held: Held, *, new: bool) -> Observation:
        event = self._telling.event_id(held.position)
        said, n = held.said, self._replica.last_transaction
        return Observation(held.id.hex(), new, event, said.size, said.chunk_count, n)

    # -- what is known of episodes --------------------------------------------------------------------

    def episode(self, id: str) -> EpisodeInfo:
        """An episode by its id.

        Raises:
            NotFound: none with this id is held here; it has not arrived, or it was erased.
        """
        with self._looking():
            return self._info(self._held(id))

    def episodes(
        self,
        *,
        speaker: str | None = None,
        since: When | None = None,
        until: When | None = None,
        conversation: str | None = None,
        scope: str | None = None,
        zone: str | tzinfo | None = None,
    ) -> list[EpisodeInfo]:
        """The episodes that are held, the earliest first; not those whose batch was withdrawn.

        Args:
            since, until: when they were said or written; both included.
            scope: only there; unsaid: in every scope.
        """
        with self._looking():
            found = self._episodes.listed(
                scope=None if scope is None else statements.name("scope", scope),
                speaker=None if speaker is None else statements.name("speaker", speaker),
                since=BEGINNING if since is None else self._moment(since, zone),
                until=FOREVER if until is None else self._through(until, zone),
                conversation=None if conversation is None else statements.name("conversation", conversation),
            )
            return [self._info(held) for held in found if self._stands(held)]

    def _stands(self, held: Held) -> bool:
        """Whether its batch, if it has one, is not withdrawn; of a turn that was imported twice only one stands."""
        fold, batch, mark = self._replica.fold, batch_of_episode(held.said), mark_of(held.said)
        if batch is not None and mark is not None:
            return bool(fold.imports.known(mark) == held.position)
        return batch is None or not fold.is_withdrawn((held.scope, batch))

    def _held(self, id: str) -> Held:
        try:
            raw = bytes.fromhex(id)
        except (TypeError, ValueError):
            raw = b""
        held: Held | None = self._episodes.find(raw) if len(raw) == EPISODE_ID_BYTES else None
        if held is None:
            raise NotFound(f"no episode {id!r} is held here; sync or merge first, or take an id from episodes()")
        return held

    def _info(self, held: Held) -> EpisodeInfo:
        said = held.said
        zone, beside = ((said.extra or {}).get(name) for name in ("zone", BESIDE))
        return EpisodeInfo(
            id=held.id.hex(),
            kind=said.kind,
            speaker=said.speaker,
            at=dated(said.at),
            conversation=said.conversation,
            title=said.title,
            media_type=said.media_type,
            text=said.text,
            size=said.size,
            mentions=tuple(said.mentions or ()),
            source=Source(said.source_kind, said.source_id),
            scope=held.scope,
            zone=zone if isinstance(zone, str) else None,
            device=self._telling.device_id(self._replica.logs.key_of(held.position).device),
            event=self._telling.event_id(held.position),
            chunks=said.chunk_count,
            chunks_here=len(self._episodes.here(held)),
            beside=beside if isinstance(beside, dict) else None,
        )

    # -- content --------------------------------------------------------------------------------------

    def content(self, id: str, *, fetch: bool = True) -> Iterator[bytes]:
        """The content of an episode in parts of at most 48 KiB, so that a long one needs no memory.

        ``fetch``: ask the mailboxes for what is not here.

        Raises:
            NotFound: it is not held here, or some of its content is nowhere to be found.
        """
        with self._looking():
            held = self._held(id)
        if held.said.content is not None:
            yield held.said.content
        for number in range(1, held.said.chunk_count + 1):
            part = self._part(id, number)
            if part is None and fetch:
                self._forget_rotten(id)
                self.fetch(id)
                part = self._part(id, number)
            if part is None:
                raise NotFound(self._lacks(id))
            yield part

    def _part(self, id: str, number: int) -> bytes | None:
        with self._looking():
            part: bytes | None = self._episodes.chunk(self._held(id), number)
            return part

    def _forget_rotten(self, id: str) -> None:
        """Drop the parts that are no longer what was observed, so that they are fetched again."""
        with self._lock, self._replica.transaction():
            held = self._held(id)
            self._episodes.forget(held, self._episodes.rotten(held))

    def _lacks(self, id: str) -> str:
        info = self.episode(id)
        return (
            f"{info.chunks_here} of {info.chunks} parts of the episode are here and are whole; sync, let a device "
            "sync that has it, and read it again"
        )

    def read(self, id: str, *, fetch: bool = True) -> bytes:
        """The whole content of an episode, as it was observed; see :meth:`content`."""
        return b"".join(self.content(id, fetch=fetch))

    def episode_text(self, id: str, *, span: tuple[int, int] | None = None, fetch: bool = True) -> str:
        """The text of an episode, or of a span of it (start, end, in characters); see :meth:`content`.

        Raises:
            InvalidInput: it is no text, or does not go as far.
        """
        info = self.episode(id)
        if not info.text:
            raise InvalidInput(f"the episode is {info.media_type} and no text; read() gives its bytes")
        start, end = statements.span_of(span) or (0, None)
        decoder, parts, count = codecs.getincrementaldecoder("utf-8")("replace"), [], 0
        for part in self.content(id, fetch=fetch):
            piece = decoder.decode(part)
            parts.append(piece[max(0, start - count) : None if end is None else max(0, end - count)])
            count += len(piece)
            if end is not None and count >= end:
                break
        if end is not None and end > count:
            raise InvalidInput(f"the episode has {count} characters, the span ends at {end}; take one inside it")
        return "".join(parts)

    # -- fetching -------------------------------------------------------------------------------------

    def fetch(self, *ids: str) -> int:
        """Bring the content of episodes (none named: of all) here from the mailboxes; how many parts came.

        What is not found there is asked for with the next sync, and looked for again with those that follow.

        Raises:
            MailboxError: none could be reached.
            InvalidInput: it was called inside a transaction.
        """
        from syncmem.sync.content import fetch

        with self._looking():
            wanted = [self._held(id) for id in ids] if ids else list(self._episodes.incomplete())
            if not self._syncer.vault.exists or not any(map(self._episodes.missing, wanted)):
                return 0
            self._replica.check_committed()  # a mailbox is never waited for inside a transaction
        return fetch(self._syncer, wanted)

    def set_fetching(self, policy: str) -> None:
        """Which content this device keeps: "on_demand" (what is read) or "all" (fetched with each sync)."""
        if policy not in FETCH_POLICIES:
            raise InvalidInput(f"there is no policy {policy!r}; use one of {', '.join(FETCH_POLICIES)}")
        with self._lock, self._replica.transaction():
            self._episodes.fetch_all = policy == "all"


def _mentions(given: Iterable[str]) -> list[str] | None:
    if isinstance(given, str):
        raise InvalidInput(f"mentions is a list of entities; pass [{given!r}]")
    names = sorted({statements.name("mentioned entity", entity) for entity in given})
    if len(names) > MENTIONS_MAX:
        raise InvalidInput(
            f"an episode mentions at most {MENTIONS_MAX} entities, not {len(names)}; observe it in parts"
        )
    return names or None


def _beside(given: Mapping[str, Any]) -> Any:
    stored = statements.value_of(dict(given))
    size = len(pack(stored))
    if size > BESIDE_BYTES_MAX:
        raise InvalidInput(f"what is kept beside takes {size} bytes, at most {BESIDE_BYTES_MAX} fit; shorten it")
    return stored


def episode_of(material: Material, given: dict[str, Any], at: int, **extra: object) -> Episode:
    """The episode of what was measured; ``given`` are the arguments of :meth:`Observing.observe`, all of them."""
    kind = statements.text("kind", given["kind"], KIND_BYTES_MAX)
    if not kind.strip():
        raise InvalidInput("kind is empty; call it 'turn' or 'document', or by a word of your own")
    source = statements.source_of(given["source"] or ("document" if kind == "document" else "user"))
    if source.episode is not None or source.span is not None:
        raise InvalidInput("an episode comes from no other episode; pass the kind and id of its source")
    speaker, conversation, title = given["speaker"], given["conversation"], given["title"]
    batch, zone = given["batch"], given["zone"]
    stated = {
        "zone": None if zone is None else str(zone),
        BATCH: None if batch is None else statements.name("batch", batch),
        **extra,
    }
    return Episode(
        kind=kind,
        speaker=None if speaker is None else statements.name("speaker", speaker),
        at=at,
        conversation=None if conversation is None else statements.name("conversation", conversation),
        title=(None if title is None else statements.text("title", title, TITLE_BYTES_MAX)) or None,
        media_type=statements.name("media type", material.media_type),
        mentions=_mentions(given["mentions"]),
        text=material.text,
        size=material.size,
        content=material.content,
        chunks=material.chunks,
        source_kind=source.kind,
        source_id=source.id,
        extra={name: value for name, value in stated.items() if value is not None} or None,
    )
