"""How lines of JSON write what JSON cannot: bytes, integers of 64 bits, floats bit by bit, maps in order.

| value          | written as                                                                     |
|----------------|--------------------------------------------------------------------------------|
| bytes          | hexadecimal text; ``(ab*3)`` is ``ababab``, so that long inputs stay short      |
| integer        | ``{"int": "-5"}``, within a value; a plain number where a field is an integer   |
| float          | ``{"float": "3ff8000000000000"}``: its 8 bytes                                  |
| bytes          | ``{"bytes": "00ff"}``, within a value                                           |
| map            | ``{"map": [["a", null]]}``, in the order of its bytes                           |
| others         | null, true, false, text and arrays are themselves                               |
"""

from __future__ import annotations

import re
import struct
from typing import Any, Final

from syncmem.errors import InvalidInput

BYTES_MAX: Final = 20 * 1024 * 1024  # what the text of one field may stand for: above the largest message
_RUN: Final = re.compile(r"\(((?:[0-9a-f]{2})+)\*([0-9]{1,8})\)|((?:[0-9a-f]{2})+)")


def bytes_of(text: object) -> bytes:
    """The bytes of hexadecimal text with runs.

    >>> bytes_of("01(ff*3)02").hex()
    '01ffffff02'

    Raises:
        InvalidInput: it is something else, or stands for more than 20 MiB.
    """
    if type(text) is not str:
        raise InvalidInput("bytes are written as hexadecimal text; write them so")
    parts, place, size = [], 0, 0
    for found in _RUN.finditer(text):
        count = 1 if found[3] else int(found[2])
        part = bytes.fromhex(found[3] or found[1])
        size += len(part) * count
        if found.start() != place or size > BYTES_MAX:
            break
        parts.append(part * count)
        place = found.end()
    if place != len(text):
        raise InvalidInput("bytes are hexadecimal text such as 00ff or (00*512), of 20 MiB at most; write them so")
    return b"".join(parts)


def tagged(value: Any) -> Any:
    """A decoded value in the notation of the table.

    >>> tagged([1, "a", None, 1.5, b"x", {"k": True}])
    [{'int': '1'}, 'a', None, {'float': '3ff8000000000000'}, {'bytes': '78'}, {'map': [['k', True]]}]
    """
    if type(value) is list:
        return [tagged(item) for item in value]
    if type(value) is dict:
        return {"map": [[key, tagged(item)] for key, item in value.items()]}
    if type(value) is int:
        return {"int": str(value)}
    if type(value) is float:
        return {"float": struct.pack(">d", value).hex()}
    return {"bytes": value.hex()} if type(value) is bytes else value


def untagged(written: Any) -> Any:
    """The value that the notation stands for.

    Raises:
        InvalidInput: it stands for none.
    """
    if written is None or type(written) in (bool, str):
        return written
    if type(written) is list:
        return [untagged(item) for item in written]
    try:
        ((tag, content),) = written.items()
        return _UNTAGGED[tag](content)
    except (AttributeError, KeyError, TypeError, ValueError, struct.error) as error:
        raise InvalidInput("a value is not in the notation of the harness; see protocol/harness.md") from error


_UNTAGGED: Final[dict[str, Any]] = {
    "int": int,
    "float": lambda text: struct.unpack(">d", bytes.fromhex(text))[0],
    "bytes": bytes_of,
    "map": lambda pairs: {key: untagged(item) for key, item in pairs},
}
