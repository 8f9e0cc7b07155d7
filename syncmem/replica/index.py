"""The index: which texts lead to what is or was believed, in step with the rectangles.

Rules: it exists once recall was used for the first time; from then on it changes in the transaction in which the
rectangles change, so what is no longer believed has left the live index when the write returns.  It only proposes:
what is handed out is read from the rectangles.  A *document* is a value in a lane of a slot, a *shelf* is a slot;
a document is live while a current rectangle has its value, a shelf while one of its documents is, and each is in one
of two full-text tables, ``text_live`` or ``text_past``.  Time is not in it: what lapses needs no sweep.

An entry of a document has the terms of its value; one of a shelf "@" with each term of its entity.  Both have marks
of their names: "#" predicate, "=" entity, "%" scope; of documents twice the sign, so that each kind is found alone.
Entries of documents have even numbers, entries of shelves odd ones.  What is looked up by its fields goes the same
way: :mod:`syncmem.replica.items`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from syncmem.errors import FileError
from syncmem.model.instant import FOREVER
from syncmem.model.value import from_stored
from syncmem.model.words import ANALYSIS_VERSION, terms, texts_in
from syncmem.replica.catalog import Slot
from syncmem.replica.connection import Database
from syncmem.replica.driver import driver
from syncmem.replica.items import Items
from syncmem.replica.rectangles import Change

SLOTS_AT_ONCE: Final = 2_000  # slots that one transaction indexes: keeps the write lock near 100 ms
_ALL: Final = FOREVER  # how far: every slot there is or will be
_TABLES: Final = ("text_live", "text_past")
_CREATE: Final = (
    "CREATE VIRTUAL TABLE {0} USING fts5(terms, content='{1}', content_rowid='id', detail=none, columnsize=0, "
    "tokenize=\"ascii tokenchars '@#=%.,'\")"
)
Said = tuple[bytes, str]  # a lane and a value in it, as JSON text


class Index:
    """Reads and writes ``documents``, ``shelves``, ``indexing`` and the full-text tables."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.items = Items(database)
        self.forget()

    def forget(self) -> None:
        """Look again how far the index was made."""
        self.items.forget()
        state = dict(self._db.execute("SELECT name, state FROM indexing").fetchall())
        self._until: int | None = state.get("slots")
        self._stale = self._until is not None and state.get("analysis") != ANALYSIS_VERSION

    # -- making -------------------------------------------------------------------------------------

    @property
    def whole(self) -> bool:
        """Whether every slot is in it, and as this version of the library indexes."""
        return self._until == _ALL and not self._stale

    def advance(self) -> int:
        """Index some slots more, from the beginning if need be; how many. Inside a write transaction."""
        if not driver().fts5:
            raise FileError(f"{driver().name} has no full-text search; install pysqlite3 for recall")
        if self._until is None or self._stale:
            self._begin()
        rows = self._db.execute(
            "SELECT id FROM slots WHERE id > ? ORDER BY id LIMIT ?", (self._until, SLOTS_AT_ONCE)
        ).fetchall()
        for (slot,) in rows:
            self._index(slot)
        self._reach(int(rows[-1][0]) if len(rows) == SLOTS_AT_ONCE else _ALL)
        return len(rows)

    def anew(self) -> None:
        """Everything derived was folded anew, and slots may have other numbers: index it all, if there is an index."""
        self.items.anew()
        if self._until is not None:
            self._begin()
            while not self.whole:
                self.advance()

    def _begin(self) -> None:
        for table in ("documents", "shelves", "vectors", "indexing"):
            self._db.execute(f"DELETE FROM {table}")
        self._db.execute("UPDATE embedders SET done = 0")
        for table in _TABLES:
            self._db.execute(f"DROP TABLE IF EXISTS {table}")
            self._db.execute(_CREATE.format(table, f"{table.removeprefix('text_')}_texts"))
            if driver().fts5_secure_delete:
                self._db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('secure-delete', 1)")
        self._db.execute("INSERT INTO indexing VALUES ('analysis', ?)", (ANALYSIS_VERSION,))
        self._stale = False
        self._reach(0)

    def _reach(self, until: int) -> None:
        self._until = until
        self._db.execute("INSERT OR REPLACE INTO indexing VALUES ('slots', ?)", (until,))

    # -- following ----------------------------------------------------------------------------------

    def follow(self, changes: Sequence[Change], wall: int) -> None:
        """Do as the rectangles did; inside their transaction, which was made at time ``wall``.

        A change without rectangles: the slot was told anew.
        """
        self.items.follow(changes, wall)
        if self._until is None or self._stale:
            return
        if not driver().fts5:  # another process made it: there it is made anew
            self._db.execute("UPDATE indexing SET state = 0 WHERE name = 'analysis'")
            self._stale = True
            return
        counts: dict[int, Counter[Said]] = {}
        retold: set[int] = set()
        for slot, lane, removed, added in changes:
            if slot > self._until:
                continue
            if not removed and not added:
                retold.add(slot)
                continue
            count = counts.setdefault(slot, Counter())
            for rectangle in removed:
                count[lane, rectangle.value] -= 1
            for rectangle in added:
                count[lane, rectangle.value] += 1
        for slot, count in counts.items():
            if slot not in retold:
                self._adjust(slot, count)
        for slot in sorted(retold):
            self._index(slot)

    def drop(self, slot: int) -> None:
        """A slot of which nothing is left: neither is here."""
        self.items.drop(slot)
        if self._until is not None and not self._stale:
            self._index(slot)

    def _adjust(self, slot: int, counts: Counter[Said]) -> None:
        """Count the current rectangles of a slot's values."""
        turned, names = 0, None
        for said, count in counts.items():
            if count:
                row = self._db.execute(_FIND, (slot, digest(*said))).fetchone()
                if row is None:
                    names = names or self._names(slot)
                    turned += self._add(slot, said, count, names)
                else:
                    turned += self._count(*row, live=row[1] + count)
        if turned:
            self._count_shelf(slot, turned, names)

    def _index(self, slot: int) -> None:
        """Make the documents of a slot what its rectangles say."""
        sql = f"SELECT lane, value, sum(known_to = {FOREVER}) FROM beliefs WHERE slot = ? GROUP BY lane, value"
        wanted = {digest(lane, value): (lane, value, live) for lane, value, live in self._db.execute(sql, (slot,))}
        sql = "SELECT digest, id, live, terms FROM documents WHERE slot = ?"
        turned, names = 0, self._names(slot)
        for known, number, live, found in self._db.execute(sql, (slot,)).fetchall():
            if known in wanted:
                turned += self._count(number, live, found, live=wanted.pop(known)[2])
            else:
                turned -= live > 0
                self._take_out(number * 2, live, found)
                self._db.execute("DELETE FROM vectors WHERE document = ?", (number,))
                self._db.execute("DELETE FROM documents WHERE id = ?", (number,))
        for lane, value, live in wanted.values():
            turned += self._add(slot, (lane, value), live, names)
        self._count_shelf(slot, turned, names)

    # -- entries ------------------------------------------------------------------------------------

    def _add(self, slot: int, said: Said, live: int, names: Slot | None) -> int:
        """A new document; by how much it changes the number of the slot's live ones."""
        assert live >= 0, "a rectangle was closed that the index did not know"
        lane, value = said
        found = " ".join([*value_terms(value), *(mark[0] + mark for mark in _marks(names))])
        row = (slot, lane, digest(lane, value), live, value, found)
        sql = "INSERT INTO documents (slot, lane, digest, live, value, terms) VALUES (?, ?, ?, ?, ?, ?)"
        self._put(int(self._db.execute(sql, row).lastrowid) * 2, live, found)
        return int(live > 0)

    def _count(self, number: int, before: int, found: str, *, live: int) -> int:
        """A document has other current rectangles; by how much that changes the number of the slot's live ones."""
        assert live >= 0, "a rectangle was closed that the index did not know"
        if live != before:
            self._db.execute("UPDATE documents SET live = ? WHERE id = ?", (live, number))
        self._move(number * 2, before, live, found)
        return (live > 0) - (before > 0)

    def _count_shelf(self, slot: int, turned: int, names: Slot | None) -> None:
        """A slot has more or fewer live documents, or perhaps no document at all."""
        row = self._db.execute("SELECT live, terms FROM shelves WHERE slot = ?", (slot,)).fetchone()
        before, found = (0, None) if row is None else row
        live = before + turned
        if not live and self._db.execute(_ANY, (slot,)).fetchone() is None:
            if found is not None:
                self._take_out(slot * 2 + 1, before, found)
                self._db.execute("DELETE FROM shelves WHERE slot = ?", (slot,))
        elif found is not None:
            self._db.execute("UPDATE shelves SET live = ? WHERE slot = ?", (live, slot))
            self._move(slot * 2 + 1, before, live, found)
        elif names is not None:
            found = " ".join([*(f"@{term}" for term in terms(names.entity)), *_marks(names)])
            self._db.execute("INSERT INTO shelves VALUES (?, ?, ?)", (slot, live, found))
            self._put(slot * 2 + 1, live, found)

    def _move(self, entry: int, before: int, live: int, found: str) -> None:
        if (before > 0) != (live > 0):
            if live and not entry & 1:
                self._db.execute(_RENEW, (entry >> 1,))
            self._take_out(entry, before, found)
            self._put(entry, live, found)

    def _put(self, entry: int, live: int, found: str) -> None:
        self._db.execute(f"INSERT INTO {_TABLES[live == 0]}(rowid, terms) VALUES (?, ?)", (entry, found))

    def _take_out(self, entry: int, live: int, found: str) -> None:
        table = _TABLES[live == 0]
        self._db.execute(f"INSERT INTO {table}({table}, rowid, terms) VALUES ('delete', ?, ?)", (entry, found))

    def _names(self, slot: int) -> Slot | None:
        row = self._db.execute("SELECT id, scope, entity, predicate FROM slots WHERE id = ?", (slot,)).fetchone()
        return None if row is None else Slot(*row)


_FIND: Final = "SELECT id, live, terms FROM documents WHERE slot = ? AND digest = ?"
_RENEW: Final = (  # under a new number, so that who follows the vectors sees it again
    "INSERT OR REPLACE INTO vectors (document, model, words, vector) "
    "SELECT document, model, words, vector FROM vectors WHERE document = ?"
)
_ANY: Final = "SELECT 1 FROM documents WHERE slot = ? LIMIT 1"


def value_terms(value: str) -> list[str]:
    """The terms of a value that is stored as JSON text."""
    return terms(" ".join(texts_in(from_stored(value))))


def _marks(names: Slot | None) -> list[str]:
    """The marks of a slot."""
    return [] if names is None else [mark("#", names.predicate), mark("=", names.entity), mark("%", names.scope)]


def mark(kind: str, name: str) -> str:
    """A term that stands for a name as a whole (seldom for another one, too: it only proposes)."""
    return kind + blake2b(name.encode(), digest_size=4).hexdigest()


def digest(lane: bytes, value: str) -> int:
    """A value in a lane as one number."""
    return int.from_bytes(blake2b(lane + value.encode(), digest_size=8).digest(), "big", signed=True)
