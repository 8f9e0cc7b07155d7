"""What the relay has agreed on with mailboxes: then a request is proved by a code and needs no signature.

Rules: the relay's key is drawn when it starts and is nowhere else, so what was agreed on ends with the process and is
in no backup; who was forgotten, or asks another relay, is told that the proof is wrong, and signs again. So nothing
hangs on what is remembered here but time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from syncmem.seal.keys import SEED_BYTES, agreement_key
from syncmem.wire.proofs import AGREEMENT_BYTES, Shared, coded, shared_by_relay, signed

AGREED_MAX: Final = 100_000  # mailboxes; 30 MB


class Agreements:
    """All of them. Safe from several threads."""

    def __init__(self, randomness: Callable[[int], bytes]) -> None:
        self._seed = randomness(SEED_BYTES)
        self._agreed: dict[bytes, Shared] = {}
        self.key = agreement_key(self._seed)

    def agree(self, write_key: bytes, agreement: bytes) -> None:
        """With a mailbox whose key has signed this.

        Raises:
            Unreadable: nothing can be agreed on with that key.
        """
        if write_key in self._agreed:
            return
        made = shared_by_relay(self._seed, write_key, agreement)
        while len(self._agreed) >= AGREED_MAX:
            self._agreed.pop(next(iter(self._agreed)), None)
        self._agreed[write_key] = made

    def proved(self, write_key: bytes, message: bytes, proof: bytes) -> bool:
        """See :data:`syncmem.wire.proofs.Proved`."""
        if proof[:AGREEMENT_BYTES] != self.key:
            return signed(write_key, message, proof)
        return coded(self._agreed.get(write_key), message, proof)
