"""Syncing in the background: a thread that syncs now and then, and soon after something was written.

Rules: one process of a device syncs at a time, whoever finds another at it waits for the next turn; what
fails is told and tried again, ever more seldom; a device that was removed from its vault stops.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self

from syncmem.errors import Busy, Closed, Revoked, SyncmemError

if TYPE_CHECKING:
    from syncmem.standing import SyncReport

BATCH_SECONDS: Final = 2.0  # what is written within it goes out together
WAIT_SECONDS_MAX: Final = 900.0  # between tries, where nothing works
_LOGGER: Final = logging.getLogger("syncmem")


class BackgroundSync:
    """A running syncer; ``close`` ends it, after the sync that it is in.

    Attributes:
        report: what the last sync did; ``error``: why the last try failed, None where it did not.
    """

    def __init__(
        self, sync: Callable[[], SyncReport], every_seconds: float, on_report: Callable[[SyncReport], None] | None
    ) -> None:
        self._sync = sync
        self._every = every_seconds
        self._on_report = on_report
        self._wake = threading.Event()
        self._closed = threading.Event()
        self.report: SyncReport | None = None
        self.error: SyncmemError | None = None
        self._thread = threading.Thread(target=self._run, name="syncmem-sync", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Something was written, or the network is back: sync soon."""
        self._wake.set()

    def close(self) -> None:
        """End it; safe to call twice."""
        self._closed.set()
        self._wake.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    @property
    def running(self) -> bool:
        """False once it was closed, or the device was removed from its vault."""
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        failures = 0
        while not self._closed.is_set():
            try:
                report = self._sync()
            except Busy:
                pass  # another process of this device is at it
            except (Revoked, Closed) as error:
                self.error = error
                return
            except SyncmemError as error:
                self.error, failures = error, failures + 1
                _LOGGER.warning("a sync in the background failed: %s", error)
            else:
                reached = any(one.error is None for one in report.mailboxes)
                failures = 0 if reached else failures + 1
                self._tell(report)
            self._wait(failures)

    def _wait(self, failures: int) -> None:
        """Until it is time, or something was written; a little longer then, for what is written next."""
        if self._wake.wait(min(self._every * 2**failures, max(WAIT_SECONDS_MAX, self._every))):
            self._closed.wait(BATCH_SECONDS)
        self._wake.clear()

    def _tell(self, report: SyncReport) -> None:
        self.report, self.error = report, None
        if self._on_report is not None:
            try:
                self._on_report(report)
            except Exception:  # a listener's error is its own
                _LOGGER.exception("a listener failed on what a sync did")
