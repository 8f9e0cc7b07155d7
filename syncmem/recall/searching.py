"""Searching: the rows that hold every word of a text, in the order of their names and times. Nothing is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from syncmem.model.words import name_text, terms
from syncmem.replica.catalog import Slot
from syncmem.replica.index import value_terms
from syncmem.replica.reading import Reading
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.replica import Replica


def rows_with(
    replica: Replica, reading: Reading, words: Sequence[str], scope: str | None
) -> Iterator[tuple[Slot, Rectangle]]:
    """What is believed, of any time in the world, and whose entity, predicate and value have all words.

    A word is there where another one begins with it.
    """
    candidates = set.intersection(*(_slots_with(replica, word) for word in words))
    slots = [slot for number in candidates if (slot := replica.catalog.known(number)) is not None]
    for slot in sorted(slots, key=lambda slot: (slot.entity, slot.predicate, slot.scope)):
        if scope in (None, slot.scope):
            names = [*terms(slot.entity), *terms(name_text(slot.predicate))]
            left = [word for word in words if not any(each.startswith(word) for each in names)]
            for _, rectangle in reading.timeline(slot, lanes=_lanes_with(replica, slot, left) if left else None):
                told = [*names, *value_terms(rectangle.value)]
                if all(any(each.startswith(word) for each in told) for word in words):
                    yield slot, rectangle


def _slots_with(replica: Replica, word: str) -> set[int]:
    """The slots that have a word in any of the three places."""
    found = {row[0] for row in replica.db.execute(_ENTITIES, (f'"@{word}"*',))}
    found |= {row[0] for row in replica.db.execute(_VALUES, (f'"{word}"*',))}
    for (predicate,) in replica.db.execute("SELECT DISTINCT predicate FROM slots").fetchall():
        if any(each.startswith(word) for each in terms(name_text(predicate))):
            found |= {slot.id for slot in replica.catalog.slots_of(predicate)}
    return found


def _lanes_with(replica: Replica, slot: Slot, words: Sequence[str]) -> list[bytes] | None:
    """The lanes of a slot in which a value has all of some words; None: there are so few that all may be read.

    To find them costs going through all values of the file that have the words.
    """
    (values,) = replica.db.execute("SELECT count(*) FROM documents WHERE slot = ?", (slot.id,)).fetchone()
    if values <= READ_WHOLE_MAX or not replica.catalog.predicate(slot.scope, slot.predicate).many:
        return None
    wanted = " AND ".join(f'"{word}"*' for word in words)
    return [row[0] for row in replica.db.execute(f"{_LANES} ORDER BY d.lane", (wanted, slot.id)).fetchall()]


READ_WHOLE_MAX: Final = 100  # values of a slot
_ENTITIES: Final = "SELECT rowid >> 1 FROM text_live WHERE text_live MATCH ? AND rowid & 1"
_VALUES: Final = (
    "SELECT d.slot FROM text_live t JOIN documents d ON d.id = t.rowid >> 1 WHERE text_live MATCH ? AND NOT t.rowid & 1"
)
_LANES: Final = _VALUES.replace("d.slot", "DISTINCT d.lane") + " AND d.slot = ?"
