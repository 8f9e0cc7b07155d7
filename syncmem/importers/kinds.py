"""Which kinds of archives can be imported: those of this package, and those that others add (``syncmem.importers``)."""

from __future__ import annotations

from typing import Final

from syncmem.importers.records import Importer
from syncmem.provided import Provided

IMPORTERS: Final = Provided(
    "syncmem.importers",
    "importer",
    {
        "chatgpt": "syncmem.importers.chatgpt:ChatGPT",
        "claude": "syncmem.importers.claude:Claude",
        "mem0": "syncmem.importers.mem0:Mem0",
        "mcp": "syncmem.importers.server_memory:ServerMemory",
        "graphiti": "syncmem.importers.graphiti:Graphiti",
        "basic-memory": "syncmem.importers.basic_memory:BasicMemory",
        "vcard": "syncmem.importers.vcard:VCard",
        "jsonl": "syncmem.importers.tables:JsonLines",
        "csv": "syncmem.importers.tables:Csv",
    },
    ("kind", "read"),
)


def kinds() -> list[str]:
    """The names of all kinds."""
    return IMPORTERS.names()


def importer(kind: str) -> Importer:
    """The importer of a kind.

    Raises:
        InvalidInput: there is none, or it cannot be loaded.
    """
    made: Importer = IMPORTERS.made(kind)
    return made
