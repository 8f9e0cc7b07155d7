"""The page in one file."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from base64 import b64encode
from datetime import UTC
from hashlib import sha256
from pathlib import Path

import pytest

from syncmem import Environment, InvalidInput, Memory, NotFound
from syncmem.view.export import Exported, export
from tests.cli.running import SECONDS_MAX, Shell, environment
from tests.view.test_pages import HOSTILE, Tags
from tests.view.visiting import Visitor


def exported(memory: Memory, file: Path, entity: str | None = None) -> Exported:
    return export(memory, file, zone=UTC, now=Environment().clock.now, entity=entity)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "m.db", zone="UTC", embedder=None)


def test_a_page_needs_nothing_but_itself_and_runs_nothing(memory: Memory, tmp_path: Path) -> None:
    with memory:
        memory.define("home_city", cardinality="single")
        for number, text in enumerate(HOSTILE):
            memory.remember("ana", "home_city", text, changed_on=f"20{number + 10}", source="user")
            memory.remember(text[:100], "note", text, since="2020")
        exported(memory, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    tags = Tags(text).found
    assert not {"script", "link", "img", "iframe", "form", "object"} & {tag for tag, _ in tags}
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in tags)
    assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = b64encode(sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text.replace("&#39;", "'").replace("&#43;", "+")
    assert "url(http" not in text and "@import" not in text
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "pictures have names of their own"


def test_who_was_erased_is_in_no_page_made_afterwards(tmp_path: Path) -> None:
    """Not in timelines, histories or reasons, not in questions, not in the read log, not beside the devices."""
    (tmp_path / "shared").mkdir()
    with Memory(tmp_path / "m.db", zone="UTC", embedder=None) as memory:
        memory.create_vault("laptop")
        memory.add_mailbox(f"folder:{tmp_path / 'shared'}")
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "friend", "Zacharias", mentions=["zacharias"])
        memory.remember("zacharias", "home_city", "Samarkand", changed_on="2020", source="user")
        memory.remember("zacharias", "home_city", "Bukhara", trust="inference", source="model")
        memory.recall("Where does Zacharias live?")
        memory.recall("Who is a friend of Ana's?")
        memory.sync()
        exported(memory, tmp_path / "before.html")
        exported(memory, tmp_path / "one.html", "zacharias")
        memory.erase("zacharias")
        exported(memory, tmp_path / "after.html")
        with pytest.raises(NotFound):
            exported(memory, tmp_path / "none.html", "zacharias")
    before = (tmp_path / "before.html").read_text(encoding="utf-8")
    asked = "What holds now for home city of zacharias"
    for told in (
        "Samarkand",
        asked,
        "Where does Zacharias live?",
        "<bdi>laptop</bdi> (this one)",
        "folder:",
        "Mailboxes",
    ):
        assert told in before, told
    assert asked in (tmp_path / "one.html").read_text(encoding="utf-8")
    after = (tmp_path / "after.html").read_text(encoding="utf-8").lower()
    assert not [name for name in ("samarkand", "bukhara", "zacharias") if name in after]
    assert "<bdi>laptop</bdi> (this one)" in after and "nothing to ask" in after and "(erased)" in after


def test_a_page_shows_what_the_pages_show_without_what_acts(memory: Memory, tmp_path: Path) -> None:
    with memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Berlin", since="2015", observed_at="2020", source="user")
        memory.remember("ana", "home_city", "Lisbon", changed_on="2024-03", source="user")
        found = memory.recall("Where does Ana live?")
        memory.remember("ana", "home_city", "Faro", changed_on="2025-03", source="user")
        memory.remember("ana", "home_city", "Porto", trust="inference", source="model")
        visitor = Visitor.of(memory)
        exported(memory, tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        pages = [visitor.slot("ana", "home_city"), visitor.get("/questions"), visitor.get("/devices")]
        pages.append(visitor.get("/read", receipt=found.receipt))
    cells = [set(re.findall(r"<td[^>]*>(.*?)</td>", page.text, re.DOTALL)) for page in pages]
    for shown in cells:
        plain = {cell for cell in shown if "<a " not in cell and "<form" not in cell}
        assert plain <= set(re.findall(r"<td[^>]*>(.*?)</td>", text, re.DOTALL)), plain
    (question,) = re.findall(r'<h2 id="q-[^"]*">(.*?)</h2>', pages[1].text)
    assert question in text and "only presumed" in text and "Statement by statement" in text
    assert not {"form", "button", "input", "script"} & {tag for tag, _ in Tags(text).found}


def test_a_page_about_one_name_tells_of_nobody_else(memory: Memory, tmp_path: Path) -> None:
    with memory:
        for name in ("ana", "ben"):
            memory.define("home_city", cardinality="single")
            memory.remember(name, "home_city", f"City of {name}", changed_on="2020", source="user")
            memory.remember(name, "home_city", f"Guess about {name}", trust="inference", source="model")
        memory.recall("Where does Ana live, where Ben?")
        memory.recall("What city is Ben's home?")
        exported(memory, tmp_path / "ana.html", "ana")
        text = (tmp_path / "ana.html").read_text(encoding="utf-8")
    assert "City of ana" in text and "Where does Ana live, where Ben?" in text and "Guess about ana" in text
    assert "City of ben" not in text and "Guess about ben" not in text
    assert "Whose events are here" not in text and 'id="devices"' not in text


def test_one_name_alone_and_no_file_is_replaced(memory: Memory, tmp_path: Path) -> None:
    with memory:
        memory.remember("ana", "home_city", "Lisbon")
        memory.remember("ben", "home_city", "Rome")
        assert exported(memory, tmp_path / "ana.html", "ana").slots == 1
        assert "Rome" not in (tmp_path / "ana.html").read_text(encoding="utf-8")
        with pytest.raises(InvalidInput, match="exists already"):
            exported(memory, tmp_path / "ana.html", "ana")
        with pytest.raises(NotFound, match="syncmem entities"):
            exported(memory, tmp_path / "carla.html", "carla")
        assert not (tmp_path / "carla.html").exists()


def test_the_command_line_writes_it(empty: Shell) -> None:
    with empty.memory() as memory:
        memory.remember("ana", "home_city", "Lisbon")
    assert empty.text("view", "--export", "page.html") == "1 timeline in page.html\n"
    assert empty.json("view", "ana", "--export", "ana.html") == {"file": "ana.html", "slots": 1, "more": False}
    assert "Lisbon" in (empty.folder / "page.html").read_text(encoding="utf-8")
    refused = empty.run("view", "--also", "nothing.db", "--export", "b.html")
    assert refused.code == 1 and "no memory at nothing.db" in refused.err


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_the_server_closes_the_memory_when_it_is_told_to_end(empty: Shell, told: int) -> None:
    with empty.memory() as memory:
        memory.remember("ana", "home_city", "Lisbon")
    command = [sys.executable, "-m", "syncmem", "view", "--no-browser"]
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=empty.folder, env=environment(), **piped) as process:  # type: ignore[call-overload]
        assert process.stdout.readline().startswith("Open http://127.0.0.1:")
        process.send_signal(told)
        _, complaints = process.communicate(timeout=SECONDS_MAX)
    assert (process.returncode, complaints) == (0, "")
    assert not (empty.folder / "syncmem.db-wal").exists()


def test_a_port_that_is_taken_and_an_extra_that_is_missing_are_refused_with_the_next_step(empty: Shell) -> None:
    with empty.memory() as memory:
        memory.remember("ana", "home_city", "Lisbon")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = empty.run("view", "--no-browser", "--port", taken.getsockname()[1])
    assert refused.code == 1 and "leave --port out" in refused.err
    without = "import sys; sys.modules['jinja2'] = None; from syncmem.cli import main; main()"
    command = [sys.executable, "-c", without, "view", "--no-browser"]
    found = subprocess.run(command, cwd=empty.folder, env=environment(), capture_output=True, text=True, check=False)
    assert found.returncode == 1 and "pip install 'syncmem[view]'" in found.stderr


def test_the_library_needs_none_of_it() -> None:
    heavy = {"jinja2", "starlette", "uvicorn", "syncmem.view", "syncmem.picture.svg"}
    checked = f"import sys, syncmem; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", checked], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
