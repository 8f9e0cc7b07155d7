"""Frozen results, made quickly: filled while they are open, and closed once they are full.

A frozen dataclass fills itself the long way round, field by field through ``object.__setattr__``, which takes four
times as long as one that is not frozen; where very many are made, that is a good part of a reading.

>>> from syncmem.results import Source
>>> made = maker(Source)("document", "letter", None, None)
>>> made == Source("document", "letter"), hash(made) == hash(Source("document", "letter"))
(True, True)
>>> made.kind = "user"
Traceback (most recent call last):
    ...
dataclasses.FrozenInstanceError: cannot assign to field 'kind'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def maker(kind: type[T]) -> Callable[..., T]:
    """What makes instances of a frozen, slotted dataclass from the values of all its fields, in their order."""
    opened: Any = make_dataclass(kind.__name__, [(each.name, Any) for each in fields(kind)], slots=True)  # type: ignore[arg-type]

    def make(*values: Any) -> T:
        made = opened(*values)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make
