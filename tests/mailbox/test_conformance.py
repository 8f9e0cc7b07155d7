"""What every kind of mailbox does alike: in memory, in a folder, at a relay over a real socket."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import labels
from syncmem.codec import EVENT_BYTES_MAX
from syncmem.environment import seeded_randomness
from syncmem.errors import MailboxRefused, NotCanonical, PeerError, Unreachable
from syncmem.relay.store import SqliteStore
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key, sign
from syncmem.sync import open_mailbox
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire import mailbox as wire
from syncmem.wire import messages
from syncmem.wire.mailbox import BLOB_BYTES_MAX, Answer, BlobName, Drop, Exchange, Mailbox, Outcome, Put, digest

KEY = EpochKey(bytes(16), "vault", bytes(16), b"k" * 32, bytes(32))
ONE, OTHER = b"stream 1", b"stream 2"
SECONDS_MAX = 30


class Relay:
    """A relay as its own process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "syncmem", "relay", "--data", str(self.folder), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS_MAX)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(SECONDS_MAX)


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    made = Relay(tmp_path_factory.mktemp("relay"))
    yield made
    made.close()


@pytest.fixture(params=["memory", "folder", "relay"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Mailbox]]:
    """Opens the same address anew at each call."""
    opened: list[Mailbox] = []

    def open_again(address: str) -> Mailbox:
        opened.append(open_mailbox(address))
        return opened[-1]

    if request.param == "memory":
        server = InMemoryServer()
        yield server.mailbox
    elif request.param == "folder":
        yield lambda: open_again(f"folder:{tmp_path}")
    else:
        address = request.getfixturevalue("relay").address
        yield lambda: open_again(address)
    for box in opened:
        box.close()


@pytest.fixture
def key() -> EpochKey:
    """Each test has a mailbox of its own, also at the shared relay."""
    import os

    return EpochKey(bytes(16), "vault", bytes(16), os.urandom(32), bytes(32))


def ask_at(address: str, key: EpochKey, *puts: Put) -> Answer:
    with contextlib.closing(open_mailbox(address)) as box:
        return ask(box, key, *puts)


def ask(box: Mailbox, key: EpochKey, *puts: Put, cursors: dict[bytes, int] | None = None, **more: Any) -> Answer:
    question = {"inline_bytes_max": 1000, "drop_key": None} | more
    return box.exchange(Exchange(key.write_key, list(puts), cursors or {}, **question), key.write_seed)


def names(answer: Answer) -> list[tuple[bytes, int]]:
    return [(entry.name.stream, entry.name.counter) for entry in answer.listed]


def test_what_was_put_is_listed_to_others_and_can_be_read(box: Callable[[], Mailbox], key: EpochKey) -> None:
    assert [r.outcome for r in ask(box(), key, Put(ONE, 1, b"first"), Put(ONE, 2, b"second")).results] == [0, 0]
    answer = ask(box(), key)
    assert names(answer) == [(ONE, 1), (ONE, 2)]
    assert [entry.blob for entry in answer.listed] == [b"first", b"second"]
    assert answer.ends == {ONE: 2}
    assert not answer.more
    wanted = [entry.name for entry in answer.listed]
    assert [blob for _, blob in box().get(key.write_key, key.write_seed, wanted)] == [b"first", b"second"]


