"""An operator's care: what is there, whether it is whole, quotas, backups while it runs, and putting one back."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from syncmem import Environment, ManualClock
from syncmem.cli.app import cli
from syncmem.relay.care import Care, handle_of
from syncmem.relay.control import FILE_NAME as CONTROL
from syncmem.relay.file import FILE_NAME
from syncmem.relay.restoring import REPLACED
from syncmem.relay.store import SqliteStore
from syncmem.seal.keys import public_key
from syncmem.sync import open_mailbox
from syncmem.sync.http import Http
from syncmem.wire.mailbox import BlobName, Outcome, Put, digest
from tests.mailbox.postgres import Cluster, cluster
from tests.mailbox.serving import RelayProcess, ask, ask_at, drop, new_key, process
from tests.sync.group import Group

ONE = b"stream 1"
DROP = b"d" * 32
Way = Callable[[RelayProcess], None]


def stopped(relay: RelayProcess) -> None:
    assert relay.close()[0] == 0


def killed(relay: RelayProcess) -> None:
    relay.kill()


def running(relay: RelayProcess) -> None:
    pass


EACH_WAY = pytest.mark.parametrize("way", [running, stopped, killed])


def run(*words: str, folder: Path | str, code: int = 0) -> Any:
    where = ["--data", str(folder)] if isinstance(folder, Path) else ["--store", folder]
    result: Result = CliRunner().invoke(cli, ["relay", *words, *where, "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.output) if code in (0, 4) else result.output


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a relay may keep its blobs: each kind, empty."""
    return tmp_path / "relay" if request.param == "SQLite" else request.getfixturevalue("postgres").database()


@EACH_WAY
def test_what_is_there_is_listed_and_verified_and_has_quotas_whether_the_relay_runs_or_not(
    place: Path | str, way: Way
) -> None:
    with process(place) as relay:
        large, small = new_key(), new_key()
        ask_at(relay.address, large, Put(ONE, 1, b"x" * 3000), Put(ONE, 2, b"y"))
        ask_at(relay.address, small, Put(ONE, 1, b"z"))
        way(relay)
        first, second = run("mailboxes", folder=place)
        told = {"mailbox": large.mailbox.hex(), "bytes": 3001, "blobs": 2, "streams": 1, "quota": None}
        assert first == {"handle": handle_of(large.mailbox), **told}
        assert second["mailbox"] == small.mailbox.hex()
        found = run("verify", folder=place)
        assert (found["mailboxes"], found["blobs"], found["bytes"], found["problems"]) == (2, 3, 3002, [])
        assert run("quota", small.mailbox.hex(), "1", folder=place)["quota"] == 1 << 20
        assert run("quota", handle_of(small.mailbox), "0", folder=place)["quota"] == 0
        assert "0 mailboxes are called 00000000" in run("quota", "00000000", folder=place, code=1)
        assert "there is no mailbox" in run("quota", "00" * 16, folder=place, code=1)
        assert "is no id" in run("quota", "rubbish", folder=place, code=1)
        assert run("gc", folder=place) == {"objects": 0, "bytes": 0}
        if way is not running:
            relay.start()
        assert ask_at(relay.address, small, Put(ONE, 2, b"more")).results[0].outcome == Outcome.OVER_QUOTA
        assert ask_at(relay.address, large, Put(ONE, 3, b"more")).results[0].outcome == Outcome.STORED
        run("quota", small.mailbox.hex(), "--usual", folder=place)
        assert ask_at(relay.address, small, Put(ONE, 2, b"more")).results[0].outcome == Outcome.STORED


def test_a_blob_that_is_not_what_was_put_is_found(place: Path | str) -> None:
    with process(place) as relay:
        for counter in range(1, 4):
            ask_at(relay.address, new_key(), Put(ONE, counter, b"x" * 500))
        relay.close()
    spoil(place, "UPDATE blobs SET blob = {zeros} WHERE counter = 2", "UPDATE mailboxes SET bytes = 7 WHERE {first}")
    found = run("verify", folder=place, code=4)
    assert found["problem_count"] == 2
    assert re.match(r"blob [0-9a-f ]*2 is not what was put", found["problems"][0])
    assert "is counted wrong" in found["problems"][1]
    spoil(place, "UPDATE streams SET last = 9 WHERE last = 3")
    assert "ends elsewhere" in run("verify", folder=place, code=4)["problems"][2]


