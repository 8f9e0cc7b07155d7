"""The side file ``<path>.device``: what a device keeps outside its database, and where its secrets are.

Rules: the secrets (the device's seed, and those of devices it is a copy of) lie in the side file, or in the
system's keyring where that was asked for and there is one.  Beside an encrypted database the side file is
sealed under the database's key.  A side file that is missing is an answer; one that cannot be read, opened or
understood is an error, and so is a keyring that does not give what the side file says it holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from syncmem.codec import pack, unpack
from syncmem.environment import Environment
from syncmem.errors import Damaged, FileError, KeyUnreadable, NoKeyring, NotCanonical, Unreadable
from syncmem.replica.cipher import FileKey
from syncmem.replica.driver import MEMORY
from syncmem.seal.at_rest import seal_at_rest, unseal_at_rest

SUFFIX: Final = ".device"
SALT_BYTES: Final = 16
_PLAIN: Final = 1  # [1, device, secrets or nil where they are in the keyring, incarnation, file, place, marks]
_SEALED: Final = 2  # [2, salt of the passphrase, the same sealed]
_AWAY: Final = "or move it away: this memory then writes on as a new device"


def way_back(database: str) -> str:
    """What to do about a file of which nothing is left: the end of an error's sentence."""
    return (
        f"restore a backup; or move it away, leave {os.path.basename(database)}{SUFFIX} where it is, and "
        "'syncmem join CODE' brings back what other devices hold"
    )


def refuse_emptied(database: str) -> None:
    """Take no file for a new memory that something has emptied: a device's key lies beside it.

    Raises:
        Damaged: that is so.
    """
    is_empty = database != MEMORY and os.path.isfile(database) and not os.path.getsize(database)
    if is_empty and os.path.exists(database + SUFFIX):
        raise Damaged(
            f"{database} is empty, though the key of a device lies beside it: something has emptied it, and nothing "
            f"was changed; {way_back(database)}"
        )


class Side(NamedTuple):
    """What lies beside the database."""

    device: bytes
    private: bytes
    introducers: tuple[bytes, ...]
    incarnation: bytes
    file: str
    place: str
    marks: dict[bytes, int]

    @property
    def secrets(self) -> bytes:
        return pack([self.private, list(self.introducers)])


