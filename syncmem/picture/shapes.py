"""The drawing model: boxes, words and strokes, some of them together a part that has a meaning and may be a link.

``kind`` holds style names (see ``picture.css``); places and sizes are in pixels, y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    kind: str
    opacity: float | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """One line of text; ``anchor`` is "start", "middle" or "end"."""

    x: float
    y: float
    text: str
    kind: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Stroke:
    x1: float
    y1: float
    x2: float
    y2: float
    kind: str


@dataclass(frozen=True, slots=True)
class Part:
    """Shapes that mean one thing; nothing of them is seen outside of ``(x, y, width, height)``."""

    title: str
    x: float
    y: float
    width: float
    height: float
    shapes: tuple[Box | Words | Stroke, ...]
    href: str | None = None


Shape = Box | Words | Stroke | Part


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture: ``name`` is its id on a page (letters, digits, hyphens), ``title`` what it shows."""

    name: str
    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]
