"""The gate: who may ask, how often, how much, and in whose turn.

Rules: an address is counted before anything of its request is read, a mailbox once the request has proved itself, so
that nobody can use up what is another's; of one mailbox only a few requests are at work at a time, the others wait
for their turn and hold up nobody else; a mailbox that exists is never refused for what a new one needs.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
from collections.abc import Collection
from functools import lru_cache
from hmac import compare_digest
from ipaddress import IPv6Address, ip_address
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from syncmem.environment import Clock
from syncmem.relay.bodies import Refused
from syncmem.relay.limits import Limits
from syncmem.relay.rates import Rate
from syncmem.relay.stores import Store

KNOWN_MAX: Final = 100_000  # mailboxes remembered to be there
HOUR: Final = 3600.0
HOUSE_BITS: Final = 64  # of an IPv6 address: what one customer has


class Gate:
    """All who come. Belongs to the thread of the event loop."""

    def __init__(self, store: Store, limits: Limits, clock: Clock, tokens: Collection[str] = ()) -> None:
        self._store = store
        self._limits = limits
        self._tokens = [token.encode() for token in tokens]
        self._known: dict[bytes, None] = {}
        self._turns: dict[bytes, _Turns] = {}
        now = clock.elapsed
        self._address_requests = Rate(limits.address_requests_second, now)
        self._address_bytes = Rate(limits.address_bytes_second, now)
        self._mailbox_requests = Rate(limits.mailbox_requests_second, now)
        self._mailbox_bytes = Rate(limits.mailbox_bytes_second, now)
        self._founded = Rate(limits.address_mailboxes_hour / HOUR, now, saved_seconds=HOUR)

    def come(self, address: str) -> None:
        """A request comes from an address ("": nobody counts).

        Raises:
            Refused: too much came from there.
        """
        if address:
            _check(self._address_requests.wait(address), "this address")
            _check(self._address_bytes.wait(address), "this address")
            self._address_requests.count(address)

    def turn(self, mailbox: bytes) -> Turn:
        """A context: the request of a mailbox that has proved itself.

        Raises:
            Refused: the mailbox was asked too much.
        """
        _check(self._mailbox_requests.wait(mailbox), "this mailbox")
        _check(self._mailbox_bytes.wait(mailbox), "this mailbox")
        self._mailbox_requests.count(mailbox)
        return Turn(self._turns, mailbox, self._limits.mailbox_requests_max)

    def moved(self, address: str, mailbox: bytes, size: int) -> None:
        """So many bytes came and went."""
        self._mailbox_bytes.count(mailbox, size)
        if address:
            self._address_bytes.count(address, size)

    async def admit(self, request: Request, mailbox: bytes) -> None:
        """The mailbox is there, or may be made.

        Raises:
            Refused: it may not.
        """
        if mailbox in self._known:
            return
        if await run_in_threadpool(self._store.position, mailbox) is None:
            self._check_token(request)
            address = address_of(request)
            if address:
                _check(self._founded.wait(address), "this address has opened many mailboxes; it")
                self._founded.count(address)
        if len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[mailbox] = None

    def _check_token(self, request: Request) -> None:
        if self._tokens and not any(compare_digest(told_token(request)[0], token) for token in self._tokens):
            why = "this relay opens mailboxes for who has a token of its operator; use the address https://TOKEN@HOST"
            raise Refused(401, why)


class Turn:
    """One request that works or waits."""

    __slots__ = ("_all", "_at_once", "_mailbox", "_turns")

    def __init__(self, all_of_them: dict[bytes, _Turns], mailbox: bytes, at_once: int) -> None:
        self._all = all_of_them
        self._mailbox = mailbox
        self._at_once = at_once

    async def __aenter__(self) -> None:
        turns = self._all.get(self._mailbox)
        if turns is None:
            turns = self._all[self._mailbox] = _Turns(self._at_once)
        self._turns = turns
        turns.users += 1
        try:
            await turns.free.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *failure: object) -> None:
        self._turns.free.release()
        self._leave()

    def _leave(self) -> None:
        self._turns.users -= 1
        if not self._turns.users:
            del self._all[self._mailbox]


class _Turns:
    """Those of one mailbox that work or wait."""

    __slots__ = ("free", "users")

    def __init__(self, at_once: int) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.users = 0


def address_of(request: Request) -> str:
    """Where a request comes from, as far as it is counted: not of what runs on this machine, proxies among it."""
    client = request.scope.get("client")
    return _counted_as(client[0]) if client else ""


@lru_cache(maxsize=4096)
def _counted_as(host: str) -> str:
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return ""
    if isinstance(address, IPv6Address):
        return str(IPv6Address(int(address) >> HOUSE_BITS << HOUSE_BITS))
    return str(address)


def told_token(request: Request) -> tuple[bytes, bytes]:
    """What stands before the @ of the address that the client uses: the name, and the password."""
    kind, _, told = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return b"", b""
    try:
        name, _, password = base64.b64decode(told, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return b"", b""
    return name, password


def _check(seconds: float, who: str) -> None:
    if seconds > 0:
        raise Refused(429, f"{who} asks too much; sync again later", math.ceil(seconds))
