"""Mailboxes in memory: for tests and simulations, and the plain reference of what every kind must do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from syncmem.environment import Environment
from syncmem.wire.mailbox import (
    CONFLICT,
    EPOCH_BYTES,
    LISTED_MAX,
    Answer,
    BlobName,
    Drop,
    Exchange,
    Listed,
    Outcome,
    Put,
    PutResult,
    check_put,
    digest,
    fitting,
    mailbox_id,
    may_drop,
)


@dataclass(slots=True)
class _Box:
    epoch: bytes
    blobs: dict[bytes, dict[int, bytes]] = field(default_factory=dict)  # stream -> counter -> blob, empty once dropped
    dropped: set[BlobName] = field(default_factory=set)
    ends: dict[bytes, int] = field(default_factory=dict)
    drop_keys: set[bytes] = field(default_factory=set)


class InMemoryServer:
    """All mailboxes at one address."""

    def __init__(self, randomness: Callable[[int], bytes] | None = None) -> None:
        self._randomness = randomness or Environment().randomness
        self.boxes: dict[bytes, _Box] = {}

    def mailbox(self, address: str = "memory:") -> InMemoryMailbox:
        return InMemoryMailbox(self, address)

    def reset(self) -> None:
        """Lose everything."""
        self.boxes.clear()

    def box(self, id: bytes) -> _Box:
        if id not in self.boxes:
            self.boxes[id] = _Box(self._randomness(EPOCH_BYTES))
        return self.boxes[id]


class InMemoryMailbox:
    """See :class:`syncmem.wire.mailbox.Mailbox`."""

    def __init__(self, server: InMemoryServer, address: str) -> None:
        self.address = address
        self.push: str | None = None
        self._server = server

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        box = self._server.box(request.mailbox)
        if request.drop_key is not None:
            box.drop_keys.add(request.drop_key)
        results = [self._put(box, put) for put in request.puts]
        own = {(put.stream, put.counter) for put in request.puts}
        listed = [
            Listed(BlobName(stream, counter, digest(blob)), len(blob), blob)
            for stream, blobs in sorted(box.blobs.items())
            for counter, blob in sorted(blobs.items())
            if blob and counter > request.cursors.get(stream, 0) and (stream, counter) not in own
        ]
        along = {*fitting(listed[:LISTED_MAX], request.inline_bytes_max)}
        told = [entry if entry.name in along else entry._replace(blob=None) for entry in listed[:LISTED_MAX]]
        return Answer(box.epoch, results, dict(box.ends), told, len(listed) > LISTED_MAX)

    def _put(self, box: _Box, put: Put) -> PutResult:
        refused = check_put(put)
        if refused is not None:
            return refused
        stream = box.blobs.setdefault(put.stream, {})
        if put.counter in stream:
            name = BlobName(put.stream, put.counter, digest(put.blob))
            same = stream[put.counter] == put.blob or name in box.dropped
            return PutResult(Outcome.KNOWN, "") if same else PutResult(Outcome.CONFLICT, CONFLICT)
        stream[put.counter] = put.blob
        box.ends[put.stream] = max(box.ends.get(put.stream, 0), put.counter)
        return PutResult(Outcome.STORED, "")

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        box = self._server.box(mailbox_id(key))
        for name in names:
            blob = box.blobs.get(name.stream, {}).get(name.counter)
            yield name, blob if blob is not None and digest(blob) == name.digest else None

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        box = self._server.box(request.mailbox)
        if not may_drop(request, box.drop_keys):
            return [False for _ in request.names]
        dropped = []
        for name in request.names:
            blobs = box.blobs.get(name.stream, {})
            if name.counter in blobs and digest(blobs[name.counter]) == name.digest:
                blobs[name.counter] = b""  # its place stays taken
                box.dropped.add(name)
            dropped.append(name in box.dropped)
        return dropped

    def close(self) -> None:
        pass
