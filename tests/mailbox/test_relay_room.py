"""What a mailbox holds is bounded whatever its clients say, and one that is full can still be made smaller."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem.relay import postgres
from syncmem.relay import store as sqlite
from syncmem.relay.care import Care
from syncmem.relay.limits import Limits
from syncmem.relay.opening import open_store
from syncmem.relay.puts import Room
from syncmem.relay.rows import RowStore
from syncmem.seal.keys import public_key
from syncmem.wire.mailbox import BlobName, Exchange, Outcome, Put, digest
from tests.mailbox.serving import new_key, signed_drop

ONE = b"stream 1"
DROP = b"d" * 32
LIMITS = Limits(mailbox_bytes_max=100, mailbox_loan_bytes_max=50)


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RowStore]:
    place = str(tmp_path) if request.param == "SQLite" else request.getfixturevalue("postgres").database()
    with closing(open_store(place, os.urandom, LIMITS)) as opened:
        yield opened


class Client:
    """Puts blobs of one letter each, some of them to make room, and drops them."""

    def __init__(self, store: RowStore) -> None:
        self.store, self.key = store, new_key()
        self.there: dict[int, bytes] = {}
        self._counter = 0

    def put(self, size: int, making_room: bool = False) -> Outcome:
        self._counter += 1
        blob = os.urandom(size)
        puts = [Put(ONE, self._counter, blob)]
        answer = self.store.exchange(Exchange(self.key.write_key, puts, {}, 0, public_key(DROP), making_room))
        if answer.results[0].outcome == Outcome.STORED:
            self.there[self._counter] = blob
        return answer.results[0].outcome

    def drop(self, counter: int) -> None:
        name = BlobName(ONE, counter, digest(self.there.pop(counter)))
        assert self.store.drop(signed_drop(self.key, [name], "erase", DROP)) == [True]

    def held(self) -> int:
        (box,) = Care(self.store, os.urandom).mailboxes()
        assert box["bytes"] == sum(map(len, self.there.values()))
        return int(box["bytes"])


def test_a_full_mailbox_takes_what_makes_room_until_the_loan_is_used_and_again_once_it_is_paid_back(
    store: RowStore,
) -> None:
    client = Client(store)
    assert client.put(60) == client.put(40) == Outcome.STORED
    assert client.put(1) == Outcome.OVER_QUOTA
    assert client.put(30, making_room=True) == Outcome.STORED
    assert client.put(21, making_room=True) == Outcome.OVER_QUOTA, "the loan is 50"
    assert client.put(20, making_room=True) == Outcome.STORED
    assert client.put(1, making_room=True) == Outcome.OVER_QUOTA
    client.drop(2)
    assert client.held() == 110
    assert client.put(1) == Outcome.OVER_QUOTA, "still over quota"
    assert client.put(40, making_room=True) == Outcome.STORED
    client.drop(1)
    assert client.held() == 90
    assert client.put(10) == Outcome.STORED


def test_where_the_quota_was_lowered_below_what_is_held_room_can_still_be_made(store: RowStore) -> None:
    client = Client(store)
    for _ in range(4):
        assert client.put(25) == Outcome.STORED
    care = Care(store, os.urandom)
    care.quota(client.key.mailbox.hex(), 40)
    for old, new in ((1, 20), (2, 5), (3, 5), (4, 5)):
        assert client.put(1) == Outcome.OVER_QUOTA
        assert client.put(new, making_room=True) == Outcome.STORED
        client.drop(old)
    assert client.held() == 35
    assert client.put(5) == Outcome.STORED
    assert client.put(1) == Outcome.OVER_QUOTA


steps = st.lists(st.tuples(st.sampled_from(["put", "anew", "drop", "quota"]), st.integers(1, 60)), max_size=60)


@given(steps)
def test_no_mailbox_exceeds_its_quota_or_what_it_held_when_that_was_lowered_by_more_than_the_loan(
    told: list[tuple[str, int]],
) -> None:
    quota, base, sizes, counter = 100, 0, [0], 0
    room = Room({}, {}, 0)
    for what, number in told:
        limits = Limits(mailbox_bytes_max=quota, mailbox_loan_bytes_max=50)
        if what == "quota":
            base = max(base, room.size - room.lent)
            quota = number * 3
        elif what == "drop" and sizes:
            freed = sizes.pop(number % len(sizes))
            room.size, room.lent = room.size - freed, max(0, room.lent - freed)
        else:
            counter += 1
            put = Put(ONE, counter, b"%d " % counter + bytes(number))
            before = room.size
            result = room.put(put, limits, what == "anew")
            if result.outcome == Outcome.STORED:
                sizes.append(len(put.blob))
                assert what == "anew" or room.size <= quota
            assert room.size == before + (len(put.blob) if result.outcome == Outcome.STORED else 0)
        assert 0 <= room.lent <= 50
        assert room.size <= max(quota, base) + 50
        base = base if room.size > quota else 0


def test_drop_keys_of_a_mailbox_are_bounded_and_those_that_came_first_count(
    store: RowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a row that no quota counts: who has the mailbox's key could fill the disk with them."""
    for module in (sqlite, postgres):
        monkeypatch.setattr(module, "DROP_KEYS_MAX", 3)
    key, members = new_key(), [bytes([number]) * 32 for number in range(5)]
    for counter, member in enumerate(members, 1):
        asked = Exchange(key.write_key, [Put(ONE, counter, member[:8])], {}, 0, public_key(member))
        assert store.exchange(asked).results[0].outcome == Outcome.STORED
    names = [BlobName(ONE, counter, digest(member[:8])) for counter, member in enumerate(members, 1)]
    dropped = [
        store.drop(signed_drop(key, [name], "erase", member)) for name, member in zip(names, members, strict=True)
    ]
    assert dropped == [[True], [True], [True], [False], [False]]
