"""The verbs of judging that a Memory has: define_pack, submit, consolidate, extract, reextract, questions, answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import TYPE_CHECKING

from syncmem import statements
from syncmem.asking import Asking
from syncmem.errors import InvalidInput, NotFound
from syncmem.model.instant import find_zone
from syncmem.model.predicate import Predicate
from syncmem.model.subjects import subjects
from syncmem.observing import Observing
from syncmem.replica.catalog import VAULT
from syncmem.results import Receipt, Source
from syncmem.taking_back import TakingBack

if TYPE_CHECKING:
    from syncmem.judging.candidate import Candidate
    from syncmem.judging.consolidating import Judgement
    from syncmem.judging.extracting import Extractor
    from syncmem.judging.matching import Matcher
    from syncmem.judging.packs import PackReport
    from syncmem.judging.questions import Answer, Question
    from syncmem.judging.queue import Entry, Queue
    from syncmem.judging.rederiving import Derivation


@dataclass(frozen=True, slots=True)
class Submission:
    """What was stored: how many candidates are ``waiting`` now, and which were ``judged`` at once."""

    waiting: int
    judged: tuple[Judgement, ...]


class Judging(TakingBack, Asking, Observing):
    """define_pack, submit, consolidate, extract, reextract, questions, answer."""

    def define_pack(self, pack: str | os.PathLike[str], *, scope: str = VAULT) -> PackReport:
        """Define many predicates at once: those of a pack that are not defined already.

        Args:
            pack: "personal", which is shipped, or the path of a TOML file of one's own.

        Raises:
            InvalidInput: there is no such pack, or it is not right; nothing was defined.
        """
        from syncmem.judging import packs

        read = packs.load(os.fspath(pack), self._environment.disk)
        scope = statements.name("scope", scope)
        defined, kept = [], []
        with self.transaction():
            for name, settings in read.settings().items():
                if self._definition(scope, name).declared:
                    kept.append(name)
                else:
                    source = Source("pack", read.name)
                    self.define(name, scope=scope, trust="document", source=source, **settings)
                    defined.append(name)
        return packs.PackReport(read.name, tuple(defined), tuple(kept))

    def submit(self, candidates: Candidate | Iterable[Candidate]) -> Submission:
        """Store what was heard, to be judged by :meth:`consolidate`; durable when this returns.

        A correction ("not X but Y") is judged at once, and before it what waits of its slot.

        Raises:
            InvalidInput: a value or a date cannot be stored; nothing was.
        """
        from syncmem.judging.candidate import Candidate, Verb
        from syncmem.judging.consolidating import judge
        from syncmem.judging.matching import by_names

        given = [candidates] if isinstance(candidates, Candidate) else list(candidates)
        ids = self._enqueue(given)
        judged = []
        for number, candidate in zip(ids, given, strict=True):
            if candidate.verb == Verb.CORRECT:
                for entry in self._waiting_beside(candidate, number):
                    match = by_names(entry.candidate, self._defined(candidate.scope))
                    done = judge(self, entry, match)
                    judged += [done] if done is not None else []
        with self._looking():
            return Submission(len(self._queue()), tuple(judged))

    def consolidate(self, *, matcher: Matcher | None = None) -> tuple[Judgement, ...]:
        """Judge what was submitted, in order, one transaction each; what became of each.

        To be called off the response path, by one or several threads and processes. Nobody is asked anything:
        see :meth:`questions`.

        Args:
            matcher: finds the predicate where no name tells it; it is called without a lock. Unsaid: names alone.
        """
        from syncmem.judging.consolidating import consolidate
        from syncmem.judging.matching import by_names

        return tuple(consolidate(self, by_names if matcher is None else matcher))

    def extract(
        self,
        episode: str,
        extractor: Extractor | str,
        *,
        version: object,
        name: str | None = None,
        matcher: Matcher | None = None,
    ) -> Derivation:
        """Derive claims from an episode: all that an extractor finds there, judged and written as one batch.

        Once a version was there it writes nothing again; what other versions of the same extractor derived from the
        episode is withdrawn.  What rests on no passage of the text counts as a guess.

        >>> from syncmem import Memory, english
        >>> with Memory(":memory:", zone="UTC") as memory:
        ...     turn = memory.observe("I live in Lisbon.", speaker="ana", at="2025-04-10")
        ...     derived = memory.extract(turn.episode, english, version=1)
        ...     memory.believe("ana", "home_city").value, memory.history("ana", "home_city")[0].quote
        ('Lisbon', 'I live in Lisbon.')

        Args:
            extractor: a callable, or a name: "english", or one that another package provides.
            version: of the extractor: a number or a word; ``name``: what it is called, unsaid: the name of its class
                or function.
            matcher: as for :meth:`consolidate`.

        Raises:
            NotFound: the episode, or its content, is not here and not at the mailboxes.
        """
        from syncmem.judging.matching import by_names
        from syncmem.judging.rederiving import derive, extraction

        return derive(self, episode, extraction(extractor, version, name, matcher or by_names))

    def reextract(
        self, extractor: Extractor | str, *, version: object, name: str | None = None, matcher: Matcher | None = None
    ) -> tuple[Derivation, ...]:
        """Derive anew, with this version, every episode from which other versions of an extractor derived something.

        For each episode the old is withdrawn and the new written in one step. What the user took back does not come
        again from the same passage. If it is stopped, call it again: what was done is not done twice.
        """
        from syncmem.judging.matching import by_names
        from syncmem.judging.rederiving import extraction, rederived

        return tuple(rederived(self, extraction(extractor, version, name, matcher or by_names)))

    def questions(self, *, scope: str | None = None, limit: int | None = None) -> tuple[Question, ...]:
        """What to ask the user, the most valuable first: what is sensitive, contested, guessed, a name in doubt.

        Args:
            limit: how many at most, such as the two of this week; much of the rest settles itself when the user
                next speaks of it. What comes first: what is sensitive; what was stated against a belief, and not
                only guessed; what was said more than once; what has been open for longest.
        """
        from syncmem.judging.questions import Asked, questions

        return questions(self, Asked(scope=scope, limit=limit))

    def answer(self, question: Question | str, answer: object | Answer) -> tuple[Receipt, ...]:
        """Record the user's word on a question (or its id), on every device that hears of it.

        Args:
            answer: the value that holds (one of the options, another one, or ``NONE``: there is none); for a name
                in doubt the predicate that was meant; or ``Answer.KEEP``, ``Answer.BOTH``, ``Answer.NEITHER``.

        Raises:
            NotFound: it is no longer open.
            InvalidInput: that is no answer to it.
        """
        from syncmem.judging.answers import answered

        return answered(self, question, answer)

    # -- the queue, guarded -----------------------------------------------------------------------------

    def _enqueue(self, given: list[Candidate]) -> list[int]:
        from syncmem.judging.candidate import Candidate

        for candidate in given:
            if not isinstance(candidate, Candidate):
                raise InvalidInput(
                    f"a {type(candidate).__name__} is no candidate; pass Candidate(entity, predicate, value)"
                )
            candidate.check(self._zone)
        zone = self._zone if isinstance(self._zone, str) else None
        with self._lock, self._replica.transaction():
            queue, now = self._queue(), self._now()
            queue.check_room(len(given))
            heard = [replace(each, zone=each.zone or zone, mentions=self._speaks_of(each)) for each in given]
            return [queue.add(each, self._zone, now) for each in heard]

    def _speaks_of(self, candidate: Candidate) -> tuple[str, ...]:
        """Whom a candidate mentions, and whom the claims are about from which it follows: with each of them it goes."""
        if not candidate.derived_from:
            return candidate.mentions
        found = list(candidate.mentions)
        for event in candidate.derived_from:
            try:
                position = self._telling.position(event)
            except NotFound:
                continue  # it is refused when it is judged, should it not have come by then
            found += subjects(candidate.scope, self._replica.logs.event(position))
        return tuple(name for name in dict.fromkeys(found) if name != candidate.entity)

    def _queue(self) -> Queue:
        from syncmem.judging.queue import Queue

        return Queue(self._replica.db)

    def _first_waiting(self, after: int) -> Entry | None:
        with self._looking():
            return self._queue().next_after(after)

    def _in_doubt(self) -> list[Entry]:
        with self._looking():
            return self._queue().in_doubt()

    def _waiting_beside(self, candidate: Candidate, last: int) -> list[Entry]:
        """What waits about a candidate's slot, up to the candidate itself."""
        from syncmem.judging.matching import by_names

        defined = self._defined(candidate.scope)
        predicate = by_names(candidate, defined).predicate
        with self._looking():
            names = self._replica.aliases.names(candidate.scope, candidate.entity)
            found = self._queue().about(candidate.scope, names, last)
        return [entry for entry in found if by_names(entry.candidate, defined).predicate == predicate]

    def _defined(self, scope: str) -> dict[str, Predicate]:
        """The predicates that are defined in a scope or for the whole vault."""
        with self._looking():
            listed = list(self._replica.catalog.defined())
        found = {name: each for name, where, each in listed if where == VAULT}
        return found | {name: each for name, where, each in listed if where == scope}

    def _shown_in(self) -> tzinfo:
        """The zone in which dates are shown."""
        return find_zone("UTC" if self._zone is None else self._zone)

    def _spoken_by(self, episode: str | None) -> str | None:
        """Whose word an episode is ("user", "document" ...); None for one that is not held here."""
        try:
            return None if episode is None else self.episode(episode).source.kind
        except NotFound:
            return None

    def _definition(self, scope: str, predicate: str) -> Predicate:
        with self._looking():
            return self._replica.catalog.predicate(scope, predicate)
