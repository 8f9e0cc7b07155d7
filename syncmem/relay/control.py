"""Asking a running relay for its care: who may read its folder may ask, and nobody else.

Rules: a running relay holds its store alone, so it does itself what an operator asks for; it listens on this machine
only, and answers who shows the secret that lies in its folder (a file that only its owner can read); where no relay
runs, the same is done on the store directly.
"""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from hmac import compare_digest
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from syncmem.errors import FileError, InvalidInput, NotFound, SyncmemError
from syncmem.private import open_new
from syncmem.relay.care import Care
from syncmem.relay.file import for_the_operator

FILE_NAME: Final = "relay.control"  # in the relay's folder: where it listens, and the secret
COPY: Final = FILE_NAME + ".{}.backup"  # a copy on its way
SECRET_BYTES: Final = 32
PROBE_SECONDS: Final = 30.0  # for an answer to who asks whether a relay is there
SECONDS_MAX: Final = 3600.0  # a large store is verified and copied in less
_ANOTHER: Final = "another program listens where the relay did; remove relay.control if no relay runs here"
ASKED: Final = ("mailboxes", "quota", "verify", "gc")
_KINDS: Final[dict[str, type[SyncmemError]]] = {kind.__name__: kind for kind in (FileError, InvalidInput, NotFound)}


# -- the relay's side -----------------------------------------------------------------------------------


def controlled(care: Care, folder: Path, secret: str, drawn: Callable[[int], bytes]) -> Starlette:
    """The application that answers an operator."""

    async def ask(request: Request) -> Response:
        _check(request, secret)
        asked = await request.json()
        return await run_in_threadpool(_answered, lambda: getattr(care, request.path_params["what"])(**asked))

    async def backup(request: Request) -> Response:
        _check(request, secret)
        copy = folder / COPY.format(drawn(8).hex())
        try:
            await run_in_threadpool(care.backup, copy)
        except SyncmemError as error:
            return _told(error)
        return FileResponse(copy, background=BackgroundTask(copy.unlink))

    routes = [Route("/backup", backup, methods=["POST"]), Route("/{what}", ask, methods=["POST"])]
    return Starlette(routes=routes, exception_handlers={_Stranger: _stranger})


class _Stranger(Exception):
    """Who has not the secret."""


async def _stranger(request: Request, error: Exception) -> Response:
    return Response(status_code=403)


def _check(request: Request, secret: str) -> None:
    said, what = request.headers.get("authorization", ""), request.path_params.get("what", "backup")
    if what not in (*ASKED, "backup") or not compare_digest(said.encode(), secret.encode()):
        raise _Stranger


def _answered(answer: Callable[[], Any]) -> Response:
    try:
        with for_the_operator():
            return JSONResponse(answer())
    except SyncmemError as error:
        return _told(error)


def _told(error: SyncmemError) -> Response:
    kind = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _KINDS), FileError.__name__)
    return JSONResponse({"error": kind, "message": str(error)}, status_code=409)


def publish(folder: Path, port: int, secret: str) -> Path:
    """Leave in the folder where the relay listens, and its secret; the file. What a killed one left there goes."""
    path = folder / FILE_NAME
    for left in (path, *folder.glob(COPY.format("*"))):
        left.unlink(missing_ok=True)
    with os.fdopen(open_new(path), "w", encoding="ascii") as file:
        json.dump({"port": port, "secret": secret}, file)
    return path


def new_secret(drawn: Callable[[int], bytes]) -> str:
    return f"Bearer {b64encode(drawn(SECRET_BYTES)).decode()}"


# -- the operator's side --------------------------------------------------------------------------------


class Running:
    """A relay that serves a folder, in another process."""

    def __init__(self, port: int, secret: str) -> None:
        self._port = port
        self._secret = secret

    @classmethod
    def at(cls, folder: str | os.PathLike[str]) -> Running | None:
        """The relay that runs on a folder; None: none does.

        Raises:
            FileError: its secret cannot be read.
        """
        try:
            told = json.loads((Path(folder) / FILE_NAME).read_bytes())
            found = cls(int(told["port"]), str(told["secret"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{Path(folder) / FILE_NAME} cannot be read; run this as the relay's own user") from error
        try:
            found._open("/", b"{}", PROBE_SECONDS).close()
        except ConnectionError:
            return None  # left by one that was killed
        except (OSError, HTTPException) as error:
            raise FileError(_ANOTHER) from error
        return found

    def ask(self, what: str, **asked: Any) -> Any:
        """What the care of the store answers; see :class:`syncmem.relay.care.Care`. Raises its errors."""
        try:
            with self._open(f"/{what}", json.dumps(asked).encode()) as answer:
                return _read(answer)
        except (OSError, HTTPException) as error:
            raise FileError("the relay ended meanwhile, and did not answer; ask again") from error

    def backup(self, path: str | os.PathLike[str]) -> None:
        """A copy as of now in a new file.

        Raises:
            FileError: it cannot be written there, or did not come whole.
        """
        target = Path(path)
        try:
            with os.fdopen(open_new(target), "wb") as file, self._open("/backup", b"{}") as answer:
                if answer.status != 200:
                    _read(answer)
                shutil.copyfileobj(answer, file, 1 << 20)
                whole = file.tell() == int(answer.headers["content-length"])
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError as error:
            raise FileError(f"{target} exists already; choose another name for the backup") from error
        except (OSError, HTTPException) as error:
            _remove(target)
            why = getattr(error, "strerror", None) or error
            raise FileError(f"{target} cannot be written ({why}); choose another place") from error
        except SyncmemError:
            _remove(target)
            raise
        if not whole:
            _remove(target)
            raise FileError("the relay broke the backup off; make it again")

    def _open(self, path: str, body: bytes, seconds: float = SECONDS_MAX) -> HTTPResponse:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=seconds)
        connection.request("POST", path, body, {"authorization": self._secret, "connection": "close"})
        return connection.getresponse()


def _read(answer: HTTPResponse) -> Any:
    if answer.status == 403:
        raise FileError(_ANOTHER)
    told = json.loads(answer.read())
    if answer.status != 200:
        raise _KINDS[told["error"]](told["message"])
    return told


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
