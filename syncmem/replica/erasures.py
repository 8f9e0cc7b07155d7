"""Erasures: which entities are to be forgotten, and which events about them may nevertheless be kept.

Rules: an event about an erased entity is admitted only if its author had seen the erasure: the ERASE
event, or a frontier note that covers its place, stands earlier in the author's log.  The answer depends on
the logs alone, so it is the same on every device and in any order of arrival.  An erasure behind the cut
of a removed device does not act.  One whose key is not known yet waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from syncmem.model.event import ERASABLE, HEAD_BYTES, Erase, Erased, Event, Frontier, Kind, readable
from syncmem.model.record import LOG_SHIFT
from syncmem.model.subjects import names_of, subject_name, subjects
from syncmem.replica.chain import Log
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.logs import SEQ_MASK, Logs
from syncmem.replica.moves import Moves

_SHARED: Final = b""  # in the place of a salt: the names are made with the scope's subject key
_TELLING: Final = frozenset({Kind.ERASE, Kind.FRONTIER})  # the kinds that say something about erasures
_ENTITIES_CACHED_MAX: Final = 10_000
SubjectKey = Callable[[str], bytes | None]


class Erasures:
    """Reads and writes the tables ``erasures`` and ``sightings``."""

    def __init__(self, database: Database, logs: Logs, cuts: Cuts, moves: Moves) -> None:
        self._db = database
        self._logs = logs
        self._cuts = cuts
        self._moves = moves
        self._subject_key: SubjectKey = lambda scope: None
        self.forget()

    def forget(self) -> None:
        """Read anew."""
        self._salts: dict[str, list[bytes]] = {}
        self._waiting: list[tuple[int, str, bytes]] | None = None  # (position, scope, salt) of what is not applied
        self._found: dict[tuple[str, str], list[int]] = {}

    def name_by(self, subject_key: SubjectKey) -> None:
        """Where the subject key of a scope is looked up."""
        self._subject_key = subject_key
        self.forget()

    # -- names --------------------------------------------------------------------------------------

    def key(self, scope: str, salt: bytes) -> bytes | None:
        """The key of the names made with a salt; None while it is not known here."""
        return salt or self._subject_key(scope)

    def naming(self, scope: str, randomness: Callable[[int], bytes], salt_bytes: int) -> tuple[bytes, bytes | None]:
        """The key for new names in a scope, and the salt that tells it: none where the devices share a key."""
        shared = self._subject_key(scope)
        if shared is not None:
            return shared, None
        salts = [salt for salt in self.salts(scope) if salt != _SHARED]
        salt = salts[0] if salts else randomness(salt_bytes)
        return salt, salt

    def salts(self, scope: str) -> list[bytes]:
        """The salts of a scope's erasures."""
        if scope not in self._salts:
            sql = "SELECT DISTINCT salt FROM erasures WHERE scope = ? ORDER BY salt"
            self._salts[scope] = [row[0] for row in self._db.execute(sql, (scope,)).fetchall()]
        return self._salts[scope]

    def of_entity(self, scope: str, entity: str) -> list[int]:
        """The positions of the erasures that mean an entity, whether or not they act."""
        found = self._found.get((scope, entity))
        if found is None:
            keys = [key for salt in self.salts(scope) if (key := self.key(scope, salt)) is not None]
            names = {subject_name(key, name) for key in keys for name in names_of(entity)} if keys else ()
            found = sorted({position for name in names for position in self._named(scope, name)})
            if len(self._found) >= _ENTITIES_CACHED_MAX:
                self._found.clear()
            self._found[scope, entity] = found
        return found

    def _named(self, scope: str, name: bytes) -> list[int]:
        sql = "SELECT position FROM erasures WHERE scope = ? AND name = ?"
        return [row[0] for row in self._db.execute(sql, (scope, name)).fetchall()]

    # -- what is learned from the logs ----------------------------------------------------------------

    def admit(self, position: int, event: Event | Erased) -> bool:
        """Whether an event may be stored; what it says about erasures is noted. To be asked in the order of a log."""
        self.observe(position, event)
        return not self.forbids(position, event)

    def observe(self, position: int, event: Event | Erased) -> None:
        """Note an erasure, or what a frontier note says that its author has seen."""
        if isinstance(event, Erased) or event.kind not in _TELLING:
            return
        payload = readable(event)
        if isinstance(payload, Erase):
            scope = self._logs.key_of(position).scope
            rows = [(scope, name, position, payload.salt or _SHARED) for name in payload.names]
            sql = "INSERT OR IGNORE INTO erasures (scope, name, position, salt) VALUES (?, ?, ?, ?)"
            self._db.executemany(sql, rows)
            self.forget()
        elif isinstance(payload, Frontier):
            for entry in payload.changed:
                for log, last, head in self._moves.seen(*entry):
                    self._see(self._logs.number(log), position, last, head)

    def _see(self, about: int, position: int, last: int, head: bytes) -> None:
        """Note that the writer of a position had seen a log up to a place, if it had not said so before."""
        row = (about, position >> LOG_SHIFT, last, position & SEQ_MASK, head)
        sql = (
            "INSERT INTO sightings VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET place = min(place, excluded.place)"
        )
        self._db.execute(sql, row)

    def seen_by(self, log: Log, until: int, head: bytes) -> list[list[object]]:
        """What the writer of a log had seen at a place (where its chain value is ``head``), the log itself too."""
        sql = "SELECT about, max(last), head FROM sightings WHERE log = ? AND place <= ? GROUP BY about"
        rows = self._db.execute(sql, (log.no, until)).fetchall()
        others = [[self._logs.by_no[about].id, last, start] for about, last, start in rows]
        return sorted([*others, *([[log.id, until, head[:HEAD_BYTES]]] if until else [])])

    def _first_sighting(self, about: int, log: int, last: int) -> int | None:
        """The first place of a log at which its writer had seen another one up to ``last``."""
        sql = "SELECT min(place) FROM sightings WHERE about = ? AND log = ? AND last >= ?"
        found: int | None = self._db.execute(sql, (about, log, last)).fetchone()[0]
        return found

    def forbids(self, position: int, event: Event | Erased) -> bool:
        """Whether an erasure that acts is about an event, and its author had not seen it."""
        if isinstance(event, Erased) or event.kind not in ERASABLE:
            return False
        scope = self._logs.key_of(position).scope
        if not self.salts(scope):
            return False
        erasures = (erasure for entity in subjects(scope, event) for erasure in self.of_entity(scope, entity))
        return any(self.acts(erasure) and not self._seen(position, erasure) for erasure in erasures)

    def acts(self, erasure: int) -> bool:
        """Whether an erasure counts: it has arrived, and not behind the cut of a removed device."""
        return self._logs.holds(erasure) and not self._cuts.excludes(erasure)

    def _seen(self, position: int, erasure: int) -> bool:
        """Whether the author of an event had seen an erasure when writing it, wherever that stands now."""
        return any(self._saw(position, twin) for twin in self._moves.twins.get(erasure, (erasure,)))

    def _saw(self, position: int, erasure: int) -> bool:
        log, other = position >> LOG_SHIFT, erasure >> LOG_SHIFT
        if log == other:
            return erasure < position
        copy = self._moves.copy_in(log, erasure)
        if copy is not None and copy < position:
            return True
        place = self._first_sighting(other, log, erasure & SEQ_MASK)
        return place is not None and place < position & SEQ_MASK

    def confirmed_by(self, device: bytes, erasure: int) -> bool:
        """Whether a device has said that it knew of an erasure: it applied it in the same transaction."""
        logs = [log for log in self._logs.by_no.values() if log.device == device]
        other, place = erasure >> LOG_SHIFT, erasure & SEQ_MASK
        return any(log.no == other or self._first_sighting(other, log.no, place) is not None for log in logs)

    # -- what is still to be done ---------------------------------------------------------------------

    def due(self) -> list[int]:
        """Erasures that act, whose names can be read, and which were not applied yet."""
        if self._waiting is None:
            sql = "SELECT DISTINCT position, scope, salt FROM erasures WHERE applied = 0 ORDER BY position"
            self._waiting = self._db.execute(sql).fetchall()
        return [p for p, scope, salt in self._waiting if self.key(scope, salt) is not None and self.acts(p)]

    def look_again(self, positions: Iterable[int]) -> None:
        """Some events count anew, or no longer: the erasures among them are to be applied, if they act."""
        known = {row[0] for row in self._db.execute("SELECT DISTINCT position FROM erasures").fetchall()}
        self.mark(sorted(known.intersection(positions)), applied=False)

    def look_again_at_all(self) -> None:
        """What authors had seen is known otherwise now."""
        self._db.execute("UPDATE erasures SET applied = 0")

    def mark(self, erasures: Iterable[int], *, applied: bool) -> None:
        """Note that erasures were applied, or are to be applied again."""
        self._waiting = None
        self._db.executemany(
            "UPDATE erasures SET applied = ? WHERE position = ?", [(int(applied), p) for p in erasures]
        )

    def names(self, scope: str, erasures: Iterable[int]) -> list[tuple[bytes, set[bytes]]]:
        """Of some erasures of a scope: each key, with the names that were made with it."""
        found: dict[bytes, set[bytes]] = {}
        for position in erasures:
            sql = "SELECT salt, name FROM erasures WHERE position = ? AND scope = ?"
            for salt, name in self._db.execute(sql, (position, scope)).fetchall():
                key = self.key(scope, salt)
                if key is not None:
                    found.setdefault(key, set()).add(name)
        return sorted(found.items())

    def all_in(self, scope: str) -> list[int]:
        """The positions of a scope's erasures that act."""
        rows = self._db.execute("SELECT DISTINCT position FROM erasures WHERE scope = ?", (scope,)).fetchall()
        return [position for (position,) in rows if self.acts(position)]
