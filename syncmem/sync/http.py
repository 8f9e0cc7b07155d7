"""Mailboxes at a relay, over HTTP.

Rules: an answer counts only if it has our content type, our shape and all its bytes; a login page, a
redirect or half an answer is "not reached", and nothing changes; what was refused is told with the time
after which to try again; every question may be repeated, so a lost answer costs nothing.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from syncmem.errors import InvalidInput, MailboxRefused, NotCanonical, OverQuota, Unreachable
from syncmem.wire.mailbox import BLOB_BYTES_MAX, Answer, BlobName, Drop, Exchange, digest
from syncmem.wire.messages import (
    CONTENT_TYPE,
    LENGTH_BYTES,
    NOT_THERE,
    drop_bytes,
    exchange_bytes,
    get_bytes,
    read_answer,
    read_dropped,
)

Value = TypeVar("Value")

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
TRIES_MAX: Final = 3  # of one question: more is for the next sync
WAIT_SECONDS_MAX: Final = 5.0  # between them, grows with jitter
ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
NAMES_AT_ONCE: Final = 64
_FULL: Final = {413: "it takes no more at once", 429: "it was asked too often", 507: "it is full"}


class Http:
    """See :class:`syncmem.wire.mailbox.Mailbox`."""

    def __init__(self, address: str, *, verify: ssl.SSLContext | bool = True) -> None:
        self.address = address
        self._http = _library()
        self._client = self._http.Client(
            base_url=address.rstrip("/"),
            timeout=self._http.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            follow_redirects=False,
            verify=verify,
            headers={"content-type": CONTENT_TYPE, "accept": CONTENT_TYPE},
        )

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        return self._understood(read_answer, self._ask("/v1/exchange", exchange_bytes(request, write_seed)))

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        for start in range(0, len(names), NAMES_AT_ONCE):
            part = names[start : start + NAMES_AT_ONCE]
            with (
                self._asking(),
                self._client.stream("POST", "/v1/get", content=get_bytes(key, part, write_seed)) as got,
            ):
                self._check(got)
                pieces = _Pieces(got.iter_bytes())
                for name in part:
                    blob = pieces.next()
                    yield name, blob if blob is not None and digest(blob) == name.digest else None

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        return self._understood(read_dropped, self._ask("/v1/drop", drop_bytes(request, write_seed)))

    def close(self) -> None:
        self._client.close()

    # -- one question -------------------------------------------------------------------------------

    def _ask(self, path: str, content: bytes) -> bytes:
        """The answer's bytes; a connection that fails is tried again."""
        import stamina

        for attempt in stamina.retry_context(on=_Again, attempts=TRIES_MAX, wait_max=WAIT_SECONDS_MAX, timeout=None):
            with attempt:
                return self._once(path, content)
        raise AssertionError("stamina raises the last failure")

    def _once(self, path: str, content: bytes) -> bytes:
        with self._asking(), self._client.stream("POST", path, content=content) as answer:
            self._check(answer)
            body = b""
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > ANSWER_BYTES_MAX:
                    raise Unreachable(f"{self.address} answers without an end; check the address")
            return body

    def _asking(self) -> _Translated:
        return _Translated(self.address, self._http)

    def _check(self, answer: Any) -> None:
        """Refuse an answer that is not a relay's."""
        status = answer.status_code
        if status in _FULL:
            raise OverQuota(f"{self.address} refused: {_FULL[status]}; it will be tried again", _seconds(answer))
        ours = answer.headers.get("content-type", "").startswith(CONTENT_TYPE)
        if status >= 500:
            raise _Again(f"{self.address} is in trouble (status {status}); sync again later")
        if status != 200 and ours:
            answer.read()
            raise MailboxRefused(f"{self.address} refused: {answer.text[:500]}")
        if status != 200 or not ours:
            raise Unreachable(
                f"{self.address} does not answer as a relay (status {status}); "
                "check the address, or sign in to the network"
            )

    def _understood(self, read: Callable[[bytes], Value], data: bytes) -> Value:
        try:
            return read(data)
        except NotCanonical as error:
            raise Unreachable(f"{self.address} does not answer as a relay ({error}); check the address") from error


class _Again(Unreachable):
    """A failure that may be over in a moment."""


class _Translated:
    """Failures of the network in words of mailboxes."""

    def __init__(self, address: str, http: Any) -> None:
        self._address = address
        self._http = http

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, self._http.HTTPError):
            why = str(error) or type(error).__name__
            if "CERTIFICATE" in why.upper():
                raise Unreachable(
                    f"the certificate of {self._address} is not trusted ({why}); check the address and the network"
                ) from error
            raise _Again(f"{self._address} cannot be reached ({why}); sync again later") from error


class _Pieces:
    """Blobs out of a stream of bytes: a length before each."""

    def __init__(self, source: Iterator[bytes]) -> None:
        self._source = source
        self._buffer = b""

    def next(self) -> bytes | None:
        size = int.from_bytes(self._take(LENGTH_BYTES), "big")
        if size == NOT_THERE:
            return None
        if size > BLOB_BYTES_MAX:
            raise Unreachable("the relay sends more than a blob can be; check the address")
        return self._take(size)

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            more = next(self._source, None)
            if more is None:
                raise Unreachable("the relay's answer was cut off; sync again")
            self._buffer += more
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


def _seconds(answer: Any) -> float | None:
    try:
        return float(answer.headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _library() -> Any:
    try:
        import httpx2
        import stamina  # noqa: F401  looked for now, so that the message comes before anything is sent
    except ImportError as error:
        raise InvalidInput("syncing over HTTP needs an extra; pip install 'syncmem[http]'") from error
    return httpx2
