"""The verb that opens the pages of a memory in a browser, or writes them to a file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syncmem.cli.session import Session, verb
from syncmem.environment import Environment
from syncmem.errors import InvalidInput
from syncmem.private import open_new

if TYPE_CHECKING:
    from syncmem.memory import Memory


@verb("view")
@click.argument("entity", required=False)
@click.option("--also", multiple=True, metavar="FILE", help="Another device's memory, shown beside; repeatable.")
@click.option("--export", "file", metavar="FILE", type=click.Path(dir_okay=False), help="Write one page to FILE.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="[default: any that is free]")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def view(
    session: Session, entity: str | None, also: tuple[str, ...], file: str | None, port: int, no_browser: bool
) -> None:
    """See what is believed, since when and on whose word, and put it right.

    \b
      syncmem view                                  in the browser, on this machine alone
      syncmem view --also phone.db                  another device side by side
      syncmem view ana --export ana.html            one page that needs no server

    The address works once; it is for the browser of this machine.
    """
    try:
        from syncmem.view.server import serve
    except ImportError as error:
        raise InvalidInput("the pages need an extra; pip install 'syncmem[view]'") from error

    with session.memory() as memory, ExitStack() as opened:
        others = {Path(path).stem: _also(session, opened, path) for path in also}
        if file is not None:
            _export(session, memory, others, file, entity)
            return

        def ready(address: str) -> None:
            session.show({"address": address}, lambda: f"Open {address}\nIt works once. Ctrl+C ends it.")
            if not no_browser:
                click.launch(opened.enter_context(_leading_to(address)))

        serve(memory, zone=session.display_zone, also=others, port=port, ready=ready)


@contextmanager
def _leading_to(address: str) -> Iterator[str]:
    """A file of the user's own that leads there: what a program is started with, others on this machine can see."""
    folder = Path(tempfile.mkdtemp(prefix="syncmem-view-"))
    try:
        with os.fdopen(open_new(folder / "open.html"), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><title>syncmem</title><meta http-equiv="refresh" content="0; url={address}">\n')
        yield (folder / "open.html").as_uri()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _also(session: Session, opened: ExitStack, path: str) -> Memory:
    return opened.enter_context(session.other(path, session.key))


def _export(session: Session, memory: Memory, others: dict[str, Memory], file: str, entity: str | None) -> None:
    from syncmem.view.export import export

    now = Environment().clock.now
    written = export(memory, Path(file), zone=session.display_zone, now=now, also=others, entity=entity)
    session.show(written.to_dict(), lambda: written.text)
