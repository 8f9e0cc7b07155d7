"""The relay answers as its OpenAPI text says, whatever it is sent.

A longer run: ``HYPOTHESIS_PROFILE=long python -m pytest tests/mailbox/test_relay_openapi.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncmem.relay.app import relay as application
from syncmem.relay.backlog import Backlog
from syncmem.relay.gate import Gate
from syncmem.relay.limits import Limits
from syncmem.relay.opening import open_store
from syncmem.relay.pushing import Listeners
from syncmem.wire.mailbox import Drop, Exchange, Put, Watch
from syncmem.wire.messages import CONTENT_TYPE, agree_bytes, drop_bytes, exchange_bytes, get_bytes, watch_bytes
from tests.mailbox.serving import RelayThread, new_key, running

TEXT = Path(__file__).parents[2] / "protocol" / "openapi.yaml"
TOLD: dict[str, Any] = yaml.safe_load(TEXT.read_text(encoding="utf-8"))
KEY = new_key()
METHODS = ("get", "post", "put", "delete", "patch", "options", "head")
EXAMPLES = 15 if os.environ.get("HYPOTHESIS_PROFILE") != "long" else 1000


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RelayThread]:
    limits = Limits(beat_seconds=0.05, mailbox_requests_second=100_000)
    with running(tmp_path_factory.mktemp("relay"), limits) as made:
        yield made


def test_every_path_of_the_relay_stands_in_the_text_and_no_other(tmp_path: Path) -> None:
    limits = Limits()
    with closing(open_store(str(tmp_path), os.urandom, limits)) as store:
        gate = Gate(store, limits, store._clock)
        routes = application(store, limits, Listeners(limits, store, None), gate, Backlog(1)).routes
    found = {(route.path, method) for route in routes for method in route.methods - {"HEAD"}}  # type: ignore[attr-defined]
    assert found == {(path, method.upper()) for path, item in TOLD["paths"].items() for method in item}


right = {
    "/v1/exchange": lambda: exchange_bytes(Exchange(KEY.write_key, [Put(b"stream 1", 1, b"x")], {}, 0), KEY.write_seed),
    "/v1/get": lambda: get_bytes(KEY.write_key, [], KEY.write_seed),
    "/v1/drop": lambda: drop_bytes(Drop(KEY.write_key, [], "erase", []), KEY.write_seed),
    "/v1/agree": lambda: agree_bytes(KEY.write_key, KEY.write_seed),
    "/v1/watch": lambda: watch_bytes(Watch(KEY.write_key, None), KEY.write_seed),
}


@given(data=st.data())
@settings(max_examples=EXAMPLES * 4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_almost_right_is_answered_as_the_text_says(relay: RelayThread, data: st.DataObject) -> None:
    """Bytes of right requests, cut, changed and put together."""
    path = data.draw(st.sampled_from(sorted(right)))
    body = bytearray(right[data.draw(st.sampled_from(sorted(right)))]())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(body)))
        body[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    answer = httpx2.post(relay.address + path, content=bytes(body), headers={"content-type": CONTENT_TYPE})
    told = TOLD["paths"][path]["post"]["responses"]
    assert str(answer.status_code) in told
    assert answer.status_code < 500
    assert answer.headers["content-type"] == CONTENT_TYPE
    assert "Traceback" not in answer.text


def test_schemathesis_finds_nothing_that_is_not_as_the_text_says(relay: RelayThread) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="pip install 'syncmem[api-tests]' to run this test")
    from schemathesis.checks import CHECKS, load_all_checks

    load_all_checks()

    @schemathesis.serializer(CONTENT_TYPE)
    def as_they_are(context: Any, value: Any) -> bytes:
        return value.encode() if isinstance(value, str) else bytes(getattr(value, "data", value))

    schema = schemathesis.openapi.from_path(str(TEXT))
    schema.config.update(base_url=relay.address)
    checks = [CHECKS.get_one(name) for name in (
        "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
    )]  # fmt: skip
    tried = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        tried.add(operation.path)

        @given(case=operation.as_strategy())
        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[*HealthCheck], database=None)
        def ask(case: Any) -> None:
            case.call_and_validate(checks=checks)

        ask()
    assert tried == set(TOLD["paths"])
    for path, item in TOLD["paths"].items():
        for method in set(METHODS) - set(item) - {"head"}:
            assert httpx2.request(method.upper(), relay.address + path).status_code == 405
