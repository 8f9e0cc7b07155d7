"""Mailboxes in object storage (S3, Google Cloud Storage, Azure and what speaks as they do). No server of ours.

Rules: an object is written once, where nothing is, and never changed; a blob has its digest in its key; a place is
looked at before a blob is put there and again afterwards, so that of two lives of a device that take the same place no
more than one is told that it has it; a drop is marked before it is done; what is listed and is not what its name says
is passed over; a listing that lacks the mailbox's epoch is not believed. The keys: syncmem/sync/bucket_keys.py.

Who may write to the bucket is the storage's business; its keys are in the environment (AWS_ACCESS_KEY_ID, ...).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from syncmem.environment import Environment
from syncmem.errors import MailboxRefused, Unreachable
from syncmem.objects import NotAllowed, NotReached, Objects
from syncmem.sync.bucket_keys import Look, epoch_key, key_of, look, look_at, mark_of, member_key, members
from syncmem.wire.mailbox import (
    BLOB_BYTES_MAX,
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

_STORED: Final = PutResult(Outcome.STORED, "")
_KNOWN: Final = PutResult(Outcome.KNOWN, "")
_CONFLICT: Final = PutResult(Outcome.CONFLICT, CONFLICT)


class Bucket:
    """See :class:`syncmem.wire.mailbox.Mailbox`.

    Raises:
        InvalidInput: the address is none, or the extra is not installed.
    """

    def __init__(self, address: str, environment: Environment | None = None, objects: Objects | None = None) -> None:
        self.address = address
        self.push: str | None = None
        self._environment = environment or Environment()
        self._objects = objects or Objects(address)

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        box, own = request.mailbox, {(put.stream, put.counter) for put in request.puts}
        with _reaching():
            epoch = self._epoch(box)
            results = self._put_all(box, request.puts)
            seen = look(self._objects, box, request.cursors, LISTED_MAX + 1 + len(own))
            if not seen.epoch:
                raise Unreachable("the object storage does not list all that is there; sync again later")
            self._register(box, request.drop_key, seen)
            ends = self._ends(request, results, seen)
            there = [
                Listed(name, size, None)
                for name, size in sorted(seen.sizes.items())
                if (name.stream, name.counter) not in own and 0 < size <= BLOB_BYTES_MAX
            ]
            listed = self._along(box, there[:LISTED_MAX], request.inline_bytes_max)
        return Answer(epoch, results, ends, listed, len(there) > LISTED_MAX or not seen.whole)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        box = mailbox_id(key)
        with _reaching():
            yield from zip(names, self._objects.each(lambda name: self._read(box, name), names), strict=True)

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        box = request.mailbox
        with _reaching():
            if not may_drop(request, members(self._objects, box)):
                return [False for _ in request.names]
            return list(self._objects.each(lambda name: self._forget(box, name), request.names))

    def close(self) -> None:
        self._objects.close()

    # -- writing ------------------------------------------------------------------------------------

    def _put_all(self, box: bytes, puts: Sequence[Put]) -> list[PutResult]:
        """Look at the places, put what is not there, and look again."""
        names = [None if check_put(put) else BlobName(put.stream, put.counter, digest(put.blob)) for put in puts]
        blobs = {name: put.blob for name, put in zip(names, puts, strict=True) if name is not None}
        seen = self._look_at(box, blobs)
        spoilt = self._spoilt(box, [name for name in blobs if name in seen.sizes])
        held = seen.holders()
        results: dict[BlobName, PutResult] = {}
        new = []
        for name in blobs:
            holders = held.setdefault((name.stream, name.counter), set())
            if holders - spoilt:
                results[name] = _CONFLICT if holders - spoilt - {name} else _KNOWN
            else:
                new.append(name)
                held[name.stream, name.counter] = {name}
        written = self._objects.each(lambda name: self._write(box, name, blobs[name]), new)
        results |= dict(zip(new, written, strict=True))
        after = self._look_at(box, new)
        held = after.holders()
        for name in new:
            others = held.get((name.stream, name.counter), set()) - {name}
            results[name] = self._settled(box, name, results[name], bool(others), name in after.dropped)
        return [self._told(put, name, results) for put, name in zip(puts, names, strict=True)]

    def _told(self, put: Put, name: BlobName | None, results: dict[BlobName, PutResult]) -> PutResult:
        """What is told of a put; the same blob a second time is known."""
        if name is None:
            return check_put(put) or _KNOWN
        result = results[name]
        if result == _STORED:
            results[name] = _KNOWN
        return result

    def _look_at(self, box: bytes, names: Iterable[BlobName]) -> Look:
        """What there is at the places of some names."""
        counters: dict[bytes, list[int]] = {}
        for name in names:
            counters.setdefault(name.stream, []).append(name.counter)
        seen = Look({})
        for stream, at in counters.items():
            look_at(seen, self._objects, box, stream, min(at), max(at))
        return seen

    def _spoilt(self, box: bytes, names: Sequence[BlobName]) -> set[BlobName]:
        """Which are there and are not what their names say: these are removed, to be put again."""
        read = self._objects.each(lambda name: self._read(box, name), names)
        spoilt = {name for name, blob in zip(names, read, strict=True) if blob is None}
        for name in spoilt:
            self._objects.remove(key_of(box, name))
        return spoilt

    def _write(self, box: bytes, name: BlobName, blob: bytes) -> PutResult:
        try:
            return _STORED if self._objects.put(key_of(box, name), blob) else _KNOWN
        except (NotReached, NotAllowed) as error:
            return PutResult(Outcome.OVER_QUOTA, str(error))

    def _settled(self, box: bytes, name: BlobName, result: PutResult, taken: bool, dropped: bool) -> PutResult:
        """What became of a blob that was put, now that its place was looked at again: it goes where another one is
        there, too, or where it was dropped meanwhile."""
        if result == _STORED and (taken or dropped):
            self._objects.remove(key_of(box, name))
        if result.outcome == Outcome.OVER_QUOTA:
            return result
        return _CONFLICT if taken else _KNOWN if dropped else result

    def _register(self, box: bytes, member: bytes | None, seen: Look) -> None:
        """Where that fails, the next question brings the key again."""
        if member is not None and member not in seen.members:
            try:
                self._objects.put(member_key(box, member), b"")
            except (NotReached, NotAllowed):
                pass

    def _epoch(self, box: bytes) -> bytes:
        """The mailbox's epoch; drawn where there is none."""
        key = epoch_key(box)
        epoch = self._objects.read(key)
        if epoch is None:
            self._objects.put(key, self._environment.randomness(EPOCH_BYTES))
            epoch = self._objects.read(key)
        if epoch is None or len(epoch) != EPOCH_BYTES:
            raise Unreachable("the object storage does not give what was put there; sync again later")
        return epoch

    def _forget(self, box: bytes, name: BlobName) -> bool:
        """Mark a blob as dropped, which keeps its place taken; then remove it."""
        try:
            seen = self._look_at(box, [name])
            if name not in seen.sizes and name not in seen.dropped:
                return False
            if name not in seen.dropped:
                self._objects.put(mark_of(box, name), b"")
            self._objects.remove(key_of(box, name))
        except (NotReached, NotAllowed):
            return False  # to be asked again
        return True

    # -- reading ------------------------------------------------------------------------------------

    def _ends(self, request: Exchange, results: Sequence[PutResult], seen: Look) -> dict[bytes, int]:
        """How far each stream goes, as far as that is known: no shorter than a cursor that was not come to."""
        ends = dict(seen.ends)
        for put, result in zip(request.puts, results, strict=True):
            if result.outcome in (Outcome.STORED, Outcome.KNOWN):
                ends[put.stream] = max(ends.get(put.stream, 0), put.counter)
        reached = max(seen.ends, default=b"")
        for stream, cursor in request.cursors.items():
            if ends.get(stream, 0) < cursor:
                if not seen.whole and stream >= reached:
                    ends[stream] = cursor
                elif stream in ends or seen.whole:
                    self._look_for_end(request.mailbox, stream, cursor, ends)
        return ends

    def _look_for_end(self, box: bytes, stream: bytes, cursor: int, ends: dict[bytes, int]) -> None:
        """A stream is shorter than it was: how far it goes is told."""
        seen = Look({})
        look_at(seen, self._objects, box, stream, 0, cursor)
        if end := max(seen.ends.get(stream, 0), ends.get(stream, 0)):
            ends[stream] = end

    def _along(self, box: bytes, listed: Sequence[Listed], wanted: int) -> list[Listed]:
        """The listing with the first blobs' content; what is not there any more, or not what it should be, is left
        out."""
        names = fitting(listed, wanted)
        read: Mapping[BlobName, bytes | None] = dict(
            zip(names, self._objects.each(lambda name: self._read(box, name), names), strict=True)
        )
        return [entry._replace(blob=read.get(entry.name)) for entry in listed if read.get(entry.name, b"") is not None]

    def _read(self, box: bytes, name: BlobName) -> bytes | None:
        """A blob's content, if it is what its name says."""
        blob = self._objects.read(key_of(box, name), BLOB_BYTES_MAX)
        return blob if blob is not None and digest(blob) == name.digest else None


@contextmanager
def _reaching() -> Iterator[None]:
    """Failures of object storage in words of mailboxes."""
    try:
        yield
    except NotAllowed as error:
        raise MailboxRefused(str(error)) from error
    except NotReached as error:
        raise Unreachable(str(error)) from error
