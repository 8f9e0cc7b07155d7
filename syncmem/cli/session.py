"""What all commands share: which file, which zone, text or JSON, and what an error comes to.

Rules: a file that is not there is refused with the next step, except by the commands that create
one; results go to standard output, errors and progress to standard error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from syncmem.errors import Busy, FileError, InvalidInput, SyncmemError

if TYPE_CHECKING:
    from syncmem.memories import Memories
    from syncmem.memory import Memory

DEFAULT_PATH: Final = "syncmem.db"
WAIT_SECONDS: Final = 30.0
REFUSED, USAGE, BUSY, NOTABLE = 1, 2, 3, 4
EXIT_CODES: Final = {
    0: "done",
    REFUSED: "refused; the message ends with the next step, nothing was changed",
    USAGE: "the command line cannot be understood",
    BUSY: "another process holds the file; try again",
    NOTABLE: "done, but not whole (sync, scrub, inspect, repair, relay verify); "
    "with --strict: contested (remember) or with problems (doctor)",
}

Command = TypeVar("Command", bound=Callable[..., Any])
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Session:
    """One run of the command line."""

    db: str = DEFAULT_PATH
    json: bool = False
    zone: str | None = None
    wait: float = WAIT_SECONDS
    key: str | None = None  # the file that it is in
    allow_cloud_folder: bool = False

    @contextmanager
    def memory(self, *, create: bool = False) -> Iterator[Memory]:
        """The open memory; ``create`` makes the file if it is missing, and leaves none if nothing comes of it."""
        if not create:
            self.check_exists()
        with self.leaving_none(), self.open(self.db, self.key) as memory:
            yield memory

    @contextmanager
    def leaving_none(self) -> Iterator[None]:
        """Where this makes the file and is refused: remove it, if nobody wrote into it or became a device by it."""
        new = not Path(self.db).exists()
        try:
            yield
        except SyncmemError:
            if new and Path(self.db).exists():
                self._remove_if_empty()
            raise

    def _remove_if_empty(self) -> None:
        from syncmem import files
        from syncmem.replica.side import SUFFIX

        with self.open(self.db, self.key) as memory:
            empty = memory.last_known() == 0
        if empty and not Path(f"{self.db}{SUFFIX}").exists():
            for file in files.ours(self.db):
                file.unlink(missing_ok=True)

    def other(self, path: str, key_file: str | None) -> Memory:
        """Another memory, that is read."""
        if not Path(path).is_file() or not os.path.getsize(path):
            raise FileError(f"there is no memory at {path}; name the file of another device")
        return self.open(path, key_file)

    def open(self, path: str, key_file: str | None, *, keyring: bool = False) -> Memory:
        """Any memory, with what was said about zone and waiting."""
        from syncmem.memory import Memory

        opening = self.opening(key_file)
        return Memory(path, wait_seconds=self.wait, keyring=keyring, **opening)

    def memories(self, folder: str) -> Memories:
        """The memories of many users, as this would open each."""
        from syncmem.memories import Memories

        return Memories(folder, wait_seconds=self.wait, **self.opening(self.key))

    def opening(self, key_file: str | None) -> Any:
        """What Memory, join and recover are told alike."""
        return {
            "key": key_in(key_file),
            "zone": self.zone_name,
            "allow_cloud_folder": self.allow_cloud_folder,
            "embedder": os.environ.get("SYNCMEM_EMBEDDER", "auto"),
        }

    def check_exists(self) -> None:
        if not Path(self.db).exists():
            raise FileError(
                f"there is no memory at {self.db}; run 'syncmem init' to create it, or name another with --db"
            )

    @property
    def zone_name(self) -> str | None:
        """The IANA name for dates without a zone: --zone, else the system's, else None."""
        from syncmem.cli.zone import system_zone

        return self.zone or system_zone()

    @property
    def display_zone(self) -> tzinfo:
        """The zone in which times are shown."""
        from syncmem.model.instant import find_zone

        return find_zone(self.zone_name or "UTC")

    def show(self, data: object, text: Callable[[], str | None]) -> None:
        """Print a result: as JSON if asked for, else what ``text`` returns (None: it has printed itself)."""
        if self.json:
            click.echo(as_json(data))
        elif (shown := text()) is not None:
            click.echo(shown)


def key_in(file: str | None) -> bytes | str | None:
    """The key in a file, if one was named."""
    if file is None:
        return None
    from syncmem.replica.cipher import read_key_file

    return read_key_file(file)


def as_json(data: object) -> bytes:
    """JSON as UTF-8, whatever the terminal's encoding."""
    return json.dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")


