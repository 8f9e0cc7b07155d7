"""The verb that serves, and the care of what it keeps: the relay."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from syncmem.cli.migrate import migrate
from syncmem.cli.session import NOTABLE, Session, shared_options, verb
from syncmem.errors import InvalidInput

if TYPE_CHECKING:
    from syncmem.relay.config import Settings

MIB: Final = 1024 * 1024
Command = TypeVar("Command", bound=Callable[..., Any])


def where_options(command: Command) -> Command:
    """--config, --data, --store and --blobs: where a relay keeps its blobs."""
    options = (
        click.option("--config", "file", metavar="FILE", help="A TOML file with any of the settings."),
        click.option("--data", metavar="DIR", help="Where the relay keeps its blobs."),
        click.option("--store", metavar="URL", help="Instead: postgres://..., for any number of relays."),
        click.option("--blobs", metavar="URL", help="Where blobs of more than 64 KiB go: s3://BUCKET/PREFIX."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group("relay", invoke_without_command=True)
@where_options
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0: any free one.  [default: 8750]")
@click.option("--tls-cert", metavar="FILE", help="Serve TLS with this certificate (PEM).")
@click.option("--tls-key", metavar="FILE", help="Its private key (PEM).")
@click.option("--store-mib", type=click.IntRange(min=1), help="How large the store may grow.  [default: the disk]")
@click.option("--mailbox-mib", type=click.IntRange(min=1), help="How much one mailbox may hold.  [default: 4096]")
@click.option("--connections", type=click.IntRange(min=1), help="How many may be open at once.  [default: 256]")
@click.option("--streams", type=click.IntRange(min=0), help="How many may listen at once.  [default: 4096]")
@click.option("--metrics", metavar="HOST:PORT", help="Show /metrics there; 'main': beside the rest.  [default: off]")
@click.option("--log", type=click.Choice(["text", "json"]), help="How lines of the log look.  [default: text]")
@click.option("--access-log", is_flag=True, default=None, help="Tell of each request: no address, no mailbox.")
@shared_options()
@click.pass_context
def relay(
    ctx: click.Context, /, store_mib: int | None, mailbox_mib: int | None, connections: int | None, streams: int | None,
    **options: Any,
) -> None:  # fmt: skip
    """Run a relay: devices meet there, and it can read nothing of what it keeps.

    \b
      syncmem relay --data DIR                      for this machine, or a proxy that ends TLS
      syncmem relay --config relay.toml             every setting: examples/relay/relay.toml
      syncmem relay verify --data DIR               while it runs, or not

    Sync with its address: syncmem sync https://relay.example.org
    """
    if ctx.invoked_subcommand is not None:
        return
    from_mib = {"store_bytes_max": store_mib, "mailbox_bytes_max": mailbox_mib}
    limits = {name: value * MIB for name, value in from_mib.items() if value is not None}
    settings = _settings(limits=limits | {"connections_max": connections, "streams_max": streams}, **options)
    from syncmem.relay.server import serve

    serve(settings, ready=lambda url: click.echo(f"relay at {url}"))


def _settings(file: str | None, **options: Any) -> Settings:
    try:
        from syncmem.relay import server  # noqa: F401
        from syncmem.relay.config import load
    except ImportError as error:
        raise InvalidInput("the relay needs an extra; pip install 'syncmem[relay]'") from error
    return load(None if file is None else Path(file), os.environ, options)


def care(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command under the relay, about its store."""

    def decorate(function: Callable[..., None]) -> click.Command:
        command = verb(name)(where_options(function))
        relay.add_command(command)
        return command

    return decorate


@care("check-config")
def check_config(session: Session, **where: Any) -> None:
    """Whether a relay would start with these settings, as far as that can be told without starting it."""
    settings = _settings(**where)
    data = settings.model_dump(mode="json")
    session.show(data, lambda: f"The settings are right; blobs go to {settings.place}.")


@care("verify")
def verify(session: Session, **where: Any) -> None:
    """Whether every blob is there and as it was put. The relay may run meanwhile."""
    found = _asked(_settings(**where), "verify")
    session.show(found, lambda: _verified(found))
    if found["problem_count"]:
        raise click.exceptions.Exit(NOTABLE)


