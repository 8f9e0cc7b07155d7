"""The fold of one timeline: who wins at every instant, computed from left to right.

The belief rule says where each claim stops and whose key is greatest; read from left to right it
needs little memory.  At an instant only these matter:

* ``active``: claims that have started and not stopped (and closed bounded ones until their stop,
  because a period still ends its own value there and a temporary still absorbs restatements);
* ``rays``: supersession rays cast so far that a later start could still meet.  A claim starting at
  ``t`` has rank at least ``(t, ...)``, so a ray is forgotten once its anchor has passed;
* ``guards``: ends of a state that still speak about later starts, until their observation time.

That memory is the :class:`Carry`.  A timeline kept in pages stores the carry at each page's first
instant; a change is folded from its page on, until the carry meets the stored one.
The reference in the tests states the same rule by its formulas and without any of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.plain import TIE_WINDOW, Standing, winners
from syncmem.model.record import AFFIRM, DISPUTED, DOUBTED, PLAIN, Order, Record, Role, ends, period_end

FOLD_VERSION: Final = 1
_CONTRADICTED: Final = DISPUTED | DOUBTED


class Segment(NamedTuple):
    """From ``start`` (to the next segment's start) ``winner`` holds; None: unknown."""

    start: int
    winner: Record | None
    trust: int
    contested: bool


class Ray(NamedTuple):
    trust: int
    strength: Order
    device: bytes
    observed_at: int
    position: int


class Active:
    """A claim that has started: how it counts now."""

    __slots__ = (
        *("aged", "anchor", "closed", "disputed", "ghost", "next", "overlay"),
        *("rank", "record", "rest_closed", "spoken", "stop", "trust"),
    )

    def __init__(self, record: Record) -> None:
        self.record = record
        self.trust = record.trust
        self.overlay = record.role == Role.TEMPORARY
        self.anchor = record.anchor
        self.stop = self.next = record.stop
        self.closed = False  # covers nothing any more
        self.ghost = False  # closed, but only by claims it is tied with: still contests
        self.disputed = record.flags & _CONTRADICTED != 0
        self.rest_closed = False  # the remainder after ageing covers nothing
        self.aged = record.aging is None
        self.spoken = spoken = record.spoken
        self.rank = (record.anchor, *spoken)
        if not self.aged:
            self.settle()

    def settle(self) -> None:
        """Set what follows from the other fields: the rank, and the next instant at which it changes."""
        self.rank = (self.anchor, *self.spoken)
        aging = self.record.aging
        self.next = self.stop if self.aged or aging is None else min(self.stop, aging[0])

    @property
    def key(self) -> Order:
        return (self.trust, self.overlay, *self.rank)

    @property
    def needed(self) -> bool:
        """Whether it still matters (closed bounded claims do, see above; so does an open remainder)."""
        return not self.closed or self.ghost or self.record.role != Role.OPEN or not (self.aged or self.rest_closed)

    def close(self, trust: int, tied: bool = False) -> None:
        """Something of ``trust`` stops it here, if its trust suffices."""
        if trust >= self.trust:
            contests = tied and not self.overlay and (self.record.aging is None or not self.aged)
            self.closed, self.ghost = True, contests and (self.ghost or not self.closed)
        if not self.aged and self.record.aging is not None and trust >= self.record.aging[1]:
            self.rest_closed = True

    def hit(self, end: Record) -> None:
        """An end speaks about it: it stops, or is disputed if the end's trust does not suffice."""
        if end.trust < self.trust:
            self.disputed = True
        self.close(end.trust)

    def age(self) -> None:
        """From here on it counts with the trust of its remainder."""
        assert self.record.aging is not None
        self.trust = self.record.aging[1]
        self.closed, self.ghost, self.aged = self.rest_closed, False, True
        self.settle()

    def absorb_into(self, stop: int) -> None:
        """It restates a temporary claim: it supports that claim until its stop, and goes with it."""
        self.overlay, self.anchor, self.stop, self.aged = True, self.record.observed_at, stop, True
        self.settle()

    def state(self) -> tuple[Any, ...]:
        flags = (self.closed, self.ghost, self.disputed, self.rest_closed, self.aged, self.overlay)
        return (self.record, self.trust, self.anchor, self.stop, *flags)

    @classmethod
    def of(cls, state: Sequence[Any]) -> Active:
        active = cls(state[0])
        active.trust, active.anchor, active.stop = state[1:4]
        active.closed, active.ghost, active.disputed, active.rest_closed, active.aged, active.overlay = state[4:10]
        active.settle()
        return active


class Carry(NamedTuple):
    """All that the past of a timeline means for its future. Equal carries have equal futures."""

    active: tuple[tuple[Any, ...], ...] = ()
    rays: tuple[Ray, ...] = ()
    guards: tuple[Record, ...] = ()


EMPTY: Final = Carry()


def sweep(
    records: Iterable[Record], carry: Carry = EMPTY, begin: int = BEGINNING, until: int = FOREVER
) -> tuple[list[Segment], Carry]:
    """Fold records (that count, with ``begin <= start < until``) on top of what came before ``begin``.

    Returns the segments from ``begin`` on, in order (nothing before the first is known), and the carry at
    ``until`` (an empty one at the end of time).
    """
    ordered = sorted(records, key=_by_start)
    return _sweep_plain(ordered, carry, begin, until) or _Sweep(carry).run(ordered, begin, until)


def _sweep_plain(records: list[Record], carry: Carry, begin: int, until: int) -> tuple[list[Segment], Carry] | None:
    """The fold of plain claims (see :mod:`syncmem.model.plain`), whose memory is the winner alone."""
    held = None if carry == EMPTY else plain_carry(carry)
    found = None if held is None and carry != EMPTY else winners(records, Standing(held))
    if found is None:
        return None
    segments = [Segment(start, winner, winner.trust, contested) for start, winner, contested in found[0]]
    if held is not None and not (segments and segments[0].start == begin):
        segments.insert(0, Segment(begin, held, held.trust, False))
    return segments, _carry_of(segments[-1].winner if segments else None, until)


def plain_carry(carry: Carry) -> Record | None:
    """The one open claim that a carry consists of; None where there is none, or more."""
    if len(carry.active) != 1 or carry.guards or len(carry.rays) > 1:
        return None
    record, trust, anchor, stop, *flags = carry.active[0]
    plain = (trust, anchor, stop) == (record.trust, record.anchor, FOREVER) and record.role == Role.OPEN
    if not plain or any(flags[:4]) or not flags[4] or flags[5]:
        return None
    return None if any(ray.position != record.position for ray in carry.rays) else record


def _carry_of(winner: Record | None, until: int) -> Carry:
    """The carry of a plain timeline."""
    if winner is None or until == FOREVER:
        return EMPTY
    rank = winner.rank
    ray = Ray(winner.trust, rank, winner.device, winner.observed_at, winner.position)
    return Carry((Active(winner).state(),), (ray,) if rank[0] >= until else (), ())


def _by_start(record: Record) -> int:
    return record.start


def tied(trust: int, device: bytes, observed_at: int, other: Active) -> bool:
    record = other.record
    return trust == other.trust and device != record.device and abs(observed_at - record.observed_at) <= TIE_WINDOW


class _Sweep:
    def __init__(self, carry: Carry) -> None:
        self.active = [Active.of(state) for state in carry.active]
        self.rays = list(carry.rays)
        self.guards = list(carry.guards)

    def run(self, records: list[Record], begin: int, until: int) -> tuple[list[Segment], Carry]:
        segments = [self._segment(begin)] if self.active else []
        index, count = 0, len(records)
        while True:
            now = records[index].start if index < count else FOREVER
            changing = False
            for active in self.active:
                if active.next <= now:
                    now, changing = active.next, True
            if now >= until:
                return segments, self._carry(until)
            if changing:
                self._stop(now)
            first = index
            while index < count and records[index].start == now:
                index += 1
            if index > first:
                self._start(now, records[first:index])
            if segments and segments[-1].start == now:
                segments.pop()
            segments.append(self._segment(now))

    def _stop(self, now: int) -> None:
        """What ends by itself at this instant: periods (which end their value), stops, ageing."""
        for period in [a.record for a in self.active if a.stop == now and a.record.role == Role.PERIOD]:
            self._end(period_end(period))
        for active in self.active:
            if active.next == now < active.stop:
                active.age()
        self.active = [a for a in self.active if a.stop > now and a.needed]

    def _start(self, now: int, group: list[Record]) -> None:
        """All that starts at this instant: rays close, ends end, then claims begin."""
        begun = [Active(record) for record in group if record.role <= Role.TEMPORARY]
        if self.rays:
            self.rays = [ray for ray in self.rays if ray.strength[0] >= now]
        plain = [active for active in begun if active.record.flags & PLAIN]
        visits = [a.record for a in (*self.active, *begun) if a.record.role == Role.TEMPORARY] if plain else []
        for active in plain:
            self._absorb(active, visits)
        for active in begun:
            if not active.overlay:
                self._cast(active)
        self._outshine()
        if len(begun) < len(group):
            self._start_ends(now, group)
        for active in begun:
            self._begin(active)
        self.active = [a for a in self.active if not a.closed or a.needed] + [a for a in begun if a.needed]
        if len(self.rays) > 1 or self.guards:
            self._forget(now)

    @staticmethod
    def _absorb(active: Active, visits: list[Record]) -> None:
        """A restatement during a temporary claim of its value (one of ``visits``) supports it and goes with it."""
        record = active.record
        stops = [
            visit.stop
            for visit in visits
            if visit.key == record.key
            and visit.trust >= record.trust
            and visit.start <= record.observed_at < visit.stop
        ]
        if stops:
            active.absorb_into(max(stops))

    def _start_ends(self, now: int, group: list[Record]) -> None:
        for record in group:
            if record.role == Role.END_STATE or record.role == Role.END_CHANGE:
                self._end(record)
                if record.role == Role.END_STATE and record.observed_at >= now:
                    self.guards.append(record)

    def _cast(self, caster: Active) -> None:
        """The ray of a claim closes what it is stronger than."""
        record = caster.record
        strength = caster.rank if record.role == Role.OPEN else record.strength
        self.rays.append(Ray(record.trust, strength, record.device, record.observed_at, record.position))
        for active in self.active:
            if active.overlay:
                later = record.start > active.record.start and caster.spoken > active.spoken
                if later and not record.flags & AFFIRM:
                    active.close(record.trust)
            elif strength > active.rank:
                active.close(record.trust, tied(record.trust, record.device, record.observed_at, active))

    def _end(self, end: Record) -> None:
        for active in self.active:
            if end.key == active.record.key and _speaks_about(end, active):
                active.hit(end)

    def _begin(self, active: Active) -> None:
        """A claim meets the rays and guards that are already there."""
        rank = active.rank
        closing = [] if active.overlay else [ray for ray in self.rays if ray.strength > rank]
        if closing:
            stronger = [ray for ray in closing if ray.trust >= active.trust]
            if stronger:
                top = max(stronger)
                active.close(top.trust, tied(top.trust, top.device, top.observed_at, active))
            for ray in closing:
                if ray.trust < active.trust:
                    active.close(ray.trust)
        for guard in self.guards:
            if guard.key == active.record.key and _speaks_about(guard, active):
                active.hit(guard)

    def _forget(self, now: int) -> None:
        """Drop rays and guards that can change nothing any more."""
        self.rays = [ray for ray in self.rays if ray.strength[0] >= now]
        self._outshine()
        guards = [guard for guard in self.guards if guard.observed_at >= now]
        self.guards = [g for g in guards if not any(_outdoes(other, g) for other in guards)]

    def _outshine(self) -> None:
        """Drop rays beside which a stronger one has as much trust: whatever they close, that one closes."""
        if len(self.rays) < 2:
            return
        rays = sorted(self.rays, key=lambda ray: ray.strength, reverse=True)
        self.rays = rays[:1]
        for ray in rays:
            if ray.trust > self.rays[-1].trust:
                self.rays.append(ray)

    def _segment(self, now: int) -> Segment:
        covering = [active for active in self.active if not active.closed]
        if not covering:
            return Segment(now, None, 0, False)
        winner = covering[0] if len(covering) == 1 else max(covering, key=lambda active: active.key)
        contested = winner.disputed or (len(self.active) > 1 and any(_contests(a, winner) for a in self.active))
        return Segment(now, winner.record, winner.trust, contested)

    def _carry(self, until: int) -> Carry:
        if until == FOREVER:
            return EMPTY
        self._forget(until)
        return Carry(
            tuple(sorted(active.state() for active in self.active)),
            tuple(self.rays),
            tuple(sorted(self.guards)),
        )


def _speaks_about(end: Record, active: Active) -> bool:
    if active.overlay and active.record.role != Role.TEMPORARY:  # absorbed
        return ends(end, active.record._replace(role=Role.TEMPORARY))
    return ends(end, active.record)


def _contests(rival: Active, winner: Active) -> bool:
    if rival.record.key == winner.record.key or (rival.closed and not rival.ghost):
        return False
    if tied(winner.trust, winner.record.device, winner.record.observed_at, rival):
        return True
    later = rival.record.observed_at > winner.record.observed_at
    return later and not rival.closed and (rival.trust, rival.overlay) < (winner.trust, winner.overlay)


def _outdoes(other: Record, guard: Record) -> bool:
    """Whether every claim that ``guard`` could hit is hit by ``other`` as well."""
    return (
        other is not guard
        and other.key == guard.key
        and other.trust >= guard.trust
        and other.rank > guard.rank
        and other.spoken > guard.spoken
        and other.observed_at >= guard.observed_at
    )
