"""Syncing in the background: soon after a write, from time to time, and never in anybody's way."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from syncmem import InvalidInput, Revoked, SyncReport
from tests.sync.group import Group

PATIENCE_SECONDS = 60.0


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def test_what_one_device_writes_reaches_another_without_a_call(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    with laptop.sync_in_background(every_seconds=3600), phone.sync_in_background(every_seconds=0.05):
        laptop.remember("ana", "city", "Porto")
        eventually(lambda: bool(phone.beliefs("ana", "city")))


def test_a_listener_is_told_and_its_errors_stop_nothing(group: Group) -> None:
    laptop = group.found()
    told: list[SyncReport] = []

    def listen(report: SyncReport) -> None:
        told.append(report)
        raise RuntimeError("mine")

    with laptop.sync_in_background(every_seconds=0.05, on_report=listen) as syncing:
        eventually(lambda: len(told) > 2)
        assert syncing.running
        assert syncing.report is not None
        assert syncing.report.complete


def test_a_removed_device_stops_and_says_why(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    with phone.sync_in_background(every_seconds=0.05) as syncing:
        laptop.revoke("phone")
        laptop.sync()
        eventually(lambda: not syncing.running)
        assert isinstance(syncing.error, Revoked)


def test_a_mailbox_that_is_away_is_tried_again(group: Group) -> None:
    laptop = group.found()
    laptop.remove_mailbox(group.address)
    with laptop.sync_in_background(every_seconds=0.05) as syncing:
        eventually(lambda: isinstance(syncing.error, InvalidInput))  # no mailbox is known
        laptop.add_mailbox(group.address)
        eventually(lambda: syncing.report is not None)
        assert syncing.error is None


def test_closing_the_memory_ends_it(group: Group) -> None:
    laptop = group.found()
    syncing = laptop.sync_in_background(every_seconds=0.05)
    laptop.close()
    assert not syncing.running


def test_time_between_syncs_is_positive(group: Group) -> None:
    with pytest.raises(InvalidInput, match="positive"):
        group.found().sync_in_background(every_seconds=0)


def test_devices_tell_how_far_apart_they_are(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    for number in range(5):
        laptop.remember("ana", "diary", number)
    (phone,) = [device for device in laptop.status().devices if device.name == "phone"]
    assert (phone.behind, phone.ahead) == (5, 0)
    group.settle()
    (phone,) = [device for device in laptop.status().devices if device.name == "phone"]
    assert (phone.behind, phone.ahead, phone.verified) == (0, 0, True)
