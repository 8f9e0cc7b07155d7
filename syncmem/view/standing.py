"""The pages about the memory as a whole: devices and mailboxes, the read log, and search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncmem.errors import NotFound
from syncmem.view.viewer import number_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from syncmem.view.viewer import Viewer

READS: Final = 40
FOUND: Final = 100
SEARCH_CHARACTERS_MAX: Final = 1_000


def devices(viewer: Viewer, request: Request) -> Response:
    """Who belongs to the vault, and how far each and each mailbox has come."""
    return viewer.page("devices.html", status=200, standing=viewer.memory.status(), held=viewer.memory.devices())


def reads(viewer: Viewer, request: Request) -> Response:
    """What was recalled on this device."""
    before = number_of(request, "before") or None
    found = viewer.memory.read_log(before=before, limit=READS + 1)
    return viewer.page("reads.html", entries=found[:READS], more=len(found) > READS)


def read(viewer: Viewer, request: Request) -> Response:
    """What a model had in front of it, and what would be different now."""
    receipt = request.query_params.get("receipt", "")
    if not receipt:
        raise NotFound("which recall? follow a link from the read log")
    return viewer.page("read.html", said=viewer.memory.why_said(receipt))


def search(viewer: Viewer, request: Request) -> Response:
    """Beliefs, of any time, that hold every word of a text."""
    text = request.query_params.get("text", "").strip()[:SEARCH_CHARACTERS_MAX]
    words = any(character.isalnum() for character in text)
    found = viewer.memory.search(text, limit=FOUND + 1, scope=None) if words else []
    return viewer.page("search.html", text=text, found=found[:FOUND], more=len(found) > FOUND, asked=words)
