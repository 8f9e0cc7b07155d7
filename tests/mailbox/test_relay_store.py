"""What a relay acknowledged is on the disk, whatever happens to it; what was dropped is not."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from syncmem.errors import Busy, Damaged, DiskFull, FileError, MailboxError, NewerFile
from syncmem.relay.file import FILE_NAME
from syncmem.relay.limits import MIB, Limits
from syncmem.relay.store import SqliteStore
from syncmem.replica import driver
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.sync import open_mailbox
from syncmem.wire.mailbox import BlobName, Exchange, Outcome, Put, digest
from tests.mailbox.serving import RelayProcess, ask, ask_at, drop, new_key, process, running

ONE = b"stream 1"
DROP = b"d" * 32


@pytest.fixture(params=["write-ahead log", "rollback journal"])
def journal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which a store keeps a commit; which one, the SQLite library of the process decides."""
    found = driver.driver()
    monkeypatch.setattr(driver, "driver", lambda: replace(found, wal_safe=request.param == "write-ahead log"))


# -- ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_what_was_acknowledged_before_the_end_is_there_afterwards(tmp_path: Path, end: signal.Signals) -> None:
    keys = [new_key() for _ in range(3)]
    kept: list[tuple[int, int]] = []
    with process(tmp_path) as relay:
        writers = [threading.Thread(target=put_until_it_ends, args=(relay, keys, who, kept)) for who in range(3)]
        for writer in writers:
            writer.start()
        while len(kept) < 30:
            time.sleep(0.01)
        relay.process.send_signal(end)
        for writer in writers:
            writer.join()
        _, said = relay.process.communicate(timeout=30)
        assert relay.process.returncode == (-9 if end == signal.SIGKILL else 0)
        assert "Traceback" not in said
        relay.start()
        for who, key in enumerate(keys):
            there = {entry.name.counter for entry in ask_at(relay.address, key).listed}
            assert there >= {counter for writer, counter in kept if writer == who}


def put_until_it_ends(relay: RelayProcess, keys: list[EpochKey], who: int, kept: list[tuple[int, int]]) -> None:
    box = open_mailbox(relay.address)
    try:
        for counter in range(1, 10_000):
            blob = os.urandom(20_000)
            if ask(box, keys[who], Put(ONE, counter, blob)).results[0].outcome == Outcome.STORED:
                kept.append((who, counter))
    except MailboxError:
        return
    finally:
        box.close()


def test_what_a_killed_relay_left_in_its_journal_is_flushed_before_it_is_called_known(tmp_path: Path) -> None:
    key = new_key()
    with process(tmp_path) as relay:
        ask_at(relay.address, key, Put(ONE, 1, b"kept"))
        relay.kill()
        journal = tmp_path / f"{FILE_NAME}-wal"
        assert not journal.exists() or journal.stat().st_size
        store = SqliteStore(tmp_path, os.urandom)
        assert not journal.exists() or not journal.stat().st_size
        answer = store.exchange(Exchange(key.write_key, [Put(ONE, 1, b"kept")], {}, 0))
        assert answer.results[0].outcome == Outcome.KNOWN
        store.close()


def test_a_second_relay_on_the_same_folder_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with process(tmp_path) as first:
        with pytest.raises(Busy, match="choose another --data"):
            SqliteStore(tmp_path, os.urandom)
        first.kill()
        SqliteStore(tmp_path, os.urandom).close()


@pytest.mark.usefixtures("journal")
def test_nobody_else_gets_at_the_file_of_a_relay_that_runs(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, os.urandom)
    with pytest.raises(Busy, match="another relay serves it"):
        SqliteStore(tmp_path, os.urandom)
    store.close()
    other = driver.connect(str(tmp_path / FILE_NAME))  # another program that writes just now
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Busy):
        SqliteStore(tmp_path, os.urandom)
    other.close()
    SqliteStore(tmp_path, os.urandom).close()


# -- no room --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("journal")
def test_a_full_store_takes_nothing_more_and_can_still_be_read_and_emptied(tmp_path: Path) -> None:
    key = new_key()
    blobs = {n: bytes([n]) * 100_000 for n in range(1, 15)}
    with running(tmp_path, Limits(store_bytes_max=MIB)) as relay:
        box = open_mailbox(relay.address)
        ask(box, key, drop_key=public_key(DROP))
        outcomes = {n: ask(box, key, Put(ONE, n, blob)).results[0] for n, blob in blobs.items()}
        kept = [n for n, result in outcomes.items() if result.outcome == Outcome.STORED]
        assert 5 <= len(kept) < 14
        assert {result.outcome for n, result in outcomes.items() if n not in kept} == {Outcome.OVER_QUOTA}
        assert "no room left; sync again later" in outcomes[14].reason
        answer = ask(box, key, Put(ONE, 99, blobs[1]), cursors={ONE: kept[0]})
        assert [entry.name.counter for entry in answer.listed] == kept[1:]
        names = [entry.name for entry in answer.listed]
        assert [blob for _, blob in box.get(key.write_key, key.write_seed, names)] == [blobs[n] for n in kept[1:]]
        assert all(drop(box, key, names, "erase", DROP))
        assert ask(box, key, Put(ONE, 14, blobs[14])).results[0].outcome == Outcome.STORED
        box.close()


