"""Material: what is observed, from wherever it comes, in pieces of bounded size.

Rule: it is read twice, once to learn what it is and once to store it, so that nothing is locked or written while it
is measured, what is known already costs no write, and no more than a piece is in memory; what changes in between is
refused.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any, Final

from syncmem import files
from syncmem.errors import InvalidInput
from syncmem.model.episode import CHUNK_BYTES, EPISODE_BYTES_MAX, INLINE_BYTES_MAX, chunk_hash

TEXT: Final = "text/plain"
BYTES: Final = "application/octet-stream"
Opening = Callable[[], Any]  # a context in which a binary file is open at its beginning


@dataclass(frozen=True, slots=True)
class Material:
    """Something that was measured.

    Attributes:
        text: it is UTF-8; ``size``: in bytes.
        content: all of it, if it is small; else None, and ``chunks`` holds the hashes of its chunks.
    """

    opening: Opening
    media_type: str
    text: bool
    size: int
    content: bytes | None
    chunks: bytes | None

    def parts(self) -> Iterator[bytes]:
        """The chunks.

        Raises:
            InvalidInput: it is no longer what was measured.
        """
        hashes = []
        with self.opening() as file:
            for part in _parts(file):
                hashes.append(chunk_hash(part))
                if hashes[-1] != (self.chunks or b"")[32 * len(hashes) - 32 : 32 * len(hashes)]:
                    break
                yield part
        if b"".join(hashes) != self.chunks:
            raise InvalidInput("what was to be observed changed while it was read; observe it again")


def measured(given: object, media_type: str | None) -> Material:
    """What is to be observed: text, bytes, a path, or a binary file that can be read twice.

    Raises:
        InvalidInput: it is none of these, is empty or too long, or is called text and is not UTF-8.
    """
    opening = _opening_of(given)
    kind = media_type or (TEXT if isinstance(given, str) else BYTES)
    text = kind.startswith("text/") or isinstance(given, str)
    decoder = codecs.getincrementaldecoder("utf-8")() if text else None
    size, first, hashes = 0, b"", bytearray()
    with opening() as file:
        for part in _parts(file):
            size += len(part)
            if size > EPISODE_BYTES_MAX:
                raise InvalidInput(
                    f"an episode has at most {EPISODE_BYTES_MAX // 2**20} MiB; observe it in parts of a conversation"
                )
            first = first or part
            hashes += chunk_hash(part)
            _check_text(decoder, part, kind)
    _check_text(decoder, b"", kind, final=True)
    if not size:
        raise InvalidInput("there is nothing in it; observe what was said or written")
    small = size <= INLINE_BYTES_MAX
    return Material(opening, kind, text, size, first if small else None, None if small else bytes(hashes))


def _opening_of(given: object) -> Opening:
    if isinstance(given, str):
        try:
            given = given.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("the text holds half of a surrogate pair; repair the text first") from error
    if isinstance(given, bytes | bytearray | memoryview):
        whole = bytes(given)
        return lambda: BytesIO(whole)
    if isinstance(given, os.PathLike):
        path = given
        return lambda: files.open_for_reading(path)
    if hasattr(given, "read") and hasattr(given, "seek"):
        return lambda: _rewound(given)
    raise InvalidInput(
        f"a {type(given).__name__} cannot be observed; pass text, bytes, a pathlib.Path, or a binary file that can seek"
    )


@contextmanager
def _rewound(file: Any) -> Iterator[Any]:
    try:
        file.seek(0)
        first = file.read(0)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the file cannot be read from its beginning ({error}); pass a path or bytes") from error
    if not isinstance(first, bytes):
        raise InvalidInput("the file gives text; open it in binary mode, or pass its text")
    yield file


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    """Full chunks, and a rest."""
    while True:
        part = bytearray()
        while len(part) < CHUNK_BYTES and (more := file.read(CHUNK_BYTES - len(part))):
            part += more
        if part:
            yield bytes(part)
        if len(part) < CHUNK_BYTES:
            return


def _check_text(decoder: Any, part: bytes, kind: str, *, final: bool = False) -> None:
    try:
        if decoder is not None:
            decoder.decode(part, final)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"it is called {kind} and is not UTF-8; pass its media_type, or convert it first") from error