def spoil(place: Path | str, *statements: str) -> None:
    """Write into a store past everything that keeps it right."""
    if isinstance(place, Path):
        with closing(SqliteStore(place, os.urandom)) as store:
            for statement in statements:
                store.file.db.execute(statement.format(zeros="zeroblob(500)", first="no = 1"))
        return
    zeros, first = "decode(repeat('00', 500), 'hex')", "mailbox = (SELECT mailbox FROM mailboxes LIMIT 1)"
    for statement in statements:
        cluster().sql(statement.format(zeros=zeros, first=first), place)


def test_a_backup_that_is_not_whole_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    with process(tmp_path / "relay") as relay:
        ask_at(relay.address, new_key(), Put(ONE, 2, b"x" * 500))
        relay.close()
    spoil(tmp_path / "relay", "UPDATE blobs SET blob = {zeros}")
    target = tmp_path / "other"
    assert "not whole" in run("restore", str(tmp_path / "relay" / FILE_NAME), folder=target, code=1)
    assert list(target.iterdir()) == []


def test_a_quota_of_a_mailbox_that_is_not_there_is_refused_and_not_kept_for_one_to_come(place: Path | str) -> None:
    key = new_key()
    with process(place) as relay:
        assert "there is no mailbox" in run("quota", key.mailbox.hex(), "0", folder=place, code=1)
        assert ask_at(relay.address, key, Put(ONE, 1, b"x")).results[0].outcome == Outcome.STORED
        assert run("quota", key.mailbox.hex(), folder=place)["quota"] is None


def test_space_of_what_was_dropped_is_given_back(place: Path | str) -> None:
    key = new_key()
    with process(place) as relay, closing(open_mailbox(relay.address)) as box:
        blobs = [os.urandom(1 << 18) for _ in range(16)]
        puts = [Put(ONE, number + 1, blob) for number, blob in enumerate(blobs)]
        ask(box, key, *puts, drop_key=public_key(DROP))
        names = [BlobName(ONE, put.counter, digest(put.blob)) for put in puts]
        assert all(drop(box, key, names, "erase", DROP))
        assert run("gc", folder=place)["bytes"] > 8 << 18
        assert ask(box, key, Put(ONE, 17, b"still served")).results[0].outcome == Outcome.STORED
        assert run("verify", folder=place)["problems"] == []


def test_backup_and_restore_of_a_database_are_its_own_tools_and_that_is_said(postgres: Cluster, tmp_path: Path) -> None:
    database = postgres.database()
    for words in (("backup", str(tmp_path / "copy")), ("restore", str(tmp_path / "copy"))):
        assert "a database has its own tools (pg_dump)" in run(*words, folder=database, code=1)


def test_who_has_not_the_secret_is_told_nothing_and_it_goes_with_the_relay(tmp_path: Path) -> None:
    with process(tmp_path) as relay:
        said = json.loads((tmp_path / CONTROL).read_text())
        assert (tmp_path / CONTROL).stat().st_mode & 0o077 == 0
        (tmp_path / CONTROL).write_text(json.dumps({**said, "secret": "Bearer guessed"}))
        assert "another program listens" in run("mailboxes", folder=tmp_path, code=1)
        relay.close()
        assert not (tmp_path / CONTROL).exists()


