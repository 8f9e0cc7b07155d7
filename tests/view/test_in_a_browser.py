"""The pages in a real browser: every page and action, by keyboard, without a script, narrow, with hostile text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from syncmem import Memory
from syncmem.cli.story import CITY, CUSTOMER, play
from tests.cli.running import SECONDS_MAX, Shell, environment
from tests.mailbox.serving import process
from tests.sync.test_listening import devices
from tests.view.browsing import Window, barriers, browser, needs_browser, overflow, served, tab_to, until
from tests.view.test_pages import HOSTILE

pytestmark = needs_browser
SLOT = {"entity": CUSTOMER, "predicate": CITY}


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("story")
    play(folder)
    with Memory(folder / "tablet.db", zone="UTC", embedder=None) as memory:
        memory.recall("Where does customer 17 live?")
    return folder


@pytest.fixture
def story(played: Path, tmp_path: Path) -> Path:
    """The folder of the demo's three devices, for one test."""
    shutil.copytree(played, tmp_path / "story")
    return tmp_path / "story"


@pytest.fixture
def window(running: Any, story: Path) -> Iterator[Window]:
    with served(story / "tablet.db", story / "phone.db", story / "laptop.db") as entry:
        found = Window(running, entry)
        yield found
        found.close()


def test_no_page_keeps_anybody_out_in_light_in_dark_or_on_a_telephone(window: Window) -> None:
    with_receipt = window.open("/reads").locator("main table a").first.get_attribute("href")
    paths = ["/", "/questions", "/reads", with_receipt, "/devices", "/search?text=lisbon", f"/thing?entity={CUSTOMER}"]
    for path in [f"/slot?entity={CUSTOMER}&predicate={CITY}", f"/history?entity={CUSTOMER}&predicate={CITY}", *paths]:
        page = window.open(path)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        assert barriers(page) == []
        page.set_viewport_size({"width": 360, "height": 800})
        assert overflow(page) == 0, path
        page.emulate_media(color_scheme="dark")
        assert barriers(page) == []
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1100, "height": 800})
    assert window.complaints == []


