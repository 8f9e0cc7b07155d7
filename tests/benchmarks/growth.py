"""Growth: what the same work costs at 10,000, 100,000 and 1,000,000 stored claims, and the exponents of it.

Five claims to a slot at every size.  Then, in each file: 1,000 more claims are merged in transactions of a merge's
size; values are read as of now, as known then and as valid then; a device takes in 100 claims of another through a
shared folder; and one more claim goes into one slot that holds a tenth as many claims as the file beside it.  An
exponent of 0 means that the cost does not know how much is stored, of 1 that it grows alike.  Times are CPU time,
fitted and shown; the medians of the wall stand in the JSON lines.

Reach (first stage): exponents of at most 0.1 for what one more claim costs, merged anywhere or put into the hot slot.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from syncmem import Memory
from syncmem.model.event import Kind
from syncmem.replica.replica import MERGE_EVENTS
from tests.benchmarks import devices, hot_slot, material
from tests.benchmarks.measuring import Reach, Round, Row, at_most, quantile, timed
from tests.benchmarks.workshop import Workshop
from tests.world import Writer, sorted_keys

PER_SLOT = 5
HOT_WRITES_MAX = 20  # a round
HOT_SHARE = 10  # a slot of a tenth of the claims
EXPONENT_REACH = 0.1
DECADE = datetime(2010, 1, 1, tzinfo=UTC)  # of which the claims speak


class Sizes(NamedTuple):
    stored: tuple[int, ...]
    merged: int  # claims a round
    reads: int
    synced: int
    rounds: int


SIZES = {
    "small": Sizes((200, 800), merged=50, reads=10, synced=10, rounds=1),
    "quick": Sizes((1_000, 10_000, 100_000), merged=1_000, reads=300, synced=100, rounds=3),
    "full": Sizes((10_000, 100_000, 1_000_000), merged=1_000, reads=1_000, synced=100, rounds=5),
}


class Cost(NamedTuple):
    """What one action takes at a size, in seconds: the wall's median, the CPU's least of all rounds."""

    wall: float
    cpu: float


Costs = dict[str, Cost]  # by what was done
MERGED, HOT = "one more claim, merged", "one more claim, into the hot slot"
REACHES: dict[str, Reach] = dict.fromkeys((MERGED, HOT), at_most(EXPONENT_REACH))


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    found: dict[int, Costs] = {}
    weights: dict[int, float] = {}
    for stored in sizes.stored:
        shape = material.Shape(stored, stored // PER_SLOT)
        with workshop.scratch() as folder:
            founder = devices.founder(workshop, shape, folder)
            weights[stored] = founder.stat().st_size / stored
            synced = _syncing(folder, founder, sizes)
            found[stored] = {
                **_merging(material.built(workshop, shape), folder, shape, sizes),
                **_reading(founder, shape, sizes),
                f"sync of {sizes.synced} claims": synced,
                HOT: _hot(folder, stored // HOT_SHARE, sizes),
            }
    rows = [row for what in found[sizes.stored[0]] for row in _grown(what, {n: c[what] for n, c in found.items()})]
    rows += [Row(f"file bytes a claim, {n:,} stored", weight, "bytes") for n, weight in weights.items()]
    return [*rows, Row("exponent: file bytes a claim", _positive(exponent(weights)), "")]


def _grown(what: str, costs: dict[int, Cost]) -> list[Row]:
    rows = []
    for stored, cost in costs.items():
        row = Row(f"{what}, {stored:,} stored", cost.cpu * 1e6, "µs of CPU", more={"wall_us": cost.wall * 1e6})
        rows.append(row)
    fitted = exponent({stored: cost.cpu for stored, cost in costs.items()})
    by_wall = exponent({stored: cost.wall for stored, cost in costs.items()})
    more = {"fitted": fitted, "by_wall": by_wall}
    return [*rows, Row(f"exponent: {what}", _positive(fitted), "", reach=REACHES.get(what), more=more)]


def exponent(points: dict[int, float]) -> float:
    """The slope of the logarithms, by least squares.

    >>> round(exponent({10: 3.0, 100: 30.0, 1000: 300.0}), 6)
    1.0
    """
    found = [(math.log(size), math.log(max(cost, 1e-12))) for size, cost in points.items()]
    slope, _ = statistics.linear_regression(*zip(*found, strict=True))
    return slope


def _positive(slope: float) -> float:
    """For the table: what falls as more is stored shows as nearly nothing."""
    return max(slope, 0.001)


def _cost(rounds: Sequence[Round], each: int = 1) -> Cost:
    """Of one action, or of one of the ``each`` things that an action does."""
    wall = statistics.median(quantile(part.walls, 0.5) for part in rounds) / each
    return Cost(wall, min(part.cpu / len(part.walls) for part in rounds) / each)


# -- what is done -------------------------------------------------------------------------------------


def _merging(built: Path, folder: Path, shape: material.Shape, sizes: Sizes) -> Costs:
    """Claims of one more device about the same slots."""
    path = folder / "merging.db"
    path.write_bytes(built.read_bytes())
    there, more = (sorted_keys(shape.devices + number) for number in (1, 2))
    writer, chance = Writer(next(key for key in more if key not in there)), random.Random(7)
    rounds = []
    replica = material.open_replica(path)
    try:
        for number in range(sizes.rounds):
            after = len(writer.events)
            for place in range(sizes.merged):
                names = material.slot_names(chance.randrange(shape.slots))
                start = material.FIRST_DATE + chance.randrange(10 * 365 * 86_400) * material.SECOND
                said = material.change(*names, f"late {number} {place}", start)
                writer.write(Kind.CLAIM, said, 2 * material.FIRST_CLOCK + after + place)
            frames = writer.frames(after)
            rounds.append(timed([lambda frames=frames: [*replica.receive(frames, events_max=MERGE_EVENTS)]]))
    finally:
        replica.close()
    return {MERGED: _cost(rounds, sizes.merged)}


def _reading(path: Path, shape: material.Shape, sizes: Sizes) -> Costs:
    with Memory(path) as memory:
        last = memory._replica.last_transaction
        return {
            "believe() now": _reads(shape, sizes, lambda names, _: memory.believe(*names)),
            "believe(known_at=)": _reads(shape, sizes, lambda names, c: memory.believe(*names, known_at=c(last) + 1)),
            "believe(valid_at=)": _reads(
                shape,
                sizes,
                lambda names, c: memory.believe(*names, valid_at=DECADE + timedelta(days=c(3_600))),
            ),
        }


Ask = Callable[[tuple[str, str], Callable[[int], int]], object]


def _reads(shape: material.Shape, sizes: Sizes, ask: Ask) -> Cost:
    chance = random.Random(3)
    slots = [material.slot_names(chance.randrange(shape.slots)) for _ in range(sizes.reads)]
    return _cost(
        [timed([lambda names=names: ask(names, chance.randrange) for names in slots]) for _ in range(sizes.rounds)]
    )


def _syncing(folder: Path, founder: Path, sizes: Sizes) -> Cost:
    """Two devices hold everything; one writes, the other takes it in."""
    with ExitStack() as stack:
        address = stack.enter_context(devices.shared_folder(folder / "shared"))
        one = stack.enter_context(Memory(founder))
        devices.joined(one, folder / "other.db", address)
        other = stack.enter_context(Memory(folder / "other.db"))
        _settle(one, other)
        rounds = []
        for number in range(sizes.rounds):
            with one.transaction():
                for place in range(sizes.synced):
                    one.remember(*material.slot_names(place), f"said {number} {place}", source="user")
            one.sync()
            rounds.append(timed([other.sync]))
            _settle(one, other)
        assert one.belief_digest() == other.belief_digest()
        return _cost(rounds)


def _settle(*memories: Memory) -> None:
    moved = True
    while moved:
        reports = [report for memory in memories for report in memory.sync().mailboxes]
        moved = any(report.sent or report.received for report in reports)


def _hot(folder: Path, stored: int, sizes: Sizes) -> Cost:
    writes = min(HOT_WRITES_MAX, stored // sizes.rounds // 2)
    shape = hot_slot.Sizes(few=stored, many=stored, rounds=sizes.rounds, writes=writes)
    slot = hot_slot.Slot(folder / "hot.db", stored, shape, in_order=False)
    try:
        return _cost([timed(slot.remembers(writes)) for _ in range(sizes.rounds)])
    finally:
        slot.close()
