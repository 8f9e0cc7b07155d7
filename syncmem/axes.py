"""The axes of a question: what this device believed at a moment, what another one did, what was recorded by then.

Rule: of itself a device tells exactly, by its own transactions; of others by the notes that they left.
"""

from __future__ import annotations

from datetime import tzinfo
from typing import NamedTuple

from syncmem.errors import InvalidInput, NotFound
from syncmem.opened import Opened
from syncmem.replica import frontiers
from syncmem.replica.visible import Visible
from syncmem.results import Grade
from syncmem.statements import When

_FAR_FUTURE = 2**61  # later than any instant that can be stated


class View(NamedTuple):
    """Which beliefs are asked for: this device's (at transaction ``n``), or what ``folded`` events make."""

    n: int | None = None
    folded: Visible | None = None
    grade: Grade = Grade.EXACT


class Axes(Opened):
    """What ``known_at``, ``asserted_by`` and ``device`` come to."""

    def _view(
        self,
        scope: str,
        known_at: When | int | None,
        asserted_by: When | None,
        device: str | None,
        zone: str | tzinfo | None,
    ) -> View:
        """The axes that were asked for."""
        if asserted_by is not None:
            if known_at is not None or device is not None:
                raise InvalidInput("asserted_by= is an axis of its own; pass it without known_at= and device=")
            return View(folded=frontiers.asserted_by(self._replica, self._through(asserted_by, zone)))
        if device is None or (key := self._device_key(device)) == self._replica.device:  # it knows its own exactly
            return View(n=None if known_at is None else self._transaction(known_at, zone))
        if isinstance(known_at, int):
            raise InvalidInput(
                "a transaction number belongs to this device; pass a time as known_at= with another one as device="
            )
        time = _FAR_FUTURE if known_at is None else self._through(known_at, zone)
        visible, grade = frontiers.held_by(self._replica, key, scope, time)
        return View(folded=visible, grade=grade)

    def _at_number(self, known_at: When | int, zone: str | tzinfo | None) -> int:
        """As :meth:`_transaction`, without a look at the file where a number is known to be one."""
        if isinstance(known_at, int) and known_at <= self._replica.last_transaction:
            return max(known_at, 0)
        with self._looking():
            return self._transaction(known_at, zone)

    def _transaction(self, known_at: When | int, zone: str | tzinfo | None) -> int:
        if isinstance(known_at, int):
            if known_at > (last := self._replica.last_transaction):
                raise InvalidInput(
                    f"there is no transaction {known_at} yet, the last one is {last}; pass that, or a time"
                )
            return max(known_at, 0)
        return self._reading.transaction_at(self._through(known_at, zone))

    def _device_key(self, device: str) -> bytes:
        """The key of a device by the start of its id."""
        if not isinstance(device, str):
            raise InvalidInput(f"a device is named by its id as text, not {type(device).__name__}; see devices()")
        own = self._replica.device
        keys = {own} if own is not None else set[bytes]()
        keys |= {log.key.device for log in self._replica.logs.by_no.values() if log.key is not None}
        found = sorted(key for key in keys if device and key.hex().startswith(device))
        if len(found) != 1:
            raise NotFound(f"{len(found)} devices are known as {device!r}; take an id from devices()")
        return found[0]
