"""Verbs as JSON lines: checked before the first is written, all or none."""

from __future__ import annotations

import json

import pytest

from syncmem import NONE, InvalidInput, Memory
from syncmem.lines import apply

HOME = {"entity": "ana", "predicate": "home_city"}
LINES = [
    {"verb": "define", "predicate": "home_city", "cardinality": "single"},
    {
        "verb": "remember",
        "entity": "ana",
        "predicate": "home_city",
        "value": "Berlin",
        "changed_on": "2019-05-01T00:00Z",
    },
    {
        "verb": "remember",
        "entity": "ana",
        "predicate": "home_city",
        "value": "Lisbon",
        "changed_on": "2024-03-01T00:00Z",
        "source": {"kind": "document", "id": "letter", "span": [3, 9]},
        "observed_at": "2024-03-02T00:00Z",
        "trust": "user",
    },
    {"verb": "remember", "entity": "ana", "predicate": "car", "value": None},
]


def text(*lines: object) -> list[str]:
    return [json.dumps(line) + "\n" for line in lines]


def test_lines_are_written_in_order_and_each_gets_its_receipt() -> None:
    with Memory(":memory:") as memory:
        receipts = apply(memory, [*text(*LINES), "\n"])
        assert [str(receipt.decision) for receipt in receipts] == ["NOOP", "ADD", "UPDATE", "ADD"]
        belief = memory.believe("ana", "home_city")
        assert belief is not None and (belief.value, belief.source.id) == ("Lisbon", "letter")
        none = memory.believe("ana", "car")
        assert none is not None and none.value is NONE
        (retraction,) = apply(memory, text({"verb": "retract", "events": [receipts[2].event]}))
        assert str(retraction.decision) == "UPDATE"
        apply(memory, text({"verb": "undo", "event": retraction.event}))
        apply(memory, text({"verb": "correct", "event": receipts[2].event, "value": "Lisboa"}))
        corrected = memory.believe("ana", "home_city")
        assert corrected is not None and corrected.value == "Lisboa"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("{", "line 2"),
        ('{"verb": "remember", "entity": "ana"}', "predicate"),
        ('{"verb": "rememberr"}', "verb"),
        ('{"verb": "deny", "entity": "a", "predicate": "b", "value": 1, "colour": "red"}', "colour"),
        ('{"verb": "remember", "entity": "ana", "predicate": "p", "value": 1, "since": "yesterday"}', "line 2"),
        ('{"verb": "undo", "event": "no-such"}', "line 2"),
    ],
)
def test_one_wrong_line_writes_nothing(line: str, named: str) -> None:
    with Memory(":memory:") as memory:
        before = memory.belief_digest(), memory.event_digest()
        with pytest.raises(InvalidInput, match=named) as refused:
            apply(memory, [*text(LINES[1]), line])
        assert ";" in str(refused.value)
        assert (memory.belief_digest(), memory.event_digest()) == before
        assert memory.entities() == []


def test_a_line_may_follow_from_others_and_a_definition_may_ask_for_corroboration() -> None:
    with Memory(":memory:") as memory:
        define = {"verb": "define", "predicate": "time_zone", "cardinality": "single", "corroborated_by": 3}
        (root, _) = apply(memory, text({"verb": "remember", **HOME, "value": "Lisbon"}, define))
        follows = {"entity": "ana", "predicate": "time_zone", "value": "WET", "derived_from": [root.event]}
        (receipt,) = apply(memory, text({"verb": "remember", **follows}))
        assert memory.event(receipt.event).derived_from == (root.event,)
        assert memory.predicates()["time_zone"].corroborated_by == 3
        with pytest.raises(InvalidInput, match="corroborated_by is a number of sources"):
            apply(memory, text({**define, "corroborated_by": 1}))
