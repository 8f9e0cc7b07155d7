"""The payload of a MOVED event: a branch of a forked log is void, and what stood in it stands here anew.

Rules: a device says this of its own logs only, so the log is named by its incarnation.  The events that follow
in the same log, as many as hashes are listed, are those of the void branch in their order, with their clocks and
payloads byte for byte; where one had been erased its hash stands again.  So nothing is lost, and every
reference into the branch can be followed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from syncmem.errors import NotCanonical

INCARNATION_BYTES: Final = 16
HASH_BYTES: Final = 32  # of a header hash and of a chain value
SIGNATURE_BYTES: Final = 64
MOVED_MAX: Final = 256  # events that one MOVED speaks of: their hashes take 9 KiB of the 64 that an event may have


class Moved(NamedTuple):
    """Payload: a branch of the log that this device wrote in another ``incarnation`` (and the same scope) is void.

    ``first`` is its first place, ``head`` the chain value before that with the device's ``signature`` (empty where
    ``first`` is 1), ``hashes`` the header hashes of the void events in order.
    """

    incarnation: bytes
    first: int
    head: bytes
    signature: bytes
    hashes: list[bytes]
    extra: dict[str, Any] | None


def check_moved(moved: Moved, *, place_max: int) -> None:
    """Refuse what no writer writes."""
    signed = len(moved.signature) == (SIGNATURE_BYTES if moved.first > 1 else 0)
    sized = (len(moved.incarnation), len(moved.head)) == (INCARNATION_BYTES, HASH_BYTES) and 1 <= len(
        moved.hashes
    ) <= MOVED_MAX
    hashed = all(type(value) is bytes and len(value) == HASH_BYTES for value in moved.hashes)
    if not (signed and sized and hashed and 1 <= moved.first <= place_max - MOVED_MAX):
        raise NotCanonical("a move names a log, a place, its head and header hashes; ask the sender to check it")
