"""The fold of plain statements gives what the sweep gives, or says that it does not apply."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from syncmem.codec import pack
from syncmem.model.instant import FOREVER
from syncmem.model.plain import TIE_WINDOW, Meeting, winners
from syncmem.model.record import AFFIRM, DISPUTED, LOG_SHIFT, PLAIN, Record
from syncmem.model.sweep import EMPTY, Segment, _Sweep

MEETING = Meeting(lambda one, other: one.device == other.device, lambda one, other: one.key == other.key)
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


@given(claims())
def test_plain_claims_win_as_in_the_sweep(records: list[Record]) -> None:
    won = winners(records, None, MEETING)
    if won is not None:
        assert [(w.start, w.row, w.row.trust, w.contested) for w in won] == [
            tuple(segment) for segment in swept(records)
        ]


@given(claims())
def test_without_knowing_who_spoke_a_tie_is_left_to_the_sweep(records: list[Record]) -> None:
    won = winners(records)
    if won is not None:
        assert not any(w.contested for w in won)
        assert won == winners(records, None, MEETING)
