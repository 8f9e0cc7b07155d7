"""``syncmem demo``: tells the story of :mod:`syncmem.cli.story` in a page of text."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syncmem.cli.session import Session, verb

if TYPE_CHECKING:
    from syncmem.cli.story import Told


@verb("demo")
@click.option("--keep", metavar="DIR", type=click.Path(file_okay=False), help="Keep the three files in this folder.")
def demo(session: Session, keep: str | None) -> None:
    """Three devices go offline, hear different things, and meet."""
    from syncmem.cli.story import play

    with _folder(keep) as folder:
        told = play(folder)
    session.show(told.to_dict(), lambda: _tell(told, keep))


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    """The folder to play in: the one to keep, or one that is gone afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="syncmem-demo-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
    else:
        from syncmem.files import make_folder

        folder = Path(keep)
        make_folder(folder)
        yield folder


def _tell(told: Told, keep: str | None) -> None:
    from syncmem.cli.telling import Teller

    Teller().tell(told, keep)