def test_putting_again_changes_nothing_and_another_blob_under_the_same_name_is_told(
    box: Callable[[], Mailbox], key: EpochKey
) -> None:
    ask(box(), key, Put(ONE, 1, b"first"))
    assert ask(box(), key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.KNOWN
    assert ask(box(), key, Put(ONE, 1, b"other")).results[0].outcome == Outcome.CONFLICT
    assert [entry.blob for entry in ask(box(), key).listed] == [b"first"]


def test_only_what_lies_behind_the_cursors_is_listed(box: Callable[[], Mailbox], key: EpochKey) -> None:
    ask(box(), key, *(Put(ONE, n, b"%d" % n) for n in range(1, 6)), Put(OTHER, 1, b"x"))
    assert names(ask(box(), key, cursors={ONE: 3})) == [(ONE, 4), (ONE, 5), (OTHER, 1)]
    assert names(ask(box(), key, cursors={ONE: 5, OTHER: 1})) == []
    assert names(ask(box(), key, Put(ONE, 6, b"own"), cursors={ONE: 5, OTHER: 1})) == []


def test_small_blobs_come_along_while_the_budget_lasts(box: Callable[[], Mailbox], key: EpochKey) -> None:
    ask(box(), key, *(Put(ONE, n, bytes([n]) * 400) for n in range(1, 5)))
    assert [entry.blob is not None for entry in ask(box(), key).listed] == [True, True, False, False]
    assert [entry.blob for entry in ask(box(), key, inline_bytes_max=0).listed] == [None] * 4


def test_a_blob_that_is_not_there_is_told_among_those_that_are(box: Callable[[], Mailbox], key: EpochKey) -> None:
    ask(box(), key, Put(ONE, 1, b"first"))
    there, gone = BlobName(ONE, 1, digest(b"first")), BlobName(ONE, 2, digest(b"second"))
    wrong = BlobName(ONE, 1, digest(b"not this"))
    found = dict(box().get(key.write_key, key.write_seed, [gone, there, wrong]))
    assert found == {gone: None, there: b"first", wrong: None}


def test_one_bad_put_does_not_hold_up_the_others(box: Callable[[], Mailbox], key: EpochKey) -> None:
    puts = [Put(ONE, 1, b""), Put(ONE, 2, bytes(BLOB_BYTES_MAX + 1)), Put(ONE, 3, b"good"), Put(ONE, 0, b"zero")]
    outcomes = [result.outcome for result in ask(box(), key, *puts).results]
    assert outcomes == [Outcome.MALFORMED, Outcome.TOO_LARGE, Outcome.STORED, Outcome.MALFORMED]


def test_mailboxes_do_not_see_each_other(box: Callable[[], Mailbox], key: EpochKey) -> None:
    ask(box(), key, Put(ONE, 1, b"mine"))
    other = EpochKey(bytes(16), "vault", bytes(16), key.secret[::-1], bytes(32))
    assert names(ask(box(), other)) == []


def test_the_epoch_stays_while_the_mailbox_does(box: Callable[[], Mailbox], key: EpochKey) -> None:
    assert ask(box(), key).epoch == ask(box(), key).epoch


def test_to_erase_one_member_suffices_to_compact_it_takes_two(box: Callable[[], Mailbox], key: EpochKey) -> None:
    one, two, stranger = b"1" * 32, b"2" * 32, b"3" * 32
    ask(box(), key, *(Put(ONE, n, b"%d" % n) for n in (1, 2, 3)), drop_key=public_key(one))
    ask(box(), key, drop_key=public_key(two))

    def drop(counter: int, reason: str, *seeds: bytes) -> bool:
        wanted = [BlobName(ONE, counter, digest(b"%d" % counter))]
        said = wire.dropping(key.mailbox, wanted, reason)
        signatures = [(public_key(seed), sign(seed, labels.DROPPING, said)) for seed in seeds]
        return box().drop(Drop(key.write_key, wanted, reason, signatures), key.write_seed)[0]

    assert not drop(1, "erase", stranger)
    assert not drop(1, "compact", one)
    assert not drop(1, "compact", one, one)
    assert drop(1, "erase", one)
    assert drop(2, "compact", one, two)
    answer = ask(box(), key)
    assert names(answer) == [(ONE, 3)]
    assert answer.ends == {ONE: 3}
    assert drop(3, "erase", two)
    assert ask(box(), key).ends == {ONE: 3}  # what was dropped shortens no stream
    assert ask(box(), key, Put(ONE, 3, b"back again")).results[0].outcome == Outcome.CONFLICT


def test_many_blobs_come_in_several_answers(box: Callable[[], Mailbox], key: EpochKey) -> None:
    count = wire.LISTED_MAX + 10
    for start in range(1, count + 1, 200):
        ask(box(), key, *(Put(ONE, n, b"x") for n in range(start, min(start + 200, count + 1))))
    first = ask(box(), key, inline_bytes_max=0)
    assert first.more
    assert len(first.listed) == wire.LISTED_MAX
    rest = ask(box(), key, cursors={ONE: first.listed[-1].name.counter}, inline_bytes_max=0)
    assert (len(rest.listed), rest.more) == (10, False)


def test_a_relay_that_is_killed_keeps_what_it_acknowledged(tmp_path: Path, key: EpochKey) -> None:
    relay = Relay(tmp_path)
    try:
        before = ask_at(relay.address, key, Put(ONE, 1, b"kept"))
        relay.kill()
        relay.start()
        after = ask_at(relay.address, key)
        assert (names(after), after.epoch) == ([(ONE, 1)], before.epoch)
    finally:
        relay.close()


def test_a_relay_refuses_who_cannot_sign(relay: Relay, key: EpochKey) -> None:
    with (
        contextlib.closing(open_mailbox(relay.address)) as box,
        pytest.raises(MailboxRefused, match="not signed"),
    ):
        box.exchange(Exchange(key.write_key, [], {}, 0), b"x" * 32)


def test_nobody_at_the_address(key: EpochKey) -> None:
    with pytest.raises(Unreachable, match="sync again later"):
        ask_at("http://127.0.0.1:9", key)


# -- folders ------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_mounted_is_not_empty(tmp_path: Path, key: EpochKey) -> None:
    with pytest.raises(Unreachable, match="mount it"):
        ask(open_mailbox(f"folder:{tmp_path / 'gone'}"), key)


def test_what_a_sync_service_leaves_behind_is_passed_over(tmp_path: Path, key: EpochKey) -> None:
    box = open_mailbox(f"folder:{tmp_path}")
    ask(box, key, Put(ONE, 1, b"first"), Put(ONE, 2, b"second"))
    (folder,) = tmp_path.rglob("000000000")
    (first, second) = sorted(folder.iterdir())
    (folder / f"{first.stem} (conflicted copy 2026-01-01).blob").write_bytes(b"first")
    (folder / f".{first.name}.icloud").write_bytes(b"placeholder")
    (folder / f"{first.name}.tmp").write_bytes(b"fir")
    (folder / "desktop.ini").write_bytes(b"?")
    second.write_bytes(b"sec")  # half there
    answer = ask(box, key)
    assert [entry.blob for entry in answer.listed if entry.blob] == [b"first"]
    second.write_bytes(b"")  # not even that
    assert names(ask(box, key)) == [(ONE, 1)]
    second.write_bytes(b"second")
    assert [entry.blob for entry in ask(box, key).listed] == [b"first", b"second"]
    assert len(list(folder.iterdir())) == 6  # nothing of others was touched


# -- bytes and stores ---------------------------------------------------------------------------------

STREAMS = st.sampled_from([ONE, OTHER])
PUTS = st.lists(st.builds(Put, STREAMS, st.integers(1, 5), st.binary(min_size=1, max_size=5)), max_size=4)
CURSORS = st.dictionaries(STREAMS, st.integers(0, 5))
EXCHANGES = st.builds(Exchange, st.just(KEY.write_key), PUTS, CURSORS, st.integers(0, 20), st.none())


@given(st.lists(EXCHANGES, max_size=8))
def test_the_relays_store_answers_as_the_reference_does(tmp_path_factory: Any, exchanges: list[Exchange]) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("store"), seeded_randomness(1))
    plain = InMemoryServer(seeded_randomness(1)).mailbox()
    try:
        for question in exchanges:
            assert store.exchange(question) == plain.exchange(question, b"")
    finally:
        store.close()


@given(EXCHANGES)
def test_questions_and_answers_survive_the_way(question: Exchange) -> None:
    assert messages.read_exchange(messages.exchange_bytes(question, KEY.write_seed)) == question
    answer = InMemoryServer().mailbox().exchange(question, b"")
    assert messages.read_answer(messages.answer_bytes(answer)) == answer


@given(EXCHANGES, st.data())
def test_changed_bytes_are_refused_and_nothing_else_happens(question: Exchange, data: st.DataObject) -> None:
    whole = messages.exchange_bytes(question, KEY.write_seed)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    for hostile in (bytes(changed), whole[:place], whole + b"\0"):
        with pytest.raises(PeerError):
            messages.read_exchange(hostile)


@given(st.binary(max_size=300))
def test_rubbish_is_refused(data: bytes) -> None:
    for read in (
        messages.read_exchange,
        messages.read_answer,
        messages.read_get,
        messages.read_drop,
        messages.read_dropped,
    ):
        with pytest.raises((NotCanonical, PeerError)):
            read(data)  # type: ignore[operator]
    assert len(data) < EVENT_BYTES_MAX
