"""The verb by which a device serves a mailbox to others on the same network."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

import click

from syncmem.cli.session import Session, verb
from syncmem.errors import InvalidInput

PORT: Final = 8751
FOLDER_SUFFIX: Final = ".mailbox"  # beside the memory's file


@verb("serve")
@click.option("--lan", is_flag=True, help="To others on the network, not only to this machine.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0: any free one.")
@click.option("--name", metavar="NAME", help="Be found as lan:NAME (needs 'syncmem[lan]').  [default: not announced]")
def serve(session: Session, lan: bool, port: int, name: str | None) -> None:
    """Serve a mailbox to other devices, and keep this one in sync with it.

    \b
      syncmem serve --lan                           here
      syncmem sync http://192.168.1.5:8751          on another device of the vault

    The first time, while it runs: syncmem invite http://192.168.1.5:8751. What lies in it is sealed as at any
    relay; a password or a certificate would add nothing.
    """
    try:
        from syncmem.relay.config import Settings
        from syncmem.relay.server import serve as serve_relay
        from syncmem.sync.http import library
    except ImportError as error:
        raise InvalidInput("serving needs two extras; pip install 'syncmem[http,relay]'") from error
    from syncmem.sync.lan import addresses_here, announced, checked_name

    library()
    if name is not None:
        checked_name(name)
    settings = Settings(data=Path(session.db + FOLDER_SUFFIX), host="0.0.0.0" if lan else "127.0.0.1", port=port)
    with session.memory() as memory, ExitStack() as open_until_the_end:

        def begin(url: str) -> None:
            taken = int(url.rpartition(":")[2])
            own = f"http://127.0.0.1:{taken}"
            if memory.status().vault is not None:
                memory.add_mailbox(own)
                open_until_the_end.callback(memory.remove_mailbox, own)
                open_until_the_end.enter_context(memory.sync_in_background())
            told = [f"http://{each}:{taken}" for each in (addresses_here() if lan else ["127.0.0.1"])]
            if name is not None and open_until_the_end.enter_context(announced(name, taken)):
                told.append(f"lan:{name}")
            session.show({"addresses": told}, lambda: "Sync the other devices with any of:\n" + "\n".join(told))

        serve_relay(settings, ready=begin)
