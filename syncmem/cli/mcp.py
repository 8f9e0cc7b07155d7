"""The verb that serves a model: mcp."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import click

from syncmem.cli.session import Session, verb
from syncmem.environment import Environment
from syncmem.errors import InvalidInput

if TYPE_CHECKING:
    from syncmem.mcp.server import Who

DEFAULT_PORT: Final = 8760
CLIENT_NAMES: Final = ("claude-desktop", "claude-code", "cursor", "gemini-cli", "vscode", "windsurf")


@verb("mcp")
@click.argument("action", required=False, type=click.Choice(["install", "token"]))
@click.option("--client", type=click.Choice(CLIENT_NAMES), help="With install: for which client.")
@click.option("--write", is_flag=True, help="With install: put it into the client's configuration.")
@click.option("--agent", default="mcp", show_default=True, metavar="NAME", help="Names the model in its statements.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP instead of standard streams.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: the address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535))
@click.option("--token-file", type=click.Path(exists=True, dir_okay=False), help="With --http: the token clients bear.")
@click.option("--users", type=click.Path(file_okay=False), metavar="DIR", help="With --http: a memory a user, in DIR.")
@click.option("--tokens", type=click.Path(dir_okay=False), metavar="FILE", help="Whose token is whose; hashes only.")
@click.option("--user", metavar="NAME", help="With token: whose the new token is.")
def mcp(
    session: Session, action: str | None, client: str | None, write: bool, agent: str, http: bool, host: str,
    port: int, token_file: str | None, users: str | None, tokens: str | None, user: str | None,
) -> None:  # fmt: skip
    """Serve the memory to a model (Model Context Protocol).

    "syncmem mcp install --client NAME" prints what the client's configuration needs; --write puts it there. What a
    model remembers counts as inferred: it overrules nothing that the user stated.

    "syncmem mcp token --user NAME --tokens FILE" makes a token, and "--http --users DIR --tokens FILE" serves to each
    user a memory of their own; deleting a line of FILE takes its token away at once.
    """
    if action == "install":
        _install(session, client, write)
        return
    try:
        from syncmem import files
        from syncmem.mcp import users as many
        from syncmem.mcp.server import build, one_token, serve_http
    except ImportError as error:
        raise InvalidInput("the server needs an extra; pip install 'syncmem[mcp]'") from error
    if action == "token":
        if user is None or tokens is None:
            raise click.UsageError("Say whose and where: --user NAME --tokens FILE.")
        token = many.add(tokens, user, Environment().randomness)
        session.show({"user": user, "token": token}, lambda: f"{token}\nThis is shown once; {tokens} has its hash.")
        return
    if (users is None) != (tokens is None) or (users is not None and not http):
        raise click.UsageError("Many users need all of it: --http --users DIR --tokens FILE.")
    who: Who | None = None if token_file is None else one_token(files.text_of(token_file).strip())
    if http and who is None and users is None and host not in ("127.0.0.1", "::1", "localhost"):
        raise click.UsageError("Others can reach this address: give --token-file FILE.")
    with ExitStack() as open_now:
        if users is not None and tokens is not None:
            memories = open_now.enter_context(session.memories(users))
            server, who = build(lambda: many.asking(memories), agent=agent), many.Tokens(tokens).user_of
        else:
            server = build(open_now.enter_context(session.memory(create=True)), agent=agent)
        if not http:
            server.run("stdio")
            return
        serve_http(server, host=host, port=port, who=who, ready=lambda url: click.echo(f"mcp at {url}", err=True))


def _install(session: Session, client: str | None, write: bool) -> None:
    from syncmem.mcp import install

    if client is None:
        raise click.UsageError(f"Say for which client: --client {'|'.join(CLIENT_NAMES)}.")
    key = ["--key-file", os.path.abspath(session.key)] if session.key else []
    command = [sys.executable, "-m", "syncmem", "--db", os.path.abspath(session.db), *key, "mcp", "--agent", client]
    wanted = install.configuration(client, command)
    path = install.path_of(client)
    if not write:
        text = f"Put this into {path}:\n{json.dumps(wanted, indent=2)}"
        session.show({"path": str(path), "configuration": wanted}, lambda: text)
        return
    kept = install.write(path, wanted)
    rest = f" The old one is in {kept}." if kept else ""
    done = f"Written into {path}; restart the client.{rest}"
    session.show({"path": str(path), "kept": kept and str(kept)}, lambda: done)
