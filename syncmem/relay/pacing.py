"""Connections that say nothing, or read nothing, do not keep their place.

Rules: a connection has some seconds to say the head of a request, from its beginning or from the last answer;
an answer that is not taken fast enough is given up; when all places are taken, the connection that has waited
longest for a head gives its place to the newcomer. (Bodies are timed where they are read, and their senders told.)
Who listens has a place beside these; what is sent there and is not confirmed within a minute ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from syncmem.relay.backlog import Backlog
from syncmem.relay.joining import Joining
from syncmem.relay.limits import Limits
from syncmem.relay.pushing import Listeners

UNCONFIRMED_MILLISECONDS: Final = 60_000  # the other end of a half-open connection is not there any more


class Paced(H11Protocol):
    """One connection; :func:`paced` gives it limits."""

    limits: ClassVar[Limits]
    listeners: ClassVar[Listeners]
    backlog: ClassVar[Backlog]
    _due: float | None = None  # None: it is the relay's turn
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(Joining(transport, self.loop))  # type: ignore[arg-type]
        _set_up(transport)
        self._give_seconds(0)
        if len(self.connections) > self._places:
            self._displace_the_most_silent()

    def connection_lost(self, exc: Exception | None) -> None:
        self.backlog.remove(self.transport)
        super().connection_lost(exc)
        self._give_time()
        if self._timer is not None:
            self._timer.cancel()

    def handle_events(self) -> None:
        """Called with every piece of a request: the wait is over when its head is whole."""
        self.limit_concurrency = self._places + 1  # uvicorn counts the newcomer
        super().handle_events()
        if self._answering:
            self._give_time()

    def on_response_complete(self) -> None:
        self._give_seconds(self.transport.get_write_buffer_size())
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.backlog.add(self.transport)
        self._give_seconds(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self.backlog.remove(self.transport)
        if self._answering:
            self._give_time()

    @property
    def _places(self) -> int:
        return self.limits.connections_max + self.listeners.count

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _give_seconds(self, size: int) -> None:
        """Until then something must have moved."""
        self._due = self.loop.time() + self.limits.seconds_for(size)
        if self._timer is None or self._timer.when() > self._due:
            self._set_timer(self._due)

    def _give_time(self) -> None:
        """It is the relay's turn."""
        self._due = None

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_at(when, self._look)

    def _look(self) -> None:
        """One timer serves many deadlines: each request moves its own, and few of them come."""
        self._timer = None
        if self._due is None:
            return
        if self._due > self.loop.time():
            self._set_timer(self._due)
        else:
            self.transport.abort()

    def _displace_the_most_silent(self) -> None:
        """Another one for each newcomer, also where several come before those that give way are gone."""
        waiting = {
            other: other._due
            for other in self.connections
            if isinstance(other, Paced)
            and other is not self
            and other._due is not None
            and not other.transport.is_closing()
        }
        if waiting:
            min(waiting, key=waiting.__getitem__).transport.abort()


def paced(limits: Limits, listeners: Listeners, backlog: Backlog) -> type[Paced]:
    """Connections within these limits."""
    return type("Connection", (Paced,), {"limits": limits, "listeners": listeners, "backlog": backlog})


def _set_up(transport: asyncio.Transport) -> None:
    """Send at once what is written, and notice who has vanished.

    (asyncio sets the first by itself only for sockets that were made with the number of TCP; without it the body of
    each answer waits for the other side to confirm the head: 40 ms.)
    """
    own = transport.get_extra_info("socket")
    if own is None:
        return
    option = getattr(socket, "TCP_USER_TIMEOUT", None)  # where the system has it
    with contextlib.suppress(OSError):  # no TCP
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if option is not None:
            own.setsockopt(socket.IPPROTO_TCP, option, UNCONFIRMED_MILLISECONDS)
