"""Episodes as a replica holds them: which there are, and the chunks of their content that are here.

Rules: the event is the truth, and every device that holds the same events lists the same episodes; of an episode
that was observed more than once one event stands for all; a chunk is kept only if it has the hash that its episode
names, and is looked at again whenever it is read; with the last event of an episode its chunks go.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from syncmem.model.episode import Episode, chunk_hash, entities_of, episode_id
from syncmem.model.event import Event, readable
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.logs import Logs


class Held(NamedTuple):
    """An episode that is held: where the event stands that counts for it, its id (16 bytes), what it says."""

    position: int
    id: bytes
    scope: str
    said: Episode


class Content(NamedTuple):
    """An event whose content lies beside the log: its id (16 bytes), its scope, and the episode."""

    event: bytes
    held: Held


class Episodes:
    """Reads and writes ``episodes``, ``chunks``, ``contents`` and ``lacked``."""

    def __init__(self, database: Database, logs: Logs, cuts: Cuts) -> None:
        self._db = database
        self._logs = logs
        self._cuts = cuts

    # -- events -------------------------------------------------------------------------------------

    def add(self, position: int, event: Event, said: Episode) -> None:
        """An episode arrived."""
        scope, name = self._logs.key_of(position).scope, self._logs.ref(position).id
        row = (position, episode_id(scope, event.payload), scope, said.at, said.speaker, said.conversation, name)
        self._db.execute("INSERT OR IGNORE INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        about = [(entity, position) for entity in entities_of(scope, event.payload, said)]
        self._db.executemany("INSERT OR IGNORE INTO mentions VALUES (?, ?)", about)
        if said.chunks is not None:
            self._db.execute("INSERT OR IGNORE INTO contents VALUES (?, ?, ?)", (name, scope, said.chunk_count))

    def remove(self, position: int, event: Event, said: Episode) -> None:
        """An episode is erased: what was derived from its event goes, and its chunks with the last event of it."""
        scope = self._logs.key_of(position).scope
        id = episode_id(scope, event.payload)
        self._db.execute("DELETE FROM episodes WHERE position = ?", (position,))
        about = [(entity, position) for entity in entities_of(scope, event.payload, said)]
        self._db.executemany("DELETE FROM mentions WHERE entity = ? AND position = ?", about)
        self._db.execute("DELETE FROM lacked WHERE event = ?", (self._logs.ref(position).id,))
        if not self._db.execute("SELECT 1 FROM episodes WHERE id = ? LIMIT 1", (id,)).fetchone():
            self._db.execute("DELETE FROM chunks WHERE episode = ?", (id,))

    def find(self, id: bytes) -> Held | None:
        """The episode of an id, if one that counts is held."""
        rows = self._db.execute("SELECT position FROM episodes WHERE id = ?", (id,)).fetchall()
        counting = [position for (position,) in rows if not self._cuts.excludes(position)]
        if not counting:
            return None
        return self.at(min(counting, key=lambda position: (self._logs.log_of(position).id, position)))

    def at(self, position: int) -> Held:
        """The episode whose event stands at a position."""
        event = self._logs.event(position)
        said = readable(event)
        assert isinstance(said, Episode) and isinstance(event, Event), "an erased episode is listed no more"
        scope = self._logs.key_of(position).scope
        return Held(position, episode_id(scope, event.payload), scope, said)

    def listed(
        self, *, scope: str | None, speaker: str | None, since: int, until: int, conversation: str | None
    ) -> Iterator[Held]:
        """The episodes of some time, the earliest first, each once."""
        given = (("scope", scope), ("speaker", speaker), ("conversation", conversation))
        wanted = [(column, value) for column, value in given if value is not None]
        where = "".join(f" AND {column} = ?" for column, _ in wanted)
        sql = f"SELECT DISTINCT at, id FROM episodes WHERE at BETWEEN ? AND ?{where} ORDER BY at, id"
        for _, id in self._db.execute(sql, (since, until, *(value for _, value in wanted))).fetchall():
            held = self.find(id)
            if held is not None:
                yield held

    # -- chunks -------------------------------------------------------------------------------------

    def here(self, held: Held) -> set[int]:
        """The numbers of an episode's chunks that are here, from 1."""
        rows = self._db.execute("SELECT number FROM chunks WHERE episode = ?", (held.id,)).fetchall()
        return {number for (number,) in rows}

    def missing(self, held: Held) -> list[int]:
        """The numbers of an episode's chunks that are not here."""
        here = self.here(held)
        return [number for number in range(1, held.said.chunk_count + 1) if number not in here]

    def chunk(self, held: Held, number: int) -> bytes | None:
        """A chunk that is here and is what the episode names; None: it is not."""
        sql = "SELECT body FROM chunks WHERE episode = ? AND number = ?"
        row = self._db.execute(sql, (held.id, number)).fetchone()
        body = None if row is None else bytes(row[0])
        return body if body is not None and chunk_hash(body) == held.said.hash_of(number) else None

    def passage(self, held: Held, start: int, end: int, most: int) -> str | None:
        """The characters of a span, the first ``most`` of them; None if they are not all here."""
        decoder, found, count = codecs.getincrementaldecoder("utf-8")("replace"), "", 0
        end = min(end, start + most)
        for number in range(held.said.chunk_count + 1):
            part = (held.said.content or b"") if number == 0 else self.chunk(held, number)
            if part is None:
                return None
            text = decoder.decode(part)
            found += text[max(0, start - count) : max(0, end - count)]
            count += len(text)
            if count >= end:
                return found
        return None

    def keep(self, held: Held, number: int, body: bytes) -> bool:
        """Store a chunk; whether it is what the episode names. Inside a write transaction."""
        if not 1 <= number <= held.said.chunk_count or chunk_hash(body) != held.said.hash_of(number):
            return False
        sql = "INSERT OR REPLACE INTO chunks (episode, number, body) VALUES (?, ?, ?)"
        self._db.execute(sql, (held.id, number, body))
        return True

    def rotten(self, held: Held) -> list[int]:
        """The numbers of chunks that are here and are not what the episode names. Reads all of them."""
        return [number for number in sorted(self.here(held)) if self.chunk(held, number) is None]

    def forget(self, held: Held, numbers: Sequence[int]) -> None:
        """Drop chunks that cannot be used, so that they are fetched again. Inside a write transaction."""
        sql = "DELETE FROM chunks WHERE episode = ? AND number = ?"
        self._db.executemany(sql, [(held.id, number) for number in numbers])

    @property
    def fetch_all(self) -> bool:
        """Whether this device keeps the content of every episode, not only of those that were read here."""
        row = self._db.execute("SELECT value FROM identity WHERE name = 'fetch_all'").fetchone()
        return bool(row and row[0])

    @fetch_all.setter
    def fetch_all(self, wanted: bool) -> None:
        self._db.execute("INSERT OR REPLACE INTO identity VALUES ('fetch_all', ?)", (int(wanted),))

    # -- content beside the logs ----------------------------------------------------------------------

    def contents(self, scope: str | None = None) -> Iterator[Content]:
        """Every held event whose content lies beside the log (all scopes, unless one is named)."""
        sql = (
            "SELECT e.position, e.event FROM episodes e JOIN contents c ON c.event = e.event "
            f"{'' if scope is None else 'WHERE e.scope = ? '}ORDER BY e.position"
        )
        for position, name in self._db.execute(sql, () if scope is None else (scope,)).fetchall():
            yield Content(name, self.at(position))

    def gone(self, scope: str) -> list[bytes]:
        """The ids of events whose content was here or elsewhere, and is to be nowhere: they were erased or moved."""
        sql = "SELECT event FROM contents WHERE scope = ? AND event NOT IN (SELECT event FROM episodes) ORDER BY event"
        return [event for (event,) in self._db.execute(sql, (scope,)).fetchall()]

    def content(self, event: bytes) -> Content | None:
        """The content of an event, by its id."""
        row = self._db.execute("SELECT position FROM episodes WHERE event = ?", (event,)).fetchone()
        return None if row is None else Content(event, self.at(row[0]))

    def events_of(self, held: Held) -> list[bytes]:
        """The ids of all events of an episode: its content may lie under each."""
        rows = self._db.execute("SELECT event FROM episodes WHERE id = ? ORDER BY event", (held.id,)).fetchall()
        return [event for (event,) in rows]

    def lack(self, held: Held, *, lacked: bool) -> None:
        """Note whether an episode's content was looked for and not found: others are asked for it."""
        rows = [(event,) for event in self.events_of(held)]
        sql = "INSERT OR IGNORE INTO lacked VALUES (?)" if lacked else "DELETE FROM lacked WHERE event = ?"
        self._db.executemany(sql, rows)

    def lacked(self) -> list[Content]:
        """What was looked for and not found."""
        rows = self._db.execute("SELECT event FROM lacked ORDER BY event").fetchall()
        return [content for (event,) in rows if (content := self.content(event)) is not None]

    def counts(self) -> tuple[int, int]:
        """How many chunks there are of the episodes that are held, and how many of them are here."""
        total = sum(chunks for _, chunks, _ in self._measured())
        return total, sum(here for _, _, here in self._measured())

    def incomplete(self, scope: str | None = None) -> Iterator[Held]:
        """The episodes of which some chunks are not here (of all scopes, unless one is named)."""
        for id, chunks, here in self._measured():
            held = self.find(id) if here < chunks else None
            if held is not None and scope in (None, held.scope):
                yield held

    def _measured(self) -> list[tuple[bytes, int, int]]:
        """Of each larger episode its id, how many chunks it has, and how many of them are here."""
        sql = (
            "SELECT DISTINCT e.id, t.chunks, (SELECT count(*) FROM chunks c WHERE c.episode = e.id) "
            "FROM episodes e JOIN contents t ON t.event = e.event ORDER BY e.id"
        )
        return [(id, chunks, here) for id, chunks, here in self._db.execute(sql).fetchall()]
