"""The IANA name of the system's time zone, as far as the system tells it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

LOCALTIME: Final = "/etc/localtime"
FOLDER: Final = "zoneinfo/"  # what precedes the name in the path that LOCALTIME links to


def system_zone(variables: Mapping[str, str] = os.environ, localtime: str = LOCALTIME) -> str | None:
    """The zone that TZ or the system's settings name; UTC where POSIX means it; None where it cannot be told.

    >>> system_zone({"TZ": ":Europe/Lisbon"})
    'Europe/Lisbon'
    """
    stated = variables.get("TZ")
    if stated is not None:
        name = stated.removeprefix(":")
        return _named(name) if name else "UTC"
    if os.name != "posix":
        return None
    file = Path(localtime)
    return _named(os.path.realpath(file)) if file.exists() else "UTC"


def _named(text: str) -> str | None:
    """The IANA name within a path or a value of TZ; None for a rule such as ``CET-1CEST``."""
    from syncmem.errors import InvalidInput
    from syncmem.model.instant import find_zone

    name = text.rpartition(FOLDER)[2]
    try:
        find_zone(name)
    except InvalidInput:
        return None
    return name
