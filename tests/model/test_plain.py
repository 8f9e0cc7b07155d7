"""The fold of plain statements gives what the sweep gives, or says that it does not apply."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from syncmem.codec import pack
from syncmem.model.instant import FOREVER
from syncmem.model.plain import TIE_WINDOW, Meeting, winners
from syncmem.model.record import AFFIRM, DISPUTED, LOG_SHIFT, PLAIN, Record
from syncmem.model.sweep import EMPTY, Segment, _Sweep

MEETING = Meeting({log: SimpleNamespace(device=bytes([min(log, 3)])) for log in range(1, 5)}, lambda value: value)
STARTS = st.integers(0, 12)
SEEN = st.sampled_from([0, TIE_WINDOW // 2, TIE_WINDOW, TIE_WINDOW + 1, 2 * TIE_WINDOW, 3 * TIE_WINDOW])


@st.composite
def claims(draw: st.DrawFn) -> list[Record]:
    """Open claims of one slot, most of them plain, of four logs by three devices."""
    found = []
    for number in range(draw(st.integers(0, 8))):
        log, start, seen = draw(st.integers(1, 4)), draw(STARTS), draw(SEEN)
        anchor = start if draw(st.booleans()) else max(start, seen)
        flags = draw(
            st.sampled_from([0, 0, 0, AFFIRM, PLAIN, DISPUTED] if draw(st.integers(0, 9)) == 0 else [0, AFFIRM])
        )
        trust = 2 if draw(st.integers(0, 9)) else 1
        value = pack(draw(st.sampled_from("AB")))
        device = bytes([min(log, 3)])
        position = log << LOG_SHIFT | number + 1
        stored = (position, 0, flags, value, trust, start, anchor, FOREVER, seen, seen, 0, None)
        found.append(Record(*stored, bytes([log]), value, device))
    return sorted(found, key=lambda record: (record.start, record.position))


def swept(records: list[Record]) -> list[Segment]:
    """The segments of the sweep, those in which nothing changes left out."""
    segments, _ = _Sweep(EMPTY).run(records, -(2**62), FOREVER)
    alike = [one[1:] == other[1:] for one, other in itertools.pairwise(segments)]
    return [segment for segment, same in zip(segments, [False, *alike], strict=False) if not same]


@given(claims(), st.integers(0, 12))
def test_plain_claims_win_as_in_the_sweep(records: list[Record], parted_at: int) -> None:
    earlier = [record for record in records if record.start < parted_at]
    begun = winners(earlier, None, MEETING)
    found = None if begun is None else winners(records[len(earlier) :], begun[1], MEETING)
    whole = winners(records, None, MEETING)
    if found is not None and begun is not None and whole is not None:
        assert [*begun[0], *found[0]] == whole[0]
        assert [(start, row, row.trust, contested) for start, row, contested in whole[0]] == [
            tuple(s) for s in swept(records)
        ]
    assert (found is None) == (whole is None)


@given(claims())
def test_without_knowing_who_spoke_a_tie_is_left_to_the_sweep(records: list[Record]) -> None:
    found = winners(records)
    if found is not None:
        assert not any(contested for _, _, contested in found[0])
        assert found == winners(records, None, MEETING)