def _verified(found: dict[str, Any]) -> str:
    what = f"{found['mailboxes']} mailboxes, {found['blobs']} blobs, {found['bytes']} bytes"
    return "\n".join([f"{what}: {found['problem_count'] or 'no'} problems.", *found["problems"]])


@care("mailboxes")
def mailboxes(session: Session, **where: Any) -> None:
    """The mailboxes by size: handle, id, bytes, blobs, streams, and a quota of its own."""
    found = _asked(_settings(**where), "mailboxes")
    session.show(found, lambda: "\n".join(map(_line, found)) or None)


def _line(found: dict[str, Any]) -> str:
    quota = "" if found["quota"] is None else f"  quota {found['quota']}"
    held = f"{found['bytes']:>12} bytes  {found['blobs']:>7} blobs  {found['streams']} streams"
    return f"{found['handle']}  {found['mailbox']}  {held}{quota}"


@care("quota")
@click.argument("mailbox")
@click.argument("mib", type=click.IntRange(min=0), required=False)
@click.option("--usual", is_flag=True, help="No quota of its own any more.")
def quota(session: Session, mailbox: str, mib: int | None, usual: bool, **where: Any) -> None:
    """How much MAILBOX (an id or a handle) may hold, or that it may hold MIB MiB from now on."""
    bytes_max = None if mib is None else mib * MIB
    found = _asked(_settings(**where), "quota", mailbox=mailbox, bytes_max=bytes_max, usual=usual)
    session.show(found, lambda: _line(found))


@care("gc")
def gc(session: Session, **where: Any) -> None:
    """Give back the space of what devices have dropped. Nothing is deleted because it is old."""
    found = _asked(_settings(**where), "gc")
    session.show(found, lambda: f"{found['bytes']} bytes given back, {found['objects']} objects removed.")


@care("backup")
@click.argument("path")
def backup(session: Session, path: str, **where: Any) -> None:
    """A copy of the store as of now in the new file PATH. The relay may run meanwhile."""
    from syncmem.relay.care import Care
    from syncmem.relay.control import Running

    settings = _folder(_settings(**where))
    running = Running.at(settings.place)
    if running is not None:
        running.backup(path)
    else:
        with closing(_store(settings)) as store:
            Care(store, os.urandom).backup(path)
    session.show({"backup": path}, lambda: f"Backed up to {path}; put it back with 'syncmem relay restore'.")


@care("restore")
@click.argument("path")
@click.option("--overwrite", is_flag=True, help="Put it in the place of the store that is there, which is kept beside.")
def restore(session: Session, path: str, overwrite: bool, **where: Any) -> None:
    """Make the backup PATH the store of a relay, which is stopped. Devices send what is missing."""
    from syncmem.relay import restoring

    settings = _folder(_settings(**where))
    found = restoring.restore(path, settings.place, blobs=settings.blobs, overwrite=overwrite)
    session.show(found, lambda: f"{_verified(found)}\nRestored; start the relay, and devices send what is missing.")


@care("restored")
def restored(session: Session, **where: Any) -> None:
    """Say that a database was put back from a backup by its own tools (pg_restore). Devices send what is missing."""
    from syncmem.relay import restoring

    settings = _settings(**where)
    count = restoring.renew(settings.place, settings.blobs)
    session.show({"mailboxes": count}, lambda: f"{count} mailboxes; devices look what is missing, and send it.")


def _asked(settings: Settings, what: str, **asked: Any) -> Any:
    """The answer of the relay that runs on a folder, or of the store itself: a database is open to several."""
    from syncmem.relay.care import Care
    from syncmem.relay.control import Running
    from syncmem.relay.file import for_the_operator

    running = None if settings.data is None else Running.at(settings.data)
    if running is not None:
        return running.ask(what, **asked)
    with closing(_store(settings)) as store, for_the_operator():
        return getattr(Care(store, os.urandom), what)(**asked)


def _folder(settings: Settings) -> Settings:
    if settings.data is None:
        raise InvalidInput("this is for a store in a folder; a database has its own tools (pg_dump)")
    return settings


def _store(settings: Settings) -> Any:
    from syncmem.relay.opening import check_is_there, open_store

    check_is_there(settings.place)
    serving = settings.data is not None  # a database's relays go on meanwhile: no other one comes
    return open_store(settings.place, os.urandom, settings.limit_values, blobs=settings.blobs, serving=serving)


relay.add_command(migrate)
