"""Clocks that are half a century off: everybody comes together, the wrong one is named, and nobody follows it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sync.group import Group

YEAR = timedelta(days=365)


def off(group: Group, name: str, by: timedelta) -> None:
    group.clocks[name].time += by // timedelta(microseconds=1)


@pytest.mark.parametrize("years", [-50, 50])
def test_devices_with_a_wrong_clock_sync_pair_and_are_let_in(group: Group, years: int) -> None:
    laptop = group.found()
    group.pair("phone")
    group.environment("tablet")
    off(group, "tablet", years * YEAR)
    group.pair("tablet")
    for name, memory in group.devices.items():
        memory.remember("ana", "diary", name)
    group.settle()
    group.assert_in_sync()
    for name, memory in group.devices.items():
        assert len(memory.beliefs("ana", "diary", valid_at="2100-01-01")) == 3
        assert abs(memory._replica.now() - group.clocks[name].time) < 300_000_000, "nobody's clock is dragged along"
    laptop.revoke("tablet")
    group.settle("laptop", "phone")
    group.assert_in_sync("laptop", "phone")


def test_the_device_whose_clock_is_ahead_is_named_and_what_it_wrote_is_corrected(group: Group) -> None:
    laptop, phone, tablet = group.found(), group.pair("phone"), group.pair("tablet")
    laptop.define("city", cardinality="single")
    group.settle()
    off(group, "tablet", 50 * YEAR)
    wrong = tablet.remember("ana", "city", "Rome").event
    group.settle()
    group.pass_time()
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    (problem,) = [one for one in laptop.doctor().problems if "clock" in one]
    assert tablet.status().device in problem
    assert wrong.partition("-")[0] in problem
    assert [one for one in tablet.doctor().problems if "clock" in one] == []
    off(group, "tablet", -50 * YEAR)
    phone.correct_clock(wrong, -50 * YEAR)
    group.settle()
    for memory in (laptop, phone, tablet):
        assert memory.believe("ana", "city").value == "Lisbon"
        assert [one for one in memory.doctor().problems if "clock" in one] == []
    group.assert_in_sync()


def test_a_device_whose_clock_is_behind_is_told_to_set_it(group: Group) -> None:
    laptop, phone, tablet = group.found(), group.pair("phone"), group.pair("tablet")
    off(group, "tablet", -50 * YEAR)
    for memory in (laptop, phone, tablet):
        memory.remember("ana", "diary", "x")
    group.settle()
    assert any("set this device's clock" in one for one in tablet.doctor().problems)
    assert not any("clock" in one for one in laptop.doctor().problems)
