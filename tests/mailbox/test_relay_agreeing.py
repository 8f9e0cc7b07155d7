"""Who asks a relay often agrees with it on what proves requests; nobody notices, and nobody else can use it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncmem.errors import MailboxRefused
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import sign
from syncmem.sync.agreed import AGREE_AFTER, Agreed, Way
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Drop, Exchange, Outcome, Put, Watch
from syncmem.wire.messages import (
    CONTENT_TYPE,
    agree_bytes,
    drop_bytes,
    exchange_bytes,
    get_bytes,
    read_agreed,
    watch_bytes,
)
from syncmem.wire.proofs import AGREEMENT_BYTES, Shared, shared_by_mailbox
from tests.mailbox.serving import RelayThread, ask, new_key, running

ONE = b"stream 1"
KEY, OTHER = new_key(), new_key()


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RelayThread]:
    with running(tmp_path_factory.mktemp("relay")) as made:
        yield made


def agreed_with(relay: RelayThread, key: EpochKey) -> Shared:
    answer = post(relay, "/v1/agree", agree_bytes(key.write_key, key.write_seed))
    return shared_by_mailbox(key.write_seed, read_agreed(answer.content))


def post(relay: RelayThread, path: str, body: bytes) -> httpx2.Response:
    return httpx2.post(relay.address + path, content=body, headers={"content-type": CONTENT_TYPE})


def asked(relay: RelayThread) -> list[str]:
    return [said.partition(":")[0] for said in relay.said]


def test_who_asks_often_agrees_once_and_signs_no_more(tmp_path: Path) -> None:
    agreed, key = Agreed(), new_key()
    with running(tmp_path) as relay:
        for counter in range(1, 21):
            with contextlib.closing(Http(relay.address, agreed=agreed)) as box:  # each sync opens one anew
                answer = ask(box, key, Put(ONE, counter, b"blob"))
            assert answer.results[0].outcome is Outcome.STORED
            assert (agreed.get(Way(relay.address, key.write_key)) is not None) == (counter > AGREE_AFTER)
    assert asked(relay).count("/v1/agree") == 1


def test_a_relay_that_has_started_anew_is_signed_to_again_and_the_asker_notices_nothing(tmp_path: Path) -> None:
    agreed, key = Agreed(), new_key()
    with running(tmp_path) as relay:
        way = Way(relay.address, key.write_key)
        agreed.keep(way, agreed_with(relay, key))
    with running(tmp_path) as relay:
        agreed.keep(Way(relay.address, key.write_key), agreed.get(way) or pytest.fail("nothing was agreed on"))
        with contextlib.closing(Http(relay.address, agreed=agreed)) as box:
            for counter in range(1, 10):
                assert ask(box, key, Put(ONE, counter, b"blob")).results[0].outcome is Outcome.STORED
    assert [said for said in relay.said if "status 403" in said] != []
    assert asked(relay).count("/v1/agree") == 1


QUESTIONS: dict[str, Callable[[EpochKey, Shared | None], bytes]] = {
    "/v1/exchange": lambda key, shared: exchange_bytes(Exchange(key.write_key, [], {}, 0), key.write_seed, shared),
    "/v1/get": lambda key, shared: get_bytes(key.write_key, [], key.write_seed, shared),
    "/v1/drop": lambda key, shared: drop_bytes(Drop(key.write_key, [], "erase", []), key.write_seed, shared),
    "/v1/watch": lambda key, shared: watch_bytes(Watch(key.write_key, None), key.write_seed, shared),
}


@pytest.mark.parametrize("path", sorted(QUESTIONS.keys() - {"/v1/watch"}))
def test_every_question_is_proved_by_a_code(relay: RelayThread, path: str) -> None:
    shared = agreed_with(relay, KEY)
    assert post(relay, path, QUESTIONS[path](KEY, shared)).status_code == 200


@pytest.mark.parametrize("path", sorted(QUESTIONS))
def test_what_was_agreed_on_for_one_mailbox_opens_no_other(relay: RelayThread, path: str) -> None:
    mine, _ = agreed_with(relay, KEY), agreed_with(relay, OTHER)
    assert post(relay, path, QUESTIONS[path](OTHER, mine)).status_code == 403


def test_who_sits_between_and_answers_with_a_key_of_its_own_cannot_ask(relay: RelayThread) -> None:
    agreed_with(relay, KEY)
    between = shared_by_mailbox(KEY.write_seed, bytes(range(1, 33)))
    question = Exchange(KEY.write_key, [], {}, 0)
    assert post(relay, "/v1/exchange", exchange_bytes(question, KEY.write_seed, between)).status_code == 403
    there = between._replace(relay_key=agreed_with(relay, KEY).relay_key)
    assert post(relay, "/v1/exchange", exchange_bytes(question, KEY.write_seed, there)).status_code == 403


def test_who_knows_only_the_name_of_a_mailbox_agrees_on_nothing(relay: RelayThread) -> None:
    right = agree_bytes(KEY.write_key, KEY.write_seed)
    forged = right[:-64] + sign(OTHER.write_seed, b"syncmem/v1/request\0", b"")
    assert post(relay, "/v1/agree", forged).status_code == 403


@given(code=st.binary(min_size=32, max_size=32), flipped=st.integers(0, 8 * 32 - 1))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_other_code_is_taken(relay: RelayThread, code: bytes, flipped: int) -> None:
    shared = agreed_with(relay, KEY)
    right = QUESTIONS["/v1/exchange"](KEY, shared)
    changed = bytearray(right)
    changed[-1 - flipped // 8] ^= 1 << flipped % 8
    guessed = right[: -64 + AGREEMENT_BYTES] + code
    for wrong in (bytes(changed), guessed):
        assert post(relay, "/v1/exchange", wrong).status_code == (403 if wrong != right else 200)


def test_a_wrong_signature_is_told_to_the_asker_whatever_was_agreed_on(relay: RelayThread) -> None:
    with contextlib.closing(Http(relay.address, agreed=Agreed())) as box, pytest.raises(MailboxRefused, match="join"):
        box.exchange(Exchange(KEY.write_key, [], {}, 0), os.urandom(32))
