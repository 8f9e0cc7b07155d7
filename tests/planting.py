"""Planting bugs: one piece of text of one file, replaced in a copy of the package.

Where that text is no longer there, the bug is to be planted anew: :func:`fits` counts its places.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Bug:
    """A wrong rule: what it does, and how it is planted."""

    name: str
    file: str
    old: str
    new: str


def fits(bug: Bug) -> int:
    """In how many places the bug can be planted: one, unless the code has moved on."""
    return (ROOT / "syncmem" / bug.file).read_text(encoding="utf-8").count(bug.old)


def plant(bug: Bug, folder: Path) -> None:
    """Put the bug into the copy of the package that lies in a folder."""
    file = folder / "syncmem" / bug.file
    file.write_text(file.read_text(encoding="utf-8").replace(bug.old, bug.new), encoding="utf-8")


def copy_to(folder: Path, without: Sequence[str]) -> None:
    """The package and the tests beside it, but for what matches ``without``."""
    for part in ("syncmem", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns(*without))
