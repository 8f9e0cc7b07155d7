"""What this process has agreed on with relays, so that its requests need no signatures.

Rules: it is in memory alone and may be forgotten at any time; who asks only a few times signs and agrees on nothing;
where a relay does not take it any more, the next requests are signed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from syncmem.wire.proofs import Shared

AGREE_AFTER: Final = 4  # signed requests: to agree costs a relay about two more, and each of them another way there
AGREED_MAX: Final = 4096  # mailboxes


class Way(NamedTuple):
    """A mailbox at a relay."""

    address: str
    write_key: bytes


class Agreed:
    """All that was agreed on, by mailbox and relay. Safe from several threads."""

    def __init__(self) -> None:
        self._signed: dict[Way, int] = {}
        self._shared: dict[Way, Shared] = {}

    def get(self, way: Way) -> Shared | None:
        return self._shared.get(way)

    def is_due(self, way: Way) -> bool:
        """Another request is to be signed; whether so many were that it is time to agree."""
        if len(self._signed) >= AGREED_MAX:
            self._signed = {}
        count = self._signed.get(way, 0)
        self._signed[way] = (count + 1) % (AGREE_AFTER + 1)
        return count == AGREE_AFTER

    def keep(self, way: Way, shared: Shared) -> None:
        if len(self._shared) >= AGREED_MAX:
            self._shared = {}
        self._shared[way] = shared

    def forget(self, way: Way) -> None:
        self._shared.pop(way, None)


HERE: Final = Agreed()