def test_devices_at_a_relay_that_was_put_back_from_a_backup_send_what_it_lacks_by_themselves(tmp_path: Path) -> None:
    """Nothing is lost, nothing erased comes back, and every device is verified again."""
    data, copy = tmp_path / "relay", tmp_path / "copy"
    with process(data) as relay:
        group = Group(tmp_path, "https://relay", lambda _: patient(relay.address))
        laptop, phone = group.found(), group.pair("phone")
        laptop.remember("bob", "secret", "to be erased after the backup")
        group.settle()
        run("backup", str(copy), folder=data)
        assert copy.stat().st_mode & 0o077 == 0
        assert "exists already" in run("backup", str(copy), folder=data, code=1)
        for number in range(5):
            laptop.remember("ana", f"fact {number}", "of the laptop")
            phone.remember("ana", f"fact {number}", "of the phone")
            group.sync("laptop", "phone")
        laptop.erase("bob")
        group.settle()
        laptop.remember("ana", "last", "never synced with the phone before")
        laptop.sync()
        assert "another relay serves it" in run("restore", str(copy), "--overwrite", folder=data, code=3)
        relay.kill()
        assert "exists already" in run("restore", str(copy), folder=data, code=1)
        run("restore", str(copy), "--overwrite", folder=data)
        assert (data / REPLACED).exists()
        relay.start()
        report = phone.sync()
        assert report.mailboxes[0].reset
        group.settle()
        group.assert_in_sync()
        assert phone.believe("ana", "last") is not None
        assert phone.believe("bob", "secret") is None
        newcomer = group.pair("tablet")
        group.settle()
        group.assert_in_sync()
        assert len(newcomer.beliefs("ana", "fact 4")) == 2
        assert newcomer.believe("bob", "secret") is None
        assert run("verify", folder=data)["problems"] == []
        assert all(erasure.complete for erasure in laptop.erasures())
        group.close()


def patient(address: str) -> Http:
    return Http(address, environment=Environment(clock=ManualClock()))


def test_a_backup_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    data, copy = tmp_path / "relay", tmp_path / "copy"
    with process(data) as relay:
        key = new_key()
        for counter in range(1, 60, 4):  # some 16 MiB: many steps
            puts = [Put(ONE, counter + n, os.urandom(1 << 18)) for n in range(4)]
            ask_at(relay.address, key, *puts)
        going = threading.Event()

        def write() -> None:
            counter = 1
            while not going.is_set():
                ask_at(relay.address, key, Put(b"stream 2", counter, os.urandom(1000)))
                counter += 1

        writing = threading.Thread(target=write)
        writing.start()
        run("backup", str(copy), folder=data)
        going.set()
        writing.join()
        last = ask_at(relay.address, key).ends[b"stream 2"]
    restored = tmp_path / "restored"
    found = run("restore", str(copy), folder=restored)
    assert found["problems"] == []
    with closing(SqliteStore(restored, os.urandom)) as store:
        (held,) = Care(store, os.urandom).mailboxes()
        assert 60 <= held["blobs"] <= 60 + last


def test_a_database_that_was_put_back_by_its_own_tools_is_told_so_and_devices_send_what_it_lacks(
    tmp_path: Path, postgres: Cluster
) -> None:
    address = postgres.database()
    with process(address) as relay, process(address) as other:
        group = Group(tmp_path, "https://relay", lambda _: patient(other.address))
        laptop = group.found()
        group.pair("phone")
        group.settle()
        with as_backed_up(postgres, address):
            laptop.remember("ana", "city", "Lisbon")
            group.settle()
        result = CliRunner().invoke(cli, ["relay", "restored", "--store", address])
        assert result.exit_code == 0, result.output
        reset = [report.mailboxes[0].reset for report in group.sync("laptop", "phone")]
        assert reset == [True, True]
        group.settle()
        group.assert_in_sync()
        newcomer = group.pair("tablet")
        group.settle()
        assert newcomer.believe("ana", "city") is not None
        assert relay.process.poll() is None
        group.close()


@contextlib.contextmanager
def as_backed_up(postgres: Cluster, address: str) -> Iterator[None]:
    """Afterwards the tables are as they were before, as pg_restore leaves them."""
    tables = ("mailboxes", "drop_keys", "streams", "blobs")

    postgres.sql("; ".join(f"CREATE TABLE {table}_kept AS TABLE {table}" for table in tables), address)
    yield
    kept = (f"TRUNCATE {table}; INSERT INTO {table} SELECT * FROM {table}_kept" for table in tables)
    postgres.sql("; ".join(kept), address)
