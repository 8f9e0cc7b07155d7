"""The seams to the outside world: clock, randomness, disk, keys outside the database.

Rule: the core asks an :class:`Environment` and never the operating system, so that a test or a
simulator can be the world.  Nothing here knows what the library does.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from syncmem.errors import KeyUnreadable, NoKeyring
from syncmem.private import make_folder, open_new

KEYRING_SERVICE: Final = "syncmem"  # under which all entries of this package stand in the system's keyring


class Clock(Protocol):
    """Wall time in microseconds since 1970 UTC, elapsed time in seconds, and waiting."""

    def now(self) -> int: ...

    def elapsed(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Disk(Protocol):
    """The few file operations that the core does beside the database."""

    def read(self, path: str) -> bytes | None: ...

    def write(self, path: str, data: bytes) -> None: ...

    def flush(self, path: str) -> None: ...

    def remove(self, path: str) -> None: ...

    def make_folder(self, path: str) -> None: ...

    def identity(self, path: str) -> str: ...

    def place(self, path: str) -> str: ...


class Keyring(Protocol):
    """Named secrets that the operating system keeps; a failure is raised and never means that there is none."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, secret: bytes) -> None: ...

    def delete(self, name: str) -> None: ...


class SystemClock:
    """The operating system's clocks."""

    def now(self) -> int:
        return time.time_ns() // 1_000

    def elapsed(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass
class ManualClock:
    """A clock that stands still until it is set; for tests, replays and the demo.

    >>> clock = ManualClock(5)
    >>> clock.time = 7
    >>> clock.now()
    7
    """

    time: int = 0

    def now(self) -> int:
        return self.time

    def elapsed(self) -> float:
        return self.time / 1e6

    def sleep(self, seconds: float) -> None:
        self.time += int(seconds * 1e6)


class SystemDisk:
    """Real files: written whole (temporary file, flush, rename), private to the user."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None where there is none; other failures are raised."""
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Replace a file so that after a crash it holds the old or the new bytes, whole."""
        temporary = f"{path}.{os.getpid()}-{threading.get_ident()}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # of an earlier process with this number, that died
        descriptor = open_new(temporary)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        self._sync_folder(os.path.dirname(path) or ".")

    def flush(self, path: str) -> None:
        """A file that somebody else may have written is on the disk afterwards, and so is its name."""
        descriptor = os.open(path, os.O_RDWR)  # some systems flush only what may be written
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._sync_folder(os.path.dirname(path) or ".")

    def remove(self, path: str) -> None:
        """A file is gone for good, also after a crash; none there is fine."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._sync_folder(os.path.dirname(path) or ".")

    def make_folder(self, path: str) -> None:
        """A folder and those above it, its owner's alone; each is on the disk before anything is put in it."""
        if os.path.isdir(path):
            return
        above = os.path.dirname(path) or "."
        self.make_folder(above)
        make_folder(path)
        self._sync_folder(above)

    def identity(self, path: str) -> str:
        """What tells a file from a copy of it: machine and file number ("" where there is no file)."""
        try:
            return f"{_machine()}:{os.stat(path).st_ino}"
        except FileNotFoundError:
            return ""

    def place(self, path: str) -> str:
        """Where a file is: machine and full path."""
        return f"{_machine()}:{os.path.realpath(path)}"

    def _sync_folder(self, folder: str) -> None:
        if os.name != "posix":
            return  # a rename is durable by itself there
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class SystemKeyring:
    """The keyring of the user's session, through the package ``keyring``; loaded when it is first needed."""

    def read(self, name: str) -> bytes | None:
        """The secret of that name, or None where there is none.

        Raises:
            NoKeyring: no keyring is here. KeyUnreadable: it is locked, or fails.
        """
        with _keyring() as keyring:
            text = keyring.get_password(KEYRING_SERVICE, name)
        return None if text is None else bytes.fromhex(text)

    def write(self, name: str, secret: bytes) -> None:
        with _keyring() as keyring:
            keyring.set_password(KEYRING_SERVICE, name, secret.hex())

    def delete(self, name: str) -> None:
        with _keyring() as keyring:
            if keyring.get_password(KEYRING_SERVICE, name) is not None:
                keyring.delete_password(KEYRING_SERVICE, name)


@contextlib.contextmanager
def _keyring() -> Iterator[Any]:
    """The package, with its errors in our words: the backends of some systems raise what they like."""
    try:
        import keyring
        from keyring.errors import NoKeyringError
    except ImportError as error:
        raise NoKeyring("the system's keyring needs another package; pip install 'syncmem[keyring]'") from error
    try:
        yield keyring
    except NoKeyringError as error:
        raise NoKeyring(
            "there is no system keyring here; log in to a desktop session, or keep keys in files"
        ) from error
    except Exception as error:
        raise KeyUnreadable(f"the system's keyring failed ({error}); unlock it, then try again") from error


@functools.cache
def _machine() -> str:
    """The operating system's id of this installation, where it has one (host names change with the network)."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def seeded_randomness(seed: int) -> Callable[[int], bytes]:
    """A repeatable source of bytes for tests and simulations; never for real keys."""
    return random.Random(seed).randbytes


@dataclass(frozen=True)
class Environment:
    """Everything the core takes from outside."""

    clock: Clock = field(default_factory=SystemClock)
    randomness: Callable[[int], bytes] = os.urandom
    disk: Disk = field(default_factory=SystemDisk)
    keyring: Keyring = field(default_factory=SystemKeyring)
    process_id: Callable[[], int] = os.getpid
    open_mailbox: Callable[[str], Any] | None = None  # address -> mailbox; None: the real ones
