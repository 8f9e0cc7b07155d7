"""A device serves a mailbox to others on the same network: two processes, and two networks that share a wire."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from syncmem.errors import InvalidInput, Unreachable
from syncmem.sync.lan import addresses_here, announced, checked_name, find

SECONDS_MAX = 60
HERE, THERE = "198.51.100.1", "198.51.100.2"


def syncmem(folder: Path, *words: str, at: tuple[str, ...] = (), **more: Any) -> subprocess.Popen[str]:
    command = [*at, sys.executable, "-m", "syncmem", *words]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, **more
    )


def done(process: subprocess.Popen[str]) -> str:
    told, why = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, told + why
    return told


@contextmanager
def serving(folder: Path, *options: str, at: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """The addresses of a laptop that serves."""
    process = syncmem(folder, "--db", "laptop.db", "serve", "--json", *options, at=at)
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.communicate()
            text += line
        yield json.loads(text)["addresses"]
    finally:
        process.terminate()
        _, said = process.communicate(timeout=SECONDS_MAX)
        assert "Traceback" not in said, said


def story(folder: Path, address: str, laptop_at: tuple[str, ...] = (), phone_at: tuple[str, ...] = ()) -> None:
    """A phone joins through what the laptop serves; then each learns what the other wrote, from the background."""
    inviting = syncmem(folder, "--db", "laptop.db", "invite", address, "--yes", "--json", at=laptop_at)
    assert inviting.stderr is not None
    while not (code := inviting.stderr.readline().strip()).startswith("SYNCMEM-"):
        assert inviting.poll() is None, code
    done(syncmem(folder, "--db", "phone.db", "join", code, at=phone_at))
    done(inviting)
    done(syncmem(folder, "--db", "phone.db", "remember", "ana", "city", "Lisbon", at=phone_at))
    done(syncmem(folder, "--db", "phone.db", "sync", at=phone_at))


def test_a_phone_syncs_with_what_a_laptop_serves_and_the_laptop_hears_of_it(tmp_path: Path) -> None:
    done(syncmem(tmp_path, "--db", "laptop.db", "init"))
    with serving(tmp_path, "--port", "0") as (address,):
        story(tmp_path, address)
    with serving(tmp_path, "--port", address.rpartition(":")[2]):
        believed(tmp_path, "laptop.db", "Lisbon")
        done(syncmem(tmp_path, "--db", "laptop.db", "remember", "ana", "language", "Portuguese"))
        until_known(tmp_path, "phone.db", "language", "Portuguese")


def believed(folder: Path, db: str, value: str) -> None:
    """The device in the background has it, soon."""
    deadline = time.monotonic() + SECONDS_MAX
    while value not in syncmem(folder, "--db", db, "believe", "ana", "city").communicate()[0]:
        assert time.monotonic() < deadline


def until_known(folder: Path, db: str, predicate: str, value: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while value not in syncmem(folder, "--db", db, "believe", "ana", predicate).communicate()[0]:
        done(syncmem(folder, "--db", db, "sync"))
        assert time.monotonic() < deadline


# -- two networks -----------------------------------------------------------------------------------------


@pytest.fixture
def two_networks() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """How to run something in each of two network namespaces that share a wire."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2 on Linux")
    names = [f"syncmem-{os.getpid()}-{side}" for side in "ab"]
    ends = [f"sm{os.getpid() % 100_000}{side}" for side in "ab"]

    def ip(*words: str) -> bool:
        return subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0

    try:
        right = all(ip("netns", "add", name) for name in names)
        right = right and ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end, address in zip(names, ends, (HERE, THERE), strict=True):
            right = right and ip("link", "set", end, "netns", name)
            right = right and ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            right = right and ip("-n", name, "link", "set", end, "up") and ip("-n", name, "link", "set", "lo", "up")
            right = right and ip("netns", "exec", name, "true")
        if not right:
            pytest.skip("network namespaces cannot be made here")
        here, there = (("ip", "netns", "exec", name) for name in names)
        yield here, there
    finally:
        for name in names:
            ip("netns", "del", name)


def test_a_phone_elsewhere_on_the_network_uses_the_address_that_is_told(
    tmp_path: Path, two_networks: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    here, there = two_networks
    done(syncmem(tmp_path, "--db", "laptop.db", "init"))
    with serving(tmp_path, "--lan", "--port", "0", at=here) as addresses:
        assert addresses[0].startswith(f"http://{HERE}:")
        story(tmp_path, addresses[0], here, there)


# -- names ------------------------------------------------------------------------------------------------


def multicast_comes_back() -> bool:
    """Whether what this machine says to a group reaches a member of the group on it."""
    group = socket.inet_aton("239.255.77.77") + socket.inet_aton(addresses_here()[0])
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hearing,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as saying,
    ):
        hearing.settimeout(2)
        hearing.bind(("", 0))
        hearing.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
        saying.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, group[4:])
        saying.sendto(b"?", ("239.255.77.77", hearing.getsockname()[1]))
        return hearing.recv(10) == b"?"
    return False


def test_a_device_is_found_by_its_name_while_it_serves() -> None:
    pytest.importorskip("zeroconf")
    if not addresses_here() or not multicast_comes_back():
        pytest.skip("no network here, or one without multicast")
    name = f"laptop {os.getpid()}"
    with announced(name, 8751) as possible:
        if not possible:
            pytest.skip("nothing can be announced here")
        assert find(f"lan:{name}", 20.0) == f"http://{addresses_here()[0]}:8751"
    with pytest.raises(Unreachable, match="run 'syncmem serve --lan' there"):
        find("lan:nobody", 0.2)


@pytest.mark.parametrize("name", ["", "x" * 41, "a.b", "a/b"])
def test_a_name_that_cannot_be_announced_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be announced"):
        checked_name(name)
