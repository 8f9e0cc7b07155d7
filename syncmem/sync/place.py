"""A meeting place: a mailbox like any other, that is named and sealed by one secret, outside of any vault.

Rule: who has the secret finds the place and may read and write there; what is meant for one alone is
sealed to that one besides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from syncmem.codec import FRAME_BYTES_MAX
from syncmem.errors import MailboxRefused, PeerError
from syncmem.seal.envelope import EpochKey, seal, unseal
from syncmem.wire.mailbox import Answer, Exchange, Listed, Mailbox, Outcome, Put, digest

ANSWERS_MAX: Final = 256  # listings read of one place: half a million things; a mailbox may never end


def place_key(secret: bytes) -> EpochKey:
    """The key of the meeting place of a secret (32 bytes): of no vault, no scope and no epoch."""
    return EpochKey(bytes(16), "", bytes(16), secret, bytes(32))


class Place:
    """A meeting place at one mailbox."""

    def __init__(self, key: EpochKey, mailbox: Mailbox, randomness: Callable[[int], bytes]) -> None:
        self.key = key
        self.mailbox = mailbox
        self._randomness = randomness

    def put(self, stream: bytes, counter: int, plain: bytes) -> None:
        """Leave something in a stream (any bytes name it).

        Raises:
            MailboxRefused: it was not kept.
        """
        blob = seal(self.key, plain, self._randomness)
        result = self._exchange(Put(self.key.stream(stream), counter, blob)).results[0]
        if result.outcome not in (Outcome.STORED, Outcome.KNOWN):
            raise MailboxRefused(f"the meeting place refused: {result.reason}")

    def end(self, stream: bytes) -> int:
        """The counter of the last thing in a stream; 0: nothing is."""
        return self._exchange().ends.get(self.key.stream(stream), 0)

    def listed(self, stream: bytes | None = None) -> list[Listed]:
        """What lies here, in order; only that of one stream, if it is named."""
        wanted = None if stream is None else self.key.stream(stream)
        found: list[Listed] = []
        cursors: dict[bytes, int] = {}
        for _ in range(ANSWERS_MAX):
            answer = self._exchange(cursors=cursors)
            found += [entry for entry in answer.listed if wanted in (None, entry.name.stream)]
            cursors |= {entry.name.stream: entry.name.counter for entry in answer.listed}  # in order: the last one
            if not answer.more:
                break
        return found

    def read(self, entry: Listed) -> bytes:
        """The content of something that was listed.

        Raises:
            PeerError: it is not what it should be.
        """
        data = entry.blob
        if data is None:
            ((_, data),) = self.mailbox.get(self.key.write_key, self.key.write_seed, [entry.name])
        if data is None or digest(data) != entry.name.digest:
            raise PeerError("the meeting place does not give what it lists; try again")
        return unseal(self.key, data)

    def _exchange(self, *puts: Put, cursors: Mapping[bytes, int] | None = None) -> Answer:
        question = Exchange(self.key.write_key, puts, cursors or {}, FRAME_BYTES_MAX)
        return self.mailbox.exchange(question, self.key.write_seed)
