"""Stopping a server in order: when it is told to end, what it has open is closed, and the process ends well."""

from __future__ import annotations

import signal
from contextlib import suppress
from types import FrameType


def end_in_order() -> None:
    """When the server has ended because of a signal, it sends itself the same again: then what is open is closed."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    with suppress(ValueError):  # outside of the main thread there are no signals
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
