"""The key of an encrypted replica: what it may be, how SQLCipher is given it, where a file of it is kept.

Rules: a key is 32 bytes, or a passphrase that SQLCipher stretches itself; no text that is shown, no error and no
``repr`` ever holds it; a key file that others can read is refused.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac
from pathlib import Path
from typing import Final

from syncmem.errors import FileError, InvalidInput
from syncmem.private import open_new, others_can_use

KEY_BYTES: Final = 32  # SQLCipher's cipher is AES-256
PASSPHRASE_ROUNDS: Final = 256_000  # SQLCipher 4's own count, so that no way to a passphrase is cheaper than another
KEY_FILE_BYTES_MAX: Final = 4096

_LIKE_A_RAW_KEY: Final = re.compile(r"[xX]'.*'", re.DOTALL)  # which SQLCipher would not take for a passphrase


@dataclass(frozen=True, slots=True)
class FileKey:
    """A key that was checked: bytes as they are, a passphrase as text in one Unicode form."""

    secret: bytes | str = field(repr=False)

    @property
    def pragma(self) -> str:
        """The key as SQLCipher's statements take it."""
        if isinstance(self.secret, bytes):
            return f"\"x'{self.secret.hex()}'\""
        return "'" + self.secret.replace("'", "''") + "'"

    def stretched(self, salt: bytes) -> bytes:
        """32 bytes that are as hard to come by as the database's own key."""
        if isinstance(self.secret, bytes):
            return self.secret
        return pbkdf2_hmac("sha512", self.secret.encode(), salt, PASSPHRASE_ROUNDS, KEY_BYTES)


def file_key(key: bytes | str | None) -> FileKey | None:
    """The key that a caller passed.

    Raises:
        InvalidInput: it is neither 32 bytes nor a passphrase.
    """
    if key is None:
        return None
    if isinstance(key, str):
        return FileKey(_passphrase(key))
    if not isinstance(key, bytes | bytearray) or len(key) != KEY_BYTES:
        raise InvalidInput(f"key= is {KEY_BYTES} random bytes, or a passphrase as text; pass one of them")
    return FileKey(bytes(key))


def _passphrase(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput("a passphrase is text that UTF-8 can write; choose another") from error
    if not text or "\0" in text or _LIKE_A_RAW_KEY.fullmatch(text):
        raise InvalidInput("a passphrase is not empty, holds no NUL and is not written x'...'; choose another")
    return unicodedata.normalize("NFC", text)  # the same keys pressed on another system give the same passphrase


def read_key_file(path: str | os.PathLike[str]) -> bytes | str:
    """The key in a file of 64 hexadecimal digits, or the passphrase that is its one line.

    Raises:
        FileError: it cannot be read, others can read it, or it holds no key.
    """
    try:
        with open(path, "rb") as file:
            others = others_can_use(file.fileno())
            content = file.read(KEY_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise FileError(f"the key file {os.fspath(path)} cannot be read ({error.strerror}); check its path") from error
    if others:
        raise FileError(f"others can read the key file {os.fspath(path)}; run 'chmod 600' on it, then try again")
    return _key_in(content, os.fspath(path))


def _key_in(content: bytes, name: str) -> bytes | str:
    try:
        text = content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        text = ""
    if re.fullmatch(f"[0-9a-fA-F]{{{2 * KEY_BYTES}}}", text):
        return bytes.fromhex(text)
    if not text or "\n" in text or len(content) > KEY_FILE_BYTES_MAX or re.fullmatch("[0-9a-fA-F]+", text):
        digits = 2 * KEY_BYTES
        raise FileError(f"{name} holds no key (one line: {digits} hexadecimal digits, or a passphrase); take another")
    return text


def write_key_file(path: str | os.PathLike[str], key: bytes) -> None:
    """Keep a new key in a file of its own that only its owner can read.

    Raises:
        InvalidInput: something is there already; it is not replaced.
    """
    target = Path(path)
    try:
        with os.fdopen(open_new(target), "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise InvalidInput(f"{target} exists already; a key is never replaced, choose another name") from error
    except OSError as error:
        raise FileError(f"{target} cannot be written ({error.strerror}); check its folder and the space") from error
