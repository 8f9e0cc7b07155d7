"""Which kinds of archives can be imported: those of this package, and those that others add.

A package adds a kind by an entry point of the group ``syncmem.importers``: its name is the kind, its object makes an
:class:`~syncmem.importers.records.Importer` when it is called.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from syncmem.errors import InvalidInput
from syncmem.importers.records import Importer

GROUP: Final = "syncmem.importers"
_OWN: Final = {
    "chatgpt": ("chatgpt", "ChatGPT"),
    "claude": ("claude", "Claude"),
    "mem0": ("mem0", "Mem0"),
    "mcp": ("server_memory", "ServerMemory"),
    "graphiti": ("graphiti", "Graphiti"),
    "basic-memory": ("basic_memory", "BasicMemory"),
    "vcard": ("vcard", "VCard"),
    "jsonl": ("tables", "JsonLines"),
    "csv": ("tables", "Csv"),
}


def kinds() -> list[str]:
    """The names of all kinds."""
    return sorted({*_OWN, *entry_points(group=GROUP).names})


def importer(kind: str) -> Importer:
    """The importer of a kind.

    Raises:
        InvalidInput: there is none, or it cannot be loaded.
    """
    make: Any
    if kind in _OWN:
        module, name = _OWN[kind]
        make = getattr(import_module(f"syncmem.importers.{module}"), name)
    else:
        found = entry_points(group=GROUP, name=kind)
        if not found:
            raise InvalidInput(f"there is no importer of the kind {kind!r}; use one of {', '.join(kinds())}")
        try:
            make = next(iter(found)).load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(f"the importer {kind!r} cannot be loaded ({error}); install its package anew") from error
    made: Importer = make()
    return made
