"""The keys of a mailbox in object storage, and how they are looked at.

Rules: keys sort by stream and counter, so what lies behind the cursors is found by a few listings that each begin
where something new may be, never by listing all; only keys of exactly our form count; a listing that lacks what must
be there is not believed.

    <mailbox>/drop-keys/<public key>
    <mailbox>/epoch                                  16 bytes, drawn by whoever came first
    <mailbox>/streams/<stream>/<counter>-<digest>            a blob
    <mailbox>/streams/<stream>/<counter>-<digest>.dropped    it was dropped, whatever else there is
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from syncmem.objects import Found, Objects
from syncmem.wire.mailbox import BlobName

_MEMBER: Final = re.compile(r"[0-9a-f]{32}/drop-keys/([0-9a-f]{64})")
_BLOB: Final = re.compile(r"[0-9a-f]{32}/streams/([0-9a-f]{16})/([0-9]{12})-([0-9a-f]{32})(\.dropped)?")


def key_of(mailbox: bytes, name: BlobName) -> str:
    return f"{mailbox.hex()}/streams/{name.stream.hex()}/{name.counter:012d}-{name.digest.hex()}"


def mark_of(mailbox: bytes, name: BlobName) -> str:
    return f"{key_of(mailbox, name)}.dropped"


def epoch_key(mailbox: bytes) -> str:
    return f"{mailbox.hex()}/epoch"


def member_key(mailbox: bytes, member: bytes) -> str:
    return f"{mailbox.hex()}/drop-keys/{member.hex()}"


@dataclass(slots=True)
class Look:
    """What was seen of a mailbox behind some cursors.

    Attributes:
        sizes: of the blobs there that were not dropped; ``dropped``: the names of those that were.
        ends: of each stream, the last place that was seen, also before its cursor.
        members: drop keys; ``epoch``: whether the mailbox's epoch was listed; ``whole``: whether all was looked at.
    """

    cursors: Mapping[bytes, int]
    sizes: dict[BlobName, int] = field(default_factory=dict)
    dropped: set[BlobName] = field(default_factory=set)
    ends: dict[bytes, int] = field(default_factory=dict)
    members: set[bytes] = field(default_factory=set)
    epoch: bool = False
    whole: bool = True

    def add(self, page: Sequence[Found]) -> None:
        for found in page:
            if (part := _BLOB.fullmatch(found.key)) is not None:
                name = BlobName(bytes.fromhex(part[1]), int(part[2]), bytes.fromhex(part[3]))
                self._add(name, found.size, dropped=part[4] is not None)
            elif (part := _MEMBER.fullmatch(found.key)) is not None:
                self.members.add(bytes.fromhex(part[1]))
            else:
                self.epoch |= found.key.endswith("/epoch")

    def _add(self, name: BlobName, size: int, *, dropped: bool) -> None:
        self.ends[name.stream] = max(self.ends.get(name.stream, 0), name.counter)
        if name.counter <= self.cursors.get(name.stream, 0):
            return
        if dropped:
            self.dropped.add(name)
            self.sizes.pop(name, None)
        elif name not in self.dropped:
            self.sizes[name] = size

    def holders(self) -> dict[tuple[bytes, int], set[BlobName]]:
        """What has, or had, each place that was seen."""
        found: dict[tuple[bytes, int], set[BlobName]] = {}
        for name in (*self.sizes, *self.dropped):
            found.setdefault((name.stream, name.counter), set()).add(name)
        return found


def look(objects: Objects, mailbox: bytes, cursors: Mapping[bytes, int], wanted: int) -> Look:
    """Walk over a mailbox's keys page by page, each time passing over what lies before a cursor.

    The place of a cursor itself is looked at, because a stream that has become shorter must be found out. The walk
    may end once so many blobs as are ``wanted`` were seen.
    """
    seen, box = Look(cursors), mailbox.hex()
    after, more = f"{box}/", True
    while more and len(seen.sizes) < wanted:
        page, more = objects.page(box, after)
        seen.add(page)
        if page:
            after = max(page[-1].key, _unknown(box, page[-1].key, cursors))
    seen.whole = not more
    return seen


def look_at(seen: Look, objects: Objects, mailbox: bytes, stream: bytes, first: int, last: int) -> None:
    """See what a stream has at the places from ``first`` to ``last``, at least."""
    folder = f"{mailbox.hex()}/streams/{stream.hex()}"
    after, more = f"{folder}/{first:012d}", True
    while more and after < f"{folder}/{last + 1:012d}":
        page, more = objects.page(folder, after)
        seen.add(page)
        after = page[-1].key if page else after


def members(objects: Objects, mailbox: bytes) -> set[bytes]:
    """The drop keys that were registered."""
    seen = Look({})
    for page in objects.pages(f"{mailbox.hex()}/drop-keys"):
        seen.add(page)
    return seen.members


def _unknown(box: str, key: str, cursors: Mapping[bytes, int]) -> str:
    """Behind which key a stream has what its cursor does not cover; "" for a key of no stream."""
    found = _BLOB.fullmatch(key)
    if found is None:
        return ""
    return f"{box}/streams/{found[1]}/{cursors.get(bytes.fromhex(found[1]), 0):012d}"
