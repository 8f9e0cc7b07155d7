"""What every store does alike: rows in a database, and the larger blobs, if that is wanted, as objects beside it.

Rules: a row that names an object is committed only after the object is durable, and an object is removed only after
no row names it. An object whose fate is open stands in the table ``loose``: from before it is written until a row
names it, and from when no row names it any more until it is gone. A loose object that is condemned is never named by
a row again, so collecting is safe however long a put takes; every try writes under a key of its own.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from syncmem.environment import Clock, SystemClock
from syncmem.errors import Busy, DiskFull, FileError
from syncmem.objects import NotAllowed, NotReached, Objects
from syncmem.relay.limits import Limits
from syncmem.relay.puts import named
from syncmem.relay.stores import Store
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Listed, Outcome, PutResult, mailbox_id

INLINE_BYTES: Final = 64 * 1024  # a blob that is larger becomes an object, where there are objects
GRACE_SECONDS: Final = 24 * 3600  # after which an object that no row came to name is given up
COLLECTED_MAX: Final = 1000
DAY: Final = 24 * 3600 * 1_000_000  # microseconds
_KEY_BYTES: Final = 16
_MARK: Final = "mark"
_GONE: Final = "the relay's object storage does not answer; sync again in a moment"
_log = logging.getLogger("syncmem.relay")


class Content(NamedTuple):
    """What a blob is, or the key of the object that holds it."""

    blob: bytes | None
    object: str | None


@dataclass(frozen=True, slots=True)
class Taken:
    """An answer, with the contents that come along, and the objects that were written and are not needed."""

    answer: Answer
    contents: Mapping[BlobName, Content]
    unneeded: Sequence[str] = ()


class RowStore(Store):
    """See :class:`syncmem.relay.stores.Store`. ``objects``: where the larger blobs go, and the prefix of their keys."""

    def __init__(self, limits: Limits, randomness: Callable[[int], bytes], clock: Clock | None = None) -> None:
        self._limits = limits
        self._clock = clock or SystemClock()
        self._randomness = randomness
        self.objects: Objects | None = None
        self.prefix = ""
        self.inline_bytes = INLINE_BYTES
        self.together = False
        self._full = False

    def exchange(self, request: Exchange) -> Answer:
        """Keep what is put, and say what is there. Where there is no room, nothing was kept."""
        objects = self.write_objects(request.mailbox, named(request.puts))
        try:
            taken = self._take(request, objects)
        except DiskFull as error:
            if not request.puts:
                raise
            self._say_room(there=False)
            taken = self._refused(request, objects, str(error))
        else:
            if request.puts:
                self._say_room(there=True)
        self._remove_objects(taken.unneeded)
        return self._answered(taken)

    def _refused(self, request: Exchange, objects: Mapping[BlobName, str], why: str) -> Taken:
        with suppress(FileError):  # what cannot be noted now is collected later
            self._remove_objects(self._abandon([*objects.values()]))
        taken = self._take(replace(request, puts=()), {})
        results = [PutResult(Outcome.OVER_QUOTA, why)] * len(request.puts)
        return replace(taken, answer=replace(taken.answer, results=results))

    def _say_room(self, *, there: bool) -> None:
        """Tell the operator once when there is no room, and once when there is some again."""
        if there and self._full:
            _log.warning("there is room again")
        elif not there and not self._full:
            _log.error("there is no room left: puts are refused; free some space, or raise the limits")
        self._full = not there

    def exchange_all(self, requests: Sequence[Exchange]) -> Sequence[Answer | Exception]:
        """See :class:`syncmem.relay.stores.Store`."""
        return [self._exchanged(request) for request in requests]

    def _exchanged(self, request: Exchange) -> Answer | Exception:
        try:
            return self.exchange(request)
        except Exception as error:
            return error

    def get(self, key: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        """Blobs by name, one at a time, in order."""
        yield from zip(names, self.contents(mailbox_id(key), names), strict=True)

    def contents(self, mailbox: bytes, names: Sequence[BlobName]) -> Iterator[bytes | None]:
        """Blobs of a mailbox by name, one at a time, in order."""
        found = self._find(mailbox, names)
        return map(self._read, found) if self.objects is None else self.objects.each(self._read, found)

    def drop(self, request: Drop) -> list[bool]:
        """Forget blobs, if enough members have signed; which are gone (also if they were before)."""
        gone = self._forget(request)
        if any(gone):
            self.collect()  # what could not be removed before goes, too
        return gone

    def collect(self, grace_seconds: float = GRACE_SECONDS) -> int:
        """Remove the objects that no row names: those that were given up, and those that no row came to name for so
        long; at most ``COLLECTED_MAX`` at a time. How many went."""
        if self.objects is None:
            return 0
        unneeded = self._condemn(grace_seconds)
        self._remove_objects(unneeded)
        return len(unneeded)

    def compare(self, now: int, grace_seconds: float = GRACE_SECONDS) -> tuple[int, int]:
        """Hold rows and objects against each other, as after a database was put back from a backup: objects that no
        row names and that are older than ``grace_seconds`` at ``now`` (microseconds since 1970) go; rows whose object
        is not there become places of dropped blobs, so that devices send again what they hold. How many of each."""
        if self.objects is None:
            return 0, 0
        there = {found.key: found.modified for page in self.objects.pages(self.prefix) for found in page}
        loose = self._loose()  # before the rows: what is put meanwhile is in the one or in the other
        named = self._named()
        before = now - int(grace_seconds * 1_000_000)
        strays = [key for key, modified in there.items() if key not in loose | named and modified <= before]
        strays = [key for key in strays if key != f"{self.prefix}/{_MARK}"]
        with reaching():
            lost = [key for key in named - there.keys() if self.objects.read(key) is None]
        self._part_from(strays, lost)
        self._remove_objects(strays)
        return len(strays), len(lost)

    def _limits_of(self, quota: int | None) -> Limits:
        """The limits of a mailbox that may have a quota of its own."""
        return self._limits if quota is None else replace(self._limits, mailbox_bytes_max=quota)

    def _today(self) -> int:
        """Days since 1970: when a mailbox was made and last written to is kept no finer."""
        return self._clock.now() // DAY

    # -- objects ------------------------------------------------------------------------------------

    def write_objects(self, mailbox: bytes, blobs: Mapping[BlobName, bytes]) -> dict[BlobName, str]:
        """The larger blobs become objects, each noted before it is written; name -> key."""
        if self.objects is None:
            return {}
        large = {name: blob for name, blob in blobs.items() if len(blob) > self.inline_bytes}
        keys = {name: f"{self.prefix}/{mailbox.hex()}/{self._randomness(_KEY_BYTES).hex()}" for name in large}
        if keys:
            self._note(list(keys.values()))
            put = self.objects.put
            with reaching():
                list(self.objects.each(lambda name: put(keys[name], large[name]), keys))
        return keys

    def _remove_objects(self, keys: Sequence[str]) -> None:
        """What cannot be removed now is collected later."""
        if not keys or self.objects is None:
            return
        try:
            list(self.objects.each(self.objects.remove, keys))
            with suppress(FileError):
                self._settle(keys)
        except (NotReached, NotAllowed) as error:
            _log.warning("%d objects wait to be removed: %s", len(keys), error)

    def _answered(self, taken: Taken) -> Answer:
        return replace(taken.answer, listed=self._along(taken)) if taken.contents else taken.answer

    def _along(self, taken: Taken) -> list[Listed]:
        """The listing with the contents that come along."""
        contents = taken.contents
        blobs = {name: content.blob for name, content in contents.items()}
        objects = [name for name, content in contents.items() if content.object is not None]
        try:
            if objects and self.objects is not None:
                blobs.update(
                    zip(objects, self.objects.each(lambda name: self._read(contents[name]), objects), strict=True)
                )
        except Busy as error:
            _log.warning("blobs are listed and not sent along: %s", error)
        return [entry._replace(blob=blobs.get(entry.name)) for entry in taken.answer.listed]

    def _read(self, content: Content | None) -> bytes | None:
        if content is None or content.object is None:
            return content and content.blob
        if self.objects is None:
            raise Busy("blobs of this relay lie in object storage; tell its operator to start it with --blobs")
        with reaching():
            blob = self.objects.read(content.object)
        if blob is None:
            _log.error("an object that a row names is not there")
        return blob

    # -- what each database does --------------------------------------------------------------------

    @abstractmethod
    def _take(self, request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        """Put in one transaction, and look; what is stored of ``objects`` is loose no more, the others condemned, but
        for those that are not loose: a row names them already, by a try whose commit was done and not heard of."""

    @abstractmethod
    def _find(self, mailbox: bytes, names: Sequence[BlobName]) -> Iterator[Content | None]:
        """Contents by name, in order; None: not there."""

    @abstractmethod
    def _forget(self, request: Drop) -> list[bool]:
        """Drop in one transaction, which condemns objects; which are gone."""

    @abstractmethod
    def _note(self, keys: Sequence[str]) -> None:
        """These objects are about to be written."""

    @abstractmethod
    def _abandon(self, keys: Sequence[str]) -> list[str]:
        """Condemn those of the objects that are loose; which were."""

    @abstractmethod
    def _settle(self, keys: Sequence[str]) -> None:
        """These objects are gone."""

    @abstractmethod
    def _condemn(self, grace_seconds: float) -> list[str]:
        """Condemn the loose objects of that age; what is condemned."""

    @abstractmethod
    def _loose(self) -> set[str]:
        """All loose objects."""

    @abstractmethod
    def _named(self) -> set[str]:
        """All objects that rows name."""

    @abstractmethod
    def _part_from(self, strays: Sequence[str], lost: Sequence[str]) -> None:
        """Condemn the strays, and make the rows of what is lost places of dropped blobs."""


def join(objects: Objects | None, prefix: str | None, randomness: Callable[[int], bytes]) -> str:
    """The prefix of a store's objects (``prefix``: what it has noted), drawn and marked there the first time.

    No two stores have the same, so that nobody collects what is another's; and the mark is not where the objects of
    this store are not.

    Raises:
        FileError: these are not the store's objects, or it has some and none were named.
    """
    if objects is None:
        if prefix:
            raise FileError("blobs of this store lie in object storage; start it with the same --blobs as before")
        return ""
    with reaching():
        if prefix is None:
            prefix = f"relay-{randomness(_KEY_BYTES).hex()}"
            objects.put(f"{prefix}/{_MARK}", b"objects of a relay; leave them to it\n")
        elif objects.read(f"{prefix}/{_MARK}") is None:
            raise FileError(f"{objects.address} does not hold the blobs of this store; name the --blobs of before")
    return prefix


@contextmanager
def reaching() -> Iterator[None]:
    """Failures of object storage in words that a client may be told."""
    try:
        yield
    except (NotReached, NotAllowed) as error:
        _log.error("%s", error)
        raise Busy(_GONE) from error
