"""A visitor of the pages: asks the real application as a browser would, without a socket."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from html import unescape
from typing import Any
from urllib.parse import urlencode

from syncmem import Environment, Memory
from syncmem.view.guard import Guard
from syncmem.view.server import guarded

PORT = 8765
HOST = f"127.0.0.1:{PORT}"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def words(self) -> str:
        """The text of the page without its markup."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.text)).split())

    def fields(self, action: str) -> dict[str, str]:
        """The hidden fields of the first form that goes to an address."""
        form = re.search(rf'<form[^>]* action="{re.escape(action)}">(.*?)</form>', self.text, re.DOTALL)
        assert form is not None, f"no form goes to {action}"
        found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form[1])
        return {name: unescape(value) for name, value in found}


class Visitor:
    """One browser: it keeps the cookie that it was given and says where it comes from."""

    def __init__(self, app: Guard) -> None:
        self.app = app
        self.cookie = ""
        self.headers = {"host": HOST}

    @staticmethod
    def of(memory: Memory, also: Mapping[str, Memory] | None = None, environment: Environment | None = None) -> Visitor:
        """A visitor who was let in."""
        visitor = Visitor(guarded(memory, PORT, UTC, environment or Environment(), also))
        assert visitor.get(visitor.app.address.removeprefix(f"http://{HOST}")).status == 200
        return visitor

    def get(self, path: str, **parameters: Any) -> Answer:
        return self._ask("GET", path + (f"?{urlencode(parameters)}" if parameters else ""), b"", {})

    def slot(self, entity: str, predicate: str, **parameters: Any) -> Answer:
        return self.get("/slot", entity=entity, predicate=predicate, **parameters)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        sent = {"origin": f"http://{HOST}", "content-type": "application/x-www-form-urlencoded", **headers}
        return self._ask("POST", path, urlencode(fields).encode(), sent)

    def _ask(self, method: str, target: str, body: bytes, more: Mapping[str, str]) -> Answer:
        path, _, query = target.partition("?")
        headers = {**self.headers, **({"cookie": self.cookie} if self.cookie else {}), **more}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        start = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        if "set-cookie" in start:
            self.cookie = start["set-cookie"].partition(";")[0]
        text = b"".join(message.get("body", b"") for message in sent[1:]).decode("utf-8")
        return Answer(sent[0]["status"], start, text)
