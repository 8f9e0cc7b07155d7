"""Several relays on one PostgreSQL: one hears of what another was given, any of them may die, the server may restart,
and what was acknowledged by any is there."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from syncmem import Environment, ManualClock
from syncmem.errors import Busy, FileError, InvalidInput, MailboxError, NewerFile, OverQuota
from syncmem.relay.opening import open_store
from syncmem.relay.postgres import PostgresStore
from syncmem.seal.envelope import EpochKey
from syncmem.sync import open_mailbox
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Exchange, Outcome, Put
from tests.mailbox.postgres import Cluster
from tests.mailbox.serving import RelayProcess, ask, ask_at, new_key, process, running
from tests.sync.group import Group

ONE = b"stream 1"
SECONDS_MAX = 30


@pytest.fixture
def address(postgres: Cluster) -> str:
    return postgres.database()


@pytest.fixture
def opened(address: str) -> Iterator[Callable[[], PostgresStore]]:
    """Opens the store as another relay would."""
    made: list[PostgresStore] = []

    def another() -> PostgresStore:
        store = open_store(address, os.urandom)
        assert isinstance(store, PostgresStore)
        made.append(store)
        return store

    yield another
    for store in made:
        store.close()


@pytest.fixture
def relay(address: str) -> Iterator[Callable[[], RelayProcess]]:
    """Starts another relay on the database."""
    with contextlib.ExitStack() as running:
        yield lambda: running.enter_context(process(address))


def exchange(store: PostgresStore, key: EpochKey, *puts: Put) -> Any:
    return store.exchange(Exchange(key.write_key, puts, {}, 1000))


def until(condition: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < SECONDS_MAX
        time.sleep(0.01)


class Heard:
    """What a relay was told."""

    def __init__(self, store: PostgresStore) -> None:
        self.moved: list[tuple[bytes, tuple[bytes, int]]] = []
        self.missed = 0
        store.listen(self._told)
        until(lambda: store._notices.connected)

    def _told(self, mailbox: bytes | None, position: tuple[bytes, int] | None) -> None:
        if mailbox is None or position is None:
            self.missed += 1
        else:
            self.moved.append((mailbox, position))


# -- hearing of each other --------------------------------------------------------------------------------


def test_what_one_relay_is_given_every_relay_hears_of(opened: Callable[[], PostgresStore]) -> None:
    stores, key = [opened() for _ in range(3)], new_key()
    heard = [Heard(store) for store in stores]
    epoch = exchange(stores[0], key, Put(ONE, 1, b"x"), Put(b"stream 2", 4, b"y")).epoch
    until(lambda: all((key.mailbox, (epoch, 5)) in one.moved for one in heard))
    assert {store.position(key.mailbox) for store in stores} == {(epoch, 5)}
    exchange(stores[1], key)
    exchange(stores[2], key, Put(ONE, 2, b"z"))
    until(lambda: all((key.mailbox, (epoch, 6)) in one.moved for one in heard))
    assert all({position[1] for _, position in one.moved} == {5, 6} for one in heard)


def test_who_could_not_listen_for_a_moment_is_told_that_something_may_have_moved(
    opened: Callable[[], PostgresStore], postgres: Cluster
) -> None:
    deaf, other, key = opened(), opened(), new_key()
    heard = Heard(deaf)
    before = heard.missed
    postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'syncmem notices'")
    until(lambda: heard.missed > before)
    exchange(other, key, Put(ONE, 1, b"x"))
    until(lambda: bool(heard.moved))


def test_what_a_relay_took_and_did_not_tell_of_is_told_when_it_is_asked_again_elsewhere(
    opened: Callable[[], PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It died between its commit and its notice, or its second connection was lost just then: nobody was answered."""
    dying, other, third, key = opened(), opened(), opened(), new_key()
    heard = Heard(third)

    async def never(mailbox: bytes, position: tuple[bytes, int]) -> None:
        raise Busy("the relay's database does not answer; sync again in a moment")

    monkeypatch.setattr(dying._notices, "send", never)
    with pytest.raises(Busy):
        exchange(dying, key, Put(ONE, 1, b"x"))
    assert exchange(other, key, Put(ONE, 1, b"x")).results[0].outcome == Outcome.KNOWN
    until(lambda: [position[1] for _, position in heard.moved] == [1])


# -- at once ----------------------------------------------------------------------------------------------


def test_relays_that_start_at_once_on_an_empty_database_make_the_tables_once(
    opened: Callable[[], PostgresStore], address: str, postgres: Cluster
) -> None:
    with ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(lambda _: opened(), range(4)))
    assert postgres.sql("SELECT count(*), min(version) FROM store", address) == "1|1"
    key = new_key()
    with ThreadPoolExecutor(4) as threads:
        epochs = set(threads.map(lambda store: exchange(store, key).epoch, stores))
    assert len(epochs) == 1


