"""Conditions on JSON objects: which of them a filter means.

A filter names fields and what they should be; an object meets it if it meets all of it:

* a plain value: the field equals it (1, 1.0 and true are equal; a missing field is null);
* an object whose keys begin with "$": ``$eq``, ``$ne``, or ``$gt``, ``$gte``, ``$lt``, ``$lte``, which compare what
  both are as numbers (texts of numbers, too), else both as texts; nothing else is greater or less than anything;
* another object: a filter of the object in the field; a list: item by item, of the same length.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from syncmem.errors import InvalidInput

Filter = Mapping[str, Any]
COMPARING: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_EQUAL: Final[dict[str, Callable[[Any, Any], bool]]] = {"$eq": operator.eq, "$ne": operator.ne}


def meets(value: object, wanted: Filter) -> bool:
    """Whether an object meets a filter.

    >>> meets({"score": 3, "by": {"name": "ana"}}, {"score": {"$gte": 2.5}, "by": {"name": "ana"}})
    True
    >>> meets({"score": 3}, {"other": {"$lt": 4}})
    False
    """
    return isinstance(value, dict) and all(_matches(value.get(name), each) for name, each in wanted.items())


def check(wanted: object) -> None:
    """Refuse a filter that means nothing.

    Raises:
        InvalidInput: an operator that there is not, or a filter that is no object.
    """
    if not isinstance(wanted, dict):
        raise InvalidInput(f"a filter is a dict of fields, not {type(wanted).__name__}; pass {{'field': value}}")
    for name, each in wanted.items():
        if not isinstance(name, str):
            raise InvalidInput(f"a field is named by text, not {name!r}; pass a str")
        if operates(each):
            unknown = [sign for sign in each if sign not in COMPARING and sign not in _EQUAL]
            if unknown:
                known = ", ".join([*_EQUAL, *COMPARING])
                raise InvalidInput(f"there is no operator {unknown[0]!r}; use {known}")
        elif isinstance(each, dict):
            check(each)


def operates(wanted: object) -> bool:
    """Whether a value of a filter is a set of operators."""
    return isinstance(wanted, dict) and any(str(sign).startswith("$") for sign in wanted)


def _matches(value: Any, wanted: Any) -> bool:
    if operates(wanted):
        return all(_holds(value, sign, other) for sign, other in wanted.items())
    if isinstance(wanted, dict):
        return meets(value, wanted)
    if isinstance(wanted, (list, tuple)):
        alike = isinstance(value, (list, tuple)) and len(value) == len(wanted)
        return alike and all(map(_matches, value, wanted))
    return bool(value == wanted)


def _holds(value: Any, sign: str, other: Any) -> bool:
    if sign in _EQUAL:
        return _EQUAL[sign](value, other)
    try:
        return COMPARING[sign](float(value), float(other))
    except (TypeError, ValueError, OverflowError):
        return isinstance(value, str) and isinstance(other, str) and COMPARING[sign](value, other)
