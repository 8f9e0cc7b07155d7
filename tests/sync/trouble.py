"""Mailboxes that misbehave: drop, delay, repeat and reorder, lose answers, are reset, are put back from a backup."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from random import Random

from syncmem.environment import seeded_randomness
from syncmem.errors import OverQuota, Unreachable
from syncmem.sync.in_memory import InMemoryMailbox, InMemoryServer
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Mailbox, Outcome, PutResult


class Trouble:
    """Servers at several addresses, whose answers go wrong at a rate while trouble is on."""

    def __init__(self) -> None:
        self.servers: dict[str, InMemoryServer] = {}
        self._saved: dict[str, InMemoryServer] = {}
        self._random = Random(0)
        self._rate = 0.0
        self._epochs = seeded_randomness(7)

    @property
    def active(self) -> bool:
        return self._rate > 0

    def mailbox(self, address: str) -> Mailbox:
        server = self.servers.setdefault(address, InMemoryServer(self._epochs))
        return _Troubled(server.mailbox(address), self)

    def begin(self, random: Random, rate: float) -> None:
        self._random, self._rate = random, rate

    def end(self) -> None:
        self._rate = 0.0

    def reset(self) -> None:
        for server in self.servers.values():
            server.reset()

    def back_up(self) -> None:
        self._saved = copy.deepcopy(self.servers)

    def put_back(self) -> None:
        """The mailboxes are what they were at the backup, and nobody says so."""
        for address, server in self._saved.items():
            self.servers[address].boxes = copy.deepcopy(server.boxes)

    def strikes(self) -> bool:
        return self._rate > 0 and self._random.random() < self._rate

    def shuffle(self, items: list[object]) -> None:
        if self._rate > 0:
            self._random.shuffle(items)


class _Troubled:
    """One connection."""

    def __init__(self, inner: InMemoryMailbox, trouble: Trouble) -> None:
        self.address = inner.address
        self.push = None
        self._inner = inner
        self._trouble = trouble

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        if self._trouble.strikes():
            raise Unreachable("the question was lost; sync again")
        refused = {number for number in range(len(request.puts)) if self._trouble.strikes()}
        kept = [put for number, put in enumerate(request.puts) if number not in refused]
        answer = self._inner.exchange(
            Exchange(request.key, kept, request.cursors, request.inline_bytes_max, request.drop_key), write_seed
        )
        if self._trouble.strikes():
            raise Unreachable("the answer was lost; sync again")
        results = iter(answer.results)
        told = [
            PutResult(Outcome.OVER_QUOTA, "full; try again later") if number in refused else next(results)
            for number in range(len(request.puts))
        ]
        listed = [entry for entry in answer.listed if not self._trouble.strikes()]
        return Answer(answer.epoch, told, answer.ends, listed, answer.more)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        for name, blob in self._inner.get(key, write_seed, names):
            if self._trouble.strikes():
                raise OverQuota("asked too often; try again later", 1.0)
            yield name, None if self._trouble.strikes() else blob

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        if self._trouble.strikes():
            raise Unreachable("the question was lost; sync again")
        dropped = self._inner.drop(request, write_seed)
        if self._trouble.strikes():
            raise Unreachable("the answer was lost; sync again")
        return dropped

    def close(self) -> None:
        self._inner.close()
