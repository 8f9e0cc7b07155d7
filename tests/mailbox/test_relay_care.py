"""An operator's care: what is there, whether it is whole, quotas, backups while it runs, and putting one back."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from syncmem import Environment, ManualClock
from syncmem.cli.app import cli
from syncmem.relay.care import Care
from syncmem.relay.control import FILE_NAME as CONTROL
from syncmem.relay.file import FILE_NAME
from syncmem.relay.restoring import REPLACED
from syncmem.relay.store import SqliteStore
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Outcome, Put
from tests.mailbox.postgres import Cluster
from tests.mailbox.serving import RelayProcess, ask_at, new_key, process
from tests.sync.group import Group

ONE = b"stream 1"
Way = Callable[[RelayProcess], None]


def stopped(relay: RelayProcess) -> None:
    assert relay.close()[0] == 0


def killed(relay: RelayProcess) -> None:
    relay.kill()


def running(relay: RelayProcess) -> None:
    pass


EACH_WAY = pytest.mark.parametrize("way", [running, stopped, killed])


def run(*words: str, folder: Path, code: int = 0) -> Any:
    result: Result = CliRunner().invoke(cli, ["relay", *words, "--data", str(folder), "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.output) if code in (0, 4) else result.output


@EACH_WAY
def test_what_is_there_is_listed_and_verified_and_has_quotas_whether_the_relay_runs_or_not(
    tmp_path: Path, way: Way
) -> None:
    with process(tmp_path) as relay:
        large, small = new_key(), new_key()
        ask_at(relay.address, large, Put(ONE, 1, b"x" * 3000), Put(ONE, 2, b"y"))
        ask_at(relay.address, small, Put(ONE, 1, b"z"))
        way(relay)
        first, second = run("mailboxes", folder=tmp_path)
        assert first == {"mailbox": large.mailbox.hex(), "bytes": 3001, "blobs": 2, "streams": 1, "quota": None}
        assert second["mailbox"] == small.mailbox.hex()
        found = run("verify", folder=tmp_path)
        assert (found["mailboxes"], found["blobs"], found["bytes"], found["problems"]) == (2, 3, 3002, [])
        assert run("quota", small.mailbox.hex(), "0", folder=tmp_path)["quota"] == 0
        assert "there is no mailbox" in run("quota", "00" * 16, folder=tmp_path, code=1)
        assert "is no id" in run("quota", "rubbish", folder=tmp_path, code=1)
        assert run("gc", folder=tmp_path) == {"objects": 0, "bytes": 0}
        if way is not running:
            relay.start()
        assert ask_at(relay.address, small, Put(ONE, 2, b"more")).results[0].outcome == Outcome.OVER_QUOTA
        assert ask_at(relay.address, large, Put(ONE, 3, b"more")).results[0].outcome == Outcome.STORED
        run("quota", small.mailbox.hex(), "--usual", folder=tmp_path)
        assert ask_at(relay.address, small, Put(ONE, 2, b"more")).results[0].outcome == Outcome.STORED


def test_a_blob_that_is_not_what_was_put_is_found(tmp_path: Path) -> None:
    with process(tmp_path) as relay:
        for counter in range(1, 4):
            ask_at(relay.address, new_key(), Put(ONE, counter, b"x" * 500))
        relay.close()
    with closing(SqliteStore(tmp_path, os.urandom)) as store:
        store.file.db.execute("UPDATE blobs SET blob = zeroblob(500) WHERE id = 2")
        store.file.db.execute("UPDATE mailboxes SET bytes = 7 WHERE no = 1")
    found = run("verify", folder=tmp_path, code=4)
    assert found["problem_count"] == 2
    assert found["problems"][0].startswith("blob 2 is not what was put")
    assert "is counted wrong" in found["problems"][1]
    shutil.copyfile(tmp_path / FILE_NAME, tmp_path / "damaged")
    target = tmp_path / "other"
    assert "not whole" in run("restore", str(tmp_path / "damaged"), folder=target, code=1)
    assert list(target.iterdir()) == []


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
