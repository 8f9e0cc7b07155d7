"""What a device wrote just before it was removed counts, on every device, as far as the one that removed it had it."""

from __future__ import annotations

import pytest

from syncmem import Memory
from tests.sync.group import Group


def told_of_the_removal(memory: Memory, by: Memory) -> None:
    """The vault's statements arrive, and no event with them."""
    known = by._syncer.vault.roster.statements_in_order()
    with memory.transaction():
        memory._syncer.vault.add(known)


@pytest.mark.parametrize("first", ["the removal", "the events"])
@pytest.mark.parametrize("arrived", [True, False], ids=["had arrived at the remover", "had not arrived"])
def test_what_was_written_just_before_a_removal_counts_if_the_remover_had_it(
    group: Group, first: str, arrived: bool
) -> None:
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    laptop.define("city", cardinality="single")
    laptop.remember("ana", "city", "Berlin")
    group.settle()
    group.pass_time()
    phone.remember("ana", "city", "Lisbon")
    if arrived:
        group.sync("phone", "laptop")
    laptop.revoke("phone")
    if not arrived:
        group.sync("phone")  # which has not heard of it, and writes where the others still look
    if first == "the removal":
        told_of_the_removal(tablet, laptop)
        assert tablet.believe("ana", "city").value == "Berlin"  # type: ignore[union-attr]
    else:
        tablet.merge(phone)
        assert tablet.believe("ana", "city").value == "Lisbon"  # type: ignore[union-attr]
        told_of_the_removal(tablet, laptop)
    tablet.merge(phone)
    group.settle("laptop", "tablet")
    for memory in (laptop, tablet):
        assert memory.believe("ana", "city").value == ("Lisbon" if arrived else "Berlin")  # type: ignore[union-attr]
        told = {entry.value for entry in memory.history("ana", "city") if isinstance(entry.value, str)}
        assert told == {"Berlin", "Lisbon"}  # kept all the same
    group.assert_in_sync("laptop", "tablet")
    laptop.adopt("phone")
    group.settle("laptop", "tablet")
    for memory in (laptop, tablet):
        assert memory.believe("ana", "city").value == "Lisbon"  # type: ignore[union-attr]
