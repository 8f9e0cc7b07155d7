"""Paths of files that are in no file system, and how files and folders are shown to a model.

Rule: a path has one form and stays in its folder, however it is written; everything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from syncmem.model.text import normalized

ROOT: Final = "/memories"
BELIEFS: Final = "/memories/beliefs"
LEVELS: Final = 2  # of folders in a listing
LINES_MAX: Final = 999_999


class Refused(Exception):
    """What the tool answers where it does not do what was asked."""


def place_of(path: str) -> str:
    """A path in its one form; refuses what does not stay in the folder, written plainly or encoded."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise Refused(f"Error: Path must start with {ROOT}, got: {path}")
    place = path.rstrip("/")
    parts = unquote(place).replace("\\", "/").split("/")[1:]
    if any(part in ("", ".", "..") for part in parts) or any(not letter.isprintable() for letter in unquote(place)):
        raise Refused(f"Error: Path {path} would escape {ROOT} directory")
    return normalized(place)


def is_belief(place: str) -> bool:
    return place == BELIEFS or place.startswith(f"{BELIEFS}/")


def file_name(entity: str) -> str:
    for letter in "%/\\":
        entity = entity.replace(letter, f"%{ord(letter):02X}")
    return f"{entity}.md"


def is_in(place: str, folder: str) -> bool:
    return place.startswith(f"{folder}/")


def inside_of(files: Mapping[str, str], place: str) -> list[str]:
    return [name for name in files if is_in(name, place)]


def occurrences(text: str, part: str) -> list[int]:
    found, start = [], text.find(part) if part or not text else -1  # nothing stands nowhere, but for an empty text
    while start >= 0:
        found.append(start)
        start = text.find(part, start + 1)
    return found


def numbered(lines: list[str], first: int, last: int) -> str:
    """Numbered lines, from 1."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first))


def shown_file(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        raise Refused(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 1, len(lines)
    if view_range is not None:
        if len(view_range) != 2 or not all(type(each) is int for each in view_range):
            raise Refused(f"Error: Invalid `view_range` parameter: {view_range}. It should be two line numbers")
        first, last = max(1, view_range[0]), last if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {path} with line numbers:\n{numbered(lines, first, last)}"


def shown_folder(place: str, sizes: Mapping[str, int]) -> str:
    """A folder with what is in it, two levels deep; a folder is as large as its files."""
    shown: dict[str, int] = {}
    for name, size in sizes.items():
        parts = name.removeprefix(f"{place}/").split("/")
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        for level in range(1, min(len(parts), LEVELS) + 1):
            entry = "/".join([place, *parts[:level]]) + ("/" if level < len(parts) else "")
            shown[entry] = shown.get(entry, 0) + size
    head = f"Here're the files and directories up to {LEVELS} levels deep in {place}, "
    head += "excluding hidden items and node_modules:"
    rows = [(place, sum(sizes.values())), *sorted(shown.items())]
    return "\n".join([head, *(f"{_size(size)}\t{entry}" for entry, size in rows)])


def _size(size: float) -> str:
    """As people read it.

    >>> _size(12), _size(5632), _size(1258291)
    ('12B', '5.5K', '1.2M')
    """
    if size < 1024:
        return f"{size:.0f}B"
    return f"{size / 1024:.1f}K" if size < 1024**2 else f"{size / 1024**2:.1f}M"