def report(ctx: click.Context, error: SyncmemError) -> int:
    """Print an error of the library and return the exit code for it."""
    message = in_commands(_in_options(str(error), ctx), ctx)
    if ctx.ensure_object(Session).json:
        click.echo(as_json({"error": type(error).__name__, "message": message}), err=True)
    else:
        click.secho("error: ", fg="red", bold=True, nl=False, err=True)
        click.echo(message, err=True)
    return BUSY if isinstance(error, Busy) else REFUSED


def _in_options(message: str, ctx: click.Context) -> str:
    """The library's advice with the names of this command's options: ``since=`` is ``--since`` here."""
    command = ctx.command
    if isinstance(command, click.Group) and ctx.invoked_subcommand:
        command = command.commands[ctx.invoked_subcommand]
    options = {option.name: option.opts[0] for option in command.params if isinstance(option, click.Option)}

    def renamed(found: re.Match[str]) -> str:
        option = options.get(found["name"])
        value = "" if found["value"] == "True" else " " + found["value"]
        return f"{option}{value}".rstrip() if option else found[0]

    return re.sub(r"\b(?P<name>[a-z_]+)=(?P<value>True\b|'[^']*'|(?!\w))", renamed, message)


def in_commands(message: str, ctx: click.Context) -> str:
    """The library's advice with the names of commands: ``history()`` is 'syncmem history' here."""
    group = ctx.find_root().command
    verbs = group.commands if isinstance(group, click.Group) else {}

    def renamed(found: re.Match[str]) -> str:
        name = found["name"].replace("_", "-")
        said = re.findall(r"'([^']*)'", found["said"])
        return f"'{' '.join(['syncmem', name, *said])}'" if name in verbs else found[0]

    return re.sub(r"(?<![\w.])(?P<name>[a-z_]+)\((?P<said>('[^']*'(, '[^']*')*)?)\)", renamed, message)


def shared_options(*, environment: bool = False) -> Callable[[Command], Command]:
    """--db, --key-file, --json, --zone and --wait, which may stand before or after the verb.

    ``environment`` is for the group alone: a variable must not outweigh an option before the verb.
    """
    options = (
        click.option(
            "--db",
            metavar="PATH",
            envvar="SYNCMEM_DB" if environment else None,
            expose_value=False,
            callback=_keep,
            help="The memory's file.  [default: ./syncmem.db; variable: SYNCMEM_DB]",
            type=click.Path(dir_okay=False),
        ),
        click.option(
            "--key-file",
            "key",
            metavar="FILE",
            envvar="SYNCMEM_KEY_FILE" if environment else None,
            expose_value=False,
            callback=_keep,
            help="The key of an encrypted memory.  [variable: SYNCMEM_KEY_FILE]",
            type=click.Path(dir_okay=False),
        ),
        click.option(
            "--allow-cloud-folder",
            is_flag=True,
            expose_value=False,
            callback=_keep,
            help="Open the memory even in a folder that a service such as Dropbox copies.",
        ),
        click.option("--json", is_flag=True, expose_value=False, callback=_keep, help="Print JSON."),
        click.option(
            "--zone",
            metavar="NAME",
            envvar="SYNCMEM_ZONE" if environment else None,
            expose_value=False,
            callback=_keep,
            help="Zone of dates, such as Europe/Lisbon.  [default: the system's; variable: SYNCMEM_ZONE]",
        ),
        click.option(
            "--wait",
            metavar="SECONDS",
            type=click.FloatRange(min=0),
            expose_value=False,
            callback=_keep,
            help=f"How long to wait for other processes.  [default: {WAIT_SECONDS:.0f}]",
        ),
    )

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _keep(ctx: click.Context, option: click.Parameter, value: object) -> None:
    session = ctx.ensure_object(Session)
    if value is not None and value is not False:
        assert option.name is not None
        setattr(session, option.name, value)


class Verb(click.Command):
    """A command in which flags that answer one question exclude each other."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given: dict[str | None, list[str]] = {}
        for flag in self.params:
            if isinstance(flag, click.Option) and flag.is_flag and isinstance(flag.flag_value, str):
                given.setdefault(flag.name, []).extend(option for option in flag.opts if option in args)
        for several in given.values():
            if len(several) > 1:
                raise click.UsageError(f"{' and '.join(several)} exclude each other; give one of them.", ctx)
        return super().parse_args(ctx, args)


def verb(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command that is given the session first and has the shared options last."""

    def decorate(function: Callable[..., None]) -> click.Command:
        return click.command(name, cls=Verb)(shared_options()(click.pass_obj(function)))

    return decorate


def answered(ask: Callable[[], Answer], otherwise: str) -> Answer:
    """What somebody answers at the terminal; where nobody is there to be asked, an error that says what to do then."""
    try:
        return ask()
    except click.Abort as error:
        if is_terminal("stdin"):
            raise
        raise InvalidInput(f"nobody is here to be asked; {otherwise}") from error


def is_terminal(stream: str = "stdout") -> bool:
    return bool(getattr(sys, stream).isatty())