def test_everything_is_done_with_the_keyboard_alone(window: Window, story: Path) -> None:
    page = window.open("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # "Skip to the content"
    tab_to(page, "home city")
    page.keyboard.press("Enter")
    page.wait_for_url("**/slot?**")
    tab_to(page, "step")
    with page.expect_navigation():
        page.keyboard.press("Home")
    assert "As believed 2025-03-03" in page.inner_text("main")
    tab_to(page, "Paris.*|Porto.*")  # a bar of the picture
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "Why at" in page.inner_text("#why-h")
    window.open("/questions")
    tab_to(page, "Lisbon")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "Nothing to ask" in page.inner_text("main")
    window.open("/slot", **SLOT)
    tab_to(page, "value")
    page.keyboard.type("Faro")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "Written: remember Faro" in page.inner_text("main")
    tab_to(page, "Take it back")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    tab_to(page, "Retract remember Paris.*")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert window.complaints == []
    with Memory(story / "tablet.db", zone="UTC", embedder=None) as memory:
        assert [belief.value for belief in memory.timeline(CUSTOMER, CITY)] == ["Berlin", "Lisbon"]
        assert memory.questions() == () and not memory.contested()


def test_without_a_script_every_form_works(running: Any, story: Path) -> None:
    with served(story / "tablet.db") as entry:
        window = Window(running, entry, java_script_enabled=False)
        page = window.open("/slot", **SLOT)
        page.locator("#step").press("Home")
        page.locator(".slider button").click()
        assert "As believed 2025-03-03 12:00: Porto" in page.inner_text(".now-line")
        window.open("/questions").get_by_role("button", name="Madrid").click()
        assert "Your word is written" in page.inner_text("main")
        page.goto(f"{window.base}/?text=customer")
        page.get_by_role("link", name="customer:17").click()
        assert "Now: Madrid" in page.inner_text("main")
        window.close()


def test_from_a_slot_of_hundreds_of_beliefs_one_is_reached_by_keyboard(running: Any, tmp_path: Path) -> None:
    with Memory(tmp_path / "long.db", zone="UTC", embedder=None) as memory:
        memory.define(CITY, cardinality="single")
        with memory.transaction():
            for number in range(600):
                day = datetime(2020, 1, 1, tzinfo=UTC) + number * timedelta(days=1)
                memory.remember("ana", CITY, f"City {number}", since=day, observed_at=day, source="user")
    with served(tmp_path / "long.db") as entry:
        window = Window(running, entry)
        page = window.open("/slot", entity="ana", predicate=CITY)
        page.set_viewport_size({"width": 360, "height": 800})
        assert overflow(page) == 0 and barriers(page) == []
        page.set_viewport_size({"width": 1100, "height": 800})
        tab_to(page, "15 beliefs, 15 values; from 2020-06.*")  # a block
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert "Only 2020-06" in page.inner_text("main") and barriers(page) == []
        tab_to(page, "City 165;.*only presumed.*")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert "'City 165' holds because user said so" in page.inner_text("#why")
        assert window.complaints == []
        window.close()


def test_a_picture_is_moved_and_enlarged(window: Window) -> None:
    page = window.open("/slot", **SLOT)
    width = "document.getElementById('timeline-wide').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.get_by_role("button", name="Zoom in").first.click()
    until(page, f"{width} > {before} * 1.2")
    page.get_by_role("button", name="Reset the zoom").first.click()
    until(page, f"Math.abs({width} - {before}) < 1")
    page.locator("#timeline-wide a").first.click()
    page.wait_for_url("**#why")
    assert window.complaints == []


def test_hostile_text_is_only_text(running: Any, tmp_path: Path) -> None:
    with Memory(tmp_path / "h.db", zone="UTC", embedder=None) as memory:
        memory.define("home_city", cardinality="single")
        for number, text in enumerate(HOSTILE):
            memory.remember("ana", "home_city", text, changed_on=f"20{number + 10}", source="user")
            memory.remember(text[:120], f"note {number}", text, since="2020", source=text[:40])
        memory.remember("ana", "home_city", HOSTILE[0] * 2, trust="inference", source="model")
        memory.recall(HOSTILE[1])
    with served(tmp_path / "h.db") as entry:
        window = Window(running, entry)
        for path in ("/", "/slot?entity=ana&predicate=home_city", "/thing?entity=ana", "/questions", "/reads"):
            page = window.open(path)
            assert barriers(page) == [] and page.locator("main script, main img, main style").count() == 0
            page.set_viewport_size({"width": 360, "height": 800})
            assert overflow(page) == 0, path
            page.set_viewport_size({"width": 1100, "height": 800})
        assert HOSTILE[0] in window.open("/").inner_text("main")
        assert window.complaints == []
        window.close()


def test_two_tabs_and_a_sync_that_arrives_meanwhile(window: Window, story: Path) -> None:
    one = window.open("/questions")
    other = window.tab()
    other.goto(f"{window.base}/slot?entity={CUSTOMER}&predicate={CITY}")
    assert other.locator("#news").is_hidden()
    with Memory(story / "phone.db", zone="UTC") as phone:
        phone.remember(CUSTOMER, CITY, "Faro", source="user")
        with Memory(story / "tablet.db", zone="UTC") as tablet:
            tablet.merge(phone)
    other.locator("#news").wait_for(state="visible")
    with other.expect_navigation():
        other.locator("#news a").click()
    assert "Faro" in other.inner_text(".now-line")
    with one.expect_navigation():
        one.get_by_role("button", name="Madrid").click()
    assert "no longer open" in one.inner_text("main"), "what was asked before the sync is not answered after it"
    with Memory(story / "tablet.db", zone="UTC") as tablet:
        belief = tablet.believe(CUSTOMER, CITY)
        assert belief is not None and belief.value == "Faro"


def test_a_sync_by_another_process_is_told_on_the_open_page_and_shown(running: Any, tmp_path: Path) -> None:
    """Two devices of one vault and the relay between them: the relay, the viewer and the sync are processes."""
    with ExitStack() as stack:
        relay = stack.enter_context(process(tmp_path / "relay"))
        with devices(tmp_path, relay.address, "laptop", "phone") as (laptop, _):
            laptop.define(CITY, cardinality="single")
            laptop.remember("ana", CITY, "Berlin", changed_on="2019-05", source="user")
        window = Window(running, stack.enter_context(served(tmp_path / "laptop.db")))
        stack.callback(window.close)
        page = window.open("/slot", entity="ana", predicate=CITY)
        assert "Berlin" in page.inner_text(".now-line")
        with Memory(tmp_path / "phone.db", zone="UTC", embedder=None) as phone:
            phone.sync()
            phone.remember("ana", CITY, "Lisbon", changed_on="2024-03", source="user")
            phone.sync()
        assert page.locator("#news").is_hidden(), "nothing has come to this device yet"
        Shell(tmp_path).text("--db", "laptop.db", "sync")
        page.locator("#news").wait_for(state="visible")
        with page.expect_navigation():
            page.locator("#news a").click()
        assert "Lisbon" in page.inner_text(".now-line")
        before, after = (page.locator(".side").nth(number).inner_text() for number in range(2))
        assert "Lisbon" in after and "phone" in after and "before" in before.lower()
        assert window.complaints == [] and barriers(page) == []


def test_the_exported_page_is_read_without_a_server(running: Any, story: Path) -> None:
    Shell(story).text("--db", "tablet.db", "remember", CUSTOMER, "language", "Greek")
    Shell(story).text("--db", "tablet.db", "view", "--also", "phone.db", "--export", "page.html")
    context = running.new_context(viewport={"width": 1000, "height": 800})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
    page.goto((story / "page.html").as_uri())
    for summary in page.locator("details > summary").all():
        summary.click()
    assert barriers(page) == [] and complaints == []
    assert page.locator("#s0-timeline-wide").is_visible()
    told = page.inner_text("main")
    for part in ("Madrid", "or 'Madrid'", "Where does customer 17 live?", "Whose events are here", "On each device"):
        assert part in told, part
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.locator("#s0-timeline-narrow").is_visible() and overflow(page) == 0
    context.close()


def test_another_browser_is_not_let_in_by_the_same_address(running: Any, story: Path) -> None:
    with served(story / "tablet.db") as entry:
        first = Window(running, entry)
        assert "customer:17" in first.page.inner_text("main")
        second = running.new_context()
        page = second.new_page()
        assert page.goto(entry).status == 403 and page.goto(first.base).status == 403
        second.close()
        first.close()


def test_a_browser_is_led_in_by_a_file_that_only_its_user_can_read(running: Any, story: Path, tmp_path: Path) -> None:
    """Whatever opens addresses on this machine is told of a file, and never of the token."""
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/told"\n')
    opener.chmod(0o755)
    command = [sys.executable, "-m", "syncmem", "--db", "tablet.db", "view"]
    variables = environment() | {"PATH": f"{opener.parent}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.Popen(command, cwd=story, env=variables, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        told = heard(tmp_path / "told")
        file = Path(told.removeprefix("file://"))
        assert "token" not in told and file.stat().st_mode & 0o077 == 0 and file.parent.stat().st_mode & 0o077 == 0
        window = Window(running, file.as_uri(), base=address.partition("/enter")[0])
        assert "customer:17" in window.page.inner_text("main")
        window.close()
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0 and not file.exists()


def heard(file: Path, tries_max: int = 200) -> str:
    """What another process has written to a file."""
    for _ in range(tries_max):
        if file.exists() and (text := file.read_text().strip()):
            return text
        time.sleep(0.05)
    raise AssertionError(f"nothing was written to {file.name}")
