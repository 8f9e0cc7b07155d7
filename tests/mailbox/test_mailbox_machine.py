"""Any questions in any order: every kind of mailbox answers as a plain dictionary would, whatever happens between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from syncmem.relay.file import FILE_NAME
from syncmem.seal.keys import public_key
from syncmem.sync import open_mailbox
from syncmem.sync.folder import Folder
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire.mailbox import Answer, BlobName, Mailbox, Outcome, Put, digest
from tests.mailbox.postgres import cluster, programs
from tests.mailbox.serving import RelayThread, ask, drop, new_key

STREAMS = st.sampled_from([b"stream 1", b"stream 2", b"stream 3"])
COUNTERS = st.integers(1, 5) | st.sampled_from([999, 1000, 1001])  # a folder begins a new sub-folder there
BLOBS = st.sampled_from([b"a", b"bb", b"c" * 30, b""])
PUTS = st.lists(st.builds(Put, STREAMS, COUNTERS | st.just(0), BLOBS), max_size=4)
NAMES = st.lists(st.builds(lambda s, c, b: BlobName(s, c, digest(b)), STREAMS, COUNTERS, BLOBS), max_size=4)
CURSORS = st.dictionaries(STREAMS, COUNTERS)
MEMBERS = st.sampled_from([b"1" * 32, b"2" * 32, b"3" * 32])


class Plain:
    """The reference: blobs by place, with a mark for those that were dropped."""

    def __init__(self) -> None:
        self.blobs: dict[tuple[bytes, int], bytes] = {}
        self.dropped: set[tuple[bytes, int]] = set()
        self.members: set[bytes] = set()

    def put(self, put: Put) -> Outcome:
        place = put.stream, put.counter
        if not put.counter or not put.blob:
            return Outcome.MALFORMED
        if place in self.blobs:
            return Outcome.KNOWN if self.blobs[place] == put.blob else Outcome.CONFLICT
        self.blobs[place] = put.blob
        return Outcome.STORED

    def ends(self) -> dict[bytes, int]:
        return {stream: max(c for s, c in self.blobs if s == stream) for stream, _ in self.blobs}

    def listed(self, cursors: dict[bytes, int], own: set[tuple[bytes, int]], budget: int) -> list[object]:
        result: list[object] = []
        for (stream, counter), blob in sorted(self.blobs.items()):
            place = stream, counter
            if place not in self.dropped | own and counter > cursors.get(stream, 0):
                budget -= len(blob)
                result.append((BlobName(stream, counter, digest(blob)), len(blob), blob if budget >= 0 else None))
        return result

    def get(self, name: BlobName) -> bytes | None:
        place = name.stream, name.counter
        blob = self.blobs.get(place)
        return blob if blob is not None and place not in self.dropped and digest(blob) == name.digest else None

    def drop(self, names: list[BlobName], reason: str, signers: set[bytes]) -> list[bool]:
        known = len(signers & self.members)
        if known < (1 if reason == "erase" else min(2, max(1, len(self.members)))):
            return [False for _ in names]
        places = [(name.stream, name.counter) for name in names]
        there = [
            place in self.blobs and digest(self.blobs[place]) == name.digest
            for place, name in zip(places, names, strict=True)
        ]
        self.dropped |= {place for place, is_there in zip(places, there, strict=True) if is_there}
        return there


class Mailboxes(RuleBasedStateMachine):
    """A mailbox of each kind, at a relay over one of the stores, and the dictionary."""

    store: str

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.key = new_key()
        (self.folder / "shared").mkdir()
        self.server = InMemoryServer()
        self.relay = RelayThread(
            cluster().database() if "PostgreSQL" in self.store else self.folder / "relay",
            blobs=f"memory://{self.folder.name}/objects" if "objects" in self.store else None,
            inline_bytes=1,
        )
        self.resets = 0
        self.plain = Plain()
        self.epochs: dict[str, bytes] = {}
        self._open()

    def _open(self) -> None:
        self.boxes: dict[str, Mailbox] = {
            "memory": self.server.mailbox(),
            "folder": Folder(f"folder:{self.folder / 'shared'}"),
            "bucket": open_mailbox(f"memory://{self.folder.name}/bucket{self.resets}"),
            "relay": open_mailbox(self.relay.address),
        }

    def _all(self, question: Callable[[Mailbox], Any]) -> dict[str, Any]:
        return {kind: question(box) for kind, box in self.boxes.items()}

    @rule(puts=PUTS, cursors=CURSORS, budget=st.integers(0, 60), member=st.none() | MEMBERS)
    def exchange(self, puts: list[Put], cursors: dict[bytes, int], budget: int, member: bytes | None) -> None:
        drop_key = None if member is None else public_key(member)
        answers = self._all(
            lambda box: ask(box, self.key, *puts, cursors=cursors, inline_bytes_max=budget, drop_key=drop_key)
        )
        self.plain.members |= set() if member is None else {member}
        outcomes = [self.plain.put(put) for put in puts]
        listed = self.plain.listed(cursors, {(put.stream, put.counter) for put in puts}, budget)
        for kind, answer in answers.items():
            assert [result.outcome for result in answer.results] == outcomes, kind
            assert answer.ends == self.plain.ends(), kind
            assert [tuple(entry) for entry in answer.listed] == listed, kind
            assert not answer.more
            self._check_epoch(kind, answer)

    def _check_epoch(self, kind: str, answer: Answer) -> None:
        assert self.epochs.setdefault(kind, answer.epoch) == answer.epoch, kind

    @rule(names=NAMES)
    def get(self, names: list[BlobName]) -> None:
        expected = [(name, self.plain.get(name)) for name in names]
        got = self._all(lambda box: list(box.get(self.key.write_key, self.key.write_seed, names)))
        assert got == dict.fromkeys(self.boxes, expected)

    @rule(names=NAMES, reason=st.sampled_from(["erase", "compact"]), signers=st.lists(MEMBERS, max_size=2))
    def drop(self, names: list[BlobName], reason: str, signers: list[bytes]) -> None:
        expected = self.plain.drop(names, reason, set(signers))
        assert self._all(lambda box: drop(box, self.key, names, reason, *signers)) == dict.fromkeys(
            self.boxes, expected
        )

    @rule()
    def restart(self) -> None:
        self._close()
        self.relay.start()
        self._open()

    @rule()
    def reset(self) -> None:
        """Everything is lost: the mailboxes that come after are others."""
        self._close()
        if isinstance(self.relay.folder, Path):
            shutil.rmtree(self.relay.folder)
        else:
            self.relay.folder = cluster().database()
        shutil.rmtree(self.folder / "shared")
        (self.folder / "shared").mkdir()
        self.server.reset()
        self.resets += 1
        self.relay.start()
        self.plain = Plain()
        self._open()
        lost, self.epochs = self.epochs, {}
        for kind, answer in self._all(lambda box: ask(box, self.key)).items():
            assert answer.ends == {}
            assert answer.epoch != lost.get(kind)
            self._check_epoch(kind, answer)

    def _close(self) -> None:
        for box in self.boxes.values():
            box.close()
        self.relay.close()

    def teardown(self) -> None:
        if hasattr(self, "boxes"):
            self._close()
            assert not (self.folder / "relay" / f"{FILE_NAME}-wal").exists()
            shutil.rmtree(self.folder)


def over(kind: str) -> type:
    """The tests over one store. A restart takes a third of a second: fewer, longer lives say more."""
    case: type = type(kind, (Mailboxes,), {"store": kind}).TestCase
    case.settings = settings(max_examples=max(2, settings().max_examples // 20))  # type: ignore[attr-defined]
    return case


TestOnSqlite = over("SQLite")
TestOnSqliteWithObjects = over("SQLite with objects")
if programs() is not None:
    TestOnPostgres = over("PostgreSQL")
    TestOnPostgresWithObjects = over("PostgreSQL with objects")
