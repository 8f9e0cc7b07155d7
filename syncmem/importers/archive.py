"""Archives: files, folders and zip files, read as streams of bounded size.

Rules: nothing is read whole but one item of a list or one line; a file that breaks off, or is something else, is
InvalidInput that names the place; an archive is only read, never changed.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, Final

from syncmem import files
from syncmem.errors import FileError, InvalidInput
from syncmem.importers.records import USER
from syncmem.replica import driver

BOM: Final = b"\xef\xbb\xbf"
LINE_BYTES_MAX: Final = 64 * 1024 * 1024  # no record is longer than an episode
NOTE_BYTES_MAX: Final = 8 * 1024 * 1024  # of one Markdown file
_AGAIN: Final = "nothing of it was imported: export it again, or copy it whole"


@dataclass(frozen=True, slots=True)
class Archive:
    """What is to be imported, and what the caller said about it.

    Attributes:
        user: the entity that the owner of the archive is.
        mapping: of a table what its columns mean.
    """

    path: Path
    user: str = USER
    zone: str | tzinfo | None = None
    mapping: Mapping[str, Any] = field(default_factory=dict)

    def names(self, *patterns: str) -> list[str]:
        """The files that are read: the path itself, or those of a folder or zip file that fit a pattern, by name."""
        if not (self.path.is_dir() or self.zipped):
            return [""]
        wanted = self.matching(*patterns)
        if not wanted:
            raise InvalidInput(f"there is no {' or '.join(patterns)} in {self.path}; name the export itself")
        return wanted

    def matching(self, *patterns: str) -> list[str]:
        """The files of a folder or zip file that fit a pattern, by name; none that is hidden."""
        if self.path.is_dir():
            found = [p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file()]
        else:
            with self._zip() as zipped:
                found = [info.filename for info in zipped.infolist() if not info.is_dir()]
        shown = [name for name in found if not any(part.startswith(".") for part in name.split("/"))]
        return sorted(n for n in shown if any(fnmatchcase(n.rsplit("/", 1)[-1], pattern) for pattern in patterns))

    @contextmanager
    def open(self, name: str = "") -> Iterator[IO[bytes]]:
        """One of the files; "" is the path itself."""
        if not name:
            if self.path.is_dir():
                raise InvalidInput(f"{self.path} is a folder; name the file in it")
            with files.open_for_reading(self.path) as file:
                yield file
        elif self.path.is_dir():
            with files.open_for_reading(self.path / name) as file:
                yield file
        else:
            with self._zip() as zipped, zipped.open(name) as file:
                yield file

    @property
    def zipped(self) -> bool:
        with files.open_for_reading(self.path) as file:
            return file.read(4) == b"PK\x03\x04"

    @contextmanager
    def _zip(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as zipped:
                yield zipped
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise InvalidInput(f"{self.path} is no whole zip file ({error}); {_AGAIN}") from error

    # -- forms ----------------------------------------------------------------------------------------

    def items(self, name: str, prefix: str, *, optional: bool = False) -> Iterator[Any]:
        """The items under a prefix of a JSON file, one at a time ("item": of the list that it is).

        A file in which there is no such list, not even an empty one, is of another kind, unless it is ``optional``.
        """
        ijson = json_parser()
        count = 0
        with self.open(name) as file:
            _begin(file)
            try:
                for item in ijson.items(file, prefix, use_float=True):
                    count += 1
                    yield item
                if not (count or optional):
                    self._has_list(file, name, prefix.rpartition(".")[0])
            except (ijson.JSONError, UnicodeDecodeError, RecursionError) as error:
                where = f"{name or self.path} is broken after item {count}"
                raise InvalidInput(f"{where} ({first_line(error)}); {_AGAIN}") from error

    def _has_list(self, file: IO[bytes], name: str, place: str) -> None:
        """Refuse a JSON file in which there is no list at a place."""
        _begin(file)
        if (place, "start_array") not in ((where, event) for where, event, _ in json_parser().parse(file)):
            wanted = f"holds no list {place!r}" if place else "is no list"
            raise InvalidInput(f"{name or self.path} {wanted}, so it is of another kind; pass the kind that it is of")

    def first(self, name: str) -> str:
        """The first character of a text file that is no space: "[" of a list, "{" of an object."""
        with self.open(name) as file:
            while part := file.read(4096):
                text = part.removeprefix(BOM).lstrip()
                if text:
                    return chr(text[0])
        raise InvalidInput(f"{name or self.path} is empty; {_AGAIN}")

    def lines(self, name: str = "", *, empty: bool = False) -> Iterator[tuple[int, str]]:
        """The lines of a text file with their numbers; with ``empty`` also those in which nothing stands."""
        with self.open(name) as file:
            number = 0
            while line := file.readline(LINE_BYTES_MAX + 1):
                number += 1
                if len(line) > LINE_BYTES_MAX:
                    most = LINE_BYTES_MAX // 2**20
                    raise InvalidInput(f"line {number} is longer than {most} MiB; is it the right file?")
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise InvalidInput(f"line {number} is not UTF-8 ({error.reason}); {_AGAIN}") from error
                if empty or text.strip():
                    yield number, text

    def objects(self, name: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of a file of JSON lines with the numbers of their lines."""
        for number, line in self.lines(name):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"line {number} is broken ({first_line(error)}); {_AGAIN}") from error
            if not isinstance(found, dict):
                raise InvalidInput(f"line {number} is no JSON object; is it the right file?")
            yield number, found

    def text(self, name: str) -> str:
        """A small text file as a whole."""
        with self.open(name) as file:
            data = file.read(NOTE_BYTES_MAX + 1)
        if len(data) > NOTE_BYTES_MAX:
            raise InvalidInput(f"{name} is longer than {NOTE_BYTES_MAX // 2**20} MiB; take it out of the folder")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{name} is not UTF-8 ({error.reason}); {_AGAIN}") from error

    def rows(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a question to a SQLite file, which is not changed."""
        if not self.path.is_file():
            raise FileError(f"{self.path} cannot be read (no such file); check the path")
        uri = f"{self.path.absolute().as_uri()}?mode=ro"
        try:
            connection = driver.dbapi.connect(uri, uri=True)
            try:
                sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if sound != "ok":
                    raise InvalidInput(f"{self.path} is broken ({sound}); {_AGAIN}")
                yield from connection.execute(sql)
            finally:
                connection.close()
        except driver.dbapi.Error as error:
            raise InvalidInput(f"{self.path} is not the database that was expected ({error}); {_AGAIN}") from error


def _begin(file: IO[bytes]) -> None:
    """Go to where the text of a file begins."""
    file.seek(0)
    if file.read(len(BOM)) != BOM:
        file.seek(0)


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def json_parser() -> Any:
    """The package that reads JSON as a stream."""
    try:
        import ijson
    except ImportError as error:
        raise InvalidInput("archives of JSON need another package: run pip install 'syncmem[import]'") from error
    return ijson
