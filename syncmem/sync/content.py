"""The content of episodes at mailboxes: it is placed there by who has it, fetched by who wants it, dropped with them.

Rules: what a mailbox lacks of the chunks that a device holds, the device sends, before the events of the same sync;
a chunk travels towards a device only because somebody there asked for it; each batch that was fetched is durable
before the next one is asked for; the lock is never held while a mailbox is asked; trouble here holds up no event.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from syncmem.errors import MailboxError, MailboxRefused
from syncmem.replica.episodes import Content, Held
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.replica import Replica
from syncmem.seal.envelope import EpochKey
from syncmem.sync.dropping import Writing
from syncmem.sync.ledger import Ledger
from syncmem.sync.placed import Placed
from syncmem.sync.shelf import COPIES_MAX, Shelf
from syncmem.sync.vault import Vault
from syncmem.wire.mailbox import BlobName, Mailbox, Outcome

if TYPE_CHECKING:
    from syncmem.sync.syncer import Syncer

SPOILED_MAX: Final = 64  # blobs of one sync that are no chunk: what they cost is bounded
CHUNKS_AT_ONCE: Final = 32  # put or fetched together: a megabyte and a half in memory


@dataclass(slots=True)
class ContentOutcome:
    """What was done with the content of one scope at one address."""

    sent: int = 0  # chunks
    received: int = 0
    error: str | None = None


class Contents:
    """The content of one scope, at one address, in all epochs of which there are keys."""

    def __init__(
        self, vault: Vault, lock: threading.RLock, writing: Writing, mailbox: Mailbox, address: str, key: EpochKey
    ) -> None:
        self._replica: Replica = vault.replica
        self._episodes = vault.replica.fold.episodes
        self._lock = lock
        self._writing = writing
        self._mailbox = mailbox
        self._key = key
        self._seed = vault.seed
        others = [k for k in vault.keys.values() if k.scope == key.scope and k.epoch != key.epoch]
        self._ledger = Ledger(vault.replica.db)
        self._shelves = [(self._ledger.mailbox(address, k).no, k) for k in (key, *others)]  # the one to write first
        self._placed = Placed(vault.replica.db)
        self._spoiled = 0
        self.outcome = ContentOutcome()

    def _shelf(self, key: EpochKey, event: bytes) -> Shelf:
        return Shelf(key, event, self._mailbox, self._seed, self._replica.environment.randomness)

    # -- around a sync of the scope's events ----------------------------------------------------------

    def before(self) -> None:
        """Send the content of what the mailbox has not heard of yet: who hears of it finds it."""
        with self._reporting():
            self._place_all(only_new=True)

    def after(self, *, read: bool) -> None:
        """Drop what is known to be erased by now, send what else is lacking, fetch what is wanted."""
        if read:
            with self._reporting():
                for event in self._gone():
                    self._clear(event, self._shelves)
                self._place_all()
                for held in self._wanted():
                    self.look_for(held)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except MailboxError as error:
            self.outcome.error = str(error)

    # -- sending ------------------------------------------------------------------------------------

    def _place_all(self, *, only_new: bool = False) -> None:
        """Send what the mailbox lacks of what is here.

        Raises:
            MailboxError: it could not be reached or refused.
        """
        no, key = self._shelves[0]
        with self._lock:
            there = self._ledger.holdings(no) if only_new else {}
            due = [found for event in self._placed.due(no, key.scope) if (found := self._episodes.content(event))]
        for content in due:
            if not only_new or self._is_new(content, there):
                self._place(no, self._shelf(key, content.event), content)
                self._leave_earlier(no, content)

    def _is_new(self, content: Content, there: Mapping[bytes, int]) -> bool:
        place: int = content.held.position & SEQ_MASK
        return place > there.get(self._replica.logs.log_of(content.held.position).id, 0)

    def _place(self, no: int, shelf: Shelf, content: Content) -> None:
        count = content.held.said.chunk_count
        copies = shelf.copies(count)
        with self._lock:
            here = sorted(self._episodes.here(content.held))
            asked = self._placed.asked(no, content.event).intersection(here)
        wrong = {number for number in asked if not self._is_right(shelf, content.held, number, copies.get(number, []))}
        lacking = {
            number: max((name.counter + count for name in copies.get(number, [])), default=number)
            for number in here
            if number not in copies or number in wrong
        }
        while lacking:
            lacking = dict(self._put(shelf, content.held, lacking, count))
        with self._writing():
            self._placed.note(no, content.event, len(here))

    def _is_right(self, shelf: Shelf, held: Held, number: int, names: Sequence[BlobName]) -> bool:
        """Whether a chunk that somebody does not find lies there as it should."""
        with self._lock:
            wanted = self._episodes.chunk(held, number)
        return wanted is not None and any(found == wanted for _, found in shelf.get(names))

    def _put(self, shelf: Shelf, held: Held, lacking: dict[int, int], count: int) -> Iterator[tuple[int, int]]:
        """Put chunks at their counters; those whose places are taken, with the next ones that they have."""
        todo = sorted(lacking.items())
        for start in range(0, len(todo), CHUNKS_AT_ONCE):
            parts, some = [], todo[start : start + CHUNKS_AT_ONCE]
            for number, counter in some:
                with self._lock:
                    body = self._episodes.chunk(held, number)
                if body is not None and counter <= count * COPIES_MAX:
                    parts.append((number, counter, body))
            outcomes = shelf.put([(counter, body) for _, counter, body in parts]) if parts else []
            for (number, counter, _), outcome in zip(parts, outcomes, strict=True):
                if outcome == Outcome.CONFLICT:
                    yield number, counter + count
                else:
                    self.outcome.sent += 1

    def _leave_earlier(self, no: int, content: Content) -> None:
        """What the current epoch's mailbox holds whole goes from those of earlier epochs."""
        with self._lock:
            if self._placed.count(no, content.event) < content.held.said.chunk_count:
                return
            earlier = [(no, key) for no, key in self._shelves[1:] if self._placed.count(no, content.event)]
        self._clear(content.event, earlier)

    # -- dropping -----------------------------------------------------------------------------------

    def _gone(self) -> list[bytes]:
        with self._lock:
            return self._episodes.gone(self._key.scope)

    def _clear(self, event: bytes, shelves: Sequence[tuple[int, EpochKey]]) -> None:
        now = self._replica.environment.clock.now()
        for no, key in shelves:
            with self._lock:
                due = self._placed.is_to_be_dropped(no, event, now)
            if due and self._shelf(key, event).clear():
                with self._writing():
                    self._placed.note_dropped(no, event, now)

    # -- fetching -----------------------------------------------------------------------------------

    def fetch(self, held: Held) -> bool:
        """Bring what is missing of an episode here; whether all of it is."""
        with self._lock:
            events = self._episodes.events_of(held)
        for _, key in self._shelves:
            for event in events:
                with self._lock:
                    missing = self._episodes.missing(held)
                if missing:
                    self._fetch(self._shelf(key, event), held, missing)
        with self._lock:
            return not self._episodes.missing(held)

    def _fetch(self, shelf: Shelf, held: Held, missing: Sequence[int]) -> None:
        """Fetch chunks, and of those that were spoiled further copies, batch by batch."""
        copies, wanted = shelf.copies(held.said.chunk_count), list(missing)
        for turn in range(COPIES_MAX):
            names = {number: copies[number][turn] for number in wanted if len(copies.get(number, ())) > turn}
            wanted = []
            for start in range(0, len(names), CHUNKS_AT_ONCE):
                some = dict(islice(names.items(), start, start + CHUNKS_AT_ONCE))
                found = zip(some, shelf.get(list(some.values())), strict=True)
                wanted += self._keep(held, {number: body for number, (_, body) in found})

    def _keep(self, held: Held, came: dict[int, bytes | None]) -> list[int]:
        """Store what came and is right; the numbers of the others."""
        with self._writing():
            if self._episodes.find(held.id) is None:
                return []  # it was erased meanwhile
            kept = [number for number, body in came.items() if body and self._episodes.keep(held, number, body)]
        self.outcome.received += len(kept)
        self._spoiled += len(came) - len(kept)
        if self._spoiled > SPOILED_MAX:
            raise MailboxRefused("the mailbox gives too much that is no content of the episode; use another one")
        return [number for number in came if number not in kept]

    def _wanted(self) -> list[Held]:
        """What this device wants of the scope and has not: what it looked for, or all of it."""
        with self._lock:
            if self._episodes.fetch_all:
                return list(self._episodes.incomplete(self._key.scope))
            return [one.held for one in self._episodes.lacked() if one.held.scope == self._key.scope]

    def look_for(self, held: Held) -> None:
        """Fetch an episode's content; note where that fails, so that others are asked for it."""
        found = self.fetch(held)
        with self._writing():
            if self._episodes.find(held.id) is not None:
                self._episodes.lack(held, lacked=not found)


def fetch(syncer: Syncer, wanted: Sequence[Held]) -> int:
    """Look for the content of episodes at all mailboxes; how many chunks came.

    Raises:
        MailboxError: no mailbox could be asked.
    """
    received, errors, asked = 0, list[MailboxError](), False
    with syncer.lock:
        addresses, vault = syncer.vault.addresses, syncer.vault
        lacking = [held for held in wanted if syncer.replica.fold.episodes.missing(held)]
    for address in addresses:
        try:
            mailbox = syncer.mailbox(address)
            with closing(mailbox):
                for held in lacking:
                    with syncer.lock:
                        key = vault.known(held.scope)
                    if key is not None:
                        contents = syncer.contents(mailbox, address, key)
                        contents.look_for(held)
                        received += contents.outcome.received
            asked = True
        except MailboxError as error:
            errors.append(error)
    if errors and not asked and lacking:
        raise errors[0]
    return received
