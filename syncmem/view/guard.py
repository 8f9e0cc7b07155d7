"""Who is answered: the one browser that was given the address, and pages of this server alone.

Rules: the token in the address works once and becomes a cookie that no script and no other site can use; a request
names this server as its host (so no foreign name can point here); a write comes from a page of this server and carries
the secret of its forms; a page may load nothing from elsewhere and runs no script but the files of this server.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRY: Final = "/enter"
STATIC: Final = "/static/"
_SECRET_BYTES: Final = 24
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A page and no redirect: a strict cookie goes only where a page of this server leads, and not where another one led.
_WELCOME: Final = (
    '<!doctype html><html lang="en"><head><title>syncmem</title><meta http-equiv="refresh" content="0; url=/">'
    '<link rel="icon" href="/static/icon.svg"></head>'
    '<body><main><p><a href="/">Go on</a></p></main></body></html>'
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a form would not tell where it comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Stands before the pages, as an ASGI application of its own."""

    def __init__(self, app: ASGIApp, port: int, drawn: Callable[[int], bytes], form_secret: str) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"syncmem-view-{port}"  # cookies know no ports
        self._session = drawn(_SECRET_BYTES).hex()
        self._token: str | None = drawn(_SECRET_BYTES).hex()
        self.form_secret = form_secret
        self.address = f"http://127.0.0.1:{port}{ENTRY}?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._own_answer(scope, Headers(scope=scope))
        await (answer or self._app)(scope, receive, send_guarded)

    def _own_answer(self, scope: Scope, headers: Headers) -> Response | None:
        """What is answered without asking the pages: a refusal, or the way in."""
        if headers.get("host") not in self._hosts:
            return _refused(421, "this server answers to 127.0.0.1 alone; open the address that it printed")
        if scope["path"] == ENTRY:
            return self._enter(QueryParams(scope["query_string"]).get("token", ""))
        if scope["path"].startswith(STATIC):
            return None
        if not _same(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""), self._session):
            return _refused(403, "open the address that 'syncmem view' printed; it works once, then run it again")
        if scope["method"] in ("GET", "HEAD"):
            return None
        if headers.get("origin") != f"http://{headers['host']}":
            return _refused(403, "a write has to come from a page of this server; reload the page and try again")
        return None

    def _enter(self, token: str) -> Response:
        if self._token is None or not _same(token, self._token):
            return _refused(403, "this address was used already; run 'syncmem view' again for a new one")
        self._token = None
        answer = HTMLResponse(_WELCOME)
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _refused(status: int, message: str) -> Response:
    return PlainTextResponse(message + "\n", status)
