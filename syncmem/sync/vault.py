"""The vault as one device holds it: the roster, the epoch keys that open for it, and where its mailboxes are.

Rules: the roster is a set of statements and only grows; every key follows from the roster and the device's
seed, so none is stored; the cuts of revoked devices are written down with the transaction in which this
device learned of them, so that what was believed before stays answerable.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from syncmem.errors import InvalidInput
from syncmem.model.event import LogKey
from syncmem.model.frame import DEVICE_SCOPE
from syncmem.replica.catalog import VAULT
from syncmem.replica.chain import Log
from syncmem.replica.replica import Replica, Written
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.seal.roster import Roster, epoch_keys, newest_key
from syncmem.seal.statements import Statement, read_statement

NO_VAULT: Final = (
    "this memory belongs to no vault yet; create one with 'syncmem invite', or join one with 'syncmem join'"
)


class Vault:
    """Reads and writes the tables ``statements`` and ``addresses``. Its owner holds a lock around every call."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self._db = replica.db
        replica.forget_also(self.forget)

    # -- reading ------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether this replica belongs to a vault."""
        return bool(self._db.execute("SELECT 1 FROM statements LIMIT 1").fetchone())

    def forget(self) -> None:
        """Read the statements anew: some were added, by this process or another, or a transaction was rolled back."""
        self.__dict__.pop("roster", None)
        self.__dict__.pop("keys", None)

    @cached_property
    def roster(self) -> Roster:
        """Who belongs to the vault, as far as this device knows."""
        rows = self._db.execute("SELECT wire FROM statements ORDER BY id").fetchall()
        if not rows:
            raise InvalidInput(NO_VAULT)
        return Roster(read_statement(row[0]) for row in rows)

    @property
    def held(self) -> list[Statement]:
        """The statements that are here; none where there is no vault."""
        return self.roster.statements_in_order() if self.exists else []

    @cached_property
    def keys(self) -> dict[bytes, EpochKey]:
        """Epoch id -> key, of all epochs that were wrapped to this device."""
        return epoch_keys(self.roster, self.seed, self.device)

    @property
    def seed(self) -> bytes:
        return self.replica.identity.private

    @property
    def device(self) -> bytes:
        return public_key(self.seed)

    @property
    def scopes(self) -> list[str]:
        """The scopes that this device shares, the vault's first."""
        own = self.roster.scopes_of(self.device)
        return sorted(own, key=lambda scope: (scope != VAULT, scope))

    def current(self, scope: str) -> EpochKey | None:
        """The key under which a scope is written now; None where it must be rotated first, or is not ours."""
        epoch = self.roster.current_epoch(scope)
        return None if epoch is None else self.keys.get(epoch.id)

    def known(self, scope: str) -> EpochKey | None:
        """The key of the current epoch, or of the newest that this device has (a stale device still reads there)."""
        return newest_key(self.roster, scope, self.keys)

    @property
    def addresses(self) -> list[str]:
        """Where the mailboxes of this vault are."""
        return [row[0] for row in self._db.execute("SELECT address FROM addresses ORDER BY address")]

    def subject_key(self, scope: str) -> bytes | None:
        """The key that names a scope's erased entities; None where this device has none."""
        if not self.exists:
            return None
        key = self.known(scope)
        return None if key is None else key.subject

    # -- writing ------------------------------------------------------------------------------------

    def add_address(self, address: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO addresses VALUES (?)", (address,))

    def drop_address(self, address: str) -> None:
        self._db.execute("DELETE FROM addresses WHERE address = ?", (address,))

    def add(self, statements: Iterable[Statement]) -> Written | None:
        """Take statements in; what it did to beliefs (a revocation takes events out). Inside a write transaction."""
        rows = [(statement.id, statement.wire) for statement in statements]
        before = self._count()
        self._db.executemany("INSERT OR IGNORE INTO statements VALUES (?, ?)", rows)
        if self._count() == before:
            return None
        self.forget()
        recut = self.replica.recut()
        return self.replica.reerase() or recut

    def _count(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM statements").fetchone()[0])

    def cut_of(self, key: LogKey) -> int | None:
        """The last place of a log that counts; None: all of it does, as here in what no member wrote yet."""
        if not self.exists or (self.roster.member(key.device) is None and self._is_ours(key)):
            return None
        return self.roster.cut(key.device, key.id)

    def _is_ours(self, key: LogKey) -> bool:
        """Whether a log is this device's, or was written into this file under a key that is lost: it comes back."""
        log = self.replica.logs.by_id.get(key.id)
        return key.device == self.device or (log is not None and log.written_here)

    def strangers(self) -> list[Log]:
        """The logs held of devices that were never members, as far as nobody has vouched for all that is held."""
        unknown = [log for log in self.foreign() if self.roster.member(log.device) is None]
        return [log for log in unknown if log.seq > (self.roster.cut(log.device, log.id) or 0)]

    def foreign(self) -> list[Log]:
        """The logs held of other devices."""
        held = [log for log in self.replica.logs.held() if log.key is not None and log.key.scope != DEVICE_SCOPE]
        return [log for log in held if log.device != self.device]
