"""Clients of the server, through the protocol's own library: in this process, over streams, over HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitRequestParams, ElicitResult

from tests.cli.running import environment

SECONDS_MAX = 60.0
Talk = Callable[[Client], Awaitable[Any]]


def command(path: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "syncmem", "--db", str(path), "--zone", "UTC", "mcp", *arguments]


def streams(path: Path) -> StdioServerParameters:
    """A server process of its own, over its standard streams."""
    program, *arguments = command(path)
    return StdioServerParameters(command=program, args=arguments, env=environment())


@contextmanager
def http(path: Path, *arguments: str) -> Iterator[str]:
    """A server process over HTTP; its address."""
    process = subprocess.Popen(
        command(path, "--http", "--port", "0", *arguments),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        yield found.group()
    finally:
        process.terminate()
        process.wait(SECONDS_MAX)
        process.stderr.close()


def talk(server: Any, say: Talk, *, answer: str | None = None) -> Any:
    """Have a client talk to a server; ``answer``: what its user says when asked ("" declines)."""

    async def asked(context: Any, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"answer": answer}) if answer else ElicitResult(action="decline")

    async def run() -> Any:
        callback = None if answer is None else asked
        async with Client(server, elicitation_callback=callback, read_timeout_seconds=SECONDS_MAX) as client:
            return await asyncio.wait_for(say(client), SECONDS_MAX)

    questions.clear()
    return asyncio.run(run())


questions: list[str] = []  # what the user was asked in the latest talk


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured result of a tool that succeeds; whoever reads the text alone is told the same."""
    outcome = await client.call_tool(tool, arguments)
    assert not outcome.is_error, outcome
    held = outcome.structured_content
    told = held["result"] if isinstance(held, dict) and set(held) == {"result"} else held
    (text,) = (block.text for block in outcome.content)
    assert told == (text if isinstance(told, str) else json.loads(text))
    return told


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Why a tool refuses."""
    outcome = await client.call_tool(tool, arguments)
    assert outcome.is_error, outcome
    return str(outcome.content[0].text)
