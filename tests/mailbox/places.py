"""Every kind of place where mailboxes may be, by name: each is real, and empty at first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.mailbox.serving import running

KINDS = (
    "memory", "folder", "bucket in memory", "bucket in files", "bucket at a server", "relay on SQLite",
    "relay on PostgreSQL", "relay on SQLite with objects", "relay on PostgreSQL with objects",
)  # fmt: skip
QUICK = tuple(kind for kind in KINDS if kind != "bucket at a server")  # that one takes twenty seconds for 2,000 blobs


@contextlib.contextmanager
def place(kind: str, folders: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a place, which is there until the block ends."""
    folder = folders.mktemp("place")
    if kind == "memory":
        yield "memory"
    elif kind == "folder":
        yield f"folder:{folder}"
    elif kind == "bucket in memory":
        yield f"memory://{folder.name}/mailboxes"
    elif kind == "bucket in files":
        yield f"file://{folder}"
    elif kind == "bucket at a server":
        yield request.getfixturevalue("storage").bucket()
    else:
        store = request.getfixturevalue("postgres").database() if "PostgreSQL" in kind else folder / "relay"
        blobs = None
        if "objects" in kind:
            in_memory = "SQLite" in kind  # the other one over a real socket
            blobs = f"memory://{folder.name}" if in_memory else request.getfixturevalue("storage").bucket()
        with running(store, blobs=blobs) as relay:
            yield relay.address
