"""A real browser on the pages of a real process: Debian's Chromium, driven by playwright.

Where either is missing, the tests that need it skip and say what to install.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.cli.running import environment

CHROMIUM = shutil.which("chromium")
SECONDS_MAX = 30
_FOCUSED = "(e => e.getAttribute('aria-label') || e.innerText || e.id || '')(document.activeElement)"


def missing() -> str | None:
    """What a browser test lacks here, in words."""
    if CHROMIUM is None:
        return "needs Debian's Chromium: apt-get install chromium"
    try:
        import axe_playwright_python.sync_playwright
        import playwright.sync_api
    except ImportError:
        return "needs playwright and axe: pip install 'syncmem[browser-tests]'"
    del axe_playwright_python, playwright
    return None


needs_browser = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@contextmanager
def served(file: Path, *also: Path) -> Iterator[str]:
    """``syncmem view`` in a process of its own; the address that it prints."""
    command = [sys.executable, "-m", "syncmem", "--db", file.name, "--json", "view", "--no-browser"]
    command += [part for other in also for part in ("--also", other.name)]
    process = subprocess.Popen(
        command, cwd=file.parent, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        printed = ""
        while not printed.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "it ended before it was ready"
            printed += line
        yield json.loads(printed)["address"]
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS_MAX)
        assert process.returncode == 0, "it ends well when it is told to"


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=[*root, "--disable-gpu"])
        try:
            yield running
        finally:
            running.close()


class Window:
    """One window of a browser that was let in; it notes whatever a page complains about."""

    def __init__(self, running: Any, entry: str, base: str | None = None, **settings: Any) -> None:
        self.complaints: list[str] = []
        self.base = base or entry.partition("/enter")[0]
        self._context = running.new_context(viewport={"width": 1100, "height": 800}, **settings)
        self._context.set_default_timeout(SECONDS_MAX * 1000)
        self.page = self.tab()
        self.page.goto(entry)
        self.page.wait_for_url(f"{self.base}/")

    def tab(self) -> Any:
        """One more page of the same browser."""
        page = self._context.new_page()
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("requestfailed", self._note_failure)
        return page

    def _note_failure(self, request: Any) -> None:
        if "ERR_ABORTED" not in request.failure:  # which only says that the page was left
            self.complaints.append(f"{request.failure} {request.url}")

    def open(self, path: str, **parameters: str) -> Any:
        address = self.base + path + (f"?{urlencode(parameters)}" if parameters else "")
        assert self.page.goto(address).status == 200
        return self.page

    def close(self) -> None:
        self._context.close()


def barriers(page: Any) -> list[str]:
    """What axe finds on a page that keeps somebody out."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {node['target']} {node['html'][:160]}" for each in found for node in each["nodes"]]


def overflow(page: Any) -> int:
    """By how many pixels a page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def until(page: Any, condition: str, tries_max: int = 200) -> None:
    """Wait until an expression is true on a page (whose policy lets no string be evaluated there by itself)."""
    for _ in range(tries_max):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {condition}")


def tab_to(page: Any, name: str, presses_max: int = 120) -> None:
    """Press the tabulator until what has that name has the focus."""
    for _ in range(presses_max):
        page.keyboard.press("Tab")
        if re.fullmatch(name, page.evaluate(_FOCUSED).strip()):
            return
    raise AssertionError(f"nothing called {name!r} can be reached by the keyboard")
