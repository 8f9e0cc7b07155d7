"""Who asks a relay too much is told when to come again, and the others notice nothing."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from syncmem import Environment, ManualClock, Memory
from syncmem.cli.app import cli
from syncmem.environment import SystemClock
from syncmem.errors import MailboxRefused, OverQuota
from syncmem.relay.limits import MIB, Limits
from syncmem.relay.rates import FORGET_ABOVE, Rate
from syncmem.seal.envelope import EpochKey
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Answer, Exchange, Outcome, Put
from syncmem.wire.messages import claimed_key, exchange_bytes
from tests.mailbox.serving import (
    RelayThread,
    ask,
    ask_at,
    connected,
    head,
    new_key,
    running,
    said_until_closed,
    status_of,
)

ONE = b"stream 1"


# -- rates ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0.1, 50)), max_size=60))
def test_nobody_gets_more_than_its_rate_and_what_it_saved(asked: list[tuple[float, float]]) -> None:
    """Each request is let in where there is room, however large: over any time the excess is one request."""
    time = 0.0
    rate = Rate(2.0, lambda: time, saved_seconds=30)
    given_out = largest = 0.0
    for pause, amount in asked:
        time += pause
        if rate.wait("who") > 0:
            continue
        rate.count("who", amount)
        given_out, largest = given_out + amount, max(largest, amount)
        assert given_out <= 2.0 * (time + 30) + largest + 1e-6
    time += rate.wait("who")
    assert rate.wait("who") == 0


class WrongClock(SystemClock):
    """A wall clock that somebody sets, and one that only goes on."""

    def __init__(self) -> None:
        self.wrong = 0  # microseconds
        self.slept = 0.0  # seconds

    def now(self) -> int:
        return super().now() + self.wrong

    def elapsed(self) -> float:
        return super().elapsed() + self.slept


def test_a_clock_that_jumps_gives_nobody_more_and_shuts_nobody_out(tmp_path: Path) -> None:
    clock, key = WrongClock(), new_key()
    limits = Limits(mailbox_requests_second=1)
    century = 100 * 365 * 24 * 3600

    def let_in(box: Http, first: int) -> int:
        """How many puts in a row, while the clock is set to something else before each."""
        for counter in range(first, first + 100):
            clock.wrong = (-1) ** counter * century * 1_000_000 // 2
            try:
                ask(box, key, Put(ONE, counter, b"blob"))
            except OverQuota as error:
                assert error.retry_after is not None
                assert 0 < error.retry_after < 60
                return counter - first
        return 100

    with (
        running(tmp_path, limits, environment=Environment(clock=clock)) as relay,
        contextlib.closing(Http(relay.address, environment=Environment(clock=ManualClock()))) as box,
    ):
        assert 25 <= let_in(box, 1) < 100, "30 are saved up, and some seconds may pass meanwhile"
        clock.slept += 20
        assert 15 <= let_in(box, 200) < 100
        clock.slept += century
        assert 25 <= let_in(box, 300) < 100, "who was away for a century has saved up no more than who was for a day"


def test_who_rests_is_forgotten() -> None:
    time = 0.0
    rate = Rate(1.0, lambda: time)
    for number in range(3 * FORGET_ABOVE):
        time += 0.1
        rate.count(number)
    assert len(rate) <= FORGET_ABOVE


# -- a relay with rates ---------------------------------------------------------------------------------


def test_a_mailbox_that_asks_too_often_is_told_when_to_come_again_and_others_are_served(tmp_path: Path) -> None:
    with running(tmp_path, Limits(mailbox_requests_second=1)) as relay:
        hasty = new_key()
        with pytest.raises(OverQuota, match="this mailbox asks too much; sync again later") as caught:
            refused_after(relay, hasty, lambda counter: [])
        assert caught.value.retry_after is not None
        assert 1 <= caught.value.retry_after <= 60
        assert ask_once(relay, new_key()).results == []


def test_a_mailbox_that_sends_too_much_is_told_when_to_come_again(tmp_path: Path) -> None:
    with running(tmp_path, Limits(mailbox_bytes_second=10_000)) as relay:
        key = new_key()
        with pytest.raises(OverQuota, match="this mailbox asks too much"):
            refused_after(relay, key, lambda counter: [Put(ONE, counter, os.urandom(MIB // 2))])
        assert ask_once(relay, new_key()).results == []


def refused_after(relay: RelayThread, key: EpochKey, puts: Callable[[int], list[Put]]) -> None:
    with contextlib.closing(Http(relay.address, environment=Environment(clock=ManualClock()))) as box:
        for counter in range(1, 200):
            ask(box, key, *puts(counter))
    raise AssertionError("never refused")


def ask_once(relay: RelayThread, key: EpochKey, *puts: Put) -> Answer:
    """Waiting between tries takes no time."""
    with contextlib.closing(Http(relay.address, environment=Environment(clock=ManualClock()))) as box:
        return ask(box, key, *puts)


def test_a_stranger_cannot_use_up_the_rate_of_a_mailbox(tmp_path: Path) -> None:
    with running(tmp_path, Limits(mailbox_requests_second=1)) as relay:
        key, stranger = new_key(), new_key()
        forged = exchange_bytes(Exchange(key.write_key, [], {}, 0), stranger.write_seed)
        for _ in range(60):
            with connected(relay) as liar:
                liar.sendall(head(len(forged)).replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n") + forged)
                assert status_of(said_until_closed(liar)) == 403
        assert ask_once(relay, key).results == []


# -- turns and shares -----------------------------------------------------------------------------------


def test_the_key_that_a_request_claims_is_known_from_its_beginning() -> None:
    key = new_key()
    whole = exchange_bytes(Exchange(key.write_key, [Put(ONE, 1, b"x" * 900)], {}, 0), key.write_seed)
    assert [claimed_key(whole[:n]) for n in (0, 39, 40, 64)] == [None, None, key.write_key, key.write_key]
    assert claimed_key(bytes(64)) is None


def test_a_mailbox_that_sends_much_at_once_leaves_room_for_the_others(tmp_path: Path) -> None:
    with running(tmp_path, Limits(bodies_bytes_max=8 * MIB, silent_seconds=5)) as relay:
        key = new_key()
        whole = exchange_bytes(Exchange(key.write_key, [Put(ONE, 1, bytes(MIB))] * 2, {}, 0), key.write_seed)
        with contextlib.ExitStack() as begun:
            for _ in range(3):  # all that may be held at once would be taken by twelve of these
                large = begun.enter_context(connected(relay))
                large.sendall(head(len(whole)) + whole[: MIB // 2])
            answers = [said_until_closed(large) for large in [large] if large]
            assert status_of(answers[0]) == 429
            assert ask_at(relay.address, new_key(), Put(ONE, 1, b"x")).results[0].outcome == Outcome.STORED


def test_one_heavy_mailbox_does_not_starve_the_others(tmp_path: Path) -> None:
    """While it sends all it can on many connections, a light one is answered each time, and in its turn."""
    with running(tmp_path, Limits(mailbox_bytes_second=10_000 * MIB, mailbox_requests_second=10_000)) as relay:
        heavy, light = new_key(), new_key()
        answered, stop = [0] * 24, threading.Event()

        def flood(number: int) -> None:
            with contextlib.closing(Http(relay.address)) as box:
                while not stop.is_set():
                    counter = number * 10_000 + answered[number] + 1
                    puts = [Put(b"%8d" % number, counter * 10 + n, os.urandom(MIB // 8)) for n in range(4)]
                    with contextlib.suppress(OverQuota):
                        ask(box, heavy, *puts, inline_bytes_max=0)
                        answered[number] += 1

        flooding = [threading.Thread(target=flood, args=(number,)) for number in range(len(answered))]
        for thread in flooding:
            thread.start()
        while sum(answered) < 10:
            pass
        meanwhile = 0
        with contextlib.closing(Http(relay.address)) as box:
            for counter in range(1, 21):
                before = sum(answered)
                assert ask(box, light, Put(ONE, counter, b"x")).results[0].outcome == Outcome.STORED
                meanwhile += sum(answered) - before
        stop.set()
        for thread in flooding:
            thread.join()
        assert meanwhile / 20 < len(answered) / 2  # those before it in the line, not all that are there


# -- who may open a mailbox -----------------------------------------------------------------------------


def test_a_relay_with_tokens_opens_mailboxes_only_for_who_has_one(tmp_path: Path) -> None:
    with running(tmp_path, tokens=["correct-horse-battery"]) as relay:
        key = new_key()
        with pytest.raises(MailboxRefused, match="use the address https://TOKEN@HOST") as caught:
            ask_at(relay.address, key)
        assert not isinstance(caught.value, OverQuota)
        with pytest.raises(MailboxRefused) as caught:
            ask_at(relay.address.replace("//", "//wrong-horse-battery@"), key)
        assert "wrong-horse" not in str(caught.value)
        right = relay.address.replace("//", "//correct-horse-battery@")
        assert ask_at(right, key, Put(ONE, 1, b"x")).results[0].outcome == Outcome.STORED
        assert ask_at(relay.address, key, Put(ONE, 2, b"y")).results[0].outcome == Outcome.STORED  # it is there now
    with running(tmp_path, tokens=["another-token-altogether"]) as relay:
        assert ask_at(relay.address, key, Put(ONE, 3, b"z")).ends == {ONE: 3}


def test_nothing_that_people_show_each_other_holds_the_token_of_an_address(tmp_path: Path) -> None:
    with running(tmp_path / "relay", tokens=["correct-horse-battery"]) as relay:
        address = relay.address.replace("//", "//correct-horse-battery@")
        with Memory(tmp_path / "laptop.db") as laptop:
            laptop.create_vault("laptop")
            laptop.invite(address)
            assert laptop.sync().complete
        relay.close()
        command = ["--db", str(tmp_path / "laptop.db")]
        for words in (["status"], ["sync"]):
            told = CliRunner().invoke(cli, [*command, *words])
            assert str(relay.port) in told.output
            assert "correct-horse" not in told.output
        relay.start()