def test_of_blobs_that_come_to_several_relays_at_once_each_place_has_one(opened: Callable[[], PostgresStore]) -> None:
    stores, key = [opened() for _ in range(3)], new_key()
    for counter in range(1, 9):
        puts = [Put(ONE, counter, blob) for blob in (b"same", b"same", b"another")]
        with ThreadPoolExecutor(3) as threads:
            results = list(threads.map(lambda store, put: exchange(store, key, put).results[0], stores, puts))
        outcomes = sorted(result.outcome for result in results)
        assert outcomes in ([Outcome.STORED, Outcome.KNOWN, Outcome.CONFLICT], [Outcome.STORED, Outcome.CONFLICT, 2])
        listed = [entry for entry in exchange(stores[0], key).listed if entry.name.counter == counter]
        assert len(listed) == 1


# -- ends -------------------------------------------------------------------------------------------------


def test_nothing_acknowledged_is_lost_when_relays_are_killed_and_the_database_goes_down(
    relay: Callable[[], RelayProcess], postgres: Cluster
) -> None:
    """Writers go from relay to relay as one fails them; a loss of power takes the database, kill -9 two relays."""
    with ThreadPoolExecutor(3) as threads:
        relays = list(threads.map(lambda _: relay(), range(3)))
    keys = [new_key() for _ in range(3)]
    kept: list[tuple[int, int]] = []
    stop = threading.Event()
    writers = [threading.Thread(target=put_on, args=(relays, keys, who, kept, stop)) for who in range(3)]
    for writer in writers:
        writer.start()
    try:
        for blow in (relays[0].kill, lambda: restart(postgres), relays[1].kill):
            count = len(kept)
            until(lambda count=count: len(kept) > count + 8)  # type: ignore[misc]
            blow()
        count = len(kept)
        until(lambda: len(kept) > count + 8)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert len(kept) > 32
    for who, key in enumerate(keys):
        there = {entry.name.counter for entry in ask_at(relays[2].address, key, inline_bytes_max=0).listed}
        assert there >= {counter for writer, counter in kept if writer == who}
    code, said = relays[2].close()
    assert code == 0
    assert "Traceback" not in said


def restart(postgres: Cluster) -> None:
    postgres.kill()
    postgres.start()


def put_on(
    relays: list[RelayProcess], keys: list[EpochKey], who: int, kept: list[tuple[int, int]], stop: threading.Event
) -> None:
    """Put blob after blob, each until some relay says that it has it."""
    counter, turn = 1, who
    while not stop.is_set():
        address = relays[turn % 3].address
        with contextlib.closing(open_mailbox(address)) as box, contextlib.suppress(MailboxError):
            while not stop.is_set():
                outcome = ask(box, keys[who], Put(ONE, counter, b"%d" % counter * 500)).results[0].outcome
                if outcome in (Outcome.STORED, Outcome.KNOWN):
                    kept.append((who, counter))
                    counter += 1
        turn += 1


