"""Columns: many values of one field as one array, in the shortest of five modes.

Rules: a column is an array that begins with its mode; a writer is free to choose, a reader knows all.
What a column gives is exactly what went in: 1, 1.0 and true stay apart.  Whether entries that are arrays
or maps are canonical is not looked at here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Any, Final, cast

from syncmem.codec import pack_flat
from syncmem.errors import NotCanonical
from syncmem.model.salt import BLOCK_EVENTS

Column = list[Any]


class Mode(IntEnum):
    """How a column holds its entries. Numbers are for ever."""

    SAME = 0  # [0, count, v]
    PLAIN = 1  # [1, [v ...]]
    INDEXED = 2  # [2, [v ...], [i ...]]: entry n is v[i[n]]
    STEPS = 3  # [3, v, [d ...]]: integers, each is the one before plus d
    FROM_CLOCK = 4  # [4, [d ...]]: the clock of the same event plus d; nil stays nil


_KEYS: Final = frozenset({str, bytes, int, type(None)})  # of these, equal values have one encoding
_NUMBERS: Final = frozenset({int, type(None)})
_FAR: Final = 2**62  # differences of numbers below fit 64 bits


def column_of(values: Sequence[Any], clocks: Sequence[int] | None = None) -> Column:
    """Values as a column; ``clocks`` are those of the same events."""
    types = set(map(type, values))
    keys = values if types <= _KEYS else list(map(_encoded, values))
    distinct = dict.fromkeys(keys)
    if len(distinct) == 1:
        return [int(Mode.SAME), len(values), values[0]]
    found = [[int(Mode.PLAIN), list(values)]]
    if 2 * len(distinct) <= len(values):
        found.append(_indexed(values, keys, distinct))
    if int in types and types <= _NUMBERS:
        found += _differences(values, clocks)
    return found[0] if len(found) == 1 else min(found, key=_size)


def _indexed(values: Sequence[Any], keys: Sequence[Any], distinct: dict[Any, None]) -> Column:
    numbers = {key: number for number, key in enumerate(distinct)}
    each = dict(zip(reversed(keys), reversed(values), strict=True))
    return [int(Mode.INDEXED), [each[key] for key in distinct], [numbers[key] for key in keys]]


def _differences(values: Sequence[int | None], clocks: Sequence[int] | None) -> Iterator[Column]:
    stated = [value for value in values if value is not None]
    if max(stated) >= _FAR or min(stated) <= -_FAR:
        return
    if len(stated) == len(values):
        yield [int(Mode.STEPS), stated[0], [later - earlier for earlier, later in pairwise(stated)]]
    if clocks is not None:
        pairs = zip(values, clocks, strict=True)
        yield [int(Mode.FROM_CLOCK), [None if value is None else value - clock for value, clock in pairs]]


def _encoded(value: Any) -> bytes:
    return pack_flat([value])


def _size(column: Column) -> int:
    return len(pack_flat(column))


def entries(column: Any, clocks: Sequence[int] | None = None) -> list[Any]:
    """The values of a column.

    Raises:
        NotCanonical: it is no well-formed column, or holds values that no entry names.
    """
    mode = column[0] if type(column) is list and column else None
    reader = _READERS.get(mode) if type(mode) is int else None
    if reader is None or len(column) != reader[0]:
        raise NotCanonical("a column has a mode that is not known; upgrade syncmem, or ask the sender for it again")
    return reader[1](column, clocks)


def _same(column: Column, clocks: Sequence[int] | None) -> list[Any]:
    if type(column[1]) is not int or not 1 <= column[1] <= BLOCK_EVENTS:
        raise _malformed()
    return [column[2]] * column[1]


def _plain(column: Column, clocks: Sequence[int] | None) -> list[Any]:
    return _listed(column[1])


def _named(column: Column, clocks: Sequence[int] | None) -> list[Any]:
    values, numbers = _listed(column[1]), _integers(column[2])
    if set(numbers) != set(range(len(values))):
        raise _malformed()
    return [values[number] for number in numbers]


def _summed(column: Column, clocks: Sequence[int] | None) -> list[Any]:
    return list(accumulate(_integers([column[1], *_listed(column[2])])))


def _from_clock(column: Column, clocks: Sequence[int] | None) -> list[Any]:
    steps = _listed(column[1])
    if clocks is None or len(steps) != len(clocks) or not _NUMBERS.issuperset(map(type, steps)):
        raise _malformed()
    return [None if step is None else clock + step for step, clock in zip(steps, clocks, strict=True)]


def _listed(value: Any) -> list[Any]:
    if type(value) is not list or len(value) > BLOCK_EVENTS:
        raise _malformed()
    return value


def _integers(value: Any) -> list[int]:
    if not {int}.issuperset(map(type, _listed(value))):
        raise _malformed()
    return cast("list[int]", value)


def _malformed() -> NotCanonical:
    return NotCanonical("a column is malformed; ask the sender for the frame again")


_READERS: Final[dict[int, tuple[int, Callable[[Column, Sequence[int] | None], list[Any]]]]] = {
    Mode.SAME: (3, _same),
    Mode.PLAIN: (2, _plain),
    Mode.INDEXED: (3, _named),
    Mode.STEPS: (3, _summed),
    Mode.FROM_CLOCK: (2, _from_clock),
}
