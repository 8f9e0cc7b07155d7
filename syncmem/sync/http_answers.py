"""One answer over HTTP: who gave it, whether it is a relay's, and its bytes as they come.

Rules: the table in :mod:`syncmem.sync.http`; an answer has a bound in bytes and must keep up in time; words
from elsewhere are shown shortened and without control characters.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from syncmem.environment import Clock
from syncmem.errors import MailboxRefused, OverQuota, Unreachable
from syncmem.wire.mailbox import BLOB_BYTES_MAX, INLINE_BYTES_MAX
from syncmem.wire.messages import CONTENT_TYPE, HEAD_BYTES_MAX, LENGTH_BYTES, NOT_THERE

ANSWER_BYTES_MAX: Final = LENGTH_BYTES + HEAD_BYTES_MAX + INLINE_BYTES_MAX
BYTES_SECOND_MIN: Final = 1024  # a mobile connection at its worst; who is slower never comes to an end
WORDS_MAX: Final = 500  # characters shown of what the other side says
_FULL: Final = {413: "it takes no more at once", 429: "it was asked too often", 503: "it is busy", 507: "it is full"}
_TLS: Final = (ssl.SSLError, ssl.CertificateError)


class Again(Unreachable):
    """A failure that may be over in a moment."""


class Answering:
    """A context: asks the question, checks who answers, gives the answer's bytes, tells failures in our words."""

    def __init__(self, address: str, http: Any, stream: Any, clock: Clock, seconds: float) -> None:
        self._address = address
        self._http = http
        self._stream = stream
        self._clock = clock
        self._seconds = seconds

    def __enter__(self) -> Pieces:
        try:
            answer = self._stream.__enter__()
        except self._http.HTTPError as error:
            raise self._told(error) from error
        except self._http.InvalidURL as error:
            raise Unreachable(f"{self._address} is no address ({error}); use https://HOST") from error
        pieces = Pieces(self._pieces(answer), self._clock, self._seconds)
        try:
            self._check(answer, pieces)
        except BaseException:
            self._stream.__exit__(None, None, None)
            raise
        return pieces

    def __exit__(self, *failure: Any) -> None:
        self._stream.__exit__(*failure)

    def _pieces(self, answer: Any) -> Iterator[bytes]:
        try:
            yield from answer.iter_raw()
        except self._http.HTTPError as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> Unreachable:
        """A failure of the network in words of mailboxes."""
        why = _shown(str(error)) or type(error).__name__
        if any(isinstance(cause, _TLS) for cause in _causes(error)):
            return Unreachable(
                f"no trusted connection to {self._address} ({why}); check the address, its certificate and the network"
            )
        return Again(f"{self._address} cannot be reached ({why}); sync again later")

    def _check(self, answer: Any, pieces: Pieces) -> None:
        """Refuse an answer that is not a relay's yes."""
        status, headers = answer.status_code, answer.headers
        ours = headers.get("content-type", "").partition(";")[0].strip().lower() == CONTENT_TYPE
        if status == 200 and ours and "content-encoding" not in headers:
            return
        why = _shown(pieces.some(WORDS_MAX).decode("utf-8", "replace")) if ours else ""
        seconds = retry_seconds(headers.get("retry-after", ""), self._clock)
        if status in _FULL and (status != 503 or seconds is not None):
            raise OverQuota(
                f"{self._address} refused: {why or _FULL[status] + '; sync again later'}", retry_after=seconds
            )
        if status >= 500 or status == 408:
            raise Again(f"{self._address} is in trouble: {why or f'status {status}; sync again later'}")
        if ours and status >= 400:
            raise MailboxRefused(f"{self._address} refused: {why or f'status {status}; upgrade syncmem'}")
        raise Unreachable(self._not_a_relay(status, headers.get("location", "")))

    def _not_a_relay(self, status: int, location: str) -> str:
        if 300 <= status < 400 and location:
            return (
                f"{self._address} sends elsewhere ({_shown(location)}); "
                "use that address if it is the relay's, or sign in to the network"
            )
        advice = "check the address, or sign in to the network"
        return f"{self._address} does not answer as a relay (status {status}); {advice}"


class Pieces:
    """The bytes of an answer as they come; blobs are a length and as many bytes."""

    def __init__(self, source: Iterator[bytes], clock: Clock, seconds: float) -> None:
        self._source = source
        self._clock = clock
        self._seconds = seconds
        self._begun = clock.elapsed()
        self._came = 0
        self._buffer = bytearray()

    def next(self) -> bytes | None:
        """The next blob; None where the relay says that it has it not."""
        size = int.from_bytes(self._take(LENGTH_BYTES), "big")
        if size == NOT_THERE:
            return None
        if size > BLOB_BYTES_MAX:
            raise Unreachable("the relay sends more than a blob can be; check the address")
        return self._take(size)

    def rest(self) -> bytes:
        """All that is still to come."""
        while self._more():
            if len(self._buffer) > ANSWER_BYTES_MAX:
                raise Unreachable("the relay answers without an end; check the address")
        return bytes(self._buffer)

    def some(self, size: int) -> bytes:
        """Up to so many bytes, as far as they come."""
        try:
            while len(self._buffer) < size and self._more():
                pass
        except Unreachable:
            pass
        return bytes(self._buffer[:size])

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not self._more():
                raise Again("the relay's answer was cut off; sync again")
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _more(self) -> bool:
        """Wait for more; False at the end."""
        piece = next(self._source, None)
        if piece is None:
            return False
        self._came += len(piece)
        if self._clock.elapsed() > self._begun + self._seconds + self._came / BYTES_SECOND_MIN:
            raise Again("the relay's answer comes too slowly; sync again over a better connection")
        self._buffer += piece
        return True


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def retry_seconds(told: str, clock: Clock) -> float | None:
    """What a Retry-After says: seconds, or a date; None where it says nothing."""
    told = told.strip()
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        when: datetime = parsedate_to_datetime(told)
        return max(0.0, when.timestamp() - clock.now() / 1e6)
    except (TypeError, ValueError, OverflowError):
        return None


def _shown(words: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in words[:WORDS_MAX]).strip()
