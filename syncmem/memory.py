"""Memory: the one object most users hold.

>>> with Memory(":memory:") as memory:
...     _ = memory.define("home_city", cardinality="single")
...     _ = memory.remember("ana", "home_city", "Berlin", changed_on="2019-05-01T00:00Z")
...     receipt = memory.remember("ana", "home_city", "Lisbon", changed_on="2024-03-01T00:00Z")
...     str(receipt.decision), memory.believe("ana", "home_city").value
('UPDATE', 'Lisbon')

Rules: one lock around every call, so a Memory may be used from several threads; several processes may
have the same file open; after any exception nothing has changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

from syncmem.arguments import checked
from syncmem.browsing import Browsing
from syncmem.comparing import Comparing
from syncmem.environment import Environment
from syncmem.errors import Busy, DiskFull, InvalidInput, ReadOnlyFile
from syncmem.exporting.verbs import Exporting
from syncmem.forgetting import Forgetting
from syncmem.importers.verbs import Importing
from syncmem.meeting import Meeting, Offer, Progress
from syncmem.naming import Naming
from syncmem.observing import Observing
from syncmem.recalling import Recalling
from syncmem.replica.catalog import Slot
from syncmem.replica.connection import WAIT_SECONDS
from syncmem.replica.transactions import touched_since
from syncmem.results import Doctor, MergeReport, Notice
from syncmem.syncing import Syncing
from syncmem.watch import Listener, Subscription, Watch
from syncmem.withdrawing import Withdrawing

if TYPE_CHECKING:
    from syncmem.background import BackgroundSync
    from syncmem.recall.embedding import Embedder
    from syncmem.replica.inspecting import Inspected
    from syncmem.standing import SyncReport
    from syncmem.sync.session import Synced

ROWS_A_PASS: Final = 2_000  # of an inspection


@checked
class Memory(
    Withdrawing, Importing, Comparing, Recalling, Browsing, Naming, Exporting, Forgetting, Meeting, Observing, Syncing
):
    """A replica of an assistant's memory in one SQLite file.

    Args:
        path: the file, made if it is missing; ":memory:" for none. Beside it lies ``<path>.device``.
        key: 32 bytes or a passphrase, with which the file is encrypted from its beginning; needs the extra
            ``syncmem[cipher]``. None: the file is not encrypted.
        keyring: keep this device's own key in the system's keyring, not beside the file, if there is one (extra
            ``syncmem[keyring]``; :meth:`doctor` says where it is). Once there it is found there without this.
        allow_cloud_folder: open it even in a folder that Dropbox, iCloud Drive, OneDrive, Google Drive, Syncthing,
            Nextcloud or ownCloud copies, which can corrupt it. A mailbox "folder:PATH" belongs there instead.
        zone: the IANA zone of dates and naive times; without one they are refused unless each call names it.
        embedder: what makes vectors for :meth:`recall`: an :class:`~syncmem.recall.embedding.Embedder`, the name of
            one ("e5", "minilm", "wordllama", "hashing"), "auto" for the best that is installed, None for words alone.
        environment: clock, randomness and disk; for tests and simulations.
        wait_seconds: how long a write waits for other processes before it raises Busy.

    Raises:
        NotAReplica, NewerFile, ReadOnlyFile, FileError: the file cannot be used; it was not changed.
        WrongKey: it is encrypted and does not open with this key or without one, or is not encrypted.
        KeyUnreadable: this device has a key, and the side file or the keyring does not give it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: bytes | str | None = None,
        keyring: bool = False,
        allow_cloud_folder: bool = False,
        zone: str | tzinfo | None = None,
        embedder: Embedder | str | None = "auto",
        environment: Environment | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        super().__init__(
            path,
            key=key,
            keyring=keyring,
            allow_cloud_folder=allow_cloud_folder,
            zone=zone,
            environment=environment,
            wait_seconds=wait_seconds,
        )
        self._embedder_wanted = embedder
        self._watch = Watch(self._changes_since, self.last_known)
        self._running: list[BackgroundSync] = []

    def close(self) -> None:
        """End all subscriptions and the syncing in the background, and close the file; safe to call twice."""
        for running in self._running:
            running.close()
        self._watch.close()
        super().close()

    def subscribe(
        self, callback: Listener, *, entity: str | None = None, predicate: str | None = None, scope: str | None = None
    ) -> Subscription:
        """Be told when a slot, an entity (by any of its names) or a scope believes something else, whoever wrote it.

        ``callback`` gets a :class:`~syncmem.results.Notice` on a thread of its own, soon after the write.
        """
        return self._watch.add(callback, scope=scope, entity=entity, predicate=predicate)

    def sync_in_background(
        self, *mailboxes: str, every_seconds: float = 30.0, on_report: Callable[[SyncReport], None] | None = None
    ) -> BackgroundSync:
        """Sync now, and soon after any process here or another device has written, until it or the memory is closed.

        Other devices are heard of at once where all mailboxes are at relays; elsewhere they are looked for every
        ``every_seconds``.  ``on_report`` gets the :class:`~syncmem.standing.SyncReport` of each sync, on the syncer's
        thread.
        """
        from syncmem.background import BackgroundSync

        if every_seconds <= 0:
            raise InvalidInput("every_seconds is the time between syncs; pass a positive number")
        syncing = BackgroundSync(
            lambda without: self._synced_and_inspected(mailboxes, without), self._report,
            every_seconds, on_report, self._replica.environment,
        )  # fmt: skip
        self.subscribe(lambda notice: syncing.wake())
        self._running.append(syncing)
        return syncing

    def _synced_and_inspected(self, mailboxes: Sequence[str], without: Container[str]) -> list[Synced]:
        """A sync in the background, and a pass of the inspection where one is due."""
        done = self._synced(mailboxes, without=without, patient=True)
        with suppress(ReadOnlyFile, Busy, DiskFull):
            self.inspect()
        return done

    def doctor(self, *, full: bool = False) -> Doctor:
        """Examine the replica; ``full`` also recomputes the chain of every log, and folds all events again
        to see that what is believed follows from them (nobody else writes meanwhile; nothing is changed).

        ``facts`` holds, beside the state of the file and its logs: ``oscillation`` (slots that keep going back to a
        value they had left, and whose claims swing them), ``quality`` (of each source, device and extractor, how many
        of its claims were taken back or won nowhere), ``lookalikes`` (predicates and entities that may be one),
        ``cardinality``.  Each sentence in ``problems`` ends with the next step.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     _ = memory.define("language", cardinality="many")
        ...     _ = memory.remember("ana", "language", "English", source="mail-import")
        ...     wrong = memory.remember("ana", "language", "Klingon", source="mail-import")
        ...     _ = memory.retract(wrong.event)
        ...     memory.doctor().facts["quality"]["sources"][0]["error_rate"]
        0.5
        """
        from syncmem.doctor import examine

        with self._lock:
            return examine(self._replica, full=full)

    def inspect(self, *, rows: int = ROWS_A_PASS, anew: bool = False) -> Inspected:
        """Look at the next ``rows`` rows of the file for what a disk has changed; a syncer in the background does, too.

        It goes on where the last pass stood, in whichever process; once all was looked at, it begins anew after a week
        (``anew``: now).  What it finds is told by :meth:`status` and :meth:`doctor` until the memory was repaired.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     _ = memory.remember("ana", "language", "English")
        ...     memory.inspect().found
        ()
        """
        from syncmem.replica import inspecting

        with self._looking():
            inspection = inspecting.Inspection(self._replica, self._reading)
            progress = inspecting.progress_in(self._replica.db)
            now = self._environment.clock.now()
            if anew:
                progress.begun = now + 1
            due = inspecting.begin_if_due(progress, now)
        looked = 0
        while due and looked < rows and not progress.whole:
            with self._looking():
                looked += inspection.part(progress)
        with self._lock:
            if due:
                with self._replica.transaction():
                    inspecting.keep(self._replica.db, progress)
            return inspecting.Inspected(looked, progress.whole, inspecting.known_damage(self._replica.db))

    def rebuild(self) -> None:
        """Drop everything derived and fold again; all beliefs, past ones too, come out the same."""
        with self._lock:
            self._replica.rebuild()

    def _receive_all(self, offer: Offer, events_max: int, progress: Progress | None) -> MergeReport:
        report = super()._receive_all(offer, events_max, progress)
        self._vouch()
        return report

    def _other_names(self, slot: Slot) -> tuple[str, ...]:
        return tuple(name for name in self._replica.catalog.names(slot) if name != slot.entity)

    def _changes_since(self, n: int) -> tuple[int, list[Notice]]:
        """The notices of the transactions after ``n``."""
        notices = []
        with self._looking():
            for number, touched in touched_since(self._replica.db, n):
                n = number
                slots = filter(None, map(self._replica.catalog.known, touched))
                notices += [Notice(*slot[1:], number, self._other_names(slot)) for slot in slots]
        return n, notices
