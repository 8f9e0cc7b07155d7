"""A question of the harness: a JSON object whose fields are taken out with their types checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from syncmem.conformance.notation import bytes_of
from syncmem.errors import InvalidInput
from syncmem.model.text import is_writable


@dataclass(frozen=True, slots=True)
class Ask:
    """The fields of one line; each method raises :class:`InvalidInput` for one that is missing or of another type."""

    fields: dict[str, Any]

    def has(self, name: str) -> bool:
        return name in self.fields

    def data(self, name: str, default: bytes | None = None) -> bytes:
        if default is not None and name not in self.fields:
            return default
        return bytes_of(self._field(name, str))

    def text(self, name: str) -> str:
        return _encodable(self._field(name, str))

    def number(self, name: str) -> int:
        return _of_64_bits(self._field(name, int))

    def value(self, name: str) -> Any:
        if name not in self.fields:
            raise InvalidInput(f"the line lacks the field {name!r}; see protocol/harness.md")
        return self.fields[name]

    def each_data(self, name: str) -> list[bytes]:
        """A list of byte strings."""
        return [bytes_of(item) for item in self._field(name, list)]

    def numbers(self, name: str) -> list[int]:
        """A list of integers; empty where the field is missing."""
        return [_of_64_bits(item) for (item,) in self._rows(name, int)]

    def pairs(self, name: str) -> list[tuple[bytes, int]]:
        """A list of ``[bytes, integer]``; empty where the field is missing."""
        return [(bytes_of(key), number) for key, number in self._rows(name, str, int)]

    def nodes(self, name: str) -> dict[int, bytes]:
        """A list of ``[integer, bytes]``; empty where the field is missing."""
        return {number: bytes_of(text) for number, text in self._rows(name, int, str)}

    def two_each(self, name: str) -> list[tuple[bytes, bytes]]:
        """A list of ``[bytes, bytes]``; empty where the field is missing."""
        return [(bytes_of(one), bytes_of(other)) for one, other in self._rows(name, str, str)]

    def keyed(self, name: str) -> dict[str, bytes]:
        """An object of byte strings; empty where the field is missing."""
        return {_encodable(key): bytes_of(text) for key, text in self._field(name, dict, {}).items()}

    def _rows(self, name: str, *types: type[Any]) -> list[list[Any]]:
        """Rows of as many entries as there are types; of a single type the entries may stand alone."""
        rows = self._field(name, list, [])
        rows = [[item] for item in rows] if len(types) == 1 else rows
        if not all(type(row) is list and tuple(map(type, row)) == types for row in rows):
            raise InvalidInput(f"the field {name!r} is a list of other rows; see protocol/harness.md")
        return rows

    def _field(self, name: str, kind: type[Any], default: Any = None) -> Any:
        found = self.value(name) if default is None else self.fields.get(name, default)
        if type(found) is not kind:
            raise InvalidInput(f"the field {name!r} has another type; see protocol/harness.md")
        return found


def _encodable(text: str) -> str:
    if not is_writable(text):
        raise InvalidInput("a lone surrogate has no UTF-8; send another text")
    return text


def _of_64_bits(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise InvalidInput("a number has 64 bits; send another")
    return number
