"""The server as a process: streams, HTTP, several clients and the command line on one file, clients that vanish."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from syncmem import Memory
from tests.cli.running import Shell
from tests.mcp.speaking import SECONDS_MAX, call, command, environment, http, streams, talk

TOKEN = "a-token-of-some-letters"


def remembering(*values: str) -> Any:
    async def say(client: Client) -> Any:
        return [await call(client, "remember", entity="ana", predicate="language", value=value) for value in values]

    return say


def languages(path: Path) -> list[str]:
    with Memory(path) as memory:
        return sorted(belief.value for belief in memory.beliefs("ana", "language"))


def test_over_streams(tmp_path: Path) -> None:
    (written,) = talk(streams(tmp_path / "a.db"), remembering("Portuguese"))
    assert written["decision"] == "ADD"
    assert languages(tmp_path / "a.db") == ["Portuguese"]


def test_over_http_with_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    with http(tmp_path / "a.db", "--token-file", str(tmp_path / "token")) as url:
        request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json"})
        with pytest.raises(HTTPError, match="401") as without:
            urllib.request.urlopen(request, timeout=SECONDS_MAX)
        without.value.close()
        request.add_header("Authorization", "Bearer another-token-of-letters")
        with pytest.raises(HTTPError, match="401") as wrong:
            urllib.request.urlopen(request, timeout=SECONDS_MAX)
        wrong.value.close()
        bearing = create_mcp_http_client(headers={"Authorization": f"Bearer {TOKEN}"})
        talk(streamable_http_client(url, http_client=bearing), remembering("Portuguese"))
    assert languages(tmp_path / "a.db") == ["Portuguese"]


def test_two_clients_and_the_command_line_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "syncmem.db"
    shell = Shell(tmp_path)

    async def both() -> None:
        async with Client(streams(path)) as one, Client(streams(path)) as two:
            await asyncio.gather(
                *(call(one, "remember", entity="ana", predicate="language", value=f"one {n}") for n in range(10)),
                *(call(two, "remember", entity="ana", predicate="language", value=f"two {n}") for n in range(10)),
                asyncio.to_thread(shell.text, "remember", "ana", "language", "by hand"),
            )
            held = await call(one, "believe", entity="ana", predicate="language")
            assert len(held) == 21

    asyncio.run(asyncio.wait_for(both(), SECONDS_MAX))
    assert len(languages(path)) == 21


def test_several_clients_of_one_http_server(tmp_path: Path) -> None:
    async def many(url: str) -> None:
        async def one(number: int) -> None:
            async with Client(url) as client:
                await call(client, "remember", entity="ana", predicate="language", value=f"{number}")

        await asyncio.gather(*map(one, range(8)))

    with http(tmp_path / "a.db") as url:
        asyncio.run(asyncio.wait_for(many(url), SECONDS_MAX))
    assert len(languages(tmp_path / "a.db")) == 8


def test_a_server_that_is_killed_loses_nothing_that_it_answered(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    process = subprocess.Popen(
        command(path), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None and process.stdout is not None
    say(process, 1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO})
    process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    argument = {"entity": "ana", "predicate": "language", "value": "Portuguese"}
    answer = say(process, 2, "tools/call", {"name": "remember", "arguments": argument})
    assert answer["result"]["structuredContent"]["decision"] == "ADD"
    process.send_signal(signal.SIGKILL)
    process.wait(SECONDS_MAX)
    process.stdin.close()
    process.stdout.close()
    assert languages(path) == ["Portuguese"]


def test_a_client_that_vanishes_ends_its_server(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(tmp_path / "a.db"), env=environment(), **pipes)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    say(process, 1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO})
    process.stdin.close()
    assert process.wait(SECONDS_MAX) == 0
    assert b"Traceback" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()


def test_a_cancelled_call_leaves_the_server_usable(tmp_path: Path) -> None:
    async def say(client: Client) -> Any:
        slow = asyncio.create_task(call(client, "remember", entity="ana", predicate="language", value="x" * 40_000))
        await asyncio.sleep(0)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        return await call(client, "remember", entity="ana", predicate="language", value="Portuguese")

    assert talk(streams(tmp_path / "a.db"), say)["decision"] == "ADD"
    assert "Portuguese" in languages(tmp_path / "a.db")


def test_an_address_that_others_reach_needs_a_token(tmp_path: Path) -> None:
    outcome = Shell(tmp_path).run("mcp", "--http", "--host", "0.0.0.0")
    assert outcome.code == 2 and "--token-file" in outcome.err
    (tmp_path / "short").write_text("abc", encoding="utf-8")
    outcome = Shell(tmp_path).run("mcp", "--http", "--token-file", "short")
    assert outcome.code != 0 and "16 or more" in outcome.err


# -- telling clients of it ----------------------------------------------------------------------------------


def test_install_prints_what_the_client_needs_and_changes_nothing(tmp_path: Path) -> None:
    told = Shell(tmp_path).json("mcp", "install", "--client", "claude-code")
    server = told["configuration"]["mcpServers"]["syncmem"]
    assert server["args"][-3:] == ["mcp", "--agent", "claude-code"]
    assert str(tmp_path / "syncmem.db") in server["args"]
    assert list(tmp_path.iterdir()) == []


def test_install_writes_beside_what_is_there_and_what_it_wrote_runs(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    path = tmp_path / "config" / "Claude" / "claude_desktop_config.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"mcpServers": {"other": {"command": "x"}}, "theme": "dark"}), encoding="utf-8")
    outcome = Shell(tmp_path).run("mcp", "install", "--client", "claude-desktop", "--write", env=home)
    assert outcome.code == 0, outcome
    held = json.loads(path.read_text(encoding="utf-8"))
    assert (held["theme"], sorted(held["mcpServers"])) == ("dark", ["other", "syncmem"])
    assert json.loads((path.parent / (path.name + ".before-syncmem")).read_text(encoding="utf-8"))["theme"] == "dark"
    again = Shell(tmp_path).run("mcp", "install", "--client", "claude-desktop", "--write", env=home)
    assert again.code == 0 and json.loads(path.read_text(encoding="utf-8")) == held
    assert "syncmem" not in (path.parent / (path.name + ".before-syncmem")).read_text(encoding="utf-8")
    server = held["mcpServers"]["syncmem"]
    started = streams(tmp_path / "unused.db").model_copy(update={"command": server["command"], "args": server["args"]})
    talk(started, remembering("Portuguese"))
    assert languages(tmp_path / "syncmem.db") == ["Portuguese"]


def test_install_leaves_a_configuration_that_it_cannot_read(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text("{ // mine\n}", encoding="utf-8")
    outcome = Shell(tmp_path).run("mcp", "install", "--client", "claude-code", "--write")
    assert outcome.code != 0 and "by hand" in outcome.err
    assert (tmp_path / ".mcp.json").read_text(encoding="utf-8") == "{ // mine\n}"
    assert os.listdir(tmp_path) == [".mcp.json"]


INFO = {"name": "test", "version": "1"}


def say(process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]) -> Any:
    """Ask the server on the other end of a pipe; its answer."""
    assert process.stdin is not None and process.stdout is not None
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    while answer := json.loads(process.stdout.readline()):
        if answer.get("id") == number:
            return answer
    raise AssertionError("the server ended")
