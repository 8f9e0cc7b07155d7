"""What a hostile peer sends is refused at small cost: memory, and calls as a measure of work that no load disturbs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.fuzz.costly import BYTES_MAX, COSTLY, peak_of_reading
from tests.fuzz.targets import TARGETS

CALLS_MAX = 300_000  # of functions, C functions too: at 0.15 µs each, 45 ms
CASES = [(reader, case) for reader, cases in COSTLY.items() for case in cases]


@pytest.mark.parametrize(("reader", "case"), CASES)
def test_it_costs_little_to_refuse(reader: str, case: str) -> None:
    data = COSTLY[reader][case]()
    target = TARGETS[reader]
    assert not target.accepts(data)
    peak, calls = peak_of_reading(reader, data), calls_of(lambda: target.accepts(data))
    print(f"{reader}, {case}: {len(data):,} bytes, {calls:,} calls, {peak / 2**20:.1f} MiB")
    assert peak < BYTES_MAX
    assert calls < CALLS_MAX


def calls_of(action: Callable[[], object]) -> int:
    """How many functions were called, and generators resumed."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(before)
    return calls
