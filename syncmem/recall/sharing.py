"""Sharing an entry of the read log with the other devices: as an episode, which travels and is erased as any other.

Rules: it holds references to claims, as the log does, and the question; it mentions whom either is about, so that it
is erased with each of them; it carries its receipt, so it is never new evidence.  Who receives it looks the claims up
in its own rectangles, at the first known time at which all that had arrived by then were there; what was replaced by
then is told as its claim alone has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from syncmem.errors import NotFound
from syncmem.model.words import terms
from syncmem.replica.readlog import Entry, Reference

KIND: Final = "recall"
_FIELDS: Final = ("time", "instant", "question", "asked")


def written(entry: Entry, found: Sequence[Reference], name_of: Callable[[int], str]) -> str:
    """An entry as the content of an episode; ``name_of``: the public name of the event at a position."""
    claims = [[name_of(each.claim), *each[1:]] for each in found if each.claim]
    told = {name: getattr(entry, name) for name in _FIELDS}
    return json.dumps({"receipt": entry.id, **told, "claims": claims}, ensure_ascii=False, sort_keys=True)


def read(
    text: str, position_of: Callable[[str], int], arrival: Callable[[int], int], n: int
) -> tuple[Entry, list[Reference]]:
    """An entry that another device wrote; ``n``: the known time at which it arrived."""
    told = json.loads(text)
    found = [Reference(_here(name, position_of), *rest) for name, *rest in told["claims"]]
    known = max([n, *(arrival(each.claim) for each in found if each.claim)])
    asked = told["asked"]
    if asked["n"] is not None:
        asked["n"] = known
    entry = Entry(0, told["receipt"], known, told["time"], told["instant"], told["question"], asked, None, True)
    return entry, found


def named_in(question: str, entities: Iterable[str]) -> set[str]:
    """The entities whose names are in a question."""
    said = set(terms(question))
    return {entity for entity in entities if (held := terms(entity)) and said.issuperset(held)}


def _here(name: str, position_of: Callable[[str], int]) -> int:
    """Where a claim stands here; 0: it was erased, or has not arrived."""
    try:
        return position_of(name)
    except NotFound:
        return 0
