"""What every kind of mailbox does alike: in memory, in a folder, in object storage, at a relay over a real socket and
whatever that keeps its mailboxes in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from syncmem.errors import MailboxRefused, Unreachable
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.sync import open_mailbox
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire import mailbox as wire
from syncmem.wire.mailbox import BLOB_BYTES_MAX, Answer, BlobName, Exchange, Mailbox, Outcome, Put, digest
from tests.mailbox.places import KINDS, QUICK, place
from tests.mailbox.serving import RelayProcess, ask, ask_at, drop, new_key

KEY = EpochKey(bytes(16), "vault", bytes(16), b"k" * 32, bytes(32))
ONE, OTHER = b"stream 1", b"stream 2"


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RelayProcess]:
    made = RelayProcess(tmp_path_factory.mktemp("relay"))
    yield made
    made.close()


@pytest.fixture(scope="module", params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the mailboxes are."""
    with place(request.param, tmp_path_factory, request) as made:
        yield made


@pytest.fixture
def box(address: str) -> Iterator[Callable[[], Mailbox]]:
    """Opens the same address anew at each call."""
    opened: list[Mailbox] = []
    server = InMemoryServer()

    def open_again() -> Mailbox:
        opened.append(server.mailbox() if address == "memory" else open_mailbox(address))
        return opened[-1]

    yield open_again
    for box in opened:
        box.close()


@pytest.fixture
def key() -> EpochKey:
    """Each test has a mailbox of its own, also at the shared relay."""
    return new_key()


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

    def dropped(counter: int, reason: str, *seeds: bytes) -> bool:
        return drop(box(), key, [BlobName(ONE, counter, digest(b"%d" % counter))], reason, *seeds)[0]

    assert not dropped(1, "erase", stranger)
    assert not dropped(1, "compact", one)
    assert not dropped(1, "compact", one, one)
    assert dropped(1, "erase", one)
    assert dropped(2, "compact", one, two)
    answer = ask(box(), key)
    assert names(answer) == [(ONE, 3)]
    assert answer.ends == {ONE: 3}
    assert dropped(3, "erase", two)
    assert ask(box(), key).ends == {ONE: 3}  # what was dropped shortens no stream
    assert ask(box(), key, Put(ONE, 3, b"back again")).results[0].outcome == Outcome.CONFLICT


def test_what_was_dropped_is_known_and_does_not_come_back(box: Callable[[], Mailbox], key: EpochKey) -> None:
    name, seed = BlobName(ONE, 1, digest(b"first")), b"1" * 32
    ask(box(), key, Put(ONE, 1, b"first"), drop_key=public_key(seed))
    assert drop(box(), key, [name, BlobName(ONE, 2, digest(b"never"))], "erase", seed) == [True, False]
    assert drop(box(), key, [name], "erase", seed) == [True]  # the answer was lost: it is asked again
    assert ask(box(), key, Put(ONE, 1, b"first")).results[0].outcome == Outcome.KNOWN  # as is the writer's question
    assert names(ask(box(), key)) == []
    assert list(box().get(key.write_key, key.write_seed, [name])) == [(name, None)]


def test_an_answer_has_a_bound_whatever_is_asked_for(box: Callable[[], Mailbox], key: EpochKey) -> None:
    ask(box(), key, *(Put(ONE, n, bytes([n]) * BLOB_BYTES_MAX) for n in range(1, 6)))
    listed = ask(box(), key, inline_bytes_max=10**12 - 1).listed
    assert [entry.blob is not None for entry in listed] == [True] * 4 + [False]


@pytest.mark.parametrize("address", QUICK, indirect=True)
def test_many_blobs_come_in_several_answers(box: Callable[[], Mailbox], key: EpochKey) -> None:
    count = wire.LISTED_MAX + 10
    for start in range(1, count + 1, 200):
        ask(box(), key, *(Put(ONE, n, b"x") for n in range(start, min(start + 200, count + 1))))
    first = ask(box(), key, inline_bytes_max=0)
    assert first.more
    assert len(first.listed) == wire.LISTED_MAX
    rest = ask(box(), key, cursors={ONE: first.listed[-1].name.counter}, inline_bytes_max=0)
    assert (len(rest.listed), rest.more) == (10, False)


def test_a_relay_refuses_who_cannot_sign(relay: RelayProcess, key: EpochKey) -> None:
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
