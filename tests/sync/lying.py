"""A mailbox that lies: what it says and gives goes through functions that a test exchanges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Mailbox, Outcome, Put, PutResult

Given = tuple[BlobName, bytes | None]


class Liar:
    """A server that keeps what it is given, and tells what its functions make of it."""

    def __init__(self, server: InMemoryServer | None = None) -> None:
        self.server = server or InMemoryServer()
        self.questions = 0
        self.bytes_given = 0
        self.be_honest()

    def be_honest(self) -> None:
        self.keeps: Callable[[Put], bool] = lambda put: True
        self.tells: Callable[[Exchange, Answer], Answer] = lambda request, answer: answer
        self.gives: Callable[[Iterator[Given]], Iterator[Given]] = lambda given: given
        self.drops: Callable[[Drop], list[bool] | None] = lambda request: None

    def mailbox(self, address: str) -> Mailbox:
        return _Lying(address, self)

    def streams(self) -> Iterator[tuple[bytes, dict[int, bytes]]]:
        """Each mailbox's streams, which may be changed in place."""
        for box in self.server.boxes.values():
            yield from box.blobs.items()

    def drop(self, stream: bytes, counter: int) -> None:
        """Drop a blob that nobody asked to drop; its place stays taken."""
        for other, blobs in self.streams():
            if other == stream:
                blobs[counter] = b""


class _Lying:
    """One connection."""

    def __init__(self, address: str, liar: Liar) -> None:
        self.address = address
        self.push = None
        self._liar = liar

    @property
    def _inner(self) -> Mailbox:
        return self._liar.server.mailbox(self.address)

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        self._liar.questions += 1
        kept = [put for put in request.puts if self._liar.keeps(put)]
        answer = self._inner.exchange(replace(request, puts=kept), write_seed)
        results = iter(answer.results)
        told = [next(results) if put in kept else PutResult(Outcome.STORED, "") for put in request.puts]
        answer = self._liar.tells(request, replace(answer, results=told))
        self._liar.bytes_given += sum(len(entry.blob or b"") for entry in answer.listed)
        return answer

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[Given]:
        self._liar.questions += 1
        for name, blob in islice(self._liar.gives(self._inner.get(key, write_seed, names)), 100_000):
            self._liar.bytes_given += len(blob or b"")
            yield name, blob

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        self._liar.questions += 1
        told = self._liar.drops(request)
        return self._inner.drop(request, write_seed) if told is None else told

    def close(self) -> None:
        pass