class SideFile:
    """Reads and writes the side file of one database, and its entry in the keyring."""

    def __init__(self, database: str, environment: Environment, key: FileKey | None, *, keyring: bool) -> None:
        self.path = None if database == MEMORY else database + SUFFIX
        self.in_keyring = False
        self.no_keyring: str | None = None  # why the keyring that was asked for is not used
        self._environment = environment
        self._key = key
        self._wanted = keyring
        self._kept: bytes | None = None  # the secrets that are known to be in the keyring
        self._salt: bytes | None = None

    @property
    def is_to_move(self) -> bool:
        """Whether the secrets are in the file, and are wanted in the keyring."""
        return self._wanted and not self.in_keyring and self.no_keyring is None

    def read(self) -> Side | None:
        """What lies beside the database; None where there is no side file.

        Raises:
            KeyUnreadable: there is one, and its secrets cannot be had.
        """
        content = self._content()
        if content is None:
            return None
        try:
            version, device, secrets, incarnation, file, place, marks = content
            self.in_keyring = secrets is None
            private, introducers = unpack(self._from_keyring(device) if secrets is None else secrets)
            side = Side(device, private, tuple(introducers), incarnation, file, place, dict(marks))
        except (NotCanonical, ValueError, TypeError) as error:
            raise self._unreadable("is damaged, or of a newer syncmem") from error
        if version != _PLAIN:
            raise self._unreadable("is damaged, or of a newer syncmem")
        return side

    def write(self, side: Side) -> None:
        """Replace the side file; the secrets go first where they are to be in the keyring."""
        if self.path is None:
            return
        secrets = None if self._to_keyring(side) else side.secrets
        marks = [[log, seq] for log, seq in sorted(side.marks.items())]
        data = pack([_PLAIN, side.device, secrets, side.incarnation, side.file, side.place, marks])
        try:
            self._environment.disk.write(self.path, self._sealed(data))
        except OSError as error:
            raise FileError(f"{self.path} cannot be written ({error.strerror}); check its folder and space") from error
        self.in_keyring = secrets is None

    def forget(self) -> str | None:
        """Delete the entry in the keyring, if there is one; its name."""
        content = self._content()
        if content is None or content[2] is not None:
            return None
        name = _entry(content[1])
        self._environment.keyring.delete(name)
        return name

    # -- the keyring --------------------------------------------------------------------------------

    def _from_keyring(self, device: bytes) -> bytes:
        found = self._environment.keyring.read(_entry(device))
        if found is None:
            raise KeyUnreadable(
                f"the system's keyring has no entry {_entry(device)!r} for {self.path}; unlock the keyring or restore "
                f"the entry, {_AWAY}"
            )
        self._kept = found
        return found

    def _to_keyring(self, side: Side) -> bool:
        """Whether the secrets are in the keyring now."""
        if not (self._wanted or self.in_keyring) or self.no_keyring is not None:
            return False
        if side.secrets != self._kept:
            keyring, name = self._environment.keyring, _entry(side.device)
            try:
                keyring.write(name, side.secrets)
                if keyring.read(name) != side.secrets:
                    raise NoKeyring("the system's keyring does not keep what it is given; use another one")
            except NoKeyring as error:
                self.no_keyring = str(error)
                return False
            self._kept = side.secrets
        return True

    # -- sealing ------------------------------------------------------------------------------------

    def is_sealed(self) -> bool | None:
        """Whether the side file is sealed; None where there is none."""
        parts = self._parts()
        return None if parts is None else parts[0] == _SEALED

    def _parts(self) -> list[Any] | None:
        """The side file as it lies there."""
        try:
            data = self._environment.disk.read(self.path) if self.path else None
            return None if data is None else list(unpack(data))
        except OSError as error:
            raise self._unreadable(f"cannot be read ({error.strerror})") from error
        except (NotCanonical, ValueError, TypeError) as error:
            raise self._unreadable("is damaged, or of a newer syncmem") from error

    def _content(self) -> list[Any] | None:
        """The parts of the side file in clear."""
        parts = self._parts()
        if parts is None:
            return None
        try:
            if self._key is None and parts[0] == _PLAIN:
                return parts
            if self._key is not None and parts[0] == _SEALED:
                _, self._salt, sealed = parts
                return list(unpack(unseal_at_rest(_stretched(self._key, parts[1]), sealed)))
        except Unreadable as error:
            raise self._unreadable("is sealed under another key") from error
        except (NotCanonical, ValueError, TypeError, LookupError) as error:
            raise self._unreadable("is damaged, or of a newer syncmem") from error
        raise self._unreadable("does not belong to this memory: one of both is encrypted, and the other is not")

    def _sealed(self, data: bytes) -> bytes:
        if self._key is None:
            return data
        if self._salt is None:
            self._salt = self._environment.randomness(SALT_BYTES)
        key = _stretched(self._key, self._salt)
        return pack([_SEALED, self._salt, seal_at_rest(key, data, self._environment.randomness)])

    def _unreadable(self, why: str) -> KeyUnreadable:
        return KeyUnreadable(f"{self.path}, which holds this device's key, {why}; put back the right one, {_AWAY}")


def resealing(
    database: str, environment: Environment, *, old: FileKey | None, new: FileKey | None
) -> Callable[[], None]:
    """Read the side file of a database that is about to be replaced; the call writes it for the new one's key.

    A sealed one whose old key is not given is left: it is the same key, or the next opening says that it is not.

    Raises:
        KeyUnreadable: it cannot be read with the old key.
    """
    is_sealed = SideFile(database, environment, None, keyring=False).is_sealed()
    if old == new or is_sealed is None or (is_sealed and old is None) or (not is_sealed and new is None):
        return lambda: None
    before = SideFile(database, environment, old if is_sealed else None, keyring=False)
    side = before.read()
    after = SideFile(database, environment, new, keyring=before.in_keyring)
    return lambda: None if side is None else after.write(side)


@lru_cache(maxsize=4)
def _stretched(key: FileKey, salt: bytes) -> bytes:
    return key.stretched(salt)


def _entry(device: bytes) -> str:
    """The name of a device's entry in the keyring: it stays the same when the file is moved."""
    return f"device {device.hex()[:32]}"
