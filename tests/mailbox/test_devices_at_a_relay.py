"""Devices that meet at a real relay: connections break, it is killed, it loses everything, they erase."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from syncmem import Environment, ManualClock
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Mailbox
from tests.mailbox.scripted import Cutting
from tests.mailbox.serving import RelayThread, process, running
from tests.sync.group import Group


def opener(address: Callable[[], str]) -> Callable[[str], Mailbox]:
    """A relay moves to another port when it starts again; waiting between tries takes no time."""
    return lambda _: Http(address(), environment=Environment(clock=ManualClock()))


def test_devices_agree_over_connections_that_break_anywhere(tmp_path: Path) -> None:
    random = Random(7)
    with running(tmp_path / "relay") as relay, Cutting(relay.port) as way:
        group = Group(tmp_path, "https://relay", opener(lambda: way.address))
        laptop = group.found()
        phone = group.pair("phone")
        for turn in range(6):
            laptop.remember("ana", f"fact {turn}", "of the laptop")
            phone.remember("ana", f"fact {turn}", "of the phone")
            way.cuts += [random.choice([0, 50, 120, 150, 200, 600, 2_000]) for _ in range(6)]
            group.sync("laptop", "phone")
        way.cuts.clear()
        group.settle()
        group.assert_in_sync()
        group.close()


def test_a_relay_that_is_killed_again_and_again_loses_nothing_and_needs_no_care(tmp_path: Path) -> None:
    with process(tmp_path / "relay") as relay:
        group = Group(tmp_path, "https://relay", opener(lambda: relay.address))
        laptop = group.found()
        phone = group.pair("phone")
        for turn in range(3):
            laptop.remember("ana", f"fact {turn}", "Lisbon")
            group.sync("laptop")
            relay.kill()
            (report,) = group.sync("phone")
            assert report.mailboxes[0].error is not None
            relay.start()
            group.sync("phone")
            assert phone.believe("ana", f"fact {turn}") is not None
        group.settle()
        group.assert_in_sync()
        group.close()


def test_a_relay_that_lost_its_disk_is_given_everything_again(tmp_path: Path) -> None:
    relay = RelayThread(tmp_path / "relay")
    group = Group(tmp_path, "https://relay", opener(lambda: relay.address))
    laptop = group.found()
    group.pair("phone")
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    relay.close()
    shutil.rmtree(tmp_path / "relay")
    relay.start()
    group.settle()
    group.assert_in_sync()
    newcomer = group.pair("tablet")
    group.settle()
    belief = newcomer.believe("ana", "city")
    assert belief is not None
    assert belief.value == "Lisbon"
    group.close()
    relay.close()


def test_what_devices_erase_leaves_no_sealed_byte_at_the_relay(tmp_path: Path) -> None:
    with running(tmp_path / "relay") as relay:
        group = Group(tmp_path, "https://relay", opener(lambda: relay.address))
        laptop = group.found()
        group.pair("phone")
        for turn in range(3):
            laptop.remember("bob", f"fact {turn}", "x" * 700)
            laptop.remember("ana", f"fact {turn}", "y" * 700)
            group.settle()
        before = sealed(relay)
        laptop.erase("bob")
        group.settle()
        gone = before - sealed(relay)
        assert len(gone) >= 3
        files = b"".join(path.read_bytes() for path in (tmp_path / "relay").rglob("*") if path.is_file())
        assert not any(blob[at : at + 16] in files for blob in gone for at in range(0, len(blob), 100))
        group.close()


def sealed(relay: RelayThread) -> set[bytes]:
    """All that the relay holds."""
    return {blob for (blob,) in relay.store._db.execute("SELECT blob FROM blobs WHERE size > 0").fetchall()}
