"""A process that writes: ``python -m tests.load.writing MEMORY NAME RATE NOTES``, until it is told to end (SIGTERM).

It writes at its rate as far as it can: who was held up makes up for it.  What was acknowledged is noted at once, one
line a write: its number, how long the call took and how late it began, in microseconds; ``!`` and the error where there
was one.  A line that a killed process has written stays: only the machine could lose it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from syncmem import Memory

STEPS_AN_ENTITY = 50
SHARED_EVERY = 10  # writes, of which one is to what all write
SHARED, HOLDER, STEP = "shared", "holder", "step"


def entity_of(name: str, number: int) -> str:
    """Of which entity a process says its ``number``-th step."""
    return f"{name} {number // STEPS_AN_ENTITY}"


def write(path: str, name: str, rate: float, notes: str) -> None:
    ended = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal ended
        ended = True

    signal.signal(signal.SIGTERM, end)
    noted = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with Memory(path) as memory:
        begin, number = time.perf_counter(), 0
        while not ended:
            due = begin + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            os.write(noted, f"{_written(memory, name, number, due)}\n".encode())
            number += 1
    os.close(noted)


def _written(memory: Memory, name: str, number: int, due: float) -> str:
    """Write one claim; the line that is noted of it."""
    called = time.perf_counter()
    try:
        if number % SHARED_EVERY == SHARED_EVERY - 1:
            memory.remember(SHARED, HOLDER, f"{name} {number}")
        else:
            memory.remember(entity_of(name, number), STEP, number)
    except Exception as error:  # whatever a caller would see is what is asked for
        return f"! {number} {type(error).__name__}: {error}"
    return f"{number} {(time.perf_counter() - called) * 1e6:.0f} {max(0.0, called - due) * 1e6:.0f}"


def notes_of(path: Path) -> tuple[list[tuple[int, int, int]], list[str]]:
    """What a process noted: (number, microseconds of the call, microseconds late), and the errors."""
    if not path.exists():
        return [], []
    lines = [line for line in path.read_text().split("\n")[:-1] if line]
    errors = [line[2:] for line in lines if line.startswith("!")]
    numbers = [line.split() for line in lines if not line.startswith("!")]
    return [(int(number), int(took), int(late)) for number, took, late in numbers], errors


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4])
