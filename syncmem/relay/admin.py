"""The operator's page: how the store is, what comes and goes, what is refused, which mailboxes are large or old.

Rules: read only, one page, no script; shown to who has the operator's token and to nobody else; mailboxes are called
by a handle that says nothing (the same as in ``syncmem relay mailboxes``), addresses and devices not at all; what it
asks of the store is short, however large that is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from hmac import compare_digest
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from syncmem.environment import Clock
from syncmem.errors import FileError, InvalidInput
from syncmem.relay.bodies import Refused
from syncmem.relay.books import Books, Order, Seen, books
from syncmem.relay.care import handle_of
from syncmem.relay.gate import Gate, address_of, told_token
from syncmem.relay.metrics import Figures, Metrics
from syncmem.relay.postgres import PostgresStore
from syncmem.relay.rows import RowStore

SHOWN_MAX: Final = 50  # mailboxes
REALM: Final = "syncmem relay operator"
_EPOCH: Final = date(1970, 1, 1)
_ORDERS: Final[dict[str, tuple[Order, str]]] = {
    "size": (Order.SIZE, "the largest first"),
    "age": (Order.AGE, "the oldest first"),
    "quiet": (Order.QUIET, "those written to longest ago first"),
}
_STATUSES: Final = {
    "400": "malformed, or the client had gone",
    "401": "no token of the operator",
    "403": "the signature is wrong",
    "404": "no such path",
    "405": "no such method",
    "408": "a body that came too slowly",
    "413": "a request that is too long",
    "429": "too much from one mailbox or address",
    "500": "the relay failed",
    "503": "busy, stopping, or the store does not answer",
    "507": "the disk is full",
}


class Admin:
    """The page of one relay. ``token``: of its operator."""

    def __init__(self, store: RowStore, metrics: Metrics, gate: Gate, clock: Clock, token: str) -> None:
        self._store = store
        self._books: Books = books(store)
        self._metrics = metrics
        self._gate = gate
        self._clock = clock
        self._token = token.encode()
        self._since = clock.now()
        style = _style()
        self._page = _template(style)
        self._headers = _headers(style)

    @property
    def routes(self) -> list[Route]:
        return [Route("/admin", self.show, methods=["GET"])]

    async def show(self, request: Request) -> Response:
        """The page; ``?by=size|age|quiet`` orders the mailboxes."""
        self._gate.come(address_of(request))
        if not any(compare_digest(told, self._token) for told in told_token(request)):
            raise Refused(401, "this page is for the operator of this relay; use the admin_token", realm=REALM)
        by = request.query_params.get("by", "size")
        order, said = _ORDERS.get(by, _ORDERS["size"])
        told = {"order": said, "orders": list(_ORDERS), "by": by} | await run_in_threadpool(self._told, order)
        return HTMLResponse(self._page(**told), headers=self._headers)

    def _told(self, order: Order) -> dict[str, Any]:
        figures = self._metrics.figures()
        return {
            "hours": (self._clock.now() - self._since) / 3_600_000_000,
            "store": self._health(),
            "figures": figures,
            "refusals": _refusals(figures),
            "boxes": [_row(seen) for seen in self._seen(order)],
            "shown_max": SHOWN_MAX,
        }

    def _health(self) -> dict[str, Any]:
        kind = "PostgreSQL" if isinstance(self._store, PostgresStore) else "SQLite, one file"
        try:
            self._store.check()
            boxes, size = self._books.totals()
        except FileError as error:
            return {"kind": kind, "trouble": str(error)}
        objects = "in object storage beside it" if self._store.objects is not None else "in it"
        return {"kind": kind, "objects": objects, "mailboxes": boxes, "bytes": size, "free": self._metrics.free_bytes()}

    def _seen(self, order: Order) -> list[Seen]:
        try:
            return self._books.seen(order, SHOWN_MAX)
        except FileError:
            return []  # the page tells of the store already


def _refusals(figures: Figures) -> list[tuple[str, str, int]]:
    """What was refused, of requests and of the blobs in those that were answered, and why."""
    found: dict[str, int] = {}
    for (_, status), count in figures.requests.items():
        if status[:1] in "45":
            found[status] = found.get(status, 0) + count
    told = [(status, _STATUSES.get(status, "another"), count) for status, count in sorted(found.items())]
    puts = [(name, count) for name, count in sorted(figures.puts.items()) if name not in ("stored", "known")]
    return told + [("a blob", name.replace("_", " "), count) for name, count in puts]


def _row(seen: Seen) -> dict[str, Any]:
    return {
        "handle": handle_of(seen.id), "bytes": seen.bytes, "quota": seen.quota,
        "made": _EPOCH + timedelta(days=seen.made), "used": _EPOCH + timedelta(days=seen.used),
    }  # fmt: skip


# -- how it is shown --------------------------------------------------------------------------------------


def _style() -> str:
    """Looked for when a page is wanted: a relay without one needs no templates."""
    try:
        from syncmem.page.making import style
    except ImportError as error:
        raise InvalidInput("the operator's page needs an extra; pip install 'syncmem[relay]'") from error
    return style()


def _template(style: str) -> Callable[..., str]:
    from syncmem.page.making import alone, templates

    return partial(templates("syncmem.relay").get_template("admin.html").render, **alone(style))


def _headers(style: str) -> dict[str, str]:
    """Nothing but this page's own style is loaded, run, framed, sent or kept."""
    from syncmem.page.making import alone

    return {
        "content-security-policy": f"{alone(style)['policy']}; frame-ancestors 'none'",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
