"""A relay moves from one store to another and back: what was there is there, and who meets there notices nothing."""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from syncmem.cli.app import cli
from syncmem.errors import Busy, Damaged, InvalidInput, SyncmemError
from syncmem.relay import moving
from syncmem.relay.care import Care
from syncmem.relay.moving import Moved, digest_of, move
from syncmem.relay.opening import open_store
from syncmem.relay.restoring import renew
from syncmem.relay.shelves import shelf
from syncmem.seal.keys import public_key
from syncmem.sync import open_mailbox
from syncmem.wire.mailbox import BlobName, Outcome, Put, digest
from tests.mailbox.postgres import Cluster
from tests.mailbox.serving import RelayThread, ask, drop, new_key, running
from tests.sync.group import Group

ONE = b"stream 1"
DROP = b"d" * 32
_numbers = itertools.count()


def fill(store: str | Path, blobs: str | None = None, mailboxes: int = 5) -> None:
    """Mailboxes with small and large blobs in several streams; some are dropped."""
    random = Random(3)
    with running(store, blobs=blobs) as relay:
        for _ in range(mailboxes):
            box, key = open_mailbox(relay.address), new_key()
            sizes = [10, 700, 70_000, 200_000]
            puts = [Put(bytes([n % 3]) * 8, n, random.randbytes(random.choice(sizes))) for n in range(1, 12)]
            assert {result.outcome for result in ask(box, key, *puts, drop_key=public_key(DROP)).results} == {0}
            names = [BlobName(put.stream, put.counter, digest(put.blob)) for put in puts[:3]]
            assert all(drop(box, key, names, "erase", DROP))
            box.close()


def set_quotas(store: Path | str) -> dict[str, int | None]:
    """One mailbox holds more than the others may; what each may hold."""
    opened = open_store(str(store), os.urandom, serving=False)
    care = Care(opened, os.urandom)
    care.quota(care.mailboxes()[0]["mailbox"], 123_456_789_012)
    opened.close()
    return quotas(store)


def quotas(store: Path | str) -> dict[str, int | None]:
    opened = open_store(str(store), os.urandom, serving=False)
    try:
        return {found["mailbox"]: found["quota"] for found in Care(opened, os.urandom).mailboxes()}
    finally:
        opened.close()


def digests(store: str | Path, blobs: str | None = None) -> dict[bytes, bytes]:
    """Of each mailbox, read from what is stored."""
    opened = open_store(str(store), os.urandom, blobs=blobs, serving=False)
    try:
        with shelf(opened) as found:
            return {mailbox: digest_of(found, mailbox) for mailbox in found.mailboxes()}
    finally:
        opened.close()


def moved(source: object, target: object, **more: Any) -> Moved:
    return move(str(source), str(target), os.urandom, **more)


def test_from_sqlite_to_postgresql_and_back_everything_is_what_it_was(postgres: Cluster, tmp_path: Path) -> None:
    fill(tmp_path / "one")
    allowed = set_quotas(tmp_path / "one")
    assert set(allowed.values()) == {None, 123_456_789_012}
    before, database = digests(tmp_path / "one"), postgres.database()
    done = moved(tmp_path / "one", database)
    assert quotas(database) == allowed
    assert (done.mailboxes, done.moved, done.blobs) == (5, 5, 55)
    assert digests(database) == before
    back = moved(database, tmp_path / "two")
    assert back.digest == done.digest
    assert digests(tmp_path / "two") == before == digests(tmp_path / "one")
    assert quotas(tmp_path / "two") == allowed
    assert len(before) == 5


