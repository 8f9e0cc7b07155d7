"""Who this device is, and the tripwires that tell a restored or copied file from the one we left.

Rules: a log belongs to one incarnation of one device, and a place in it is never used twice.  Beside
the database lies ``<path>.device`` with the device's key, its incarnation, what file it belongs to,
and how far its logs had come when something last left this device.  Whatever does not fit opens a new
incarnation: nothing is lost, nothing is asked, and what the old one wrote stays as it is.  A copied file
gets a key of its own; the keys it was copied with are kept, so that one of them vouches for the new one: the
newest may be of a copy itself, which nobody has vouched for yet.
A missing or lagging side file is safe, and one that cannot be read stops everything (see
:mod:`syncmem.replica.side`); it is written before anything is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from syncmem.environment import Environment
from syncmem.model.event import LogKey
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs
from syncmem.replica.side import Side, SideFile

KEY_BYTES: Final = 32
INCARNATION_BYTES: Final = 16
INTRODUCERS_MAX: Final = 8  # copies of copies that nobody has vouched for: more are made by no accident


@dataclass(slots=True)
class Identity:
    """A device as it writes now."""

    private: bytes
    device: bytes
    incarnation: bytes
    marks: dict[bytes, int] = field(default_factory=dict)  # log id -> place known to be published
    introducers: tuple[bytes, ...] = ()  # the seeds of devices that this one is a copy of, newest first: one vouches

    def log_key(self, scope: str) -> LogKey:
        return LogKey(self.device, self.incarnation, scope)


class Identities:
    """Finds or makes the identity of a replica's file."""

    def __init__(
        self,
        database: Database,
        logs: Logs,
        environment: Environment,
        public_key: Callable[[bytes], bytes],
        *,
        keyring: bool,
    ) -> None:
        self._db = database
        self._logs = logs
        self._environment = environment
        self._public_key = public_key
        self.side = SideFile(database.path, environment, database.key, keyring=keyring)

    def current(self) -> Identity | None:
        """The identity that may go on writing, or None where a new incarnation is due."""
        rows = dict(self._db.execute("SELECT name, value FROM identity").fetchall())
        side = self.side.read()
        if side is None or "device" not in rows or rows.get("incarnation") != side.incarnation:
            return None
        if side.file != self._environment.disk.identity(self._db.path):
            return None
        held = {log.id: log.seq for log in self._logs.by_no.values()}
        if any(held.get(log, 0) < seq for log, seq in side.marks.items()):
            return None
        identity = Identity(side.private, rows["device"], side.incarnation, side.marks, side.introducers)
        if self.side.is_to_move:
            self._write_side(identity)
        return identity

    def begin(self) -> Identity:
        """Open a new incarnation; inside a write transaction. A device that was only restored keeps its key."""
        side = self.side.read()
        randomness = self._environment.randomness
        here = side is not None and self._is_here(side)
        private = side.private if side is not None and here else randomness(KEY_BYTES)
        older = () if side is None else side.introducers if here else (side.private, *side.introducers)
        public, introducers = self._public_key(private), older[:INTRODUCERS_MAX]
        identity = Identity(private, public, randomness(INCARNATION_BYTES), introducers=introducers)
        self._db.execute("INSERT OR REPLACE INTO identity VALUES ('incarnation', ?)", (identity.incarnation,))
        self._db.execute("INSERT OR REPLACE INTO identity VALUES ('device', ?)", (identity.device,))
        self._db.execute("UPDATE logs SET own = 2 WHERE own = 1")
        self._write_side(identity)
        return identity

    def can_sign_for(self, device: bytes) -> bool:
        """Whether a new incarnation would be one of this device."""
        side = self.side.read()
        return side is not None and self._is_here(side) and self._public_key(side.private) == device

    def _is_here(self, side: Side) -> bool:
        """Whether the side file was written for this file or for one that was replaced in its place (a restore)."""
        disk = self._environment.disk
        return side.file == disk.identity(self._db.path) or side.place == disk.place(self._db.path)

    def mark_published(self, identity: Identity) -> None:
        """Note outside the database how far own logs are, before their events leave the device."""
        own = {log.id: log.seq for log in self._logs.by_no.values() if log.own}
        if own != identity.marks:
            identity.marks = own
            self._write_side(identity)

    def _write_side(self, identity: Identity) -> None:
        disk = self._environment.disk
        here = disk.identity(self._db.path), disk.place(self._db.path)
        secrets = identity.device, identity.private, identity.introducers
        self.side.write(Side(*secrets, identity.incarnation, *here, identity.marks))
