"""What all pages share: the memory, the other replicas beside it, the clock, and the answers that pages give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.responses import HTMLResponse, RedirectResponse, Response

from syncmem.errors import Busy, InvalidInput, SyncmemError
from syncmem.model.instant import parse, to_datetime
from syncmem.view.pages import Pages

if TYPE_CHECKING:
    from starlette.requests import Request

    from syncmem.memory import Memory

SECRET_FIELD: Final = "secret"  # of every form that writes
THIS_DEVICE: Final = "this device"
FORM_BYTES_MAX: Final = 64 * 1024
FIELDS_MAX: Final = 50


@dataclass(frozen=True)
class Viewer:
    """One memory, opened to be looked at; ``also``: other replicas, by what they are called."""

    memory: Memory
    also: Mapping[str, Memory]
    zone: tzinfo
    pages: Pages
    now: Callable[[], int]

    @property
    def present(self) -> datetime:
        now = to_datetime(self.now())
        return now if now is not None else datetime.fromtimestamp(0, UTC)

    def page(self, template: str, *, status: int = 200, **given: Any) -> Response:
        """A page; it tells as of which transaction it was made, so that it notices when more was learned."""
        known = self.memory.last_known()
        return HTMLResponse(self.pages.text(template, known_now=known, **given), status)

    def problem(self, error: SyncmemError) -> Response:
        status = 503 if isinstance(error, Busy) else 400 if isinstance(error, InvalidInput) else 409
        return self.page("problem.html", status=status, message=str(error))


def device_names(memory: Memory, also: Mapping[str, Memory]) -> dict[str, str]:
    """How devices are called by their ids: by the vault, by the files that are shown beside, and this one."""
    try:
        told = {device.id: device.name for device in memory.status().devices if device.name}
    except Busy:
        told = {}
    return told | {other.device: label for label, other in also.items()} | {memory.device: THIS_DEVICE}


@dataclass(frozen=True)
class Form:
    """The fields of a form that writes, each once."""

    fields: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        if name not in self.fields:
            raise InvalidInput(f"the form lacks {name!r}; reload the page and try again")
        return self.fields[name]

    def get(self, name: str) -> str | None:
        """A field, or None where it was left empty."""
        return self.fields.get(name, "").strip() or None


async def form_of(request: Request) -> Form:
    """The fields of a request, of bounded size.

    Raises:
        InvalidInput: it is no form, or too large.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES_MAX:
            raise InvalidInput(f"a form may have {FORM_BYTES_MAX} bytes; use the command line for more")
    try:
        text = body.decode("utf-8")
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, strict_parsing=True)
    except ValueError as error:
        raise InvalidInput("the form cannot be read; reload the page and try again") from error
    return Form(dict(fields))


def number_of(request: Request, name: str, default: int = 0) -> int:
    """A parameter that is a whole number, not negative."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise InvalidInput(f"{name}={text[:40]!r} is no number; follow a link of a page")
    return int(text)


def moment_of(request: Request, name: str) -> datetime | None:
    """A parameter that is a moment with its zone."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(f"{name}={text[:40]!r} is no moment; follow a link of a page") from error
    if moment.utcoffset() is None:
        raise InvalidInput(f"{name}={text[:40]!r} has no zone; follow a link of a page")
    return moment


def bound_of(request: Request, name: str, zone: tzinfo, *, end: bool) -> datetime | None:
    """A parameter that bounds a stretch of time: a moment, or a date as somebody writes it; ``end``: it is included."""
    text = request.query_params.get(name, "").strip()
    if not text or "T" in text:
        return moment_of(request, name)
    stated = parse(text, zone=zone)
    return to_datetime(stated.latest if end else stated.earliest)


def gone(address: str) -> Response:
    """Where to go after a write, so that a reload does not write again."""
    return RedirectResponse(address, 303)
