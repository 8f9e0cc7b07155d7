"""The server's pages by their addresses. Each runs on a thread of its own; the memory's lock orders them."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from syncmem.errors import InvalidInput, SyncmemError
from syncmem.page.making import style as page_style
from syncmem.picture.svg import stylesheet
from syncmem.view import asking, people, slot, standing
from syncmem.view.guard import STATIC
from syncmem.view.viewer import SECRET_FIELD, Form, Viewer, form_of

Page = Callable[[Viewer, Request], Response]
Write = Callable[[Viewer, Form], Response]
PAGES: Final[dict[str, Page]] = {
    "/": people.people,
    "/thing": people.thing,
    "/slot": slot.slot,
    "/history": slot.history,
    "/questions": asking.questions,
    "/devices": standing.devices,
    "/reads": standing.reads,
    "/read": standing.read,
    "/search": standing.search,
}
WRITES: Final[dict[str, Write]] = {
    "/answer": asking.answer,
    "/say": asking.say,
    "/retract": asking.retract,
    "/undo": asking.undo,
}
_FILES: Final = {
    "view.js": "text/javascript",
    "panzoom-4.6.2.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def application(viewer: Viewer, form_secret: str) -> Starlette:
    """All pages of a memory; ``form_secret`` has to be in every form that writes."""
    routes = [Route(path, _shown(viewer, page), methods=["GET"]) for path, page in PAGES.items()]
    routes += [Route(path, _written(viewer, write, form_secret), methods=["POST"]) for path, write in WRITES.items()]
    routes += [Route("/known", _known(viewer), methods=["GET"])]
    routes += [Route(STATIC + "{name}", _file, methods=["GET"])]

    async def not_found(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return await run_in_threadpool(
            viewer.page, "problem.html", status=status, message="there is no such page; go to the list of people"
        )

    return Starlette(routes=routes, exception_handlers={404: not_found})


def style() -> str:
    """The style sheet of the pages and of the pictures on them."""
    return stylesheet() + page_style() + _read("view.css")


def _shown(viewer: Viewer, page: Page) -> Callable[[Request], Awaitable[Response]]:
    def show(request: Request) -> Response:
        try:
            return page(viewer, request)
        except SyncmemError as error:
            return viewer.problem(error)

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(show, request)

    return answer


def _written(viewer: Viewer, write: Write, form_secret: str) -> Callable[[Request], Awaitable[Response]]:
    def do(form: Form) -> Response:
        try:
            if not hmac.compare_digest(form[SECRET_FIELD].encode(), form_secret.encode()):
                raise InvalidInput("the form is of another run of 'syncmem view'; reload the page and try again")
            return write(viewer, form)
        except SyncmemError as error:
            return viewer.problem(error)

    async def answer(request: Request) -> Response:
        try:
            form = await form_of(request)
        except SyncmemError as error:
            return await run_in_threadpool(viewer.problem, error)
        return await run_in_threadpool(do, form)

    return answer


def _known(viewer: Viewer) -> Callable[[Request], Awaitable[Response]]:
    """What an open page asks from time to time: whether more was learned since it was made."""

    async def answer(request: Request) -> Response:
        return JSONResponse({"known": await run_in_threadpool(viewer.memory.last_known)})

    return answer


def _file(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "view.css":
        return Response(style(), media_type="text/css")
    if name not in _FILES:
        return PlainTextResponse("there is no such file\n", 404)
    return Response(_read(name), media_type=_FILES[name])


def _read(name: str) -> str:
    return files("syncmem.view").joinpath("static", name).read_text(encoding="utf-8")
