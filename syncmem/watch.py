"""Change notices, across threads and processes: who subscribed is told which slots believe something else.

Rule: notices come from the transactions in the file, so it does not matter who wrote them.  A thread
looks only while somebody is subscribed; writes of this process wake it at once, others are seen within
:data:`POLL_SECONDS`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Final

from syncmem.errors import SyncmemError
from syncmem.results import Notice

POLL_SECONDS: Final = 0.25
Listener = Callable[[Notice], None]


class Subscription:
    """A standing request for notices; ``close`` ends it."""

    def __init__(
        self, watch: Watch, callback: Listener, scope: str | None, entity: str | None, predicate: str | None
    ) -> None:
        self._watch = watch
        self._wanted = (scope, entity, predicate)
        self.callback = callback

    def wants(self, notice: Notice) -> bool:
        """Whether a notice is about what was subscribed to."""
        scope, entity, predicate = self._wanted
        named = entity is None or entity in (notice.entity, *notice.aliases)
        return named and scope in (None, notice.scope) and predicate in (None, notice.predicate)

    def close(self) -> None:
        """Stop the notices; safe to call twice."""
        self._watch.remove(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Watch:
    """Tells subscribers about transactions. ``changes_since(n)`` gives (latest n, notices)."""

    def __init__(self, changes_since: Callable[[int], tuple[int, list[Notice]]], latest: Callable[[], int]) -> None:
        self._changes_since = changes_since
        self._latest = latest
        self._subscriptions: list[Subscription] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, callback: Listener, *, scope: str | None, entity: str | None, predicate: str | None) -> Subscription:
        subscription = Subscription(self, callback, scope, entity, predicate)
        seen = self._latest()
        with self._lock:
            self._subscriptions.append(subscription)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(seen,), name="syncmem-watch", daemon=True)
                self._thread.start()
        return subscription

    def remove(self, subscription: Subscription) -> None:
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)
        self._wake.set()

    def wake(self) -> None:
        """Something was written by this process."""
        self._wake.set()

    def close(self) -> None:
        with self._lock:
            self._subscriptions.clear()
            self._closed = True
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _run(self, seen: int) -> None:
        while True:
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
            with self._lock:
                if self._closed or not self._subscriptions:
                    self._thread = None
                    return
            with contextlib.suppress(SyncmemError):  # busy or closed: the next look tells
                seen, notices = self._changes_since(seen)
                self._tell(notices)

    def _tell(self, notices: list[Notice]) -> None:
        for notice in notices:
            with self._lock:
                wanted = [s for s in self._subscriptions if s.wants(notice)]
            for subscription in wanted:
                try:
                    subscription.callback(notice)
                except Exception:  # one listener's error is its own
                    import logging  # slow to import, and seldom needed

                    logging.getLogger("syncmem").exception("a subscriber failed on %s", notice)
