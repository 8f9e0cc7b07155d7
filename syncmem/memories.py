"""Memories: many users in one process, a replica each, in one folder.

Rules: a user's name becomes a file's name in one way, and no two names the same one, on any file system; at most
``open_max`` replicas are open, and the one that was unused for the longest makes room; one that somebody uses is never
closed; whoever opens the same user at the same time shares one :class:`~syncmem.Memory`, which is safe from threads.
"""

from __future__ import annotations

import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, Unpack
from urllib.parse import unquote

from syncmem import files
from syncmem.arguments import checked
from syncmem.environment import Environment
from syncmem.errors import Busy, Closed, FileError, InvalidInput
from syncmem.memory import Memory
from syncmem.opened import Opening
from syncmem.replica.cipher import file_key
from syncmem.replica.connection import WAIT_SECONDS
from syncmem.replica.side import SideFile

OPEN_MAX: Final = 64
NAME_LETTERS_MAX: Final = 200  # of a file's name; most systems allow 255, and SQLite puts more behind it
_FILE: Final = re.compile(r"user-([a-z0-9_%-]+)\.db")
_KEPT: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")  # no capitals: not every system tells them apart


class _Place:
    """A replica that is open, or that somebody is opening or closing."""

    def __init__(self) -> None:
        self.memory: Memory | None = None
        self.users = 1
        self.moving = True  # it is being opened or closed, and everybody else waits for that


