"""The verb that takes back much at once: withdraw, for a stolen device or a poisoned import.

Rules: what was found is named by undo events, as many to an event as fit, so that one undo of those restores
all of it, whatever its kind; nothing else is needed for it to converge.  It covers what has arrived here: what
arrives later is found when the verb is said again, which then names only what is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from syncmem import statements
from syncmem.asking import Asking
from syncmem.errors import InvalidInput
from syncmem.model.event import Kind, Statement, Undo
from syncmem.model.instant import BEGINNING, FOREVER, shown
from syncmem.replica.finding import Said, Speaker, said_by
from syncmem.replica.replica import Written
from syncmem.results import Source, Withdrawal
from syncmem.statements import When, Words
from syncmem.taking_back import REFERENCES_MAX, TakingBack
from syncmem.writing import Trust

_LATER: Final = "what it said in that time and arrives later is not covered: withdraw again after the next sync"


class _Enough(Exception):
    """Ends the transaction of a dry run, so that nothing of it stays."""


class Withdrawing(TakingBack, Asking):
    """withdraw."""

    def withdraw(
        self,
        *,
        source: Source | str | None = None,
        device: str | None = None,
        since: When | None = None,
        until: When | None = None,
        scope: str | None = None,
        reason: str | None = None,
        trust: Trust = None,
        dry_run: bool = False,
    ) -> Withdrawal:
        """Take back everything that a source or a device said: claims, ends, definitions, also what it took back.

        ``memory.undo(*receipt.events, trust=receipt.trust)`` restores all of it (where it was said in several scopes,
        those of each scope by themselves).  It covers what has arrived here; said again, it takes back what has
        arrived since.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     _ = memory.remember("ana", "language", "English")
        ...     _ = memory.remember("ana", "language", "Klingon", source="mail-import")
        ...     receipt = memory.withdraw(source="mail-import", reason="it read somebody else's mail")
        ...     receipt.taken, [belief.value for belief in memory.beliefs("ana", "language")]
        ({'remember': 1}, ['English'])

        Args:
            source: a Source of which every part that is given must fit, or its kind as text, or kind and id
                ("mail-import:work").
            device: the id of a device, as :meth:`devices` gives it. With ``source`` both must fit.
            since, until: when it was said, by the writer's clock; both included, unsaid: at any time.
            scope: only there; unsaid: in every scope.
            trust: what was said with more trust stays, and is contested (``receipt.outranked``).
            dry_run: work everything out, and keep nothing of it.

        Raises:
            InvalidInput: neither a source nor a device was named.
            NotFound: no such device is known here.
        """
        words = {"observed_at": None, "batch": None, "zone": None}
        said = self._words(scope=scope or "vault", trust=trust, source=None, reason=reason, **words)
        with self._lock:
            _ = self._replica.identity  # who this device is outlasts a dry run
            receipts: list[Withdrawal] = []
            try:
                with self._replica.transaction():
                    speaker = self._speaker(source, device, since, until, scope)
                    receipts.append(self._take_back(speaker, said, dry_run))
                    if dry_run:
                        raise _Enough
            except _Enough:
                pass
            return receipts[0]

    def _speaker(
        self,
        source: Source | str | None,
        device: str | None,
        since: When | None,
        until: When | None,
        scope: str | None,
    ) -> Speaker:
        named = statements.source_of(source)
        if device is None and named == Source():
            raise InvalidInput("withdraw needs to know whose words are meant; pass source= or device=")
        if named.span is not None:
            raise InvalidInput("a span is no source; pass the kind, the id or the episode, or retract single events")
        return Speaker(
            None if device is None else self._device_key(device),
            named,
            BEGINNING if since is None else self._moment(since),
            FOREVER if until is None else self._through(until),
            None if scope is None else statements.name("scope", scope),
        )

    def _take_back(self, speaker: Speaker, said: Words, dry_run: bool) -> Withdrawal:
        found = list(said_by(self._replica, speaker))
        erasures = sum(each.kind == Kind.ERASE for each in found)
        able = [each for each in found if each.kind != Kind.ERASE and each.trust <= said.trust]
        taken, written = self._name(able, said)
        touched = {change.slot for each in written for change in each.changes}
        slots = [slot for number in sorted(touched) if (slot := self._replica.catalog.known(number))]
        events = [self._telling.event_id(position) for each in written for position in each.positions]
        return Withdrawal(
            events=() if dry_run else tuple(events),
            taken=dict(sorted(Counter(self._telling.verb(each.kind) for each in taken).items())),
            slots=_slots(taken),
            changed=tuple(slot[1:] for slot in slots),
            trust=said.trust,
            outranked=len(found) - erasures - len(able),
            erasures=erasures,
            since=shown(speaker.since),
            until=shown(speaker.until),
            known=self._replica.last_transaction,
            why=_why(taken, len(able)),
            dry_run=dry_run,
        )

    def _name(self, able: Sequence[Said], said: Words) -> tuple[list[Said], list[Written]]:
        """Name all that is not undone yet, each once: what was taken back, and what was written.

        Taking an undo back may bring to life what it had undone, hence several turns.  What the words of a removed
        device do not reach stays.
        """
        named: dict[int, Said] = {}
        written: list[Written] = []
        standing = self._standing(able)
        while new := [each for each in standing if each.position not in named]:
            named |= {each.position: each for each in new}
            for scope in sorted({each.scope for each in new}):
                items = [(Kind.UNDO, undo) for undo in self._undos([e for e in new if e.scope == scope], said)]
                written.append(self._replica.append(scope, items))
            standing = self._standing(able)
        left = {each.position for each in standing}
        return [each for each in named.values() if each.position not in left], written

    def _standing(self, events: Sequence[Said]) -> list[Said]:
        """Those that are not undone."""
        undone = self._replica.fold.liveness.undone
        return [each for each in events if not undone(each.position)]

    def _undos(self, events: Sequence[Said], said: Words) -> Iterator[Undo]:
        for first in range(0, len(events), REFERENCES_MAX):
            refs = [self._replica.logs.ref(each.position) for each in events[first : first + REFERENCES_MAX]]
            yield Undo(refs, said.trust, None, None, said.extra or None)


def _slots(taken: Sequence[Said]) -> tuple[tuple[str, str, str, int], ...]:
    """How many statements were taken back, slot by slot."""
    said = [(each.scope, each.payload) for each in taken]
    count = Counter((scope, p.entity, p.predicate) for scope, p in said if isinstance(p, Statement))
    return tuple((*slot, number) for slot, number in sorted(count.items()))


def _why(taken: Sequence[Said], able: int) -> str:
    if taken:
        return f"Taken back: {len(taken)} of its events; {_LATER}."
    if able:
        return f"All that was found is undone already; {_LATER}."
    return f"Nothing that is held here was said so; {_LATER}."
