"""Larger blobs of a relay in object storage: no row without its object, no object for good without a row, whatever
breaks off where."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from syncmem import labels
from syncmem.environment import SystemClock
from syncmem.errors import Busy, DiskFull, FileError
from syncmem.objects import NotReached, Objects
from syncmem.relay.opening import open_store
from syncmem.relay.rows import RowStore, Taken
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key, sign
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Outcome, Put, digest, dropping
from tests.mailbox.serving import new_key

ONE = b"stream 1"
DROP = b"d" * 32
LARGE = b"l" * 100_000
NAME = BlobName(ONE, 1, digest(LARGE))
_numbers = itertools.count()


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty store."""
    return request.getfixturevalue("postgres").database() if request.param == "PostgreSQL" else str(tmp_path)


@pytest.fixture
def blobs() -> str:
    """The address of empty object storage."""
    return f"memory://objects/{next(_numbers)}"


@pytest.fixture
def store(address: str, blobs: str) -> Iterator[RowStore]:
    made = open_store(address, os.urandom, blobs=blobs)
    yield made
    made.close()


@pytest.fixture
def key() -> EpochKey:
    return new_key()


def ask(store: RowStore, key: EpochKey, *puts: Put, drop_key: bytes | None = None) -> Answer:
    return store.exchange(Exchange(key.write_key, puts, {}, 1_000_000, drop_key))


def drop(store: RowStore, key: EpochKey, name: BlobName) -> bool:
    said = dropping(key.mailbox, [name], "erase")
    return store.drop(Drop(key.write_key, [name], "erase", [(public_key(DROP), sign(DROP, labels.DROPPING, said))]))[0]


def keys(store: RowStore) -> list[str]:
    """The objects that there are, but for the store's mark."""
    assert store.objects is not None
    return [found.key for found in store.objects.page("", "")[0] if not found.key.endswith("/mark")]


def breaking(store: RowStore, monkeypatch: pytest.MonkeyPatch, verb: str, *, done: bool) -> None:
    """Object storage goes away, after or before it has done what it was asked."""
    working: Callable[..., object] = getattr(store.objects, verb)

    def broken(*arguments: object) -> object:
        if done:
            working(*arguments)
        raise NotReached("the object storage does not answer")

    monkeypatch.setattr(store.objects, verb, broken)


def test_a_large_blob_is_an_object_and_a_small_one_is_not(store: RowStore, key: EpochKey) -> None:
    answer = ask(store, key, Put(ONE, 1, LARGE), Put(ONE, 2, b"small"), drop_key=public_key(DROP))
    assert [result.outcome for result in answer.results] == [Outcome.STORED] * 2
    assert len(keys(store)) == 1
    assert [entry.blob for entry in ask(store, key).listed] == [LARGE, b"small"]
    assert list(store.get(key.write_key, [NAME])) == [(NAME, LARGE)]
    assert drop(store, key, NAME)
    assert keys(store) == []
    assert list(store.get(key.write_key, [NAME])) == [(NAME, None)]
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.KNOWN
    assert keys(store) == []
    assert store.collect(0) == 0


def test_what_is_known_or_refused_leaves_no_object(store: RowStore, key: EpochKey) -> None:
    other = b"o" * 100_000
    answer = ask(store, key, Put(ONE, 1, LARGE), Put(ONE, 1, other), Put(ONE, 1, LARGE))
    assert [result.outcome for result in answer.results] == [Outcome.STORED, Outcome.CONFLICT, Outcome.KNOWN]
    assert [entry.blob for entry in ask(store, key).listed] == [LARGE]
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.KNOWN
    assert ask(store, key, Put(ONE, 1, other)).results[0].outcome == Outcome.CONFLICT
    assert len(keys(store)) == 1
    assert store.collect(0) == 0


