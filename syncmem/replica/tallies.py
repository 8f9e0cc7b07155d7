"""Tallies: of the claims that each source and each device made, how many were taken back or won nowhere.

Rules: what is counted is what the timelines hold, one pass over pages and rectangles in the same order; no event
is read.  A claim is counted once: as what took it back, else as lost if its value is believed at no time.
What was superseded in time was right in its time, and is no error; what an extractor derived anew, by a later version,
is counted as that version's alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from syncmem.codec import pack, unpack_own
from syncmem.model.derivation import DERIVED, read_batch
from syncmem.model.instant import FOREVER
from syncmem.model.liveness import Relation
from syncmem.model.plain import Row
from syncmem.model.record import DENIED, LOG_SHIFT, RETRACTED, UNDONE, WITHDRAWN, Role
from syncmem.model.value import Equality, key
from syncmem.replica.replica import Replica
from syncmem.replica.timelines import NONE_LANE, SINGLE

OUTCOMES: Final = ("undone", "withdrawn", "retracted", "corrected", "denied", "lost")
_POSITION, _ROLE, _FLAGS, _VALUE, _SOURCE = 0, 1, 2, 3, 10  # of a stored record
_NONE: Final = pack(None)
_LANE: Final = itemgetter(0, 1)
_PAGES: Final = "SELECT slot, lane, body FROM pages ORDER BY slot, lane"
_WINNERS: Final = f"SELECT slot, lane, claim FROM beliefs WHERE known_to = {FOREVER} ORDER BY slot, lane"
_CORRECTED: Final = f"SELECT target FROM links WHERE relation = {int(Relation.CORRECTS)}"


class Extractor(NamedTuple):
    """One version of an extractor."""

    name: str
    version: str


_ANEW: Final = Extractor("", "")


@dataclass(slots=True)
class Tally:
    """What became of the claims of one source or device."""

    made: int = 0
    undone: int = 0
    withdrawn: int = 0  # with their batch, or behind the cut of a removed device
    retracted: int = 0
    corrected: int = 0
    denied: int = 0
    lost: int = 0  # stands, but its value is believed at no time

    @property
    def wrong(self) -> int:
        return sum(getattr(self, outcome) for outcome in OUTCOMES)

    @property
    def error_rate(self) -> float:
        return self.wrong / self.made if self.made else 0.0

    def facts(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            "made": self.made,
            **{outcome: getattr(self, outcome) for outcome in OUTCOMES},
            "error_rate": round(self.error_rate, 3),
        }

    def add(self, outcome: str | None) -> None:
        self.made += 1
        if outcome is not None:
            setattr(self, outcome, getattr(self, outcome) + 1)


@dataclass(frozen=True, slots=True)
class Tallies:
    """By the number of a source, by the key of a device, and by the name and version of an extractor."""

    sources: dict[int, Tally]
    devices: dict[bytes, Tally]
    extractors: dict[Extractor, Tally]


def tallies(replica: Replica) -> Tallies:
    """Count all claims that are held."""
    corrected = {row[0] for row in replica.db.execute(_CORRECTED)}
    derived, found = _derived(replica), defaultdict[tuple[int, int, Extractor | None], Tally](Tally)
    for slot, lane, rows, winners in _lanes(replica):
        claims = [row for row in rows if row[_ROLE] <= Role.TEMPORARY and _belongs(row, lane)]
        counted = [row for row in claims if derived.get(row[_POSITION]) is not _ANEW]
        believed = {row[_VALUE] for row in rows if row[_POSITION] in winners}
        for row in counted:
            outcome = _taken_back(row, corrected)
            if outcome is None and row[_VALUE] not in believed and not _equals(replica, slot, row[_VALUE], believed):
                outcome = "lost"
            found[row[_SOURCE], row[_POSITION] >> LOG_SHIFT, derived.get(row[_POSITION])].add(outcome)
    return _summed(replica, found)


def _derived(replica: Replica) -> dict[int, Extractor]:
    """Of claims that an extractor derived, which one; _ANEW where it has derived them anew since."""
    sql = "SELECT scope, name FROM batches WHERE name > ? AND name < ?"
    rows = replica.db.execute(sql, (DERIVED, f"{DERIVED}~")).fetchall()
    read = {(scope, name): batch for scope, name in rows if (batch := read_batch(name)) is not None}
    stands = {place for place in read if not replica.fold.is_withdrawn(place)}
    latest = {(place[0], read[place].episode, read[place].extractor) for place in stands}
    found: dict[int, Extractor] = {}
    for place, batch in read.items():
        anew = place not in stands and (place[0], batch.episode, batch.extractor) in latest
        by = _ANEW if anew else Extractor(batch.extractor, batch.version)
        found |= dict.fromkeys(replica.fold.references.members(place), by)
    return found


def _lanes(replica: Replica) -> Iterator[tuple[int, bytes, list[Row], set[int]]]:
    """Each timeline: its slot, its lane, its statements, and the claims that are believed."""
    believed = groupby(replica.db.execute(_WINNERS), key=_LANE)
    where, claims = next(believed, (None, None))
    for place, pages in groupby(replica.db.execute(_PAGES), key=_LANE):
        while where is not None and where < place:
            where, claims = next(believed, (None, None))
        winners = {row[2] for row in claims} if claims is not None and where == place else set()
        yield (*place, [row for page in pages for row in unpack_own(page[2])], winners)


def _belongs(row: Row, lane: bytes) -> bool:
    """Whether this is the lane in which a statement is counted: "none" lies in all lanes of a many-valued slot."""
    return lane == SINGLE or (lane == NONE_LANE) == (row[_VALUE] == _NONE)


def _taken_back(row: Row, corrected: set[int]) -> str | None:
    flags = row[_FLAGS]
    if flags & UNDONE:
        return "undone"
    if flags & RETRACTED:
        return "corrected" if row[_POSITION] in corrected else "retracted"
    if flags & DENIED:
        return "denied"
    return "withdrawn" if flags & WITHDRAWN else None


def _equals(replica: Replica, slot: int, value: bytes, believed: set[bytes]) -> bool:
    """Whether a value is believed in other letters."""
    about = replica.catalog.known(slot) if believed else None
    if about is None:
        return False
    equality = replica.catalog.predicate(about.scope, about.predicate).equality
    return equality != Equality.EXACT and key(value, equality) in {key(other, equality) for other in believed}


def _summed(replica: Replica, found: dict[tuple[int, int, Extractor | None], Tally]) -> Tallies:
    result = Tallies(defaultdict(Tally), defaultdict(Tally), defaultdict(Tally))
    for (source, log, extractor), tally in found.items():
        _add(result.sources[source], tally)
        _add(result.devices[replica.logs.by_no[log].device], tally)
        if extractor is not None:
            _add(result.extractors[extractor], tally)
    return result


def _add(total: Tally, part: Tally) -> None:
    for name in ("made", *OUTCOMES):
        setattr(total, name, getattr(total, name) + getattr(part, name))


def ranked(found: Sequence[tuple[Any, Tally]], most: int) -> list[tuple[Any, Tally]]:
    """Those with the most errors first, then those that made most."""
    return sorted(found, key=lambda item: (-item[1].wrong, -item[1].made, str(item[0])))[:most]
