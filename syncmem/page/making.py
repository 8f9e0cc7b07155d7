"""Making pages: a package's own templates with the shared ones, and the style of a page that stands alone."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def templates(package: str) -> Environment:
    """The templates of a package (in its folder ``templates``), which may use the shared ones by their names."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("syncmem.page")]),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        auto_reload=False,  # a run shows one version of them
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": lambda number: f"{number:,}",
        "counted": lambda number, noun: f"{number:,} {noun}" + ("" if number == 1 else "s"),
        "size": size,
    }
    return environment


@cache
def style() -> str:
    """The style sheet of all pages."""
    return files("syncmem.page").joinpath("page.css").read_text(encoding="utf-8")


def alone(css: str, **more: Any) -> dict[str, Any]:
    """What ``frame.html`` needs for a page that carries its style; ``policy`` is what it allows: that style alone."""
    digest = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return {"style": css, "policy": policy, **more}


def size(number: float) -> str:
    """Bytes for people.

    >>> size(1), size(1536 * 1024)
    ('1 bytes', '1.5 MiB')
    """
    unit = 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.1f} {_UNITS[unit]}" if unit else f"{number:.0f} {_UNITS[0]}"