def test_devices_at_different_relays_agree_though_relays_and_database_die_meanwhile(
    relay: Callable[[], RelayProcess], postgres: Cluster, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as threads:
        relays = list(threads.map(lambda _: relay(), range(2)))
    turns = iter(range(10_000))

    def opener(_: str) -> Http:
        """Each opening goes to the next relay, as behind a proxy."""
        return Http(relays[next(turns) % 2].address, environment=Environment(clock=ManualClock()))

    group = Group(tmp_path, "https://relay", opener)
    group.found()
    group.pair("phone")
    for turn in range(2):
        for name, device in group.devices.items():
            device.remember("ana", f"fact {turn}", f"of the {name}")
        group.sync("laptop")
        (relays[0].kill, lambda: restart(postgres))[turn]()
        group.sync("phone")
        for one in relays:
            if one.process.poll() is not None:
                one.start()
    group.settle()
    group.assert_in_sync()
    group.close()


def test_while_the_database_is_down_a_relay_refuses_and_says_when_to_come_again(
    address: str, postgres: Cluster
) -> None:
    key = new_key()
    with running(address) as relay:
        ask_at(relay.address, key, Put(ONE, 1, b"first"))
        postgres.stop("immediate")
        try:
            with pytest.raises(OverQuota, match="database does not answer; sync again in a moment") as refused:
                ask_at(relay.address, key, Put(ONE, 2, b"second"))
            assert refused.value.retry_after == 5
            with pytest.raises(Busy):
                until(lambda: relay.store.check() is not None)
        finally:
            postgres.start()
        assert ask_at(relay.address, key, Put(ONE, 2, b"second")).results[0].outcome == Outcome.STORED
        assert ask_at(relay.address, key).ends == {ONE: 2}
        until(lambda: relay.store._notices.connected)  # type: ignore[attr-defined]
        relay.store.check()


def failing(postgres: Cluster, address: str, state: str, times: int) -> None:
    """So many times, nothing can be put into the tables."""
    postgres.sql(
        "CREATE SEQUENCE failures; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        f"IF nextval('failures') <= {times} THEN RAISE EXCEPTION 'for a test' USING ERRCODE = '{state}'; END IF; "
        "RETURN NEW; END$$; CREATE TRIGGER fail BEFORE INSERT ON blobs FOR EACH ROW EXECUTE FUNCTION fail()",
        address,
    )


def test_a_database_without_room_takes_nothing_more_and_can_be_read(
    opened: Callable[[], PostgresStore], address: str, postgres: Cluster
) -> None:
    store, key = opened(), new_key()
    exchange(store, key, Put(ONE, 1, b"first"))
    failing(postgres, address, "53100", 10**6)
    answer = exchange(store, key, Put(ONE, 2, b"second"))
    assert answer.results[0].outcome == Outcome.OVER_QUOTA
    assert "no room left; sync again later" in answer.results[0].reason
    assert [entry.blob for entry in answer.listed] == [b"first"]
    assert answer.ends == {ONE: 1}


@pytest.mark.parametrize("state", ["40001", "40P01", "57P01"])
def test_what_fails_for_a_moment_is_tried_again_and_not_for_ever(
    opened: Callable[[], PostgresStore], address: str, postgres: Cluster, state: str
) -> None:
    """A conflict of transactions, a deadlock, an operator who restarts the server."""
    store, key = opened(), new_key()
    failing(postgres, address, state, 3)
    assert exchange(store, key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.STORED
    postgres.sql("ALTER SEQUENCE failures RESTART; DROP TRIGGER fail ON blobs", address)
    postgres.sql("DROP FUNCTION fail; DROP SEQUENCE failures", address)
    failing(postgres, address, state, 10**6)
    with pytest.raises(Busy, match="sync again in a moment"):
        exchange(store, key, Put(ONE, 2, b"second"))
    assert exchange(store, key).ends == {ONE: 1}


# -- what a relay asks of its database --------------------------------------------------------------------


def test_every_commit_is_waited_for_whatever_the_database_is_set_to(
    opened: Callable[[], PostgresStore], postgres: Cluster
) -> None:
    postgres.sql("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        store = opened()
        assert store._pool.ask(lambda db: db.fetchval("SHOW synchronous_commit")) == "on"
    finally:
        postgres.sql("ALTER DATABASE postgres RESET synchronous_commit")


def test_a_database_that_does_not_write_what_it_acknowledges_is_refused(address: str, postgres: Cluster) -> None:
    postgres.sql("ALTER SYSTEM SET fsync = off")
    postgres.sql("SELECT pg_reload_conf()")
    try:
        until(lambda: postgres.sql("SHOW fsync") == "off")
        with pytest.raises(FileError, match="set fsync = on"):
            open_store(address, os.urandom)
    finally:
        postgres.sql("ALTER SYSTEM RESET fsync")
        postgres.sql("SELECT pg_reload_conf()")
    assert postgres.sql("SELECT to_regclass('store') IS NULL", address) == "t"


def test_tables_of_a_newer_relay_are_left_as_they_are(
    opened: Callable[[], PostgresStore], address: str, postgres: Cluster
) -> None:
    opened()
    postgres.sql("UPDATE store SET version = 99", address)
    with pytest.raises(NewerFile, match="upgrade syncmem"):
        open_store(address, os.urandom)
    assert postgres.sql("SELECT version FROM store", address) == "99"


def test_no_key_of_a_table_of_mailboxes_begins_with_anything_else(
    opened: Callable[[], PostgresStore], address: str, postgres: Cluster
) -> None:
    """So the tables can be spread over machines by the mailbox."""
    opened()
    sql = (
        "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
        "WHERE c.relnamespace = current_schema()::regnamespace AND a.attname <> 'mailbox'"
    )
    assert postgres.sql(sql, address) == "loose"


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ("postgres://nobody@127.0.0.1:9/none", FileError, "check --store"),
        ("postgres://tester@127.0.0.1:{port}/nowhere", FileError, "check --store"),
        ("postgres://tester@[127.0.0.1:x", InvalidInput, "postgres://USER@HOST/NAME"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_at_the_start_without_its_address(
    postgres: Cluster, wrong: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as refused:
        open_store(wrong.format(port=postgres.port), os.urandom)
    assert "tester" not in str(refused.value)