def test_room_is_left_on_the_disk_so_that_forgetting_works(tmp_path: Path) -> None:
    all_of_it = shutil.disk_usage(tmp_path).total
    with running(tmp_path, Limits(free_bytes_min=all_of_it)) as relay:
        answer = ask_at(relay.address, new_key(), Put(ONE, 1, b"x"))
        assert answer.results[0].outcome == Outcome.OVER_QUOTA


def test_one_mailbox_that_is_full_is_no_trouble_for_another_and_has_room_again_after_a_drop(tmp_path: Path) -> None:
    greedy, other = new_key(), new_key()
    with running(tmp_path, Limits(mailbox_bytes_max=1000)) as relay:
        puts = [Put(ONE, 1, b"a" * 600), Put(ONE, 2, b"b" * 600), Put(ONE, 3, b"c" * 400)]
        outcomes = [r.outcome for r in ask_at(relay.address, greedy, *puts, drop_key=public_key(DROP)).results]
        assert outcomes == [Outcome.STORED, Outcome.OVER_QUOTA, Outcome.STORED]
        assert ask_at(relay.address, other, puts[0]).results[0].outcome == Outcome.STORED
        box = open_mailbox(relay.address)
        for _ in range(3):  # to ask again gives no more room
            assert drop(box, greedy, [BlobName(ONE, 1, digest(puts[0].blob))], "erase", DROP) == [True]
        box.close()
        assert ask_at(relay.address, greedy, puts[1]).results[0].outcome == Outcome.STORED
        assert ask_at(relay.address, greedy, Put(ONE, 4, b"d")).results[0].outcome == Outcome.OVER_QUOTA


@pytest.mark.skipif(os.name != "posix", reason="limits of processes")
def test_a_disk_that_fails_is_told_in_words_and_nothing_of_it_is_acknowledged(tmp_path: Path) -> None:
    key = new_key()

    def limited() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    with process(tmp_path, preexec_fn=limited) as relay:
        ask_at(relay.address, key, Put(ONE, 1, b"first"))
        with pytest.raises(MailboxError, match="tell its operator|sync again later"):
            ask_at(relay.address, key, Put(ONE, 2, os.urandom(900_000)))
        assert ask_at(relay.address, key).ends == {ONE: 1}
        assert ask_at(relay.address, key, Put(ONE, 2, b"small")).results[0].outcome == Outcome.STORED
        _, said = relay.close()
        assert "Traceback" not in said


# -- damage ---------------------------------------------------------------------------------------------


def rubbish(folder: Path) -> None:
    (folder / FILE_NAME).write_bytes(b"no database at all" * 1000)


def a_folder(folder: Path) -> None:
    (folder / FILE_NAME).mkdir()


def later_version(folder: Path) -> None:
    store = SqliteStore(folder, os.urandom)
    store._db.execute("PRAGMA user_version = 99")
    store.close()


