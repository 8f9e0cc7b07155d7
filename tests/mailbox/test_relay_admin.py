"""The operator's page: shown to the operator alone, in a real browser too, and it names nobody."""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncmem.relay.admin import _template
from syncmem.relay.care import Care, handle_of
from syncmem.relay.config import load
from syncmem.relay.limits import Limits
from syncmem.relay.metrics import Figures, Metrics
from syncmem.wire.mailbox import Put
from tests.mailbox.serving import RelayThread, ask_at, new_key, process, running
from tests.view.browsing import barriers, overflow

ONE = b"stream 1"
TOKEN = "for-the-operator-alone"
CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def relay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RelayThread]:
    place = tmp_path / "relay" if request.param == "SQLite" else request.getfixturevalue("postgres").database()
    with running(place, Limits(mailbox_bytes_max=3000), metrics=Metrics(), admin_token=TOKEN) as made:
        yield made


def shown(
    relay: RelayThread, path: str = "/admin", name: str = "", password: str = ""
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=30)
    headers = {"authorization": f"Basic {b64encode(f'{name}:{password}'.encode()).decode()}"} if name + password else {}
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()


def test_the_operator_sees_store_traffic_refusals_and_mailboxes_and_no_name_of_anybody(relay: RelayThread) -> None:
    large, small = new_key(), new_key()
    ask_at(relay.address, large, Put(ONE, 1, b"x" * 2048), Put(ONE, 2, b"y" * 2048))
    ask_at(relay.address, small, Put(ONE, 1, b"z"))
    Care(relay.store, os.urandom).quota(handle_of(small.mailbox), 5 << 20)
    shown(relay, f"/{large.mailbox.hex()}")
    status, headers, page = shown(relay, password=TOKEN)
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert headers["cache-control"] == "no-store"
    assert page.index(handle_of(large.mailbox)) < page.index(handle_of(small.mailbox))
    for told in ("2.0 KiB", "5.0 MiB", "/v1/exchange", "another path", "over quota", "no such path", "Mailboxes"):
        assert told in page
    secrets = [large.mailbox.hex(), large.write_key.hex(), ONE.hex(), TOKEN, "127.0.0.1", relay.store.prefix or "\0"]
    assert all(secret not in page for secret in secrets)
    assert "<script" not in page
    assert "POST" not in page
    assert shown(relay, "/admin?by=<script>", name=TOKEN)[2].count("<script") == 0


def test_who_has_not_the_token_is_told_nothing(relay: RelayThread) -> None:
    for name, password in (("", ""), ("operator", "guessed"), (TOKEN[:-1], TOKEN + "x"), ("é", "é")):
        status, headers, page = shown(relay, name=name, password=password)
        assert status == 401
        assert headers["www-authenticate"] == 'Basic realm="syncmem relay operator"'
        assert "Mailboxes" not in page
    for name, password in ((TOKEN, ""), ("anybody", TOKEN)):
        assert shown(relay, name=name, password=password)[0] == 200


def test_the_page_says_that_the_store_does_not_answer(tmp_path: Path) -> None:
    with running(tmp_path / "relay", metrics=Metrics(), admin_token=TOKEN) as relay:
        (tmp_path / "relay" / "relay.db").rename(tmp_path / "elsewhere")
        status, _, page = shown(relay, password=TOKEN)
        assert status == 200
        assert "the relay&#39;s store was moved away" in page


def test_without_a_token_there_is_no_page_and_with_one_from_the_environment_there_is(tmp_path: Path) -> None:
    with running(tmp_path / "one", metrics=Metrics()) as relay:
        assert shown(relay)[0] == 404
    with process(tmp_path / "two", env=os.environ | {"SYNCMEM_RELAY_ADMIN_TOKEN": TOKEN}) as started:
        connection = http.client.HTTPConnection(started.address.partition("://")[2], timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/admin")
            assert connection.getresponse().status == 401
        assert started.close() == (0, "")
    assert TOKEN not in repr(load(None, {"SYNCMEM_RELAY_ADMIN_TOKEN": TOKEN, "SYNCMEM_RELAY_DATA": "x"}, {}))


def test_whatever_a_figure_is_called_it_is_text() -> None:
    figures = Figures({("<script>alert(1)</script>", "200"): 1}, {"<b>": 2}, 0, 0, 0)
    store = {"kind": "<i>", "trouble": "<u>"}
    told: dict[str, Any] = {"order": "<s>", "orders": ["size"], "by": "size", "hours": 1.0, "shown_max": 1}
    page = _template("")(store=store, figures=figures, refusals=[("<p1>", "<p2>", 1)], boxes=[], **told)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not any(tag in page for tag in ("<script", "<b>", "<i>", "<u>", "<s>", "<p1>", "<p2>"))


@pytest.fixture
def browser() -> Iterator[Any]:
    """Debian's Chromium."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("install Debian's package chromium to run this test")
    found = pytest.importorskip("playwright.sync_api", reason="pip install playwright to run this test")
    pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python to run this test")
    with found.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_shows_the_page_with_its_style_and_nothing_of_it_is_refused(
    browser: Any, tmp_path: Path, scripts: bool
) -> None:
    with running(tmp_path / "relay", metrics=Metrics(), admin_token=TOKEN) as relay:
        key = new_key()
        ask_at(relay.address, key, Put(ONE, 1, b"x" * 5000))
        credentials = {"username": "operator", "password": TOKEN}
        context = browser.new_context(http_credentials=credentials, java_script_enabled=scripts)
        page, complaints = context.new_page(), []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.goto(f"{relay.address}/admin")
        assert page.get_by_role("heading", name="Mailboxes").is_visible()
        assert page.get_by_role("cell", name=handle_of(key.mailbox)).is_visible()
        assert page.get_by_role("cell", name="4.9 KiB").first.is_visible()
        page.get_by_role("link", name="by age").click()
        page.wait_for_url("**/admin?by=age#mailboxes")
        assert page.get_by_text("the oldest first").is_visible()
        if scripts:
            style = "getComputedStyle(document.querySelector('table')).borderCollapse"
            assert page.evaluate(style) == "collapse"
            for width, scheme in ((1100, "light"), (360, "dark")):
                page.set_viewport_size({"width": width, "height": 800})
                page.emulate_media(color_scheme=scheme)
                assert overflow(page) == 0 and barriers(page) == []
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert [one for one in complaints if "favicon" not in one] == []
        context.close()
