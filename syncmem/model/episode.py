"""Episodes: what was said or written, as it was: the raw turns and documents that claims come from.

Rules: an episode is what was declared of it, so its id is a hash of its payload: the same episode has the same
id on every device, however often it is observed.  A small one carries its content; of a larger one the payload
holds the hash of each chunk, and the chunks lie beside the log (see the protocol, Content), to be fetched when
somebody asks.  An episode is an entity itself, called ``episode:`` and its id, so that an erasure can name it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

from syncmem import labels
from syncmem.codec import pack
from syncmem.errors import NotCanonical
from syncmem.model.instant import EARLIEST, LATEST

EPISODE_ID_BYTES: Final = 16
HASH_BYTES: Final = 32
CHUNK_BYTES: Final = 48 * 1024  # of content in one chunk: as much as the longest value
INLINE_BYTES_MAX: Final = 8 * 1024  # of content inside the event: a long turn; what is longer is fetched on demand
EPISODE_BYTES_MAX: Final = 64 * 1024 * 1024  # of content: the hashes of its chunks fit an event
KIND_BYTES_MAX: Final = 64
ENTITY_PREFIX: Final = "episode:"


class Episode(NamedTuple):
    """Payload of an episode.

    ``content`` holds all of a small one, ``chunks`` the hashes of a larger one's chunks, one after the other.
    """

    kind: str  # "turn", "document" or what else its writer calls it
    speaker: str | None  # the entity that "I" means
    at: int  # when it was said or written
    conversation: str | None
    title: str | None
    media_type: str
    mentions: list[str] | None  # other entities that it speaks of
    text: bool  # whether the content is UTF-8, so that spans count characters
    size: int  # of the content, in bytes
    content: bytes | None
    chunks: bytes | None
    source_kind: str | None
    source_id: str | None
    extra: dict[str, Any] | None  # zone, ...

    @property
    def chunk_count(self) -> int:
        return len(self.chunks or b"") // HASH_BYTES

    def hash_of(self, number: int) -> bytes:
        """The hash of a chunk, numbered from 1."""
        assert self.chunks is not None
        return self.chunks[(number - 1) * HASH_BYTES : number * HASH_BYTES]


def episode_id(scope: str, payload: bytes) -> bytes:
    """The id of an episode (16 bytes): of all that its payload says, in its scope."""
    return sha256(labels.EPISODE + pack(scope) + payload).digest()[:EPISODE_ID_BYTES]


def entity_of(id: bytes) -> str:
    """What an episode is called as an entity."""
    return ENTITY_PREFIX + id.hex()


def entities_of(scope: str, payload: bytes, said: Episode) -> list[str]:
    """All entities that an episode is about: itself, its speaker, and whom it mentions."""
    speaker = [] if said.speaker is None else [said.speaker]
    return list(dict.fromkeys([entity_of(episode_id(scope, payload)), *speaker, *(said.mentions or ())]))


def chunk_hash(content: bytes) -> bytes:
    """The hash by which an episode names a chunk."""
    return sha256(labels.CHUNK + content).digest()


def chunk_sizes(size: int) -> Iterator[int]:
    """The sizes of the chunks of so many bytes: all are full but the last."""
    for start in range(0, size, CHUNK_BYTES):
        yield min(CHUNK_BYTES, size - start)


def check_episode(said: Episode) -> None:
    """Refuse what no writer writes."""
    names = [said.speaker, said.conversation, said.title, said.source_kind, said.source_id]
    named = bool(said.media_type) and 1 <= len(said.kind.encode()) <= KIND_BYTES_MAX and "" not in names
    listed = said.mentions is None or all(type(name) is str and name for name in said.mentions)
    if not named or not listed or not EARLIEST <= said.at <= LATEST:
        raise NotCanonical("an episode has a kind, a time and names that are not empty; ask the sender to check it")
    if not _is_whole(said):
        raise NotCanonical("an episode holds its content or the hashes of its chunks; ask the sender to check it")


def _is_whole(said: Episode) -> bool:
    if said.content is not None:
        return said.chunks is None and said.size == len(said.content) and not (said.text and not _is_text(said.content))
    within = 0 < said.size <= EPISODE_BYTES_MAX
    return within and said.chunks is not None and len(said.chunks) == HASH_BYTES * -(-said.size // CHUNK_BYTES)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