def test_blobs_go_into_object_storage_and_out_of_it(postgres: Cluster, tmp_path: Path) -> None:
    fill(tmp_path / "one")
    before, database = digests(tmp_path / "one"), postgres.database()
    blobs = f"memory://moving/{next(_numbers)}"
    moved(tmp_path / "one", database, target_blobs=blobs)
    assert digests(database, blobs) == before
    assert int(postgres.sql("SELECT count(*) FROM blobs WHERE object IS NOT NULL", database)) > 5
    assert postgres.sql("SELECT count(*) FROM loose", database) == "0"
    moved(database, tmp_path / "two", source_blobs=blobs)
    assert digests(tmp_path / "two") == before


def test_a_move_that_broke_off_is_taken_up_where_it_was(
    postgres: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "one")
    database, blobs, rows = postgres.database(), f"memory://moving/{next(_numbers)}", 0
    monkeypatch.setattr(moving, "PAGE", 4)
    write = moving._write

    def breaking(*arguments: Any) -> int:
        nonlocal rows
        rows += 1
        if rows == 9:
            raise KeyboardInterrupt
        return write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "_write", breaking)
        with pytest.raises(KeyboardInterrupt):
            moved(tmp_path / "one", database, target_blobs=blobs)
    told: list[tuple[int, int]] = []
    done = moved(tmp_path / "one", database, target_blobs=blobs, tell=lambda number, of: told.append((number, of)))
    assert (done.mailboxes, done.moved) == (5, 3)
    assert told == [(n, 5) for n in range(1, 6)]
    assert digests(database, blobs) == digests(tmp_path / "one")
    assert moved(tmp_path / "one", database, target_blobs=blobs).moved == 0
    store = open_store(database, os.urandom, blobs=blobs, serving=False)
    assert store.objects is not None
    assert store.collect(0) > 0  # what the first try had written already was written again
    objects = [found.key for page in store.objects.pages(store.prefix) for found in page]
    assert len(objects) - 1 == int(postgres.sql("SELECT count(*) FROM blobs WHERE object IS NOT NULL", database))
    store.close()
    assert digests(database, blobs) == digests(tmp_path / "one")


