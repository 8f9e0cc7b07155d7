"""Syncing in the background: a thread that syncs soon after something was written, here or on another device.

Rules: a relay tells when another device has written, other mailboxes are asked now and then; a quiet device syncs at
once, a busy one once in :data:`GAP_SECONDS`; one process of a device syncs at a time, whoever finds another at it
waits for the next turn; what fails is told and tried again, ever more seldom; a device that was removed from its
vault stops; a mailbox that names a time before which not to ask is left alone until then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Final, Self

from syncmem.environment import Environment
from syncmem.errors import Busy, Closed, Revoked, SyncmemError

if TYPE_CHECKING:
    from syncmem.standing import SyncReport
    from syncmem.sync.listening import Ear, Listening
    from syncmem.sync.session import Synced
    from syncmem.wire.mailbox import Position

SETTLE_SECONDS: Final = 0.1  # what is written within it goes out together
GAP_SECONDS: Final = 1.0  # between the beginnings of two syncs that were not waited for
WAIT_SECONDS_MAX: Final = 900.0  # between tries where nothing works, and between looks where relays tell
LOOK_SECONDS: Final = 10.0  # after which it is noticed that a relay is heard no more
_LOGGER: Final = logging.getLogger("syncmem")


class BackgroundSync:
    """A running syncer; ``close`` ends it, after the sync that it is in.

    Attributes:
        report: what the last sync did; ``error``: why the last try failed, None where it did not.
    """

    def __init__(
        self, sync: Callable[[Container[str]], Sequence[Synced]], tell: Callable[[Sequence[Synced]], SyncReport],
        every_seconds: float, on_report: Callable[[SyncReport], None] | None, environment: Environment,
    ) -> None:  # fmt: skip
        self._sync = sync
        self._report = tell
        self._every = every_seconds
        self._on_report = on_report
        self._environment = environment
        self._ears: dict[Ear, Position | None] = {}
        self._listening: Listening | None = None
        self._resting: dict[str, float] = {}  # address -> until when it asked not to be asked
        self._asked = False
        self._wake = threading.Event()
        self._closed = threading.Event()
        self.report: SyncReport | None = None
        self.error: SyncmemError | None = None
        self._thread = threading.Thread(target=self._run, name="syncmem-sync", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something was written, or the network is back: sync soon."""
        self._asked = True
        self._wake.set()

    def close(self) -> None:
        """End it; safe to call twice."""
        self._closed.set()
        self._wake.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def listening(self) -> bool:
        """Whether every mailbox is at a relay that tells when another device has written, and is being heard."""
        return self._listening is not None and self._listening.live

    @property
    def running(self) -> bool:
        """False once it was closed, or the device was removed from its vault."""
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            self._go_on()
        finally:
            if self._listening is not None:
                self._listening.close()

    def _go_on(self) -> None:
        failures = 0
        while not self._closed.is_set():
            begun = time.monotonic()
            self._asked = False
            if self._listening is not None:
                self._listening.sync_begins()
            try:
                resting = {address for address, until in self._resting.items() if until > begun}
                results = self._sync(resting)
                report = self._report(results)
            except Busy:
                pass  # another process of this device is at it
            except (Revoked, Closed) as error:
                self.error = error
                return
            except SyncmemError as error:
                self.error, failures = error, failures + 1
                _LOGGER.warning("a sync in the background failed: %s", error)
            else:
                if results:
                    failures = 0 if any(one.error is None for one in results) else failures + 1
                    self._rest(report, begun)
                    self._listen(results, resting)
                    self._tell(report)
            self._wait(begun, failures)

    def _rest(self, report: SyncReport, begun: float) -> None:
        """Note which mailboxes are not to be asked for a while."""
        for one in report.mailboxes:
            if one.retry_after is not None:
                self._resting[one.address] = max(self._resting.get(one.address, 0.0), begun + one.retry_after)

    def _listen(self, results: Sequence[Synced], resting: Container[str]) -> None:
        """Hear from now on of the mailboxes that tell."""
        if self._listening is None and not any(one.push for one in results):
            return
        from syncmem.sync.listening import Listening, ears

        if self._listening is None:
            self._listening = Listening(self._environment, self._wake.set)
        still = {ear: seen for ear, seen in self._ears.items() if ear.address in resting}
        self._ears = ears(results, self._ears) | still
        self._listening.attend(self._ears)

    def _wait(self, begun: float, failures: int) -> None:
        """Until it is time, or there is something to sync."""
        longest = max(WAIT_SECONDS_MAX, self._every)
        while not self._closed.is_set():
            if self._asked or (self._listening is not None and self._listening.news):
                self._closed.wait(max(SETTLE_SECONDS, begun + GAP_SECONDS - time.monotonic()))
                return
            every = longest if self.listening and not failures else min(self._every * 2**failures, longest)
            rested = [until for until in self._resting.values() if until > begun]
            left = min([begun + every, *rested]) - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(min(left, LOOK_SECONDS))
            self._wake.clear()

    def _tell(self, report: SyncReport) -> None:
        self.report, self.error = report, None
        if self._on_report is not None:
            try:
                self._on_report(report)
            except Exception:  # a listener's error is its own
                _LOGGER.exception("a listener failed on what a sync did")
