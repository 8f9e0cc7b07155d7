"""Subjects: the entities that an event is about, and the names under which erasures speak of them.

Rules: a name is a keyed hash, so it can be recognised by who knows the entity and the key, and tells
others nothing; a statement is about its entity and about all that it mentions, a link about both its names; whom an
episode is about says :mod:`syncmem.model.episode`.
"""

from __future__ import annotations

import hmac
from typing import Final

from syncmem import labels
from syncmem.model.episode import Episode, entities_of
from syncmem.model.event import Erased, Event, Statement, readable
from syncmem.model.link import Link

NAME_BYTES: Final = 16
MENTIONS: Final = "mentions"  # in ``extra``: the other entities that a statement speaks of


def subject_name(key: bytes, entity: str) -> bytes:
    """How an erasure names an entity."""
    return hmac.digest(key, labels.SUBJECT + entity.encode(), "sha256")[:NAME_BYTES]


def mentioned(said: Statement) -> list[str]:
    """The entities that a statement declares to speak of, beside its own."""
    found = (said.extra or {}).get(MENTIONS)
    return [name for name in dict.fromkeys(_texts(found)) if name != said.entity]


def subjects(scope: str, event: Event | Erased) -> list[str]:
    """All entities that an event of a scope is about."""
    said = None if isinstance(event, Erased) else readable(event)
    if isinstance(said, Episode) and isinstance(event, Event):
        return entities_of(scope, event.payload, said)
    if isinstance(said, Link):
        return list(dict.fromkeys((said.one, said.other)))
    return [said.entity, *mentioned(said)] if isinstance(said, Statement) else []


def _texts(value: object) -> list[str]:
    return [item for item in value if type(item) is str] if type(value) is list else []
