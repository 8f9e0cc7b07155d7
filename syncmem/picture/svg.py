"""Drawings as SVG. Every text and attribute is escaped here, and only here.

On a page the styles come from its style sheet; a picture that stands alone carries them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

from syncmem.picture.legible import escaped
from syncmem.picture.shapes import Box, Drawing, Part, Shape, Stroke, Words

_HATCH: Final = (
    '<defs><pattern id="{name}-hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="stripe" width="3" height="7"/></pattern></defs>'
)


def svg(drawing: Drawing, *, alone: bool = False) -> str:
    """The element ``svg``; ``alone``: with all it needs to be a file of its own."""
    space = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
    size = f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" width="{_n(drawing.width)}"'
    role = "img" if alone or not any(isinstance(s, Part) and s.href for s in drawing.shapes) else "group"
    head = (
        f'<svg{space} id="{_text(drawing.name)}" class="picture" role="{role}" aria-label="{_text(drawing.title)}" '
        f'{size} height="{_n(drawing.height)}">'
    )
    style = f"<title>{_text(drawing.title)}</title><style>{stylesheet()}</style>" if alone else ""
    hatch = _HATCH.format(name=_text(drawing.name))
    return head + style + hatch + _all(drawing.shapes, drawing.name, linked=not alone) + "</svg>"


@cache
def stylesheet() -> str:
    """The styles of all pictures."""
    return files("syncmem.picture").joinpath("picture.css").read_text(encoding="utf-8")


def _all(shapes: Iterable[Shape], name: str, *, linked: bool) -> str:
    return "".join(_one(shape, name, linked) for shape in shapes)


def _one(shape: Shape, name: str, linked: bool) -> str:
    if isinstance(shape, Box):
        return _box(shape, name)
    if isinstance(shape, Words):
        anchor = "" if shape.anchor == "start" else f' text-anchor="{_text(shape.anchor)}"'
        place = f'x="{_n(shape.x)}" y="{_n(shape.y)}"{anchor}'
        return f'<text class="{_text(shape.kind)}" {place}>{_text(shape.text)}</text>'
    if isinstance(shape, Stroke):
        place = f'x1="{_n(shape.x1)}" y1="{_n(shape.y1)}" x2="{_n(shape.x2)}" y2="{_n(shape.y2)}"'
        return f'<line class="{_text(shape.kind)}" {place}/>'
    return _part(shape, name, linked)


def _box(box: Box, name: str) -> str:
    fill = f' fill="url(#{_text(name)}-hatch)"' if "hatched" in box.kind.split() else ""
    opacity = "" if box.opacity is None else f' fill-opacity="{_n(box.opacity)}"'
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}"'
    return f'<rect class="{_text(box.kind)}" {place}{opacity}{fill}/>'


def _part(part: Part, name: str, linked: bool) -> str:
    place = f'x="{_n(part.x)}" y="{_n(part.y)}" width="{_n(part.width)}" height="{_n(part.height)}"'
    seen = f'viewBox="{_n(part.x)} {_n(part.y)} {_n(part.width)} {_n(part.height)}"'
    inner = f"<title>{_text(part.title)}</title><svg {place} {seen}>{_all(part.shapes, name, linked=linked)}</svg>"
    if linked and part.href is not None:
        return f'<a href="{_text(part.href)}" aria-label="{_text(part.title)}">{inner}</a>'
    return f"<g>{inner}</g>"


def _n(number: float) -> str:
    """
    >>> _n(3.0), _n(3.14159)
    ('3', '3.14')
    """
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(escaped(text), quote=True)
