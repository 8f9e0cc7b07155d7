"""Questions over a real sync: asked on every device, answered on one, closed on all, whoever syncs first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from syncmem import Answer, Candidate, Memory, ModelMatcher, Question, Source
from syncmem.environment import seeded_randomness
from syncmem.judging.candidate import NOW
from syncmem.sync.in_memory import InMemoryServer
from tests.sync.group import Group

USER, MAIL = Source(kind="user"), Source("document", "mail-7")
NAMES = ("laptop", "phone", "tablet")


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    server = InMemoryServer(seeded_randomness(9))
    group = Group(tmp_path, "memory:", server.mailbox, [server])
    group.found("laptop").define_pack("personal")
    for name in NAMES[1:]:
        group.pair(name)
    group.settle()
    yield group
    group.close()


def hear(group: Group, name: str, *candidates: Candidate) -> None:
    group.devices[name].submit([replace(each, observed_at=each.observed_at or NOW) for each in candidates])
    group.pass_time()
    group.devices[name].consolidate()
    group.pass_time()


def asked_everywhere(group: Group) -> Question:
    """The one question, which is the same on every device."""
    (first,), *others = [memory.questions() for memory in group.devices.values()]
    assert all(each.id == first.id and each.text == first.text for (each,) in others)
    return first


@pytest.mark.parametrize("order", list(permutations(NAMES))[::2], ids="-".join)
@pytest.mark.parametrize("answer", [Answer.KEEP, "Porto", Answer.NEITHER])
def test_a_contested_slot_is_closed_everywhere(group: Group, answer: object, order: tuple[str, ...]) -> None:
    hear(group, "laptop", Candidate("ana", "home_city", "Lisbon", source=USER))
    hear(group, "phone", Candidate("ana", "home_city", "Porto", source=MAIL, observed_at="2026-06-15T14:00Z"))
    group.settle(*order)
    question = asked_everywhere(group)
    group.pass_time()
    group.devices[order[0]].answer(question.id, answer)
    group.settle(*reversed(order))
    assert all(memory.questions() == () for memory in group.devices.values())
    group.assert_in_sync()


@pytest.mark.parametrize("name", ["legal_name", "email", "payment_method"])
def test_a_sensitive_value_asks_on_every_device_until_one_confirms_it(group: Group, name: str) -> None:
    hear(group, "tablet", Candidate("ana", name, "value", source=USER))
    group.settle()
    assert asked_everywhere(group).kind == "sensitive"
    group.pass_time()
    group.devices["phone"].answer(asked_everywhere(group), Answer.KEEP)
    group.settle("tablet", "laptop", "phone")
    assert all(memory.questions() == () for memory in group.devices.values())


def test_two_answers_on_two_devices_that_have_not_met_leave_the_later_one_and_no_question(group: Group) -> None:
    hear(group, "laptop", Candidate("ana", "home_city", "Lisbon", source=USER))
    hear(group, "phone", Candidate("ana", "home_city", "Porto", source=MAIL, observed_at="2026-06-15T14:00Z"))
    group.settle()
    question = asked_everywhere(group)
    group.pass_time()
    group.devices["phone"].answer(question.id, "Porto")
    group.pass_time()
    group.devices["tablet"].answer(question.id, Answer.KEEP)
    group.settle()
    assert {current(memory) for memory in group.devices.values()} == {"Lisbon"}
    assert all(memory.questions() == () for memory in group.devices.values())


def test_an_unsure_match_keeps_both_open_and_its_answer_settles_what_another_device_doubts(group: Group) -> None:
    """The question is asked where the name was heard; the answer is a definition, which travels."""
    hear(group, "laptop", Candidate("ana", "home_city", "Lisbon", source=USER))
    for name in ("phone", "tablet"):
        group.devices[name].submit(Candidate("ana", "hometown", "Porto", observed_at=NOW, source=USER))
        group.pass_time()
        group.devices[name].consolidate(matcher=ModelMatcher(lambda prompt: '"home_city"'))
    group.settle()
    assert [len(group.devices[name].questions()) for name in NAMES] == [0, 1, 1]
    assert current(group.devices["laptop"]) == "Lisbon"
    assert [belief.value for belief in group.devices["laptop"].beliefs("ana", "hometown")] == ["Porto"]
    group.pass_time()
    phone = group.devices["phone"]
    phone.answer(phone.questions()[0], "home_city")
    group.settle("tablet", "phone", "laptop")
    group.pass_time()
    group.devices["tablet"].consolidate()
    group.settle()
    assert all(memory.questions() == () for memory in group.devices.values())
    assert all([b.predicate for b in memory.beliefs("ana")] == ["home_city"] for memory in group.devices.values())
    assert {current(memory) for memory in group.devices.values()} == {"Porto"}


def current(memory: Memory) -> object:
    belief = memory.believe("ana", "home_city")
    return belief and belief.value
