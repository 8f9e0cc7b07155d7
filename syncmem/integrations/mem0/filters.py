"""The filters of mem0's search and get_all: one function from a filter and the fields of a memory to a yes or no.

| filter                          | holds where the field                                   |
|---------------------------------|---------------------------------------------------------|
| ``{"f": x}``, ``{"f": {"eq": x}}`` | is x                                                 |
| ``{"f": [x, y]}``, ``in``, ``nin`` | is one of them, is none of them                      |
| ``ne``, ``gt``, ``gte``, ``lt``, ``lte`` | compares so; text with text, numbers with numbers |
| ``contains``, ``icontains``     | holds the text (any case)                               |
| ``{"f": "*"}``                  | may be anything                                         |
| ``AND``, ``OR``, ``NOT``        | of a list of filters: all, any, none                    |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from syncmem.errors import InvalidInput

ANY: Final = "*"
_OWNERS: Final = ("user_id", "agent_id", "run_id")
_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "gt": lambda field, given: field > given,
    "gte": lambda field, given: field >= given,
    "lt": lambda field, given: field < given,
    "lte": lambda field, given: field <= given,
}


def holds(filters: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Whether a memory with these fields passes.

    >>> holds({"user_id": "ana", "hours": {"gte": 2, "lt": 5}}, {"user_id": "ana", "hours": 3})
    True
    >>> holds({"OR": [{"kind": "diet"}, {"kind": {"in": ["sport"]}}], "NOT": [{"old": True}]}, {"kind": "sport"})
    True

    Raises:
        InvalidInput: an operator is not one of those above.
    """
    return all(_passes(name, wanted, fields) for name, wanted in filters.items())


def _passes(name: str, wanted: Any, fields: Mapping[str, Any]) -> bool:
    if name in ("AND", "OR", "NOT"):
        if not isinstance(wanted, list) or not all(isinstance(each, dict) for each in wanted):
            raise InvalidInput(f"{name} takes a list of filters, such as [{{'kind': 'diet'}}]; pass one")
        found = [holds(each, fields) for each in wanted]
        return all(found) if name == "AND" else any(found) if name == "OR" else not any(found)
    field = fields.get(name)
    if isinstance(wanted, dict):
        return all(_compares(operator, field, given) for operator, given in wanted.items())
    if isinstance(wanted, list):
        return field in wanted
    return wanted == ANY or bool(field == wanted)


def _compares(operator: str, field: Any, given: Any) -> bool:
    if operator in ("eq", "ne"):
        return bool(field == given) is (operator == "eq")
    if operator in ("in", "nin"):
        return (field in given) is (operator == "in")
    if operator in ("contains", "icontains"):
        text, part = str(field or ""), str(given)
        return part.casefold() in text.casefold() if operator == "icontains" else part in text
    if operator not in _COMPARED:
        raise InvalidInput(f"there is no operator {operator!r}; use eq, ne, in, nin, gt, gte, lt, lte, contains")
    try:
        return field is not None and _COMPARED[operator](field, given)
    except TypeError:
        return False


def owners(given: Mapping[str, Any]) -> dict[str, str]:
    """Whose memories are meant, of user_id, agent_id and run_id, as mem0 checks and trims them.

    Raises:
        InvalidInput: none is named, or one holds white space.
    """
    found = {}
    for name in _OWNERS:
        if given.get(name) is not None:
            text = str(given[name]).strip()
            if not text or any(letter.isspace() for letter in text):
                raise InvalidInput(f"{name} is a name without white space, not {given[name]!r}; pass such a name")
            found[name] = text
    if not found:
        raise InvalidInput("nobody is named; pass at least one of user_id, agent_id, run_id (search: in filters)")
    return found