def test_what_was_dropped_since_is_dropped_in_the_store_of_before(postgres: Cluster, tmp_path: Path) -> None:
    key, database = new_key(), postgres.database()
    blobs = [f"memory://moving/{next(_numbers)}" for _ in range(2)]
    large = b"l" * 100_000
    with running(tmp_path / "one", blobs=blobs[0]) as relay:
        box = open_mailbox(relay.address)
        ask(box, key, Put(ONE, 1, b"first"), Put(ONE, 2, large), Put(ONE, 3, b"third"), drop_key=public_key(DROP))
        box.close()
    moved(tmp_path / "one", database, source_blobs=blobs[0], target_blobs=blobs[1])
    with running(database, blobs=blobs[1]) as relay:
        box = open_mailbox(relay.address)
        assert all(drop(box, key, [BlobName(ONE, 1, digest(b"first")), BlobName(ONE, 2, digest(large))], "erase", DROP))
        ask(box, key, Put(ONE, 4, b"fourth"))
        box.close()
    moved(database, tmp_path / "one", source_blobs=blobs[1], target_blobs=blobs[0])
    assert digests(database, blobs[1]) == digests(tmp_path / "one", blobs[0])
    with running(tmp_path / "one", blobs=blobs[0]) as relay:
        box = open_mailbox(relay.address)
        assert [entry.blob for entry in ask(box, key).listed] == [b"third", b"fourth"]
        assert ask(box, key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.KNOWN
        box.close()
        assert relay.store.objects is not None
        assert [found.key[-5:] for found in relay.store.objects.page("", "")[0]] == ["/mark"]


def test_a_store_that_is_in_use_is_not_moved(postgres: Cluster, tmp_path: Path) -> None:
    database = postgres.database()
    with shelf(open_store(str(tmp_path / "three"), os.urandom, serving=False)):
        pass
    with running(database) as relay:
        until_it_listens(relay)
        with pytest.raises(Busy, match="relays are running"):
            moved(database, tmp_path / "two")
        with pytest.raises(Busy, match="relays are running"):
            moved(tmp_path / "three", database)
    with running(tmp_path / "one"), pytest.raises(Busy, match="another relay serves it"):
        moved(tmp_path / "one", database)
    assert moved(database, tmp_path / "two").mailboxes == 0


def until_it_listens(relay: RelayThread) -> None:
    """It says so itself."""
    begun = time.monotonic()
    while time.monotonic() - begun < 30:
        try:
            return relay.store.check()
        except Busy:
            time.sleep(0.01)
    raise AssertionError("the relay does not come to listen")


def test_a_relay_that_starts_while_its_store_is_moved_takes_nothing(postgres: Cluster, tmp_path: Path) -> None:
    database = postgres.database()
    opened = open_store(database, os.urandom, serving=False)
    with shelf(opened), running(database) as relay:
        box = open_mailbox(relay.address)
        with pytest.raises(SyncmemError, match="being moved; sync again in a moment"):
            ask(box, new_key(), Put(ONE, 1, b"x"))
        box.close()
    opened.close()


def test_a_target_with_other_mailboxes_is_left_as_it_is(tmp_path: Path) -> None:
    fill(tmp_path / "one", mailboxes=1)
    fill(tmp_path / "two", mailboxes=2)
    before = digests(tmp_path / "two")
    with pytest.raises(InvalidInput, match="holds 2 other mailboxes"):
        moved(tmp_path / "one", tmp_path / "two")
    assert digests(tmp_path / "two") == before
    with pytest.raises(InvalidInput, match="name another one"):
        moved(tmp_path / "one", tmp_path / "one")


def test_a_blob_that_is_damaged_is_told_and_not_carried_on(tmp_path: Path) -> None:
    fill(tmp_path / "one", mailboxes=1)
    store = open_store(str(tmp_path / "one"), os.urandom)
    store._db.execute("UPDATE blobs SET blob = zeroblob(size) WHERE id = 5")  # type: ignore[attr-defined]
    store.close()
    with pytest.raises(Damaged, match="not what its name says"):
        moved(tmp_path / "one", tmp_path / "two")


def test_devices_go_on_at_the_relay_that_moved_and_notice_nothing(postgres: Cluster, tmp_path: Path) -> None:
    database = postgres.database()
    with running(tmp_path / "relay") as relay:
        address = relay.address
        group = Group(tmp_path, "https://relay", lambda _: open_mailbox(address))
        laptop, phone = group.found(), group.pair("phone")
        laptop.remember("ana", "city", "Lisbon")
        group.settle()
    done = CliRunner().invoke(cli, ["relay", "migrate", str(tmp_path / "relay"), database])
    assert done.exit_code == 0, done.output
    assert "verified" in done.output
    with running(database) as relay:
        address = relay.address
        reports = group.sync("laptop", "phone")
        assert [(one.sent, one.received) for report in reports for one in report.mailboxes] == [(0, 0), (0, 0)]
        phone.remember("ana", "pet", "a cat")
        group.settle()
        group.assert_in_sync()
        group.close()


def test_a_relay_that_is_not_there_is_not_moved_and_no_folder_is_made(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for missing in ("nonexistent-relay", "other"):
        with pytest.raises(InvalidInput, match="there is no store in .*name the folder"):
            moved(tmp_path / missing, tmp_path / "new-relay")
        with pytest.raises(InvalidInput, match="there is no store in"):
            renew(str(tmp_path / missing))
    assert [path.name for path in tmp_path.rglob("*")] == ["other"]


def test_a_move_is_told_as_json(tmp_path: Path) -> None:
    fill(tmp_path / "one", mailboxes=1)
    told = CliRunner().invoke(cli, ["--json", "relay", "migrate", str(tmp_path / "one"), str(tmp_path / "two")])
    found = json.loads(told.stdout)
    assert (found["mailboxes"], found["moved"], len(found["digest"])) == (1, 1, 64)
