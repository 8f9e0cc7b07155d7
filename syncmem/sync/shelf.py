"""A shelf: the mailbox of one episode's content, at one address, in one epoch.

Rules: who has the scope's key and knows the event finds it, and a mailbox learns no more of it than of any other;
counter c holds the chunk (c - 1) mod n + 1 of n, so a chunk whose place is taken by something else has further
places; a chunk is believed for its hash alone, whoever put it there; what a hostile mailbox lists is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from syncmem import labels
from syncmem.errors import MailboxRefused, PeerError
from syncmem.seal.envelope import EpochKey, seal, unseal
from syncmem.seal.keys import SEED_BYTES, derive, public_key, sign
from syncmem.sync.dropping import DROPPED_AT_ONCE, ERASE, drop_seed
from syncmem.wire.mailbox import COUNTER_MAX, BlobName, Drop, Exchange, Mailbox, Outcome, Put, dropping

COPIES_MAX: Final = 8  # places that a chunk has: whoever takes them all is a member, and can be removed
ANSWERS_MAX: Final = 8  # listings read of one shelf: as many as all places of the longest episode fill


def content_key(key: EpochKey, event: bytes) -> EpochKey:
    """The key of an event's shelf: it follows from the epoch key and the event's id, which outlasts an erasure."""
    return EpochKey(
        key.vault, key.scope, key.epoch, derive(key.secret, labels.CONTENT + event, SEED_BYTES), key.subject
    )


class Shelf:
    """Asks one mailbox about the content of one event."""

    def __init__(
        self, key: EpochKey, event: bytes, mailbox: Mailbox, device_seed: bytes, randomness: Callable[[int], bytes]
    ) -> None:
        self._key = content_key(key, event)
        self._stream = self._key.stream(event)
        self._mailbox = mailbox
        self._drop_seed = drop_seed(device_seed, self._key.mailbox)
        self._randomness = randomness

    def names(self) -> list[BlobName]:
        """What lies here, in order.

        Raises:
            MailboxRefused: more than any shelf holds.
        """
        found: dict[BlobName, None] = {}
        reached: dict[bytes, int] = {}
        for _ in range(ANSWERS_MAX):
            question = Exchange(self._key.write_key, [], reached, 0, public_key(self._drop_seed))
            answer = self._mailbox.exchange(question, self._key.write_seed)
            found |= dict.fromkeys(entry.name for entry in answer.listed)
            if not answer.more:
                return sorted(found)
            for entry in answer.listed:
                reached[entry.name.stream] = max(reached.get(entry.name.stream, 0), entry.name.counter)
        raise MailboxRefused("the mailbox lists more than an episode has; sync again, or use another one")

    def copies(self, count: int) -> dict[int, list[BlobName]]:
        """By the number of a chunk (of so many) the places at which it may lie."""
        found: dict[int, list[BlobName]] = {}
        for name in self.names():
            if name.stream == self._stream and 1 <= name.counter <= count * COPIES_MAX:
                found.setdefault((name.counter - 1) % count + 1, []).append(name)
        return found

    def get(self, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        """What lies under some names; None: nothing that was sealed for this shelf."""
        for name, blob in self._mailbox.get(self._key.write_key, self._key.write_seed, names):
            yield name, None if blob is None else self._opened(blob)

    def _opened(self, blob: bytes) -> bytes | None:
        try:
            return unseal(self._key, blob)
        except PeerError:
            return None

    def put(self, parts: Sequence[tuple[int, bytes]]) -> list[Outcome]:
        """Leave (counter, chunk) pairs; what became of each.

        Raises:
            MailboxRefused: the mailbox takes none of it now.
        """
        puts = [Put(self._stream, counter, seal(self._key, body, self._randomness)) for counter, body in parts]
        question = Exchange(self._key.write_key, puts, {self._stream: COUNTER_MAX}, 0, public_key(self._drop_seed))
        results = self._mailbox.exchange(question, self._key.write_seed).results
        for result in results:
            if result.outcome not in (Outcome.STORED, Outcome.KNOWN, Outcome.CONFLICT):
                raise MailboxRefused(f"the mailbox does not take the content of an episode: {result.reason}")
        return [result.outcome for result in results]

    def clear(self) -> bool:
        """Drop everything that lies here; whether nothing does any more."""
        names = self.names()
        for start in range(0, len(names), DROPPED_AT_ONCE):
            part = names[start : start + DROPPED_AT_ONCE]
            said = sign(self._drop_seed, labels.DROPPING, dropping(self._key.mailbox, part, ERASE))
            signed = [(public_key(self._drop_seed), said)]
            self._mailbox.drop(Drop(self._key.write_key, part, ERASE, signed), self._key.write_seed)
        return not names or not self.names()
