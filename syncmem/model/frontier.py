"""The payload of a FRONTIER note: what its writer held when, and so what it had seen before what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from syncmem.errors import NotCanonical
from syncmem.model.instant import LATEST

LOG_BYTES: Final = 16
LOG_START_BYTES: Final = 8  # of a log's id, where its readers know it by that
HEAD_BYTES: Final = 8  # of a chain value: enough to tell the branches of a forked log


class Frontier(NamedTuple):
    """Payload: what the device held from its transaction ``n`` on, of the logs that changed.

    ``changed`` lists ``[log id, last place, start of the head there]``.
    """

    n: int
    fold_version: int
    changed: list[list[Any]]
    extra: dict[str, Any] | None


class Noted(NamedTuple):
    """What a frontier note says that is sent later: its place and clock, and how far which logs were held.

    Attributes:
        changed: pairs of the start of a log's id (8 bytes) and the last place that was held.
    """

    place: int
    clock: int
    changed: Sequence[tuple[bytes, int]]


def check_frontier(note: Frontier, *, place_max: int) -> None:
    """Refuse what no writer writes."""
    counted = 0 <= note.n <= LATEST and 0 <= note.fold_version <= LATEST
    if not counted or not all(_is_entry(entry, place_max) for entry in note.changed):
        raise NotCanonical("a frontier note counts from 0 and lists [log id, place, head]; ask the sender to check it")


def _is_entry(entry: Any, place_max: int) -> bool:
    typed = type(entry) is list and [*map(type, entry)] == [bytes, int, bytes]
    return typed and (len(entry[0]), len(entry[2])) == (LOG_BYTES, HEAD_BYTES) and 0 <= entry[1] <= place_max