@checked
class Memories:
    """The memories of many users, each in a file of its own in ``folder``, which is made if it is missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Memories(folder) as memories:
    ...     with memories.open("ana") as memory:
    ...         _ = memory.remember("ana", "language", "Portuguese")
    ...     with memories.open("Ana@example.org") as memory:
    ...         print(memory.beliefs("ana", "language"))
    ...     memories.users(), memories.erase("ana"), memories.users()
    []
    (['Ana@example.org', 'ana'], True, ['Ana@example.org'])

    Args:
        open_max: so many replicas are open at most; each takes three files and some megabytes.
        wait_seconds: how long :meth:`open` waits for room, and a write for other processes, before it raises Busy.
        opening: how each is opened, as :class:`~syncmem.Memory` says it.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        open_max: int = OPEN_MAX,
        wait_seconds: float = WAIT_SECONDS,
        **opening: Unpack[Opening],
    ) -> None:
        if open_max < 1:
            raise InvalidInput(f"open_max is how many memories may be open, not {open_max}; pass 1 or more")
        self._folder = Path(folder)
        self._open_max = open_max
        self._wait_seconds = wait_seconds
        self._opening = opening
        self._places: OrderedDict[str, _Place] = OrderedDict()  # the one used last is the last
        self._changed = threading.Condition()
        self._closed = False
        files.make_folder(self._folder)

    @contextmanager
    def open(self, user: str) -> Iterator[Memory]:
        """The memory of a user, made if it is new; open at least as long as this lasts, and not to be closed.

        Raises:
            InvalidInput: the name is empty, or too long for a file.
            Busy: all that may be open are in use.
        """
        path = self.path(user)
        place = self._taken(user)
        try:
            if place.memory is None:
                self._open_in(place, user, path)
            assert place.memory is not None
            yield place.memory
        finally:
            self._give_back(user, place)

    def users(self) -> list[str]:
        """Everybody who has a memory here, in order."""
        found = (_FILE.fullmatch(entry.name) for entry in self._folder.iterdir())
        return sorted(unquote(match[1]) for match in found if match)

    def path(self, user: str) -> Path:
        """Where the memory of a user is, or would be."""
        if not isinstance(user, str) or not user:
            raise InvalidInput("a user has a name; pass a text that is not empty")
        try:
            name = "".join(chr(byte) if byte in _KEPT else f"%{byte:02x}" for byte in user.encode())
        except UnicodeEncodeError as error:
            raise InvalidInput("a user's name holds half of a surrogate pair; repair the text first") from error
        if len(name) > NAME_LETTERS_MAX:
            raise InvalidInput(f"the name of a user becomes {len(name)} letters of a file's name; use a shorter id")
        return self._folder / f"user-{name}.db"

    def erase(self, user: str) -> bool:
        """Delete the memory of a user, its key and its backups beside it; whether there was one.

        Other devices of the user keep theirs.

        Raises:
            Busy: somebody uses it. FileError: a file could not be deleted.
        """
        path = self.path(user)
        with self._changed:
            if not self._wait(lambda: user not in self._places or not self._places[user].moving):
                raise Busy(f"the memory of {user!r} is being opened; try again")
            place = self._places.get(user)
            if place is not None and place.users:
                raise Busy(f"the memory of {user!r} is in use; close it, then erase it")
            self._places[user] = holding = _Place()
        try:
            if place is not None and place.memory is not None:
                place.memory.close()
            return self._wipe(path)
        finally:
            self._leave(user, holding)

    def close(self) -> None:
        """Close all; what somebody uses is closed when it is given back. Safe to call twice."""
        with self._changed:
            self._closed = True
            idle = [user for user, place in self._places.items() if not place.users and not place.moving]
            memories = [self._places.pop(user).memory for user in idle]
        for memory in filter(None, memories):
            memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- places -------------------------------------------------------------------------------------

    def _taken(self, user: str) -> _Place:
        """The place of a user, in use from now on; a new one has no memory yet and is to be filled by the caller."""
        while True:
            with self._changed:
                if not self._wait(lambda: self._is_free(user)):
                    raise Busy(f"all {self._open_max} memories that may be open are in use; raise open_max")
                if self._closed:
                    raise Closed("the memories are closed; make them anew")
                if user in self._places:
                    place = self._places[user]
                    place.users += 1
                    self._places.move_to_end(user)
                    return place
                if len(self._places) < self._open_max:
                    place = self._places[user] = _Place()
                    return place
                unused = self._unused()
                assert unused is not None, "there is room, or something to make room"
                leaving = self._places[unused]
                leaving.moving = True
            try:
                if leaving.memory is not None:
                    leaving.memory.close()
            finally:
                self._leave(unused, leaving)

    def _is_free(self, user: str) -> bool:
        if self._closed:
            return True
        if user in self._places:
            return not self._places[user].moving
        return len(self._places) < self._open_max or self._unused() is not None

    def _unused(self) -> str | None:
        """Who has not used an open memory for the longest time."""
        return next((user for user, place in self._places.items() if not place.users and not place.moving), None)

    def _open_in(self, place: _Place, user: str, path: Path) -> None:
        try:
            place.memory = Memory(path, wait_seconds=self._wait_seconds, **self._opening)
        finally:
            with self._changed:
                place.moving = False
                if place.memory is None:  # whoever waits for it tries for themselves
                    del self._places[user]
                self._changed.notify_all()

    def _give_back(self, user: str, place: _Place) -> None:
        with self._changed:
            place.users -= 1
            done = self._closed and not place.users and self._places.get(user) is place
            if done:
                del self._places[user]
            self._changed.notify_all()
        if done and place.memory is not None:
            place.memory.close()

    def _leave(self, user: str, place: _Place) -> None:
        with self._changed:
            if self._places.get(user) is place:
                del self._places[user]
            self._changed.notify_all()

    def _wait(self, ready: Callable[[], bool]) -> bool:
        return self._changed.wait_for(ready, self._wait_seconds)

    def _wipe(self, path: Path) -> bool:
        if not files.ours(str(path)):
            return False
        environment = self._opening.get("environment") or Environment()
        SideFile(str(path), environment, file_key(self._opening.get("key")), keyring=False).forget()
        done = files.wipe(str(path))
        if done.left:
            raise FileError(f"not all of {path} could be deleted: {'; '.join(done.left)}; delete the rest by hand")
        return True
