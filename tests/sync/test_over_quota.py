"""A device whose mailbox is full or asked too often loses nothing, says so, goes on reading, and sends it later."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from syncmem import Environment, ManualClock
from syncmem.cli.app import cli
from syncmem.relay.care import Care
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
        assert one.over_quota is not None
        assert one.over_quota.startswith("this mailbox is full; erase what nobody needs and sync again, or ask")
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


def test_a_full_mailbox_has_room_again_once_something_is_erased_and_what_waits_is_sent_by_itself(
    tmp_path: Path,
) -> None:
    limits = replace(SMALL, mailbox_bytes_max=96 * KIB)
    with running(tmp_path / "relay", limits) as relay:
        group = group_at(relay, tmp_path)
        laptop, phone = group.found(), group.pair("phone")
        group.settle()
        for number, name in enumerate(("bob", "ana", "joe", "eve", "eve")):
            laptop.remember(name, f"text {name}", long(number))
            laptop.sync()
        assert not laptop.status().in_sync
        assert "it takes no more" in str(laptop.status().mailboxes[0].trouble)
        laptop.erase("bob")
        report = laptop.sync()
        assert report.mailboxes[0].over_quota is not None, "that was not enough"
        laptop.erase("ana")
        group.settle()
        group.assert_in_sync()
        assert len(phone.beliefs("eve", "text eve")) == 2
        assert phone.believe("bob", "text bob") is None
        assert laptop.status().mailboxes[0].trouble is None
        assert all(erasure.complete for erasure in laptop.erasures())
        newcomer = group.pair("tablet")
        group.settle()
        assert len(newcomer.beliefs("eve", "text eve")) == 2
        group.assert_in_sync()
        assert Care(relay.store, os.urandom).mailboxes()[0]["bytes"] <= limits.mailbox_bytes_max
        group.close()


@pytest.mark.parametrize("alone", [False, True])
def test_a_mailbox_that_is_full_of_small_blobs_is_compacted_and_takes_more(tmp_path: Path, alone: bool) -> None:
    with running(tmp_path / "relay", SMALL) as relay:
        group = group_at(relay, tmp_path)
        laptop = group.found()
        if not alone:
            group.pair("phone")
        group.settle()
        taken = 0
        for number in range(75):
            laptop.remember("ana", f"fact {number}", Random(number).randbytes(150).hex())
            report = laptop.sync()
            taken += report.mailboxes[0].over_quota is None
        assert taken == 75 if alone else 40 < taken < 75
        group.settle()
        group.assert_in_sync()
        assert laptop.status().pending == 0
        newcomer = group.pair("tablet")
        group.settle()
        assert all(newcomer.believe("ana", f"fact {number}") is not None for number in range(75))
        group.assert_in_sync()
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
