"""Records: statements as the fold reads them, with every default settled and every order computed.

Rules (the names are those of the belief rule):

* ``observed_at = min(stated, clock)``, or the clock where nothing is stated;
* ``start`` is what was stated, else ``observed_at``;
* ``anchor = max(start, observed_at)`` for states and periods, ``start`` for changes (the latest instant
  an imprecise start may mean, but not after ``observed_at``), ``observed_at`` for temporaries;
* ``spoken = (observed_at, start, clock, log, place)``, ``rank = (anchor, *spoken)``, and a period's ray
  has strength ``(start, *spoken)``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple

from syncmem.model.event import Form, Kind, Statement, Then
from syncmem.model.instant import FOREVER, LATEST

LOG_SHIFT: Final = 40  # position = log number << 40 | place in the log


class Role(IntEnum):
    """What a record does in the fold."""

    OPEN = 0  # a claim without an end of its own
    PERIOD = 1
    TEMPORARY = 2
    END_STATE = 3
    END_CHANGE = 4
    DENY = 5


CLAIM_ROLES: Final = (Role.OPEN, Role.PERIOD, Role.TEMPORARY)

AFFIRM: Final = 1  # a restatement: it does not close temporaries
PLAIN: Final = 2  # a state with neither start nor end: a temporary claim of its value absorbs it
UNDONE: Final = 4
WITHDRAWN: Final = 8
RETRACTED: Final = 16
DENIED: Final = 32
DETACHED: Final = 64  # an end whose named claim is known and not live
DISPUTED: Final = 128  # something without the authority to do so tried to take it back
DOUBTED: Final = 256  # a denial of too little trust speaks about it
UNFOUNDED: Final = 512  # a derived claim that lacks a live root, or claims more trust than its roots give
DEAD: Final = UNDONE | WITHDRAWN | RETRACTED | DENIED | DETACHED | UNFOUNDED
# flags that are decided by events which name it, and by those that it names
BY_REFERENCE: Final = UNDONE | WITHDRAWN | RETRACTED | DETACHED | UNFOUNDED | DISPUTED
BY_DENIAL: Final = DENIED | DOUBTED  # flags that the denials of its slot decide

Order = tuple[Any, ...]


class Record(NamedTuple):
    """One statement in one slot. The first twelve fields are stored, the last three are looked up."""

    position: int
    role: int
    flags: int
    value: bytes  # canonical bytes as stated
    trust: int
    start: int
    anchor: int
    stop: int
    observed_at: int
    hlc: int
    source: int  # number of the (kind, id) pair, 0 for none
    aging: list[int] | None  # [instant from which it counts less, trust from then on]
    log: bytes
    key: bytes  # what equal values share
    device: bytes

    @property
    def spoken(self) -> Order:
        return (self.observed_at, self.start, self.hlc, self.log, self.position)

    @property
    def rank(self) -> Order:
        return (self.anchor, self.observed_at, self.start, self.hlc, self.log, self.position)

    @property
    def strength(self) -> Order:
        """How strong a supersession ray this claim casts from its start."""
        anchor = self.start if self.role == Role.PERIOD else self.anchor
        return (anchor, self.observed_at, self.start, self.hlc, self.log, self.position)

    @property
    def live(self) -> bool:
        return not self.flags & DEAD

    @property
    def counts(self) -> bool:
        """Whether the fold reads it: live, no denial, and if a claim then not empty by itself."""
        if self.flags & DEAD or self.role == Role.DENY:
            return False
        return self.role > Role.TEMPORARY or self.start < self.stop


STORED_FIELDS: Final = 12


def settled(position: int, kind: int, said: Statement, hlc: int) -> list[Any]:
    """The stored fields of a statement's record, but for value and source (filled in by the caller).

    ``hlc`` is the writer's clock, corrected for known clock errors.
    """
    observed_at = hlc if said.observed_at is None else min(said.observed_at, hlc)
    start = observed_at if said.start is None else said.start
    late = start if said.start_latest is None else max(start, min(said.start_latest, observed_at))
    role = _role(kind, said)
    flags = AFFIRM if kind == _AFFIRM else 0
    if role == _TEMPORARY:
        anchor = observed_at
    elif said.form == _CHANGE and role != _PERIOD:
        anchor = late
    else:
        anchor = max(late, observed_at)
    stop = said.stop if said.stop is not None and _OPEN < role <= _TEMPORARY else FOREVER
    aging = None
    if role == _OPEN:
        if said.form == _STATE and said.start is None:
            flags |= PLAIN
        if extra := said.extra:
            stop = _after(anchor, extra.get("ttl"))
            if "stale_after" in extra:
                aging = [_after(anchor, extra["stale_after"]), min(said.trust, _trust(extra.get("stale_trust")))]
    return [position, role, flags, b"", said.trust, start, anchor, stop, observed_at, hlc, 0, aging]


def _role(kind: int, said: Statement) -> int:
    if kind == _END:
        return Role.END_CHANGE if said.form == _CHANGE else Role.END_STATE
    if kind == _DENY:
        return Role.DENY
    if said.stop is None:
        return _OPEN
    return _TEMPORARY if said.then == Then.RESUME else _PERIOD


# The same numbers outside their enumerations, where every statement is looked at: those take longer to look up.
_AFFIRM, _END, _DENY = int(Kind.AFFIRM), int(Kind.END), int(Kind.DENY)
_STATE, _CHANGE = int(Form.STATE), int(Form.CHANGE)
_OPEN, _PERIOD, _TEMPORARY = int(Role.OPEN), int(Role.PERIOD), int(Role.TEMPORARY)


def _after(anchor: int, duration: Any) -> int:
    """A moment so long after an anchor; never where the event states no usable duration."""
    usable = type(duration) is int and duration > 0 and anchor + duration <= LATEST
    return anchor + duration if usable else FOREVER


def _trust(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= 100 else 0


def denies(denial: Record, claim: Record) -> bool:
    """Whether a denial speaks about a claim, trust aside."""
    return denial.key == claim.key and denial.spoken > claim.spoken


def ends(end: Record, claim: Record) -> bool:
    """Whether an end speaks about a claim, trust aside."""
    if end.key != claim.key:
        return False
    reached = claim.start <= end.observed_at if end.role == Role.END_STATE else claim.start < end.start
    if not reached:
        return False
    return end.spoken > claim.spoken if claim.role == Role.TEMPORARY else end.rank > claim.rank


def period_end(period: Record) -> Record:
    """The end that a period is of its own value: change-type, at its stop."""
    return period._replace(role=Role.END_CHANGE, start=period.stop, anchor=period.stop)
