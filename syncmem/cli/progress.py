"""Progress on standard error, for people: nothing where nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from syncmem.cli.session import Session, is_terminal

Advance = Callable[[int], None]
FRAMES_PER_SECOND: Final = 8


@contextmanager
def progress(session: Session, label: str, *, counted: bool = False) -> Iterator[Advance]:
    """A moving bar while the block runs; it is given a function to call with the number of events done."""
    if session.json or not is_terminal("stderr"):
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    count = [TextColumn("{task.completed:.0f} events")] if counted else []
    columns = [TextColumn("{task.description}"), BarColumn(), *count, TimeElapsedColumn()]
    shown = Console(stderr=True)
    with Progress(*columns, console=shown, transient=True, refresh_per_second=FRAMES_PER_SECOND) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done: bar.update(task, completed=done)


def _ignore(done: int) -> None:
    """Nobody looks."""
