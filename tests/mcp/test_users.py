"""Many users of one server: each has a memory of their own, and nobody another's."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from syncmem import FileError, InvalidInput, Memories
from syncmem.cli.app import cli
from syncmem.mcp.users import Tokens, add
from syncmem.sockets import listen
from tests.cli.running import Shell
from tests.mcp.speaking import SECONDS_MAX, call, http

ASKING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def client(url: str, token: str) -> Client:
    bearing = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
    return Client(streamable_http_client(url, http_client=bearing), read_timeout_seconds=SECONDS_MAX)


async def remembered(url: str, token: str, value: str) -> list[str]:
    """Remember something as a user; all that this user then has."""
    async with client(url, token) as asking:
        await call(asking, "remember", entity="me", predicate="language", value=value)
        held: list[dict[str, Any]] = await call(asking, "believe", entity="me", predicate="language")
        found = await call(asking, "recall", question=f"Which language? {value}")
        assert value in found["context"]
        return sorted(each["value"] for each in held)


def test_users_have_memories_of_their_own_at_the_same_time(tmp_path: Path) -> None:
    told = Shell(tmp_path).json("mcp", "token", "--user", "ana", "--tokens", "tokens")
    tokens = {"ana": told["token"]} | {user: add(tmp_path / "tokens", user, os.urandom) for user in ("bob", "Ana")}
    again = add(tmp_path / "tokens", "ana", os.urandom)

    async def talk(url: str) -> dict[str, list[str]]:
        said = [(user, token, f"{user} {n}") for n in range(2) for user, token in tokens.items()]
        await asyncio.gather(*(remembered(url, token, value) for _, token, value in said))
        assert await remembered(url, again, "by another token") == [
            "ana 0", "ana 1", "by another token",
        ]  # fmt: skip
        return {user: await remembered(url, token, "last") for user, token in tokens.items() if user != "ana"}

    with http(tmp_path / "unused.db", "--users", str(tmp_path / "users"), "--tokens", str(tmp_path / "tokens")) as url:
        found = asyncio.run(asyncio.wait_for(talk(url), SECONDS_MAX))
    assert found == {user: [*(f"{user} {n}" for n in range(2)), "last"] for user in ("bob", "Ana")}
    assert not (tmp_path / "unused.db").exists()
    with Memories(tmp_path / "users") as memories:
        assert memories.users() == ["Ana", "ana", "bob"]


def test_a_wrong_token_is_refused_and_one_that_is_deleted_counts_no_more(tmp_path: Path) -> None:
    ana, bob = (add(tmp_path / "tokens", user, os.urandom) for user in ("ana", "bob"))
    with http(tmp_path / "unused.db", "--users", str(tmp_path / "users"), "--tokens", str(tmp_path / "tokens")) as url:

        def status(authorization: str | None, **headers: str) -> int:
            given = {} if authorization is None else {"Authorization": authorization}
            return httpx2.post(url, json=ASKING, headers={**ACCEPT, **given, **headers}).status_code

        hashed = (tmp_path / "tokens").read_text(encoding="utf-8").split()[0]
        wrong = [None, "Bearer", "Bearer wrong", f"Bearer {hashed}", f"Basic {ana}", f"Bearer {ana}x", "Bearer ana"]
        assert [status(each) for each in wrong] == [401] * len(wrong)

        saying = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": saying}
        begun = httpx2.post(url, json=opening, headers={**ACCEPT, "Authorization": f"Bearer {ana}"})
        session = begun.headers["mcp-session-id"]
        assert status(f"Bearer {bob}", **{"Mcp-Session-Id": session}) == 404  # it is ana's
        assert status(f"Bearer {ana}", **{"Mcp-Session-Id": session}) == 200

        lines = (tmp_path / "tokens").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / "tokens").write_text(lines[1], encoding="utf-8")
        assert status(f"Bearer {ana}", **{"Mcp-Session-Id": session}) == 401
        (tmp_path / "tokens").unlink()
        assert status(f"Bearer {bob}") == 503


def test_a_file_of_tokens_tells_nobody_a_token(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    made = [add(path, user, os.urandom) for user in ("ana", "bob with a space", "ana")]
    kept = path.read_text(encoding="utf-8")
    assert not any(token in kept for token in made) and len(set(made)) == 3
    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
    tokens = Tokens(path)
    assert [tokens.user_of(token) for token in made] == ["ana", "bob with a space", "ana"]
    assert tokens.user_of("") is None
    for user in ("", " ", "a\nb", " a"):
        with pytest.raises(InvalidInput, match="another name"):
            add(path, user, os.urandom)
    assert path.read_text(encoding="utf-8") == kept


def test_a_file_of_tokens_that_cannot_be_trusted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    with pytest.raises(FileError, match="syncmem mcp token"):
        Tokens(path)
    add(path, "ana", os.urandom)
    path.write_text(path.read_text(encoding="utf-8") + "no hash\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 2"):
        Tokens(path)
    if os.name == "posix":
        path.chmod(0o644)
        with pytest.raises(FileError, match="chmod 600"):
            Tokens(path)


def test_a_file_of_tokens_that_is_no_text_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(b"\xff\xfe")
    path.chmod(0o600)
    for use in (lambda: Tokens(path), lambda: add(path, "ana", os.urandom)):
        with pytest.raises(InvalidInput, match="no text in UTF-8"):
            use()
    assert path.read_bytes() == b"\xff\xfe"


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        outcome = CliRunner().invoke(cli, ["--db", str(tmp_path / "a.db"), "mcp", "--http", "--port", port])
    assert outcome.exit_code == 1 and outcome.output.endswith("choose another --host or --port\n")
    assert list(tmp_path.iterdir()) == []


def test_many_users_need_all_of_it(tmp_path: Path) -> None:
    runner = CliRunner()
    for arguments in (["--users", "u"], ["--http", "--users", "u"], ["--tokens", "t"]):
        outcome = runner.invoke(cli, ["--db", str(tmp_path / "a.db"), "mcp", *arguments])
        assert outcome.exit_code == 2 and "--http --users DIR --tokens FILE" in outcome.output
    outcome = runner.invoke(cli, ["--db", str(tmp_path / "a.db"), "mcp", "token", "--user", "ana"])
    assert outcome.exit_code == 2 and "--tokens FILE" in outcome.output
    assert list(tmp_path.iterdir()) == []
