"""Object storage (S3, Google Cloud Storage, Azure) in the few verbs that are needed here, through the package obstore.

Rules: an object is written whole, once, and never over another; it is durable when :meth:`Objects.put` returns;
what fails is told apart by what helps: nothing there, not allowed, not reached; credentials come from the
environment, as the services' own tools read them, and never from an address, because addresses are passed on.
``file://`` and ``memory://`` are for tests: nothing is flushed there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from syncmem.errors import InvalidInput

SCHEMES: Final = ("s3", "gs", "az", "file", "memory")
PAGE: Final = 1000  # keys of one listing
BYTES_MAX: Final = 16 * 1024 * 1024  # of an object that is read
AT_ONCE: Final = 8  # questions in flight for one who asks
THREADS_MAX: Final = 32  # and for all together
ANSWER_SECONDS, TRIES_SECONDS = 30, 20
_OPTIONS: Final = {"endpoint", "region"}  # of an address; neither is a secret
_MEMORY: Final[dict[str, Any]] = {}  # memory:// in this process: for tests

Asked = TypeVar("Asked")
Given = TypeVar("Given")


class NotReached(Exception):
    """The object storage does not answer, or fails; the same question may be asked again later."""


class NotAllowed(Exception):
    """The object storage answers and refuses."""


class Found(NamedTuple):
    """An object in a listing; ``modified``: microseconds since 1970 by the storage's clock."""

    key: str
    size: int
    modified: int


class Objects:
    """Objects under a prefix of a bucket; keys are relative to it. Safe from several threads.

    Raises:
        InvalidInput: the address is none, or the extra is not installed.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._obstore = _library()
        self._store, self._sorted = _opened(address)
        self._threads = ThreadPoolExecutor(THREADS_MAX, "objects")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def put(self, key: str, data: bytes) -> bool:
        """Write an object, unless there is one; whether it was written. Raises NotReached, NotAllowed."""
        with _in_words():
            try:
                self._obstore.put(self._store, key, data, mode="create", use_multipart=False)
            except self._obstore.exceptions.AlreadyExistsError:
                return False
        return True

    def read(self, key: str, bytes_max: int = BYTES_MAX) -> bytes | None:
        """An object's content, or None where there is none, or more than that. Raises NotReached, NotAllowed."""
        with _in_words():
            try:
                found = self._obstore.get(self._store, key)
                return bytes(found.bytes()) if found.meta["size"] <= bytes_max else None
            except (FileNotFoundError, self._obstore.exceptions.NotFoundError):
                return None

    def remove(self, key: str) -> None:
        """There is no such object afterwards. Raises NotReached, NotAllowed."""
        with _in_words():
            try:
                self._obstore.delete(self._store, key)
            except (FileNotFoundError, self._obstore.exceptions.NotFoundError):
                pass

    def page(self, prefix: str, after: str) -> tuple[list[Found], bool]:
        """The first keys below ``prefix`` (a folder) that sort behind ``after``, in order, and whether there are more.

        Raises NotReached, NotAllowed.
        """
        with _in_words():
            listing = self._obstore.list(self._store, prefix, offset=after, chunk_size=PAGE)
            if not self._sorted:
                return sorted(_found(entry) for page in listing for entry in page if entry["path"] > after), False
            page: Sequence[Any] = next(iter(listing), [])
        return [_found(entry) for entry in page], len(page) == PAGE

    def pages(self, prefix: str) -> Iterator[list[Found]]:
        """All keys below a folder, page by page. Raises NotReached, NotAllowed."""
        after, more = f"{prefix}/", True
        while more:
            page, more = self.page(prefix, after)
            after = page[-1].key if page else after
            yield page

    def each(self, ask: Callable[[Asked], Given], asked: Iterable[Asked]) -> Iterator[Given]:
        """Several questions at once; the answers in order, fetched no further ahead than ``AT_ONCE``."""
        waiting = []
        for one in asked:
            waiting.append(self._threads.submit(ask, one))
            if len(waiting) == AT_ONCE:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def _found(entry: Any) -> Found:
    return Found(entry["path"], entry["size"], int(entry["last_modified"].timestamp() * 1_000_000))


def is_address(text: str) -> bool:
    """Whether an address is one of object storage."""
    return urlsplit(text).scheme in SCHEMES


def _opened(address: str) -> tuple[Any, bool]:
    """The store of an address, and whether it lists in order."""
    from obstore.store import LocalStore, MemoryStore, from_url

    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    if parts.scheme not in SCHEMES or parts.username or parts.password or options.keys() - _OPTIONS:
        raise InvalidInput(
            f"{parts.scheme}://{parts.hostname or ''} is no address of object storage; use s3://BUCKET/PREFIX, gs:// "
            "or az://, at most with ?endpoint=URL&region=NAME, and give keys in the environment"
        )
    if parts.scheme == "file":
        return LocalStore(Path(parts.path), mkdir=True), False
    if parts.scheme == "memory":
        return _MEMORY.setdefault(address, MemoryStore()), True
    if parts.netloc.endswith("--x-s3"):
        raise InvalidInput(f"the bucket {parts.netloc} does not list in order; use one that is no directory bucket")
    more: dict[str, Any] = {"endpoint": options["endpoint"]} if "endpoint" in options else {}
    more |= {"region": options["region"]} if "region" in options else {}
    plain = (options.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")).startswith("http://")
    try:
        opened = from_url(
            parts._replace(query="").geturl(),
            client_options={"timeout": timedelta(seconds=ANSWER_SECONDS), "allow_http": plain},
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=TRIES_SECONDS)},
            **more,
        )
    except Exception as error:
        raise InvalidInput(f"{address} cannot be used ({_first_line(error)}); check the address") from error
    return opened, True


@contextmanager
def _in_words() -> Iterator[None]:
    """Failures of obstore as one of two kinds."""
    from obstore import exceptions

    try:
        yield
    except (PermissionError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise NotAllowed("the object storage refuses; check the keys in the environment") from error
    except (NotImplementedError, exceptions.NotSupportedError) as error:
        raise NotAllowed("the object storage cannot write only where nothing is; use another one") from error
    except (exceptions.BaseError, OSError, ValueError) as error:
        raise NotReached(f"the object storage does not answer ({_first_line(error)}); try again later") from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:120] or type(error).__name__


def _library() -> Any:
    try:
        import obstore
        import obstore.exceptions
    except ImportError as error:
        raise InvalidInput("object storage needs an extra; pip install 'syncmem[s3]'") from error
    return obstore
