"""Object storage in memory, with the real mailbox over it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random

from syncmem.environment import Environment, seeded_randomness
from syncmem.objects import Objects
from syncmem.sync.bucket import Bucket
from syncmem.wire.mailbox import Mailbox

Content = dict[str, bytes]
_numbers = itertools.count()  # of stores: what one holds lies in this process for ever


class _Kept(Objects):
    """Objects that outlive who asks for them."""

    def close(self) -> None:
        pass


class BucketServer:
    """See :class:`tests.simulator.servers.Server`."""

    def __init__(self, address: str, seed: str) -> None:
        self.address = address
        self._seed = seed
        self._lives = 0
        self._saved: Content | None = None
        self._objects = self._empty()

    def _empty(self) -> _Kept:
        self._lives += 1
        return _Kept(f"memory://simulator/{next(_numbers)}")

    def mailbox(self, device: str) -> Mailbox:
        drawn = seeded_randomness(Random(f"{self._seed}/{device}/{self._lives}").getrandbits(64))
        return Bucket(self.address, Environment(randomness=drawn), self._objects)

    def _content(self) -> Content:
        keys = sorted(key for box in self._boxes() for page in self._objects.pages(box) for key, *_ in page)
        return {key: data for key in keys if (data := self._objects.read(key)) is not None}

    def _boxes(self) -> list[str]:
        found, _ = self._objects.page("", "")
        return sorted({entry.key.partition("/")[0] for entry in found})

    def reset(self) -> None:
        self._objects = self._empty()

    def back_up(self) -> None:
        self._saved = self._content()

    def put_back(self) -> bool:
        if self._saved is None:
            return False
        self._objects = self._empty()
        for key, data in self._saved.items():
            self._objects.put(key, data)
        return True

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        for key, data in self._content().items():
            if "/streams/" in key and not key.endswith(".dropped") and data:
                yield bytes.fromhex(key.partition("/")[0]), data

    def lose(self, random: Random) -> bool:
        """One object is gone."""
        found = [key for key in self._content() if "/streams/" in key and not key.endswith(".dropped")]
        if found:
            self._objects.remove(random.choice(found))
        return bool(found)

    def settle(self) -> bool:
        return False

    def close(self) -> None:
        for key in self._content():
            self._objects.remove(key)
        Objects.close(self._objects)
