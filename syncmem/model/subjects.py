"""Subjects: the entities that an event is about, and the names under which erasures speak of them.

Rules: a name is a keyed hash, so it can be recognised by who knows the entity and the key, and tells
others nothing; a statement is about its entity and about all that it mentions, a link about both its names; whom an
episode is about says :mod:`syncmem.model.episode`.  An entity that is a path (of an item in a store, of a file) is
named by each of its labels, too: who is to be forgotten is, wherever something was put under their name.
"""

from __future__ import annotations

import hmac
import json
import re
from typing import Final

from syncmem import labels
from syncmem.model.episode import Episode, entities_of
from syncmem.model.event import Erased, Event, Statement, readable
from syncmem.model.link import Link
from syncmem.model.text import is_writable, normalized

NAME_BYTES: Final = 16
MENTIONS: Final = "mentions"  # in ``extra``: the other entities that a statement speaks of
_LABEL: Final = r'"(?:[^"\\\x00-\x1f]|\\.)*"'
_PATH: Final = re.compile(rf"\[{_LABEL}(?:,{_LABEL})+\]")
_FILE: Final = re.compile("(?:/[^/]+){2,}", re.DOTALL)


def subject_name(key: bytes, entity: str) -> bytes:
    """How an erasure names an entity."""
    return hmac.digest(key, labels.SUBJECT + entity.encode(), "sha256")[:NAME_BYTES]


def path_of(entity: str) -> list[str] | None:
    """The labels of an entity that is a path: a JSON list of two texts or more, without white space around them.

    >>> path_of('["users","ana","prefs"]'), path_of("ana"), path_of('["ana"]')
    (['users', 'ana', 'prefs'], None, None)
    """
    if not entity.startswith('["') or _PATH.fullmatch(entity) is None:
        return None
    try:
        found: list[str] = json.loads(entity)
    except ValueError:  # an escape that there is not
        return None
    return found


def names_of(entity: str) -> list[str]:
    """By which names an erasure means an entity: its own and, of a path, each label as a name is written (in NFC).

    >>> names_of('["users","ana"]'), names_of("ana"), names_of("/users/ana.md")
    (['["users","ana"]', 'users', 'ana'], ['ana'], ['/users/ana.md', 'users', 'ana.md', 'ana'])
    """
    labels = path_of(entity) or (_labels_of_file(entity) if _FILE.fullmatch(entity) else [])
    return list(dict.fromkeys((entity, *(normalized(label) for label in labels if is_writable(label)))))


def _labels_of_file(path: str) -> list[str]:
    """The folders, the file, and the file without the ending behind its last dot."""
    _, *labels = path.split("/")
    stem = labels[-1].rpartition(".")[0]
    return [*labels, stem] if stem else labels


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
