"""The author: as whom this device writes, into which logs, and with which key it signs.

Rules: a log belongs to one incarnation; a new one is opened where one is due, never before something is
written.  All of this is part of the caller's write transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Final

from syncmem import labels
from syncmem.environment import Environment
from syncmem.errors import BrokenChain, Forked, PeerError
from syncmem.model.clock import next_clock
from syncmem.replica.chain import Log
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.identity import Identities, Identity
from syncmem.replica.logs import Logs
from syncmem.seal.keys import sign

_ANY_SCOPE: Final = "vault"
_PRESENT: Final = "SELECT coalesce(max(n), 0) + 1 FROM transactions"  # the transaction that is being written


class Author:
    """Writes for the device that owns a replica's file."""

    def __init__(
        self, database: Database, logs: Logs, cuts: Cuts, environment: Environment,
        public_key: Callable[[bytes], bytes], *, keyring: bool = False,
    ) -> None:  # fmt: skip
        self._db = database
        self._logs = logs
        self._cuts = cuts
        self._environment = environment
        self._identities = Identities(database, logs, environment, public_key, keyring=keyring)
        self.side = self._identities.side
        self._own_ids: dict[str, bytes] = {}  # by scope
        self.identity = self._identities.current()  # None: it has written nothing yet, or a new incarnation is due

    def forget(self) -> None:
        """Look up own logs anew."""
        self._own_ids.clear()

    def introduced(self) -> Identity:
        """Who writes; a new incarnation is opened where one is due."""
        self.own_log(_ANY_SCOPE)
        assert self.identity is not None
        return self.identity

    def own_log(self, scope: str) -> Log:
        """The log this device writes a scope's events into."""
        log = self._logs.by_id.get(self._own_ids.get(scope, b""))
        if log is None:
            if self.identity is None:
                self.identity = self._identities.current() or self._identities.begin()
                self._logs.forget()
            key = self.identity.log_key(scope)
            is_new = key.id not in self._logs.by_id
            log = self._logs.introduce(key, own=True)
            self._own_ids[scope] = log.id
            if is_new:
                self._cuts.begin(key, self._db.execute(_PRESENT).fetchone()[0])
        return log

    def empty_log(self, scope: str) -> Log:
        """As :meth:`own_log`, one without events."""
        if self.own_log(scope).seq:
            self.renounce()
        return self.own_log(scope)

    def renounce(self) -> None:
        """Another life of this device wrote into its log: what is written from now on belongs to a new incarnation."""
        self._db.execute("DELETE FROM identity WHERE name = 'incarnation'")
        self.identity = None
        self._own_ids.clear()

    def look_for_other_lives(self, came: Set[int], refused: Mapping[bytes, PeerError]) -> None:
        """Begin a new incarnation where it is proven that another life of this device wrote into an own log.

        ``came``: the numbers of logs of which events arrived; ``refused``: log id -> why its frames were not taken
        in.  That some do not fit is known once their signature was found right; any other reason proves nothing.
        """
        ours = [log for log in self._logs.by_no.values() if log.written_here]
        proven = [log.id for log in ours if isinstance(refused.get(log.id), Forked | BrokenChain)]
        if any(log.own and (log.no in came or log.id in proven) for log in ours):
            self.renounce()
        back = [(log.no,) for log in ours if log.no in came]
        if back:
            self._db.executemany("UPDATE logs SET own = 0 WHERE no = ?", back)
            self._logs.forget()

    def can_move(self, log: Log) -> bool:
        """Whether this device wrote a log and may move a branch of it: a removed one may not, it would not count."""
        assert log.key is not None, "events of it are held"
        return self._identities.can_sign_for(log.key.device) and self._cuts.asked(log.key) is None

    def sign(self, words: bytes) -> bytes:
        """The signature of a log's head."""
        return sign(self.introduced().private, labels.HEAD, words)

    def randomness(self, size: int) -> bytes:
        return self._environment.randomness(size)

    def tick(self, after: int = -1) -> int:
        """The next value of the hybrid clock: never behind what was seen, never dragged by a clock far ahead.

        ``after``: that of the event written just before, which has seen what there was to see.
        """
        now = self._environment.clock.now()
        if after >= 0:
            return max(now, after + 1)
        return next_clock(now, (log.clock for log in self._logs.by_no.values()))

    def mark_published(self) -> None:
        """See :meth:`syncmem.replica.identity.Identities.mark_published`."""
        if self.identity is not None:
            self._identities.mark_published(self.identity)
