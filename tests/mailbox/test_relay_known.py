"""What a relay remembers of its mailboxes is what it would read, whatever came between."""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem.errors import DiskFull, NotFound
from syncmem.relay import known
from syncmem.relay.books import books
from syncmem.relay.store import SqliteStore
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.wire.mailbox import Answer, BlobName, Exchange, Put, digest
from tests.mailbox.serving import new_key, signed_drop

ONE = b"stream 1"
_MEMBER = b"m" * 32
_BOXES = st.integers(0, 2)
_PLACED = st.builds(Put, st.sampled_from([ONE, b"stream 2"]), st.integers(1, 4), st.sampled_from([b"a", b"b" * 9000]))
_ASKED = st.tuples(_BOXES, st.lists(_PLACED, max_size=2), st.booleans())
_STEPS = st.one_of(
    st.tuples(st.just("exchange"), st.lists(_ASKED, min_size=1, max_size=3)),
    st.tuples(st.just("one"), _ASKED),
    st.tuples(st.just("drop"), _BOXES, _PLACED),
    st.tuples(st.just("quota"), _BOXES, st.sampled_from([0, 9000, None])),
    st.tuples(st.just("full"), st.booleans()),
    st.tuples(st.just("renew")),
)


def test_a_relay_that_remembers_mailboxes_answers_as_one_that_reads_them_each_time(tmp_path: Path) -> None:
    drawn = [Random(1), Random(1)]
    with ExitStack() as opened:
        stores = [
            opened.enter_context(closing(SqliteStore(tmp_path / str(number), random.randbytes)))
            for number, random in enumerate(drawn)
        ]
        stores[1]._known.get = lambda mailbox: None  # type: ignore[method-assign]

        @settings(max_examples=40, deadline=None)
        @given(st.lists(_STEPS, max_size=12))
        def alike(steps: list[Any]) -> None:
            keys = [new_key() for _ in range(3)]
            for step in [*steps, ("full", False)]:
                found = [_done(store, random, keys, *step) for store, random in zip(stores, drawn, strict=True)]
                assert found[0] == found[1]

        alike()


def _done(store: SqliteStore, random: Random, keys: list[EpochKey], what: str, *said: Any) -> object:
    def exchange(asked: tuple[int, list[Put], bool]) -> Exchange:
        number, puts, is_member = asked
        return Exchange(keys[number].write_key, puts, {}, 100, public_key(_MEMBER) if is_member else None)

    match what, *said:
        case "exchange", asked:
            found = store.exchange_all([*map(exchange, asked)])
            return [one if isinstance(one, Answer) else type(one) for one in found]
        case "one", asked:
            with suppress(DiskFull):
                return store.exchange(exchange(asked))
        case "drop", number, put:
            names = [BlobName(put.stream, put.counter, digest(put.blob))]
            return store.drop(signed_drop(keys[number], names, "erase", _MEMBER))
        case "quota", number, bytes_max:
            with suppress(NotFound):
                books(store).set_quota(keys[number].mailbox, bytes_max)
        case "full", is_full:
            (pages,) = store.file.db.execute("PRAGMA page_count").fetchone()
            store.file.db.execute(f"PRAGMA max_page_count = {pages if is_full else 1_000_000}")
        case ("renew",):
            return books(store).renew(random.randbytes)
    return None


def test_what_is_remembered_is_bounded_and_what_was_asked_for_last_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "HELD_MAX", 10)
    remembered = known.Known(lambda: 0)
    for number in range(100):
        remembered.keep(b"%d" % number, known.Box(number, b"", 0, 0, None, {b"1": 1, b"2": 2}))
    assert [n for n in range(100) if remembered.get(b"%d" % n)] == [97, 98, 99]
    remembered.keep(b"97", known.Box(97, b"", 0, 0, None, {b"%d" % n: n for n in range(7)}))
    assert [n for n in range(100) if remembered.get(b"%d" % n)] == [97]
