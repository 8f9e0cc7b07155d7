"""Progress on standard error, for people: nothing where nobody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from syncmem.cli.session import Session, is_terminal

Advance = Callable[[int], None]
FRAMES_PER_SECOND: Final = 8


@contextmanager
def progress(session: Session, label: str, *, total: int | None = None) -> Iterator[Advance]:
    """A bar while the block runs; it is given a function to call with how much is done."""
    if session.json or not is_terminal("stderr"):
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    shown = columns if total else [columns[0], columns[1], columns[-1]]
    with Progress(*shown, console=Console(stderr=True), transient=True, refresh_per_second=FRAMES_PER_SECOND) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _ignore(done: int) -> None:
    """Nobody looks."""
