"""Mailboxes at a relay, over HTTP.

Rules: an answer counts only if it has our content type, our shape and all its bytes; a login page, a
redirect or half an answer is "not reached", and nothing changes; what was refused is told with the time
after which to try again; every question may be repeated, so a lost answer costs nothing; nothing is kept
between questions by which a relay could know a device again (what is agreed on with it is the same for all devices).

===========================================  ========================  ==================================
what comes                                   error                     tried again at once
===========================================  ========================  ==================================
no connection, reset, cut off, too slow      Unreachable               yes
408, 5xx without a time                      Unreachable               yes
413, 429, 503 with a time, 507               OverQuota                 after the time, if it is a few seconds
another refusal in a relay's words           MailboxRefused            no
a certificate that is not trusted, no TLS    Unreachable               no
a redirect, a page, anything else            Unreachable               no
===========================================  ========================  ==================================
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypeAlias, TypeVar

from syncmem.environment import Environment
from syncmem.errors import InvalidInput, MailboxError, MailboxRefused, NotCanonical, OverQuota, Unreachable, Unreadable
from syncmem.sync import shown
from syncmem.sync.agreed import HERE, Agreed, Way
from syncmem.sync.http_answers import Again, Answering
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, digest
from syncmem.wire.messages import (
    CONTENT_TYPE,
    agree_bytes,
    drop_bytes,
    exchange_bytes,
    get_bytes,
    read_agreed,
    read_answer,
    read_dropped,
)
from syncmem.wire.proofs import Shared, shared_by_mailbox

Value = TypeVar("Value")
Make: TypeAlias = Callable[[Shared | None], bytes]  # the bytes of a question, proved by what was agreed on, or signed

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
TRIES_MAX: Final = 3  # of one question: more is for the next sync
WAIT_SECONDS_MAX: Final = 2.0  # before the second try; twice as long before the third
TOLD_SECONDS_MAX: Final = 5.0  # waited for in the middle of a sync, if a relay says so
NAMES_AT_ONCE: Final = 64


class Http:
    """See :class:`syncmem.wire.mailbox.Mailbox`.

    Raises:
        InvalidInput: the address is none, or the extra is not installed.
    """

    def __init__(
        self,
        address: str,
        *,
        verify: ssl.SSLContext | bool = True,
        environment: Environment | None = None,
        answer_seconds: float = ANSWER_SECONDS,
        agreed: Agreed = HERE,
    ) -> None:
        self._agreed = agreed
        self.address = address
        self.push: str | None = address
        self._environment = environment or Environment()
        self._answer_seconds = answer_seconds
        self._http = library()
        self._client = connection(address, answer_seconds, self._http.Client, verify=verify)

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        make = partial(exchange_bytes, request, write_seed)
        answer = self._understood(read_answer, self._ask("/v1/exchange", request.key, write_seed, make))
        self._check_count(len(answer.results), len(request.puts))
        return answer

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        for start in range(0, len(names), NAMES_AT_ONCE):
            yield from self._get(key, write_seed, names[start : start + NAMES_AT_ONCE])

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        make = partial(drop_bytes, request, write_seed)
        dropped = self._understood(read_dropped, self._ask("/v1/drop", request.key, write_seed, make))
        self._check_count(len(dropped), len(request.names))
        return dropped

    def close(self) -> None:
        self._client.close()

    # -- one question -------------------------------------------------------------------------------

    def _ask(self, path: str, key: bytes, write_seed: bytes, make: Make) -> bytes:
        """The answer's bytes."""
        tries = _Tries(self._environment)
        while True:
            shared = self._shared(key, write_seed)
            try:
                with self._answer(path, make(shared)) as pieces:
                    return pieces.rest()
            except (Again, OverQuota) as error:
                tries.wait_or_raise(error)
            except MailboxRefused:
                self._forget_or_raise(key, shared)

    def _get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        """Blobs in one answer; where it breaks off, the question is asked again for the rest."""
        tries, left = _Tries(self._environment), list(names)
        while left:
            shared = self._shared(key, write_seed)
            try:
                with self._answer("/v1/get", get_bytes(key, left, write_seed, shared)) as pieces:
                    while left:
                        blob = pieces.next()
                        name = left.pop(0)
                        yield name, blob if blob is not None and digest(blob) == name.digest else None
            except (Again, OverQuota) as error:
                tries.wait_or_raise(error)
            except MailboxRefused:
                self._forget_or_raise(key, shared)

    def _shared(self, key: bytes, write_seed: bytes) -> Shared | None:
        """What was agreed on with the relay; None: sign."""
        way = Way(self.address, key)
        found = self._agreed.get(way)
        if found is None and self._agreed.is_due(way):
            try:
                with self._answer("/v1/agree", agree_bytes(key, write_seed)) as pieces:
                    found = shared_by_mailbox(write_seed, read_agreed(pieces.rest()))
            except (MailboxError, NotCanonical, Unreadable):
                return None  # it goes on without
            self._agreed.keep(way, found)
        return found

    def _forget_or_raise(self, key: bytes, shared: Shared | None) -> None:
        """A relay that was refused what it agreed on has started anew, or is another one."""
        if shared is None:
            raise
        self._agreed.forget(Way(self.address, key))

    def _answer(self, path: str, content: bytes) -> Answering:
        stream = self._client.stream("POST", path, content=content)
        return Answering(shown(self.address), self._http, stream, self._environment.clock, self._answer_seconds)

    def _understood(self, read: Callable[[bytes], Value], data: bytes) -> Value:
        try:
            return read(data)
        except NotCanonical as error:
            raise Unreachable(f"{shown(self.address)} does not answer as a relay ({error})") from error

    def _check_count(self, count: int, asked: int) -> None:
        if count != asked:
            where = shown(self.address)
            raise Unreachable(f"{where} answers {count} things where {asked} were asked; check the address")


