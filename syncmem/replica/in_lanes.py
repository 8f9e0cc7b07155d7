"""Beliefs in their lanes, put together as they are told: as one timeline.

Rule: "known to have none" is told only where no other value is believed.
"""

from __future__ import annotations

from syncmem.model.value import Equality, same_stored
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.timelines import NONE_LANE

Placed = tuple[bytes, Rectangle]  # lane, rectangle


def as_timeline(placed: list[Placed], equality: Equality) -> list[Placed]:
    """Rectangles in order of valid time, neighbours of equal value as one (contested if any part is)."""
    result: list[Placed] = []
    for lane, rectangle in sorted(without_none(placed)):
        last = result[-1] if result else None
        follows = last is not None and last[0] == lane and last[1].valid_to == rectangle.valid_from
        if last is not None and follows and same_stored(last[1].value, rectangle.value, equality):
            contested = max(last[1].contested, rectangle.contested)
            result[-1] = (lane, last[1]._replace(valid_to=rectangle.valid_to, contested=contested))
        else:
            result.append((lane, rectangle))
    one_lane = not result or result[0][0] == result[-1][0]
    return result if one_lane else sorted(result, key=_by_time)


def without_none(rows: list[Placed]) -> list[Placed]:
    """Beliefs without "none" where another value is believed."""
    if not any(lane == NONE_LANE for lane, _ in rows) or all(lane == NONE_LANE for lane, _ in rows):
        return rows
    values = sorted((r.valid_from, r.valid_to) for lane, r in rows if lane != NONE_LANE)
    result: list[Placed] = []
    for lane, rectangle in rows:
        pieces = [rectangle] if lane != NONE_LANE else _cut(rectangle, values)
        result += [(lane, piece) for piece in pieces]
    return result


def _cut(rectangle: Rectangle, covered: list[tuple[int, int]]) -> list[Rectangle]:
    """The parts of a rectangle outside all covered spans."""
    pieces, start = [], rectangle.valid_from
    for begin, end in covered:
        if begin >= rectangle.valid_to:
            break
        if start < begin:
            pieces.append(rectangle._replace(valid_from=start, valid_to=begin))
        start = max(start, end)
    if start < rectangle.valid_to:
        pieces.append(rectangle._replace(valid_from=start))
    return pieces


def holds(placed: Placed, instant: int) -> bool:
    """Whether a belief holds at an instant."""
    return placed[1].valid_from <= instant < placed[1].valid_to


def _by_time(placed: Placed) -> tuple[int, bytes]:
    return (placed[1].valid_from, placed[0])
