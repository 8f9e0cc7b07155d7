"""A Starlette endpoint that reads what is sent and stores nothing: what a relay is measured beside."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from syncmem.wire.messages import CONTENT_TYPE

ANSWER = bytes(90)  # as long as the answer to a put


async def take(request: Request) -> Response:
    await request.body()
    return Response(ANSWER, media_type=CONTENT_TYPE)


def main() -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so asyncio sets TCP_NODELAY
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(f"bare at http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    app = Starlette(routes=[Route("/v1/exchange", take, methods=["POST"])])
    config = uvicorn.Config(app, ws="none", log_config=None, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