@pytest.mark.parametrize("done", [False, True])
def test_a_put_whose_object_fails_is_not_acknowledged_and_what_it_left_is_collected_in_time(
    store: RowStore, key: EpochKey, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    with monkeypatch.context() as patch:
        breaking(store, patch, "put", done=done)
        with pytest.raises(Busy, match="sync again in a moment"):
            ask(store, key, Put(ONE, 1, LARGE))
        assert ask(store, key, Put(ONE, 2, b"small")).results[0].outcome == Outcome.STORED
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.STORED
    assert len(keys(store)) == 1 + done
    assert store.collect(3600) == 0
    assert len(keys(store)) == 1 + done  # it is young: somebody may be about to name it
    assert store.collect(0) == 1
    assert len(keys(store)) == 1
    assert list(store.get(key.write_key, [NAME])) == [(NAME, LARGE)]


@pytest.mark.parametrize("removed", [False, True])
def test_an_object_that_was_collected_while_it_was_put_is_never_named_by_a_row(
    store: RowStore, key: EpochKey, monkeypatch: pytest.MonkeyPatch, removed: bool
) -> None:
    """Whatever the clocks say, and whether it is gone already or will be: the put that was too late is asked again."""
    take = store._take

    def late(*arguments: object) -> object:
        monkeypatch.undo()
        with monkeypatch.context() as patch:
            if not removed:
                breaking(store, patch, "remove", done=False)
            assert store.collect(0) == 1
        return take(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "_take", late)
    with pytest.raises(Busy, match="sync again"):
        ask(store, key, Put(ONE, 1, LARGE))
    assert ask(store, key).ends == {}
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.STORED
    assert store.collect(0) == 1 - removed
    assert [entry.blob for entry in ask(store, key).listed] == [LARGE]
    assert store.collect(0) == 0


@pytest.mark.parametrize("done", [False, True])
def test_a_drop_whose_object_stays_is_done_all_the_same_and_the_object_is_collected(
    store: RowStore, key: EpochKey, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    ask(store, key, Put(ONE, 1, LARGE), drop_key=public_key(DROP))
    with monkeypatch.context() as patch:
        breaking(store, patch, "remove", done=done)
        assert drop(store, key, NAME)
        assert list(store.get(key.write_key, [NAME])) == [(NAME, None)]
    assert len(keys(store)) == 1 - done
    assert drop(store, key, NAME)  # asked again, or whatever is dropped next
    assert keys(store) == []
    assert store.collect() == 0


def test_while_object_storage_is_away_names_are_listed_and_small_blobs_served(
    store: RowStore, key: EpochKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(store, key, Put(ONE, 1, LARGE), Put(ONE, 2, b"small"))
    breaking(store, monkeypatch, "read", done=False)
    assert [(entry.name.counter, entry.blob) for entry in ask(store, key).listed] == [(1, None), (2, b"small")]
    with pytest.raises(Busy, match="sync again in a moment"):
        list(store.get(key.write_key, [NAME]))


def test_a_store_does_not_start_without_its_objects(store: RowStore, address: str, blobs: str, key: EpochKey) -> None:
    ask(store, key, Put(ONE, 1, LARGE))
    store.close()
    with pytest.raises(FileError, match="start it with the same --blobs"):
        open_store(address, os.urandom)
    with pytest.raises(FileError, match="does not hold the blobs"):
        open_store(address, os.urandom, blobs=f"{blobs}/elsewhere")
    again = open_store(address, os.urandom, blobs=blobs)
    assert [entry.blob for entry in ask(again, key).listed] == [LARGE]
    again.close()


def test_stores_that_share_a_bucket_leave_each_other_alone(
    store: RowStore, blobs: str, tmp_path: Path, key: EpochKey
) -> None:
    other = open_store(str(tmp_path / "other"), os.urandom, blobs=blobs)
    ask(store, key, Put(ONE, 1, LARGE))
    ask(other, key, Put(ONE, 1, LARGE), drop_key=public_key(DROP))
    assert drop(other, key, NAME)
    assert other.collect(0) == 0
    assert [entry.blob for entry in ask(store, key).listed] == [LARGE]
    other.close()


def test_an_object_that_is_lost_is_not_there_and_the_others_are(store: RowStore, key: EpochKey) -> None:
    ask(store, key, Put(ONE, 1, LARGE), Put(ONE, 2, LARGE + b"2"))
    assert isinstance(store.objects, Objects)
    lost = next(found for found in keys(store) if store.objects.read(found) == LARGE)
    store.objects.remove(lost)
    names = [NAME, BlobName(ONE, 2, digest(LARGE + b"2"))]
    assert list(store.get(key.write_key, names)) == [(NAME, None), (names[1], LARGE + b"2")]


def test_after_a_restore_rows_and_objects_are_held_against_each_other(store: RowStore, key: EpochKey) -> None:
    """The database is older than the objects: one was dropped since, one was put since."""
    other = LARGE + b"2"
    ask(store, key, Put(ONE, 1, LARGE), Put(ONE, 2, other))
    assert isinstance(store.objects, Objects)
    store.objects.remove(next(found for found in keys(store) if store.objects.read(found) == LARGE))
    stray = f"{store.prefix}/{key.mailbox.hex()}/{'0' * 32}"
    store.objects.put(stray, b"of a row that is not there any more")
    now = SystemClock().now()
    assert store.compare(now) == (0, 1)  # the stray is young
    assert [entry.blob for entry in ask(store, key).listed] == [other]
    assert ask(store, key).ends == {ONE: 2}
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.KNOWN
    assert store.compare(now + 2 * 86_400_000_000) == (1, 0)
    assert len(keys(store)) == 1
    assert store.compare(now + 2 * 86_400_000_000) == (0, 0)
    assert [entry.blob for entry in ask(store, key).listed] == [other]


def test_what_is_put_while_rows_and_objects_are_compared_stays(
    store: RowStore, key: EpochKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose, later = store._loose, SystemClock().now() + 2 * 86_400_000_000

    def meanwhile() -> set[str]:
        found = loose()
        ask(store, key, Put(ONE, 2, LARGE + b"2"))
        return found

    take = store._take

    def compared_between(*arguments: object) -> object:
        monkeypatch.setattr(store, "_take", take)
        monkeypatch.setattr(store, "_loose", meanwhile)
        assert store.compare(later) == (0, 0)
        return take(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "_take", compared_between)
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.STORED
    assert [entry.blob for entry in ask(store, key).listed] == [LARGE, LARGE + b"2"]


def test_a_try_whose_commit_was_not_heard_of_keeps_its_object_when_it_is_made_again(
    store: RowStore, key: EpochKey
) -> None:
    """The connection was lost just then: the same question, with the object that was written for it, comes again."""
    request = Exchange(key.write_key, [Put(ONE, 1, LARGE)], {}, 0)
    objects = store.write_objects(key.mailbox, {NAME: LARGE})
    assert store._take(request, objects).answer.results[0].outcome == Outcome.STORED
    again = store._take(request, objects)
    assert (again.answer.results[0].outcome, [*again.unneeded]) == (Outcome.KNOWN, [])
    assert store.collect(0) == 0
    assert list(store.get(key.write_key, [NAME])) == [(NAME, LARGE)]


def test_where_there_is_no_room_the_object_of_a_put_goes_too(
    store: RowStore, key: EpochKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = store._take

    def full(request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        if request.puts:
            raise DiskFull("the relay has no room left; sync again later, or tell its operator")
        return take(request, objects)

    monkeypatch.setattr(store, "_take", full)
    assert ask(store, key, Put(ONE, 1, LARGE)).results[0].outcome == Outcome.OVER_QUOTA
    assert keys(store) == []
    assert store.collect(0) == 0
