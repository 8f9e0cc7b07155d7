"""What came out of an archive, as its event says it: of which archive, of which record of it, and what that said.

Rules: the mark is made of the archive's own words, before any of them is read as a date or a number, so the same
record has the same mark in every time zone and on every device; the mark decides nothing about beliefs.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final

from syncmem.model.episode import Episode
from syncmem.model.event import Payload, Statement

IMPORTED: Final = "imported"  # in ``extra``
BATCH: Final = "batch"  # in ``extra`` of an episode: the batch that it belongs to
ORIGIN_BYTES: Final = 4
IDENTITY_BYTES: Final = 6
CONTENT_BYTES: Final = 10
MARK_BYTES: Final = ORIGIN_BYTES + IDENTITY_BYTES + CONTENT_BYTES


def origin(scope: str, kind: str, name: str) -> bytes:
    """The beginning of the marks of all that ever came from one source."""
    return _digest([scope, kind, name], ORIGIN_BYTES)


def mark(of: bytes, identity: object, content: object) -> bytes:
    """The mark of a record: its identity (what it is called there) and its content (what it says) are JSON types."""
    return of + _digest(identity, IDENTITY_BYTES) + _digest([identity, content], CONTENT_BYTES)


def mark_of(payload: Payload | None) -> bytes | None:
    """The mark that an event carries, if it is one of an import."""
    extra = payload.extra if isinstance(payload, Statement | Episode) else None
    found = (extra or {}).get(IMPORTED)
    return found if type(found) is bytes and len(found) == MARK_BYTES else None


def batch_of_episode(said: Episode) -> str | None:
    """The batch that an episode belongs to."""
    found = (said.extra or {}).get(BATCH)
    return found if type(found) is str and found else None


def _digest(what: object, size: int) -> bytes:
    return sha256(json.dumps(what, ensure_ascii=True, sort_keys=True, default=str).encode()).digest()[:size]
