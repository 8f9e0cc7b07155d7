"""Reports: what the other devices said they hold and believe, and whether it is what this device does.

Rule: "in sync" is said of a device only if its own last report and this device's digests are equal, events
and beliefs both; equal events with other beliefs is never hidden: it is a fault, and shown as one.
"""

from __future__ import annotations

from typing import NamedTuple

from syncmem.replica.connection import Database
from syncmem.replica.digests import ScopeDigests
from syncmem.wire.blob import State
from syncmem.wire.mailbox import DIGEST_BYTES


class Report(NamedTuple):
    """The last word of a device about a scope.

    Attributes:
        events, beliefs: its digests (16 bytes each); ``held``: how many events it had.
        seen: this device's clock when they were read.
        verified: this device's clock when they were last equal to its own; None: never.
        frontier: the event digest at which they were.
        diverged: the events were equal and the beliefs were not.
    """

    device: bytes
    scope: str
    events: bytes
    beliefs: bytes
    held: int
    seen: int
    verified: int | None
    frontier: bytes | None
    diverged: bool


class Reports:
    """Reads and writes the table ``reports``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def keep(self, scope: str, epoch: bytes, device: bytes, state: State, now: int) -> None:
        """Keep what a device told; what it told before it held as much comes late and is not."""
        sql = (
            "INSERT INTO reports (device, scope, epoch, events, beliefs, held, seen) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET epoch = excluded.epoch, events = excluded.events, beliefs = excluded.beliefs, "
            "held = excluded.held, seen = excluded.seen WHERE excluded.held >= reports.held"
        )
        self._db.execute(sql, (device, scope, epoch, *state, now))

    def heard_in(self, scope: str, epoch: bytes) -> set[bytes]:
        """The devices whose last report about a scope came under the key of an epoch."""
        sql = "SELECT device FROM reports WHERE scope = ? AND epoch = ?"
        return {device for (device,) in self._db.execute(sql, (scope, epoch)).fetchall()}

    def verify(self, scope: str, mine: ScopeDigests, now: int) -> None:
        """Compare the last reports about a scope with what is held and believed here; inside a write transaction."""
        for report in self.about(scope):
            if report.events != mine.events[:DIGEST_BYTES]:
                continue
            equal = report.beliefs == mine.beliefs[:DIGEST_BYTES]
            values = (now if equal else report.verified, report.events if equal else report.frontier, not equal)
            sql = "UPDATE reports SET verified = ?, frontier = ?, diverged = ? WHERE device = ? AND scope = ?"
            self._db.execute(sql, (*values, report.device, scope))

    def about(self, scope: str) -> list[Report]:
        """The last reports of all devices about a scope."""
        sql = (
            "SELECT device, scope, events, beliefs, held, seen, verified, frontier, diverged FROM reports "
            "WHERE scope = ? ORDER BY device"
        )
        rows = self._db.execute(sql, (scope,)).fetchall()
        return [Report._make([*row[:-1], bool(row[-1])]) for row in rows]

    def is_verified(self, report: Report, mine: ScopeDigests) -> bool:
        """Whether a device is in sync now: its last report is what this device holds, and was found equal."""
        return not report.diverged and report.frontier == report.events == mine.events[:DIGEST_BYTES]
