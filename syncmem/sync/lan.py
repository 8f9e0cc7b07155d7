"""Mailboxes on the same network: a device that serves one is found by its name, whatever address it has today.

Rules: what is announced is a name that the user chose and a port, nothing of who is in which vault; who answers under
a name may be anybody, and can read nothing: what is there is sealed and signed like at any relay.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from typing import Any, Final

from syncmem.errors import InvalidInput, Unreachable
from syncmem.wire.mailbox import Mailbox

SERVICE: Final = "_syncmem._tcp.local."
SCHEME: Final = "lan:"
FIND_SECONDS: Final = 3.0
NAME_LETTERS_MAX: Final = 40


def find(address: str, seconds: float = FIND_SECONDS) -> str:
    """The address over HTTP of ``lan:NAME``.

    Raises:
        Unreachable: nobody serves under that name here, or it cannot be looked for.
        InvalidInput: it is no name, or the extra is not installed.
    """
    name = checked_name(address.removeprefix(SCHEME))
    zeroconf = _library()
    try:
        with zeroconf.Zeroconf() as looking:
            info = looking.get_service_info(SERVICE, f"{name}.{SERVICE}", timeout=int(seconds * 1000))
    except OSError as error:
        raise Unreachable(f"the network cannot be searched ({error}); connect to it, or use http://ADDRESS") from error
    found = [] if info is None else sorted(info.parsed_addresses(), key=lambda each: ":" in each)
    if info is None or not found:
        raise Unreachable(f"no device serves as {name!r} on this network; run 'syncmem serve --lan' there")
    host = f"[{found[0]}]" if ":" in found[0] else found[0]
    return f"http://{host}:{info.port}"


def open_found(address: str) -> Mailbox:
    """The way to the mailboxes of ``lan:NAME``, where it is now."""
    from syncmem.sync.http import Http

    return Http(find(address))


@contextmanager
def announced(name: str, port: int) -> Iterator[bool]:
    """While the block runs, ``lan:NAME`` is found; False where that is not possible."""
    try:
        zeroconf = _library()
        announcing = zeroconf.Zeroconf()
    except (InvalidInput, OSError):
        yield False
        return
    addresses = [socket.inet_aton(each) for each in addresses_here()]
    info = zeroconf.ServiceInfo(SERVICE, f"{checked_name(name)}.{SERVICE}", port=port, addresses=addresses)
    try:
        announcing.register_service(info)
        yield True
    except zeroconf.NonUniqueNameException as error:
        raise InvalidInput(f"another device serves as {name!r} on this network; choose another --name") from error
    finally:
        announcing.close()


def checked_name(name: str) -> str:
    """A name that can be announced.

    Raises:
        InvalidInput: it cannot.
    """
    if not 0 < len(name) <= NAME_LETTERS_MAX or not all(letter.isalnum() or letter in "-_ " for letter in name):
        raise InvalidInput(f"{name!r} cannot be announced; use up to {NAME_LETTERS_MAX} letters, digits and hyphens")
    return name


def addresses_here() -> list[str]:
    """The addresses (IPv4) under which others on the network reach this machine, the likeliest first."""
    found: list[str] = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect(("192.0.2.1", 9))  # nothing is sent
        found.append(asking.getsockname()[0])
    try:
        import ifaddr
    except ImportError:
        pass  # then it is known only where there is a way out of this network
    else:
        found += [str(ip.ip) for adapter in ifaddr.get_adapters() for ip in adapter.ips if ip.is_IPv4]
    return [each for each in dict.fromkeys(found) if not ip_address(each).is_loopback]


def _library() -> Any:
    try:
        import zeroconf
    except ImportError as error:
        raise InvalidInput("finding devices by name needs an extra; pip install 'syncmem[lan]'") from error
    return zeroconf
