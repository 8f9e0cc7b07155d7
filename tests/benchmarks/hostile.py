"""What hostile messages cost to refuse: the dearest of each reader's, in time and in memory.

The messages are those of tests/fuzz/costly.py; each is refused a few times and the fastest counts, by CPU
time, so that it is the work and not the machine's load that is told.

Reach (first stage): at most 50 ms and 32 MB.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from tests.benchmarks.measuring import Row, at_most
from tests.benchmarks.workshop import Workshop
from tests.fuzz.costly import BYTES_MAX, COSTLY, MILLISECONDS_MAX, peak_of_reading
from tests.fuzz.targets import TARGETS

MB = 1e6


class Sizes(NamedTuple):
    rounds: int
    cases: int | None  # of each reader; None: all


SIZES = {
    "small": Sizes(rounds=1, cases=2),
    "quick": Sizes(rounds=3, cases=None),
    "full": Sizes(rounds=9, cases=None),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    rows = []
    for reader, cases in COSTLY.items():
        made = {name: make() for name, make in list(cases.items())[: sizes.cases]}
        times = {name: min(_seconds(reader, data) for _ in range(sizes.rounds)) for name, data in made.items()}
        peaks = {name: peak_of_reading(reader, data) for name, data in made.items()}
        slowest, largest = max(times, key=times.__getitem__), max(peaks, key=peaks.__getitem__)
        took = Row(f"{reader}: time to refuse, at most", times[slowest] * 1e3, "ms", reach=at_most(MILLISECONDS_MAX))
        took.more = {"case": slowest, "all_ms": {name: seconds * 1e3 for name, seconds in times.items()}}
        peak = Row(f"{reader}: memory to refuse, at most", peaks[largest] / MB, "MB", reach=at_most(BYTES_MAX / MB))
        peak.more = {"case": largest}
        rows += [took, peak]
    return rows


def _seconds(reader: str, data: bytes) -> float:
    target = TARGETS[reader]
    begin = time.process_time()
    assert not target.accepts(data)
    return time.process_time() - begin
