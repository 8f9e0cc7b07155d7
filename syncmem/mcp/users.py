"""Many users of one server: whose memory a request means, by the token that it bears.

Rules: a token is 32 random bytes, shown once when it is made; the file keeps its hash and the user's name, so who reads
the file can ask as nobody; it is read again when it has changed, so a token that is deleted from it counts no more.
A session belongs to the user who opened it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.mcpserver.exceptions import ToolError

from syncmem.errors import FileError, InvalidInput
from syncmem.files import text_of
from syncmem.memories import Memories
from syncmem.memory import Memory
from syncmem.private import open_new, others_can_use

TOKEN_BYTES: Final = 32
_DIGEST_LETTERS: Final = 64


class Tokens:
    """The tokens in a file: of each a line with its hash and its user."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._read_as: tuple[int, int, int] | None = None
        self._users: dict[str, str] = {}
        self.user_of("")  # what is wrong with the file is told at once

    def user_of(self, token: str) -> str | None:
        """Whose token it is; None: nobody's.

        Raises:
            FileError: the file is gone, or others may change it. InvalidInput: it has a line that is no token.
        """
        try:
            status = self._path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino)
            if seen != self._read_as:
                self._users = _read(self._path)
                self._read_as = seen
        except OSError as error:
            made = "make it with 'syncmem mcp token'"
            raise FileError(f"{self._path} cannot be read ({error.strerror}); {made}") from error
        return self._users.get(_digest(token))


def add(path: str | os.PathLike[str], user: str, randomness: Callable[[int], bytes]) -> str:
    """Make a token for a user and add it to a file, which is made if it is missing; the token."""
    if not user.strip() or not user.isprintable() or user != user.strip():
        raise InvalidInput("a user is named by printable text without outer space; choose another name")
    token = base64.urlsafe_b64encode(randomness(TOKEN_BYTES)).decode().rstrip("=")
    line = f"{_digest(token)} {user}\n"
    try:
        if not os.path.exists(path):
            os.close(open_new(path))
        whole = text_of(path)
        with open(path, "a", encoding="utf-8") as file:
            file.write(line if not whole or whole.endswith("\n") else f"\n{line}")
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror}); check the folder") from error
    return token


@contextmanager
def asking(memories: Memories) -> Iterator[Memory]:
    """The memory of the user whose request is being answered."""
    token = get_access_token()
    if token is None or not token.subject:
        raise ToolError("the request bears no token; pass Authorization: Bearer TOKEN")
    with memories.open(token.subject) as memory:
        yield memory


def _read(path: Path) -> dict[str, str]:
    if others_can_use(path):
        raise FileError(f"others can use {path}, and add tokens to it; chmod 600 it")
    users = {}
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        digest, _, user = line.partition(" ")
        if len(digest) != _DIGEST_LETTERS or not set(digest) <= set("0123456789abcdef") or not user.strip():
            raise InvalidInput(f"line {number} of {path} is no hash and user; delete it, or make a token anew")
        users[digest] = user.strip()
    return users


def _digest(token: str) -> str:
    return sha256(b"syncmem mcp token " + token.encode()).hexdigest()
