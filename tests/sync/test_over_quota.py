"""A device whose mailbox is full or asked too often loses nothing, says so, goes on reading, and sends it later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from click.testing import CliRunner

from syncmem import Environment, ManualClock
from syncmem.cli.app import cli
from syncmem.relay.limits import Limits
from syncmem.sync.http import Http
from syncmem.sync.room import FULL_AFTER
from tests.mailbox.serving import RelayThread, running
from tests.sync.group import Group
from tests.sync.test_background import eventually

KIB = 1024
SMALL = Limits(mailbox_bytes_max=48 * KIB)


def group_at(relay: RelayThread, folder: Path) -> Group:
    return Group(folder, "https://relay", lambda _: Http(relay.address, environment=Environment(clock=ManualClock())))


def long(n: int) -> str:
    """Some 40 KiB that no compression makes small."""
    return Random(n).randbytes(20 * KIB).hex()


def restarted(relay: RelayThread, limits: Limits) -> None:
    relay.close()
    relay.limits = limits
    relay.start()


def test_a_full_mailbox_takes_no_more_and_what_waits_is_sent_when_it_has_room(tmp_path: Path) -> None:
    with running(tmp_path / "relay", SMALL) as relay:
        group = group_at(relay, tmp_path)
        laptop, phone = group.found(), group.pair("phone")
        group.settle()
        phone.remember("ana", "small", "of the phone")
        laptop.remember("ana", "photo", long(9))
        for n in range(4):
            laptop.remember("ana", f"text {n}", long(n))
        phone.sync()
        report = laptop.sync()
        (one,) = report.mailboxes
        assert not report.complete
        assert one.error is None
        assert one.over_quota == "this mailbox is full; compact it, or tell the relay's operator"
        assert laptop.believe("ana", "small") is not None, "a failed upload holds up no download"
        status = laptop.status()
        assert not status.in_sync
        assert status.pending > 0
        assert "it takes no more: this mailbox is full" in str(status.mailboxes[0].trouble)
        told = CliRunner().invoke(cli, ["--db", str(group.path("laptop")), "status"]).output
        assert "it takes no more: this mailbox is full" in told

        restarted(relay, replace(SMALL, mailbox_bytes_max=1024 * KIB))
        group.settle()
        group.assert_in_sync()
        assert phone.believe("ana", "text 3") is not None
        assert laptop.status().mailboxes[0].trouble is None
        group.close()


def test_what_syncs_by_itself_offers_the_same_bytes_again_only_after_a_while(tmp_path: Path) -> None:
    with running(tmp_path / "relay", SMALL) as relay:
        group = group_at(relay, tmp_path)
        laptop = group.found()
        group.settle()
        for n in range(4):
            laptop.remember("ana", f"text {n}", long(n))
        assert laptop._synced((), patient=True)[0].outcomes.full is not None
        restarted(relay, replace(SMALL, mailbox_bytes_max=1024 * KIB))
        assert laptop._synced((), patient=True)[0].outcomes.sent == 0
        assert "it takes no more" in str(laptop.status().mailboxes[0].trouble)
        group.clocks["laptop"].time += FULL_AFTER
        assert laptop._synced((), patient=True)[0].outcomes.sent > 0
        assert laptop.status().pending == 0
        group.close()


def test_a_device_that_asks_too_much_is_told_until_when_and_asks_nothing_meanwhile(tmp_path: Path) -> None:
    with running(tmp_path / "relay") as relay:
        group = group_at(relay, tmp_path)
        laptop = group.found()
        group.settle()
        restarted(relay, Limits(mailbox_bytes_second=1))
        laptop.sync()
        report = laptop.sync()
        (one,) = report.mailboxes
        assert one.retry_after is not None
        assert one.retry_after > 60
        assert "asks too much" in str(one.over_quota)
        assert "asks too much" in str(laptop.status().mailboxes[0].trouble)
        asked = len(relay.said)
        with laptop.sync_in_background(every_seconds=0.05) as syncing:
            eventually(lambda: bool(syncing._resting))
            once = len(relay.said)
            assert once - asked <= 3  # tries of one question
            for number in range(20):
                laptop.remember("ana", f"fact {number}", "x")
                syncing.wake()
            eventually(lambda: not syncing._asked)
        assert len(relay.said) - once <= 1  # who listens may have tried
        group.close()
