"""Who is answered, and with which headers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

import pytest

from syncmem import Environment, Memory
from syncmem.view.server import guarded
from tests.view.visiting import HOST, PORT, Visitor


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC", embedder=None) as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Lisbon", source="user")
        yield memory


@pytest.fixture
def stranger(memory: Memory) -> Visitor:
    """Somebody who knows the port alone."""
    return Visitor(guarded(memory, PORT, UTC, Environment()))


def entrance(visitor: Visitor) -> str:
    return visitor.app.address.removeprefix(f"http://{HOST}")


def test_the_address_works_once_and_becomes_a_cookie_that_no_script_reads(stranger: Visitor) -> None:
    assert stranger.get("/").status == 403
    entered = stranger.get(entrance(stranger))
    assert entered.status == 200 and 'content="0; url=/"' in entered.text and "Lisbon" not in entered.text
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert "Lisbon" in stranger.get("/").text
    again = Visitor(stranger.app)
    assert again.get(entrance(again)).status == 403 and not again.cookie
    assert again.get("/").status == 403


@pytest.mark.parametrize("path", ["/", "/slot?entity=ana&predicate=home_city", "/known", "/search?text=lisbon"])
def test_without_the_cookie_nothing_is_told(stranger: Visitor, path: str) -> None:
    stranger.cookie = f"syncmem-view-{PORT}=00"
    answer = stranger.get(path)
    assert answer.status == 403 and "Lisbon" not in answer.text


def test_a_wrong_token_lets_nobody_in_and_spends_nothing(stranger: Visitor) -> None:
    assert stranger.get("/enter", token="0" * 48).status == 403
    assert stranger.get("/enter").status == 403
    assert stranger.get(entrance(stranger)).status == 200


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"[::1]:{PORT}", ""])
def test_a_foreign_name_that_points_here_is_refused(memory: Memory, host: str) -> None:
    visitor = Visitor.of(memory)
    visitor.headers = {"host": host}
    answer = visitor.get("/")
    assert answer.status == 421 and "Lisbon" not in answer.text


def said(visitor: Visitor) -> dict[str, str]:
    page = visitor.slot("ana", "home_city")
    return {**page.fields("/say"), "say": "holds", "value": "Porto", "since": ""}


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"https://{HOST}", "http://127.0.0.1"])
def test_a_write_from_elsewhere_is_refused(memory: Memory, origin: str) -> None:
    visitor = Visitor.of(memory)
    assert visitor.post("/say", said(visitor), origin=origin).status == 403
    assert len(memory.history("ana", "home_city")) == 2


@pytest.mark.parametrize("secret", [None, "", "0" * 48])
def test_a_write_without_the_secret_of_the_forms_is_refused(memory: Memory, secret: str | None) -> None:
    visitor = Visitor.of(memory)
    fields = said(visitor)
    fields.pop("secret")
    answer = visitor.post("/say", fields | ({} if secret is None else {"secret": secret}))
    assert answer.status == 400 and "reload the page" in answer.words
    assert len(memory.history("ana", "home_city")) == 2


def test_a_get_never_writes_and_a_post_to_a_page_does_nothing(memory: Memory) -> None:
    visitor = Visitor.of(memory)
    for path in ("/say", "/answer", "/retract", "/undo"):
        assert visitor.get(path).status == 405
    assert visitor.post("/", said(visitor)).status == 405


@pytest.mark.parametrize("body", [b"\xff=1", b"a=1&" * 100, b"x" * 70_000, b""])
def test_a_body_that_is_no_form_is_refused(memory: Memory, body: bytes) -> None:
    answer = Visitor.of(memory)._ask("POST", "/say", body, {"origin": f"http://{HOST}"})
    assert answer.status == 400


def test_every_answer_forbids_what_it_does_not_need(memory: Memory) -> None:
    visitor = Visitor.of(memory)
    for path in ("/", "/slot?entity=ana&predicate=home_city", "/nowhere", "/static/view.css", "/known", "/enter"):
        headers = visitor.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'") and "unsafe" not in policy
        assert "form-action 'self'" in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


def test_no_page_has_a_script_a_style_or_a_resource_of_its_own(memory: Memory) -> None:
    visitor = Visitor.of(memory)
    for path in ("/", "/slot?entity=ana&predicate=home_city", "/questions", "/devices", "/reads", "/search"):
        text = visitor.get(path).text
        assert "<style" not in text and " style=" not in text and " onclick" not in text and "javascript:" not in text
        assert "//" not in text.replace("</", "").replace("//127.0.0.1", ""), "nothing is loaded from elsewhere"


def test_files_outside_the_static_folder_are_not_served(memory: Memory) -> None:
    visitor = Visitor.of(memory)
    for name in ("../app.py", "..%2fapp.py", "VENDORED.txt", "page.css", ""):
        assert visitor.get(f"/static/{name}").status == 404
