"""An opened replica, shared by the parts of :class:`syncmem.Memory`: its lock, its clock, its zone."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from types import TracebackType
from typing import Any, Self, TypedDict

from syncmem import statements
from syncmem.cloud import service_of
from syncmem.environment import Environment
from syncmem.errors import FileError, InvalidInput
from syncmem.model.instant import find_zone, from_datetime, parse
from syncmem.replica.cipher import file_key
from syncmem.replica.connection import FAILURES, WAIT_SECONDS, translated
from syncmem.replica.driver import MEMORY
from syncmem.replica.glance import Glance
from syncmem.replica.reading import Reading
from syncmem.replica.replica import Replica
from syncmem.replica.side import refuse_emptied
from syncmem.replica.telling import Telling
from syncmem.seal.keys import public_key
from syncmem.statements import When


class Opening(TypedDict, total=False):
    """How a memory is opened; :class:`syncmem.Memory` says what each of it means."""

    key: bytes | str | None
    keyring: bool
    allow_cloud_folder: bool
    zone: str | tzinfo | None
    embedder: Any
    environment: Environment | None


class Opened:
    """Opens or creates a replica and guards it with one lock."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: bytes | str | None = None,
        keyring: bool = False,
        allow_cloud_folder: bool = False,
        zone: str | tzinfo | None = None,
        environment: Environment | None = None,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._lock = threading.RLock()
        self._zone = zone
        if zone is not None:
            find_zone(zone)  # refuse an unknown zone now, not at the first date
        self._path = os.fspath(path)
        if not isinstance(self._path, str) or not self._path or "\0" in self._path:
            raise InvalidInput("the path of a replica is text without NUL; pass a file name or ':memory:'")
        if not self._path.isascii():
            _refuse_other_bytes(self._path)
        if not allow_cloud_folder and self._path != MEMORY:
            _refuse_cloud_folder(self._path)
        if os.path.islink(self._path):  # SQLite, too, keeps what lies beside a file beside the one that a link leads to
            self._path = os.path.realpath(self._path)
        refuse_emptied(self._path)
        self._environment = environment or Environment()
        options: Any = {"key": file_key(key), "keyring": keyring, "wait_seconds": wait_seconds}
        try:
            self._replica = Replica(self._path, self._environment, public_key, **options)
        except FAILURES as error:  # met while rows were fetched
            raise translated(error) from error
        self._reading = Reading(self._replica)
        self._at_a_glance = Glance(self._replica.db, self._replica.catalog, self._reading)
        self._telling = Telling(self._replica)

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._lock:
            self._replica.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r})"

    @property
    def path(self) -> str:
        """The path of the replica's file."""
        return self._path

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Several writes as one: all become durable together at the end, or none does.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory, memory.transaction():
        ...     _ = memory.remember("ana", "language", "English")
        ...     _ = memory.remember("ana", "language", "Portuguese")
        """
        with self._lock, self._replica.transaction():
            yield

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Reading: with the lock, and one state of the file, the latest."""
        with self._lock:
            try:
                with self._replica.db.snapshot():
                    self._replica.refresh()
                    yield
            except FAILURES as error:  # met while rows were fetched
                raise translated(error) from error

    def _moment(self, when: When, zone: str | tzinfo | None = None) -> int:
        """The first instant of what was stated."""
        if type(when) is datetime and when.utcoffset() is not None:
            return from_datetime(when)  # as below, and most of what is asked
        return parse(when, zone=self._zone if zone is None else zone).earliest

    def _through(self, when: When, zone: str | tzinfo | None = None) -> int:
        """The last instant of what was stated: "known on that day" includes the day."""
        moment = parse(when, zone=self._zone if zone is None else zone)
        return max(moment.earliest, moment.latest - 1)

    def _now(self) -> int:
        """This device's present: its clock, but never before its own last word."""
        return self._replica.now()

    def _words(self, **given: Any) -> statements.Words:
        given["zone"] = self._zone if given.get("zone") is None else given["zone"]
        return statements.words(**given)


def _refuse_other_bytes(path: str) -> None:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"the path {path!a} is no UTF-8; give the file and its folders another name") from error


def _refuse_cloud_folder(path: str) -> None:
    service = service_of(path)
    if service is not None:
        raise FileError(
            f"{path} is in a folder of {service}, which corrupts an open database; keep the memory elsewhere and sync "
            "through the folder ('folder:PATH' as a mailbox), or pass allow_cloud_folder=True"
        )