@pytest.mark.parametrize(
    ("spoil", "kind", "step"),
    [
        (rubbish, Damaged, "move it away and start again"),
        (a_folder, FileError, "relay.db"),
        (later_version, NewerFile, "upgrade syncmem"),
    ],
)
def test_a_store_that_cannot_be_used_is_left_as_it_is_and_told_at_the_start(
    tmp_path: Path, spoil: Callable[[Path], None], kind: type[FileError], step: str
) -> None:
    spoil(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(kind, match=step):
        SqliteStore(tmp_path, os.urandom)
    assert {path: path.read_bytes() for path in before} == before


def test_damage_is_told_to_whom_it_concerns_and_the_others_are_served(tmp_path: Path) -> None:
    harmed, other = new_key(), new_key()
    with running(tmp_path) as relay:
        ask_at(relay.address, harmed, Put(ONE, 1, b"h" * 900_000))
        ask_at(relay.address, other, Put(ONE, 1, b"o" * 300_000))
    path = tmp_path / FILE_NAME
    data = bytearray(path.read_bytes())
    start = data.index(b"h" * 4000)
    data[start : start + 8192] = b"\xff" * 8192  # the chain of pages breaks in the middle of the blob
    path.write_bytes(data)
    with running(tmp_path) as relay:
        name = BlobName(ONE, 1, digest(b"h" * 900_000))
        box = open_mailbox(relay.address)
        with pytest.raises(MailboxError, match="damaged; tell its operator"):
            list(box.get(harmed.write_key, harmed.write_seed, [name]))
        box.close()
        name = BlobName(ONE, 1, digest(b"o" * 300_000))
        box = open_mailbox(relay.address)
        assert [blob for _, blob in box.get(other.write_key, other.write_seed, [name])] == [b"o" * 300_000]
        box.close()


def test_nothing_is_acknowledged_into_a_file_that_was_moved_away(tmp_path: Path) -> None:
    key = new_key()
    with running(tmp_path / "data") as relay:
        ask_at(relay.address, key, Put(ONE, 1, b"first"))
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        with pytest.raises(MailboxError, match="moved away"):
            ask_at(relay.address, key, Put(ONE, 2, b"second"))


# -- dropped --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("journal")
def test_no_byte_of_a_dropped_blob_is_in_any_file_of_the_relay(tmp_path: Path) -> None:
    """Of many sizes, among others that stay, at a relay that runs: as soon as the drop is answered."""
    random, key = Random(1), new_key()
    held: dict[BlobName, bytes] = {}
    with running(tmp_path) as relay:
        box = open_mailbox(relay.address)
        ask(box, key, drop_key=public_key(DROP))
        for turn in range(12):
            puts = [
                Put(bytes([random.randrange(4)]) * 8, turn * 100 + n, random.randbytes(random.randrange(20, 9000)))
                for n in range(1, 15)
            ]
            ask(box, key, *puts)
            held |= {BlobName(put.stream, put.counter, digest(put.blob)): put.blob for put in puts}
            names = [name for name in held if random.random() < 0.3]
            assert all(drop(box, key, names, "erase", DROP))
            gone = [held.pop(name) for name in names]
            files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
            assert not any(blob[at : at + 12] in files for blob in gone for at in range(0, len(blob) - 12, 500))
        box.close()


@pytest.mark.usefixtures("journal")
def test_every_commit_is_flushed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, os.urandom)
    full = 2
    assert store._db.execute("PRAGMA synchronous").fetchone()[0] >= full
    assert store._db.execute("PRAGMA secure_delete").fetchone()[0] == 1
    store.close()


# -- what moved -----------------------------------------------------------------------------------------


def test_who_listens_is_told_of_what_was_stored_and_of_nothing_else(tmp_path: Path) -> None:
    store, told, key = SqliteStore(tmp_path, os.urandom), [], new_key()
    store.listen(lambda *moved: told.append(moved))
    assert store.position(key.mailbox) is None
    store.exchange(Exchange(key.write_key, [], {}, 0))
    assert told == []
    answer = store.exchange(Exchange(key.write_key, [Put(ONE, 3, b"x"), Put(b"stream 2", 4, b"y")], {}, 0))
    assert told == [(key.mailbox, (answer.epoch, 7))]
    assert store.position(key.mailbox) == (answer.epoch, 7)
    store.exchange(Exchange(key.write_key, [Put(ONE, 3, b"x")], {}, 0))
    assert len(told) == 1
    store.close()


# -- at once --------------------------------------------------------------------------------------------


def test_puts_that_wait_for_the_disk_at_one_time_share_a_commit_and_fail_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, keys = SqliteStore(tmp_path, os.urandom), [new_key() for _ in range(9)]
    commits, transaction, check = 0, store._file.transaction, store._check_room
    blobs = [b"fine"] * 8 + [b"too much"]

    def counted() -> AbstractContextManager[None]:
        nonlocal commits
        commits += 1
        return transaction()

    def checked(size: int) -> None:
        check(size)
        if size == len(b"too much"):
            raise DiskFull("no room")

    monkeypatch.setattr(store._file, "transaction", counted)
    monkeypatch.setattr(store, "_check_room", checked)

    def put(number: int) -> Outcome:
        return store.exchange(Exchange(keys[number].write_key, [Put(ONE, 1, blobs[number])], {}, 0)).results[0].outcome

    def all_at_once(count: int) -> list[Outcome]:
        with ThreadPoolExecutor(count) as threads:
            with store._file.held():
                asked = [threads.submit(put, number) for number in range(count)]
                while len(store._together._waiting) < count:
                    time.sleep(0.001)
            return [future.result() for future in asked]

    assert all_at_once(8) == [Outcome.STORED] * 8
    assert commits == 1
    assert all_at_once(9) == [Outcome.KNOWN] * 8 + [Outcome.OVER_QUOTA]
    positions = [store.position(key.mailbox) for key in keys]
    assert [position and position[1] for position in positions] == [1] * 8 + [0]
    store.close()
