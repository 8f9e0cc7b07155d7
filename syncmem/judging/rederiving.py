"""Deriving claims from an episode, and deriving them anew with a later version of an extractor.

Rules: what one version of one extractor found in one episode is one batch, named after the three, so that it is
withdrawn as one; withdrawing the old and writing the new is one transaction, so a reader sees either; what the user
took back does not come again from the same passage, whichever version finds it; the extractor, which may be a slow
model, runs outside of all locks; only what rests on a passage of the text counts as said, all else is a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from syncmem.errors import InvalidInput, NotFound
from syncmem.judging.candidate import Candidate
from syncmem.judging.consolidating import Judgement, judge
from syncmem.judging.extracting import Extractor, Utterance, extractor_of, unfounded
from syncmem.judging.matching import Match, Matcher
from syncmem.model.derivation import DERIVED, Batch, read_batch
from syncmem.model.episode import entity_of
from syncmem.observed import EpisodeInfo
from syncmem.results import Source
from syncmem.statements import UNDATED

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

_NAME: Final = re.compile(r"[\w.+-]{1,64}")


@dataclass(frozen=True, slots=True)
class Derivation:
    """What an extractor made of an episode.

    Attributes:
        batch: what was written belongs to it; ``withdrawn``: the batches of other versions that it takes the place of.
        judged: what became of each candidate; none where this version had been there already (``known``).
    """

    episode: str
    batch: str
    withdrawn: tuple[str, ...]
    judged: tuple[Judgement, ...]
    known: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {
            "episode": self.episode,
            "batch": self.batch,
            "withdrawn": list(self.withdrawn),
            "judged": [judged.to_dict() for judged in self.judged],
            "known": self.known,
        }


class Extraction(NamedTuple):
    """An extractor, by name and version, and how its candidates find their predicates."""

    run: Extractor
    name: str
    version: str
    matcher: Matcher


def extraction(given: Extractor | str, version: object, name: str | None, matcher: Matcher) -> Extraction:
    """Raises InvalidInput for a name or a version that no batch can have, or an extractor that nobody provides."""
    run = extractor_of(given)
    name = given if name is None and isinstance(given, str) else name
    called = name or getattr(run, "__name__", None) or type(run).__name__
    for what, given in (("name", called), ("version", str(version))):
        if not _NAME.fullmatch(given):
            raise InvalidInput(
                f"the {what} {given!r} of an extractor is letters, digits, '.', '_', '+', '-'; pass {what}= of such"
            )
    return Extraction(run, called, str(version), matcher)


def derive(memory: Judging, episode: str, by: Extraction) -> Derivation:
    """Derive an episode's claims, unless this version did; what other versions derived is withdrawn."""
    standing = _standing(memory, by.name, episode)
    known = next((batch for batch in standing if batch.version == by.version), None)
    if known is not None:
        return Derivation(episode, known.name, (), (), known=True)
    info, text = memory.episode(episode), memory.episode_text(episode)
    candidates = [_resting(each, info, len(text)) for each in by.run(_utterance(info, text))]
    defined = memory._defined(info.scope)
    matches = [by.matcher(candidate, defined) for candidate in candidates]
    with memory.transaction():
        memory.episode(episode)  # it may have been erased meanwhile: then nothing is drawn from it
        batch = free(memory, f"{DERIVED}{episode}/{by.name}/{by.version}")
        withdrawn = tuple(old.name for old in _standing(memory, by.name, episode))
        for old in withdrawn:
            memory.retract(batch=old, scope=info.scope, trust="user", reason=f"derived anew by version {by.version}")
        judged = tuple(_judged(memory, [replace(each, batch=batch) for each in candidates], matches))
        return Derivation(episode, batch, withdrawn, judged)


def rederived(memory: Judging, by: Extraction) -> Iterator[Derivation]:
    """Derive anew every episode that holds what other versions derived; those that cannot be read stay as they are."""
    due = {batch.episode for batch in _standing(memory, by.name) if batch.version != by.version}
    for episode in sorted(due):
        try:
            yield derive(memory, episode, by)
        except NotFound:
            continue


def _judged(memory: Judging, candidates: Sequence[Candidate], matches: Sequence[Match]) -> Iterator[Judgement]:
    for candidate, match in zip(candidates, matches, strict=True):
        try:
            (number,) = memory._enqueue([candidate])
        except InvalidInput as error:
            yield Judgement(candidate, match.predicate, "REFUSED", str(error))
            continue
        entry = memory._queue().waiting(number)
        assert entry is not None, "it was stored just now"
        done = judge(memory, entry, match)
        if done is not None:
            yield done


def _utterance(info: EpisodeInfo, text: str) -> Utterance:
    return Utterance(
        text,
        speaker=info.speaker or entity_of(bytes.fromhex(info.id)),  # whoever it is that says "I" there
        source=Source(info.source.kind, info.source.id, info.id),
        observed_at=UNDATED if info.at is None else info.at.isoformat(),
        scope=info.scope,
        zone=info.zone,
    )


def _resting(candidate: Candidate, info: EpisodeInfo, length: int) -> Candidate:
    """A candidate as the episode bears it out: what rests on no passage of its text was not said there."""
    span = candidate.source.span
    if candidate.source.episode == info.id and span is not None and 0 <= span[0] < span[1] <= length:
        return candidate
    return unfounded(replace(candidate, source=Source(info.source.kind, info.source.id, info.id)))


# -- batches -----------------------------------------------------------------------------------------------


def _standing(memory: Judging, extractor: str, episode: str | None = None) -> list[Batch]:
    """The batches that an extractor wrote and that nobody withdrew."""
    found = []
    with memory._looking():
        references = memory._replica.fold.references
        first = f"{DERIVED}{episode or ''}"
        sql = "SELECT scope, name FROM batches WHERE name > ? AND name < ? ORDER BY name"
        for scope, name in memory._replica.db.execute(sql, (first, first + "~")).fetchall():
            batch = read_batch(name)
            if batch is None or batch.extractor != extractor or episode not in (None, batch.episode):
                continue
            if references.members((scope, name)) and not memory._replica.fold.is_withdrawn((scope, name)):
                found.append(batch)
    return found


def free(memory: Judging, name: str) -> str:
    """A name of which nothing was withdrawn: what joins a withdrawn batch would be withdrawn with it."""
    number, free = 1, name
    while memory._replica.db.execute(
        "SELECT 1 FROM withdrawals w JOIN batches b ON b.id = w.batch WHERE b.name = ?", (free,)
    ).fetchone():
        number += 1
        free = f"{name}/{number}"
    return free