class _Tries:
    """How often a question was asked, and the wait before it is asked again."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._made = 0

    def wait_or_raise(self, error: Again | OverQuota) -> None:
        """Between half and all of the time, so that devices that failed together do not come back together.

        Who is told when to come again does not come earlier.
        """
        self._made += 1
        jitter = 0.5 + self._environment.randomness(1)[0] / 512
        if isinstance(error, OverQuota):
            if error.retry_after is None or error.retry_after > TOLD_SECONDS_MAX or self._made >= TRIES_MAX:
                raise error
            self._environment.clock.sleep(error.retry_after + jitter)
            return
        if self._made >= TRIES_MAX:
            raise Unreachable(str(error)) from error
        self._environment.clock.sleep(WAIT_SECONDS_MAX * self._made * jitter)


def connection(address: str, seconds: float, kind: Any, *, verify: ssl.SSLContext | bool = True) -> Any:
    """A client (of this kind) of the relay at an address, that waits so long for an answer and keeps nothing.

    Raises:
        InvalidInput: the address is none.
    """
    http = library()
    try:
        return kind(
            base_url=address.rstrip("/"),
            timeout=http.Timeout(seconds, connect=CONNECT_SECONDS),
            follow_redirects=False,
            verify=_trusted(address) if verify is True else verify,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={
                "content-type": CONTENT_TYPE,
                "accept": CONTENT_TYPE,
                "accept-encoding": "identity",  # sealed bytes do not get smaller
                "user-agent": "syncmem",
            },
        )
    except http.InvalidURL as error:
        raise InvalidInput(f"{address!r} is no address ({error}); use https://HOST") from error


def _trusted(address: str) -> ssl.SSLContext:
    """Whom to trust: whom the system trusts; where no TLS is spoken, nobody.

    Loading the system's list takes longer than a sync that has nothing to do, so it is done once.
    """
    if not address.lower().startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return _loaded(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))


@cache
def _loaded(file: str | None, folder: str | None) -> ssl.SSLContext:
    context: ssl.SSLContext = library().create_ssl_context()
    return context


def library() -> Any:
    """The HTTP library.

    Raises:
        InvalidInput: the extra is not installed.
    """
    try:
        import httpx2
    except ImportError as error:
        raise InvalidInput("syncing over HTTP needs an extra; pip install 'syncmem[http]'") from error
    return httpx2
