"""Object storage as a mailbox: it may fail at any call, lose answers and list late; nothing is lost by it, and asking
what is new costs no more than what is new."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from syncmem import objects as object_storage
from syncmem.errors import InvalidInput, MailboxError, MailboxRefused, Unreachable
from syncmem.objects import Found, NotAllowed, NotReached, Objects
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.sync import open_mailbox
from syncmem.sync.bucket import Bucket
from syncmem.sync.bucket_keys import key_of, mark_of
from syncmem.wire.mailbox import LISTED_MAX, BlobName, Outcome, Put, digest
from tests.cli.running import Shell
from tests.mailbox.serving import ask, drop, new_key
from tests.mailbox.storage import Storage
from tests.sync.group import Group
from tests.sync.test_three_processes import pair, sync_all

ONE, OTHER = b"stream 1", b"stream 2"
DROP = b"d" * 32
_numbers = itertools.count()


class Watched(Objects):
    """Object storage in memory: what is asked of it is counted, and a test may have it go wrong."""

    def __init__(self, address: str | None = None) -> None:
        super().__init__(address or f"memory://watched/{next(_numbers)}")
        self.listings = 0
        self.keys_listed = 0
        self.random = Random(0)
        self.rate = 0.0
        self.before_put: Callable[[str], None] = lambda key: None

    def close(self) -> None:
        """It is used again."""

    def strikes(self) -> bool:
        return self.random.random() < self.rate

    def _may_fail(self) -> None:
        if self.strikes():
            raise NotReached("the object storage does not answer; try again later")

    def put(self, key: str, data: bytes) -> bool:
        self._may_fail()
        self.before_put(key)
        written = super().put(key, data)
        self._may_fail()  # the answer was lost
        return written

    def read(self, key: str, bytes_max: int = object_storage.BYTES_MAX) -> bytes | None:
        self._may_fail()
        return None if self.strikes() else super().read(key, bytes_max)

    def remove(self, key: str) -> None:
        self._may_fail()
        super().remove(key)
        self._may_fail()

    def page(self, prefix: str, after: str) -> tuple[list[Found], bool]:
        self._may_fail()
        found, more = super().page(prefix, after)
        self.listings += 1
        self.keys_listed += len(found)
        return [entry for entry in found if not self.strikes()], more


@pytest.fixture
def key() -> EpochKey:
    return new_key()


def bucket(objects: Objects) -> Bucket:
    return Bucket(objects.address, objects=objects)


def fill(objects: Objects, key: EpochKey, stream: bytes, counters: Sequence[int]) -> None:
    """As many writers would have over years."""
    for counter in counters:
        objects.put(key_of(key.mailbox, BlobName(stream, counter, digest(b"%d" % counter))), b"%d" % counter)


# -- what asking costs ------------------------------------------------------------------------------------


def test_asking_what_is_new_lists_a_page_for_each_long_stream_and_not_all_there_is(key: EpochKey) -> None:
    objects, streams = Watched(), [bytes([n]) * 8 for n in range(3)]
    box = bucket(objects)
    ask(box, key)
    for stream in streams:
        fill(objects, key, stream, range(1, 4001))
    cursors = dict.fromkeys(streams, 4000)
    objects.listings = objects.keys_listed = 0
    assert ask(box, key, cursors=cursors).ends == cursors
    assert (objects.listings, objects.keys_listed) <= (4, 3 * object_storage.PAGE + 3)
    fill(objects, key, streams[1], [4001])
    answer = ask(box, key, cursors=cursors)
    assert [entry.name.counter for entry in answer.listed] == [4001]
    assert answer.ends == cursors | {streams[1]: 4001}


def test_each_answer_about_a_long_mailbox_costs_the_same(key: EpochKey) -> None:
    objects, box, seen = Watched(), None, []
    box = bucket(objects)
    ask(box, key)
    fill(objects, key, ONE, range(1, 7001))
    cursors, costs = {ONE: 0}, []
    more = True
    while more:
        objects.listings = 0
        answer = ask(box, key, cursors=cursors, inline_bytes_max=0)
        costs.append(objects.listings)
        seen += [entry.name.counter for entry in answer.listed]
        cursors, more = {ONE: seen[-1]}, answer.more
        assert len(answer.listed) <= LISTED_MAX
    assert seen == [*range(1, 7001)]
    assert max(costs) <= 5


def test_a_short_mailbox_takes_one_listing(key: EpochKey) -> None:
    objects = Watched()
    box = bucket(objects)
    ask(box, key, Put(ONE, 1, b"a"), Put(OTHER, 1, b"b"))
    objects.listings = 0
    assert len(ask(box, key).listed) == 2
    assert objects.listings == 1


# -- two who write at once --------------------------------------------------------------------------------


def test_of_two_lives_that_take_one_place_at_once_no_more_than_one_has_it(key: EpochKey) -> None:
    objects = Watched()
    results: list[Outcome] = []

    def between(written: str) -> None:
        if "/streams/" in written and not results:
            objects.before_put = lambda key: None
            results.append(ask(bucket(objects), key, Put(ONE, 1, b"the other's")).results[0].outcome)

    objects.before_put = between
    mine = ask(bucket(objects), key, Put(ONE, 1, b"mine"), Put(ONE, 2, b"more")).results
    assert results == [Outcome.STORED]
    assert [result.outcome for result in mine] == [Outcome.CONFLICT, Outcome.STORED]
    assert [entry.blob for entry in ask(bucket(objects), key).listed] == [b"the other's", b"more"]


def test_what_is_dropped_while_it_is_put_again_is_gone(key: EpochKey) -> None:
    objects, name = Watched(), BlobName(ONE, 1, digest(b"first"))

    def between(written: str) -> None:
        if written == key_of(key.mailbox, name):
            Objects.put(objects, mark_of(key.mailbox, name), b"")

    objects.before_put = between
    assert ask(bucket(objects), key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.KNOWN
    assert objects.read(key_of(key.mailbox, name)) is None


def test_what_is_there_and_is_not_what_its_key_says_is_passed_over_and_put_again(key: EpochKey) -> None:
    objects, name = Watched(), BlobName(ONE, 1, digest(b"first"))
    Objects.put(objects, key_of(key.mailbox, name), b"no such thing")
    box = bucket(objects)
    ask(box, key, Put(ONE, 2, b"second"))
    assert [entry.blob for entry in ask(box, key).listed] == [b"second"]
    assert list(box.get(key.write_key, key.write_seed, [name])) == [(name, None)]
    assert ask(box, key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.STORED
    assert [entry.blob for entry in ask(box, key).listed] == [b"first", b"second"]


# -- listings and failures --------------------------------------------------------------------------------


def test_a_stream_that_became_shorter_is_told_as_it_is(key: EpochKey) -> None:
    objects = Watched()
    box = bucket(objects)
    ask(box, key, *(Put(ONE, n, b"%d" % n) for n in range(1, 6)), Put(OTHER, 1, b"x"))
    for counter in (4, 5):
        objects.remove(key_of(key.mailbox, BlobName(ONE, counter, digest(b"%d" % counter))))
    assert ask(box, key, cursors={ONE: 5, OTHER: 1}).ends == {ONE: 3, OTHER: 1}


def test_a_listing_without_what_must_be_there_is_not_believed(key: EpochKey, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = Watched()
    ask(bucket(objects), key, Put(ONE, 1, b"first"))
    monkeypatch.setattr(objects, "page", lambda prefix, after: ([], False))
    with pytest.raises(Unreachable, match="sync again later"):
        ask(bucket(objects), key, cursors={ONE: 1})


def test_who_may_only_read_can_read(key: EpochKey, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = Watched()
    ask(bucket(objects), key, Put(ONE, 1, b"first"))

    def refused(key: str, data: bytes) -> bool:
        raise NotAllowed("the object storage refuses; check the keys in the environment")

    monkeypatch.setattr(objects, "put", refused)
    answer = ask(bucket(objects), key, Put(OTHER, 1, b"mine"), drop_key=public_key(DROP))
    assert [result.outcome for result in answer.results] == [Outcome.OVER_QUOTA]
    assert "check the keys" in answer.results[0].reason
    assert [entry.blob for entry in answer.listed] == [b"first"]
    with pytest.raises(MailboxRefused, match="check the keys"):
        ask(bucket(objects), new_key())


def test_a_drop_that_breaks_off_is_asked_again_and_then_no_byte_is_left(key: EpochKey) -> None:
    name = BlobName(ONE, 1, digest(b"first"))
    for seed in range(30):
        objects = Watched()
        ask(bucket(objects), key, Put(ONE, 1, b"first"), drop_key=public_key(DROP))
        objects.random, objects.rate = Random(seed), 0.3
        gone = False
        while not gone:
            try:
                gone = drop(bucket(objects), key, [name], "erase", DROP)[0]
            except MailboxError:
                pass
        objects.rate = 0.0
        assert objects.read(key_of(key.mailbox, name)) is None
        assert ask(bucket(objects), key).listed == []
        assert ask(bucket(objects), key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.KNOWN
        assert ask(bucket(objects), key, Put(ONE, 1, b"other")).results[0].outcome == Outcome.CONFLICT


@pytest.mark.parametrize("seed", range(3))
def test_devices_lose_nothing_over_storage_that_fails_at_every_tenth_call(tmp_path: Path, seed: int) -> None:
    objects = Watched()
    group = Group(tmp_path, objects.address, lambda address: bucket(objects))
    laptop, phone = group.found(), group.pair("phone")
    objects.random, troubled = Random(seed), 0
    for turn in range(8):
        objects.rate = 0.1
        laptop.remember("ana", f"fact {turn}", "of the laptop")
        phone.remember("ana", f"fact {turn}", "of the phone")
        if turn == 4:
            laptop.erase("bob")
        laptop.remember("bob", f"fact {turn}", "to be forgotten")
        troubled += sum(report.mailboxes[0].error is not None for report in group.sync("laptop", "phone"))
    assert troubled > 3
    objects.rate = 0.0
    group.pass_time()
    group.settle()
    group.assert_in_sync()
    assert len(phone.timeline("ana", "fact 7")) > 0
    group.close()


# -- a real server ----------------------------------------------------------------------------------------


def test_a_listing_in_many_pages_at_a_server(storage: Storage, key: EpochKey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_storage, "PAGE", 7)
    box = open_mailbox(storage.bucket())
    ask(box, key, *(Put(stream, n, b"%d" % n) for stream in (ONE, OTHER) for n in range(1, 31)))
    answer = ask(box, key, cursors={ONE: 20, OTHER: 29})
    assert [entry.name.counter for entry in answer.listed] == [*range(21, 31), 30]
    assert answer.ends == {ONE: 30, OTHER: 30}
    assert len(ask(box, key).listed) == 60
    box.close()


def test_a_bucket_that_is_not_there_is_not_empty(storage: Storage, key: EpochKey) -> None:
    address = storage.bucket().replace("bucket", "nowhere")
    with pytest.raises(MailboxError, match="again later|check the keys"):
        ask(open_mailbox(address), key)


@pytest.mark.parametrize(
    "address",
    ["s3://me:secret@bucket/x", "s3://bucket/x?secret_access_key=k", "s3://bucket--usw2-az1--x-s3/p", "ftp://x"],
)
def test_an_address_with_a_secret_or_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_mailbox(address)
    assert "secret" not in str(refused.value).replace("secret_access_key", "")


def test_two_devices_sync_through_a_bucket_as_they_do_through_a_folder(storage: Storage, tmp_path: Path) -> None:
    """The commands of the README, each a process, with the bucket's address in the place of the folder's."""
    shell = Shell(tmp_path)
    assert shell.run("--db", "laptop.db", "init").code == 0
    pair(shell, "laptop", "phone", storage.bucket())
    assert shell.run("--db", "phone.db", "remember", "ana", "language", "Portuguese").code == 0
    assert shell.run("--db", "phone.db", "sync").code == 0
    assert "Portuguese" in shell.run("--db", "laptop.db", "sync", "--show-changes").out
    standing = sync_all(shell, ["laptop", "phone"])
    assert len({one["frontier"]["vault"] for one in standing}) == 1
    laptop, phone = shell.memory("laptop.db"), shell.memory("phone.db")
    assert laptop.event_digest() == phone.event_digest()
    assert laptop.belief_digest() == phone.belief_digest()
    laptop.close()
    phone.close()


def test_what_devices_erase_leaves_no_object(storage: Storage, tmp_path: Path) -> None:
    address = storage.bucket()
    group = Group(tmp_path, address)
    laptop = group.found()
    group.pair("phone")
    laptop.remember("bob", "secret", "x" * 700)
    group.settle()
    before = blobs_at(address)
    laptop.erase("bob")
    group.settle()
    assert before - blobs_at(address)
    group.assert_in_sync()
    group.close()


def blobs_at(address: str) -> set[str]:
    return {key for key in keys_at(address) if "/streams/" in key and not key.endswith(".dropped")}


def keys_at(address: str) -> Iterator[str]:
    objects, after, more = Objects(address), "", True
    while more:
        page, more = objects.page("", after)
        yield from (found.key for found in page)
        after = page[-1].key if page else after
    objects.close()
