"""Telling well-known clients about the server: what stands in their configuration, and where that is.

Rule: a configuration is changed only when that is asked for, keeps all else that it holds, and is kept as it was.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from syncmem.errors import FileError, InvalidInput

NAME: Final = "syncmem"
BACKUP_SUFFIX: Final = ".before-syncmem"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: the key under which its configuration lists servers, and where the file is."""

    servers: str
    path: str  # "~": the home folder; "{config}": where this system keeps configurations; else the present folder


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-desktop": Client("mcpServers", "{config}/Claude/claude_desktop_config.json"),
    "claude-code": Client("mcpServers", ".mcp.json"),
    "cursor": Client("mcpServers", "~/.cursor/mcp.json"),
    "gemini-cli": Client("mcpServers", "~/.gemini/settings.json"),
    "vscode": Client("servers", ".vscode/mcp.json"),
    "windsurf": Client("mcpServers", "~/.codeium/windsurf/mcp_config.json"),
}


def configuration(client: str, command: list[str]) -> dict[str, Any]:
    """What the client's configuration is to hold."""
    return {_client(client).servers: {NAME: {"command": command[0], "args": command[1:]}}}


def path_of(client: str) -> Path:
    """Where the client's configuration is on this system."""
    path = _client(client).path
    return Path(path.format(config=_configurations())).expanduser()


def write(path: Path, wanted: dict[str, Any]) -> Path | None:
    """Put it into a configuration; where the old one is kept, None if there was none or it says so already.

    Raises:
        InvalidInput: what is there is no JSON object; it is not changed.
    """
    old = _text(path)
    try:
        held = json.loads(old) if old.strip() else {}
    except ValueError as error:
        raise InvalidInput(f"{path} is no JSON ({error}); put it in by hand, as printed without --write") from error
    if not isinstance(held, dict):
        raise InvalidInput(f"{path} holds no JSON object; put it in by hand, as printed without --write")
    before = dict(held)
    for key, servers in wanted.items():
        there = held.get(key)
        held[key] = {**(there if isinstance(there, dict) else {}), **servers}
    if held == before:  # and what was put aside stays what was there before the first time
        return None
    kept = path.with_name(path.name + BACKUP_SUFFIX) if old else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kept is not None:
            kept.write_text(old, encoding="utf-8")
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        temporary.write_text(json.dumps(held, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror}); check the folder") from error
    return kept


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read ({error}); check the file") from error


def _client(name: str) -> Client:
    if name not in CLIENTS:
        raise InvalidInput(f"the client {name!r} is not known; use one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def _configurations() -> str:
    if sys.platform == "darwin":
        return "~/Library/Application Support"
    if sys.platform == "win32":
        return os.environ.get("APPDATA", "~/AppData/Roaming")
    return os.environ.get("XDG_CONFIG_HOME", "~/.config")
