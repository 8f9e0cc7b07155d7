"""What a mailbox is asked and what it answers, and what every kind of mailbox promises.

Rules: a mailbox holds sealed blobs in streams and knows nothing of what is in them; its id is the hash of
the key that signs requests to it, so a request proves itself; every put is answered for itself; nothing
is ever taken for deleted because it is not listed; a blob that was dropped keeps its place and its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from syncmem import labels
from syncmem.codec import pack
from syncmem.seal.keys import verify

STREAM_BYTES, DIGEST_BYTES, MAILBOX_BYTES, EPOCH_BYTES, KEY_BYTES = 8, 16, 16, 16, 32
COUNTER_MAX: Final = 10**12 - 1  # the digits of a name
BLOB_BYTES_MAX: Final = 1024 * 1024  # of the envelope format
STREAMS_MAX: Final = 4096  # of one mailbox: 50 devices that are restored once a year for decades
LISTED_MAX: Final = 2048  # blobs listed in one answer: about 100 KiB
INLINE_BYTES_MAX: Final = 4 * 1024 * 1024  # of blobs that come along with one answer, whatever is asked for
PUTS_MAX: Final = 256  # in one request
POSITION_MAX: Final = STREAMS_MAX * COUNTER_MAX
_NAME: Final = re.compile(r"([0-9a-f]{16})/([0-9]{12})-([0-9a-f]{32})")
_POSITION: Final = re.compile(r"([0-9a-f]{32})-(0|[1-9][0-9]{0,15})")


class BlobName(NamedTuple):
    """The name of a blob: its stream, its place there, and what it holds (a digest)."""

    stream: bytes
    counter: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.stream.hex()}/{self.counter:012d}-{self.digest.hex()}"

    @classmethod
    def parse(cls, text: str) -> BlobName | None:
        """The name of a text, or None where it is none."""
        found = _NAME.fullmatch(text)
        return None if found is None else cls(bytes.fromhex(found[1]), int(found[2]), bytes.fromhex(found[3]))


class Position(NamedTuple):
    """How far a mailbox has come: its epoch, and the sum of the ends of its streams; it says nothing of contents."""

    epoch: bytes
    ends: int

    def __str__(self) -> str:
        return f"{self.epoch.hex()}-{self.ends}"

    @classmethod
    def parse(cls, text: str) -> Position | None:
        """The position of a text, or None where it is none."""
        found = _POSITION.fullmatch(text)
        return None if found is None or int(found[2]) > POSITION_MAX else cls(bytes.fromhex(found[1]), int(found[2]))


def digest(blob: bytes) -> bytes:
    """The digest in a blob's name (16 bytes)."""
    return sha256(blob).digest()[:DIGEST_BYTES]


@lru_cache(maxsize=4096)
def mailbox_id(key: bytes) -> bytes:
    """The id of the mailbox that a public write key opens (16 bytes)."""
    return sha256(labels.MAILBOX + key).digest()[:MAILBOX_BYTES]


class Put(NamedTuple):
    """A blob to be kept."""

    stream: bytes
    counter: int
    blob: bytes


class Outcome(IntEnum):
    """What became of a put."""

    STORED = 0
    KNOWN = 1
    CONFLICT = 2  # another blob has that place in the stream
    TOO_LARGE = 3
    OVER_QUOTA = 4
    MALFORMED = 5


class PutResult(NamedTuple):
    outcome: Outcome
    reason: str


class Listed(NamedTuple):
    """A blob that is there; small ones come along while the asker's budget lasts."""

    name: BlobName
    size: int
    blob: bytes | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """Here are mine, what is new?

    Attributes:
        key: the public write key; ``cursors``: stream -> last place up to which the asker has everything.
        inline_bytes_max: how many bytes of blobs may come with the answer, up to ``INLINE_BYTES_MAX``.
        drop_key: a public key that this member registers, to authorise drops later.
        making_room: what is put holds anew what is to be dropped next, so a full mailbox takes some of it, too.
    """

    key: bytes
    puts: Sequence[Put]
    cursors: Mapping[bytes, int]
    inline_bytes_max: int
    drop_key: bytes | None = None
    making_room: bool = False

    @property
    def mailbox(self) -> bytes:
        return mailbox_id(self.key)


@dataclass(frozen=True, slots=True)
class Answer:
    """The mailbox's epoch, one result a put, how far each stream goes, and what lies behind the cursors."""

    epoch: bytes
    results: Sequence[PutResult]
    ends: Mapping[bytes, int]
    listed: Sequence[Listed]
    more: bool

    @property
    def position(self) -> Position:
        """How far the mailbox had come when it answered."""
        return Position(self.epoch, sum(self.ends.values()))


@dataclass(frozen=True, slots=True)
class Watch:
    """Tell me when the mailbox has moved from where I saw it (None: I have not)."""

    key: bytes
    since: Position | None

    @property
    def mailbox(self) -> bytes:
        return mailbox_id(self.key)


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget these blobs: "erase" is authorised by one member's drop key, "compact" by two.

    The answer says which are gone, also those that were before: a question whose answer was lost may be repeated.
    ``signatures``: (drop public key, its signature over :func:`dropping`).
    """

    key: bytes
    names: Sequence[BlobName]
    reason: str
    signatures: Sequence[tuple[bytes, bytes]]

    @property
    def mailbox(self) -> bytes:
        return mailbox_id(self.key)


CONFLICT: Final = "another blob has this place in the stream; write under a new incarnation"


class Mailbox(Protocol):
    """One way to mailboxes: a folder, a relay. All of them keep the same promises.

    ``push``: the address of a relay that tells when a mailbox moves; None where only asking shows it.
    """

    address: str
    push: str | None

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer: ...

    def get(
        self, key: bytes, write_seed: bytes, names: Sequence[BlobName]
    ) -> Iterator[tuple[BlobName, bytes | None]]: ...

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]: ...

    def close(self) -> None: ...


def check_put(put: Put) -> PutResult | None:
    """Why a put cannot be kept, whatever the mailbox holds; None where it can."""
    if len(put.stream) != STREAM_BYTES or not 1 <= put.counter <= COUNTER_MAX or not put.blob:
        return PutResult(Outcome.MALFORMED, "a blob has a stream, a place from 1 and content; upgrade syncmem")
    if len(put.blob) > BLOB_BYTES_MAX:
        return PutResult(Outcome.TOO_LARGE, f"a blob has at most {BLOB_BYTES_MAX} bytes; send it in parts")
    return None


def fitting(listed: Sequence[Listed], wanted: int) -> list[BlobName]:
    """The blobs whose contents come along: the first ones, while they fit the budget."""
    budget = min(wanted, INLINE_BYTES_MAX)
    names = []
    for entry in listed:
        budget -= entry.size
        if budget >= 0:
            names.append(entry.name)
    return names


def dropping(mailbox: bytes, names: Sequence[BlobName], reason: str) -> bytes:
    """What a drop key signs."""
    return mailbox + pack([reason, [list(name) for name in names]])


def may_drop(request: Drop, registered: set[bytes]) -> bool:
    """Whether enough registered keys have signed a drop: one to erase; to compact two, or one where it is alone."""
    said = dropping(request.mailbox, request.names, request.reason)
    signers = {
        k for k, signature in request.signatures if k in registered and verify(k, labels.DROPPING, said, signature)
    }
    needed = 1 if request.reason == "erase" else min(2, max(len(registered), 1))
    return request.reason in ("erase", "compact") and len(signers) >= needed
