"""What an operator meets when something is not as it should be: told in their words, and nothing is lost or left."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from syncmem.cli.app import cli
from syncmem.errors import Busy, Damaged, FileError, InvalidInput
from syncmem.relay import control, restoring
from syncmem.relay.care import Care
from syncmem.relay.control import FILE_NAME as CONTROL
from syncmem.relay.control import Running
from syncmem.relay.file import FILE_NAME
from syncmem.relay.limits import MIB, Limits
from syncmem.relay.moving import move
from syncmem.relay.restoring import REPLACED, restore
from syncmem.relay.store import SqliteStore
from syncmem.replica.driver import PAGE_BYTES
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.wire.mailbox import BlobName, Exchange, Outcome, Put, digest
from tests.mailbox.serving import new_key, process, signed_drop

ONE = b"stream 1"
DROP = b"d" * 32


def put(store: SqliteStore, key: EpochKey, counter: int, blob: bytes) -> Outcome:
    asked = Exchange(key.write_key, [Put(ONE, counter, blob)], {}, 0, public_key(DROP))
    (answer,) = store.exchange_all([asked])
    assert not isinstance(answer, Exception)
    return answer.results[0].outcome


def filled(folder: Path, key: EpochKey, *blobs: bytes) -> None:
    with closing(SqliteStore(folder, os.urandom)) as store:
        for counter, blob in enumerate(blobs, 1):
            assert put(store, key, counter, blob) == Outcome.STORED


def held(folder: Path) -> list[dict[str, Any]]:
    with closing(SqliteStore(folder, os.urandom)) as store:
        return Care(store, os.urandom).mailboxes()


# -- where a store is ------------------------------------------------------------------------------------


def test_the_address_of_another_kind_of_database_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"mysql://\.\.\. is no place for a relay's store") as caught:
        move("mysql://user:word@host/name", str(tmp_path / "new"), os.urandom)
    assert "word" not in str(caught.value)


def test_a_place_that_cannot_hold_a_store_is_told_as_the_operators_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(FileError, match="check that the folder is one"):
        SqliteStore(tmp_path / "file", os.urandom)


# -- room ------------------------------------------------------------------------------------------------


def test_that_there_is_no_room_stands_in_the_log_once_and_that_there_is_some_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key, blobs = new_key(), [os.urandom(400_000) for _ in range(8)]
    with (
        caplog.at_level(logging.WARNING, "syncmem.relay"),
        closing(SqliteStore(tmp_path, os.urandom, Limits(store_bytes_max=2 * MIB))) as store,
    ):
        found = [put(store, key, counter, blob) for counter, blob in enumerate(blobs, 1)]
        assert found.count(Outcome.OVER_QUOTA) > 1
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        names = [BlobName(ONE, n, digest(blobs[n - 1])) for n, one in enumerate(found, 1) if one == Outcome.STORED]
        assert all(store.drop(signed_drop(key, names, "erase", DROP)))
        assert put(store, key, 100, b"small") == Outcome.STORED
        assert put(store, key, 101, b"small") == Outcome.STORED
    assert [record.getMessage() for record in caplog.records][1:] == ["there is room again"]


# -- asking a relay that runs, or seems to --------------------------------------------------------------


def test_copies_that_a_killed_relay_left_on_their_way_are_gone_when_it_starts_again(tmp_path: Path) -> None:
    left = tmp_path / control.COPY.format("0123")
    left.write_bytes(b"half of a backup")
    kept = tmp_path / "mine.backup"
    kept.write_bytes(b"another file")
    with process(tmp_path) as relay:
        assert not left.exists()
        assert kept.exists()
        assert relay.close()[0] == 0


@pytest.fixture(params=[b"", b"SSH-2.0-nothing\r\n"], ids=["silent", "of another protocol"])
def stranger(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a relay that was killed, and a program that got its port meanwhile."""
    monkeypatch.setattr(control, "PROBE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(request.param)
                connection.recv(1 << 16)
                connection.recv(1 << 16)  # until the other side has enough

        thread = threading.Thread(target=answer)
        thread.start()
        told = {"port": listening.getsockname()[1], "secret": "Bearer of a relay that is gone"}
        (tmp_path / CONTROL).write_text(json.dumps(told))
        yield tmp_path
        thread.join()


def test_another_program_at_the_port_of_a_killed_relay_is_not_waited_for(stranger: Path) -> None:
    with pytest.raises(FileError, match=r"another program listens where the relay did; remove relay\.control"):
        Running.at(stranger)


# -- what a disk damaged ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_told_as_damaged_by_whatever_reads_it(tmp_path: Path, seed: int) -> None:
    """Bytes and pages that changed, a file that is cut off: no failure but in words that say what to do."""
    random, path = Random(seed), tmp_path / FILE_NAME
    filled(tmp_path, new_key(), *[random.randbytes(3000) for _ in range(40)])
    data = bytearray(path.read_bytes())
    match seed % 3:
        case 0:
            for place in random.sample(range(100, len(data)), 60):
                data[place] ^= 1 << random.randrange(8)
        case 1:
            page = random.randrange(1, len(data) // PAGE_BYTES) * PAGE_BYTES
            data[page : page + PAGE_BYTES] = random.randbytes(PAGE_BYTES)
        case 2:
            del data[random.randrange(PAGE_BYTES, len(data)) :]
    path.write_bytes(data)
    told = CliRunner().invoke(cli, ["relay", "verify", "--data", str(tmp_path)])
    assert told.exit_code in (1, 4)
    assert "devices" in told.output or "restore a backup" in told.output
    assert "operator" not in told.output


def test_words_of_a_damaged_schema_that_are_no_text_are_damage(tmp_path: Path) -> None:
    filled(tmp_path, new_key(), b"one")
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE mailboxes", b"CREA\xd9\xffTABLE mailboxes"))
    with pytest.raises(Damaged, match="it is damaged or no store of a relay"):
        SqliteStore(tmp_path, os.urandom)


# -- putting back ----------------------------------------------------------------------------------------


def test_a_restore_that_breaks_off_leaves_the_store_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it ends, there is a store: a relay that starts then does not begin with an empty one."""
    folder, key = tmp_path / "relay", new_key()
    filled(tmp_path / "backup", new_key(), b"old")
    filled(folder, key, b"one", b"two")
    there, replaces = folder / FILE_NAME, os.replace

    def broken(source: Any, target: Any) -> None:
        assert there.exists()
        if Path(target) == there:
            raise OSError(5, "the machine went off")
        replaces(source, target)

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(FileError, match="the machine went off"):
        restore(tmp_path / "backup" / FILE_NAME, folder, overwrite=True)
    monkeypatch.undo()
    assert [box["mailbox"] for box in held(folder)] == [key.mailbox.hex()]
    assert restore(tmp_path / "backup" / FILE_NAME, folder, overwrite=True)["blobs"] == 1
    assert (folder / REPLACED).exists()
    assert [box["blobs"] for box in held(folder)] == [1]


def test_a_relay_that_was_started_during_a_restore_keeps_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, key, prepared = tmp_path / "relay", new_key(), restoring._prepare
    filled(tmp_path / "backup", new_key(), b"old")
    filled(folder, key, b"one")
    started: list[SqliteStore] = []

    def meanwhile(*said: Any) -> Any:
        started.append(SqliteStore(folder, os.urandom))
        return prepared(*said)

    monkeypatch.setattr(restoring, "_prepare", meanwhile)
    with pytest.raises(Busy, match="another relay serves it"):
        restore(tmp_path / "backup" / FILE_NAME, folder, overwrite=True)
    with closing(started[0]) as store:
        assert put(store, key, 2, b"two") == Outcome.STORED
    assert [box["blobs"] for box in held(folder)] == [2]
