"""What is exported: events that come back whole, and what is believed, for people and for other tools."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, InvalidInput, ManualClock, Memory, NotCanonical
from syncmem.environment import Environment, seeded_randomness
from syncmem.exporting.markdown import literal, value
from syncmem.replica import event_lines
from syncmem.replica.driver import dbapi
from tests.fuzz.targets import ended

NOW = 1_760_000_000_000_000  # in October 2025


def memory(path: Path | str = ":memory:", *, seed: int = 1) -> Memory:
    environment = Environment(clock=ManualClock(NOW), randomness=seeded_randomness(seed))
    return Memory(path, zone="UTC", environment=environment)


def told(path: Path | str = ":memory:") -> Memory:
    """A memory with something of everything."""
    made = memory(path)
    made.define("home_city", cardinality="single", description="where somebody lives")
    made.remember("ana", "home_city", "Berlin", changed_on="2019-05", source="user")
    made.remember("ana", "home_city", "Lisbon", changed_on="2024-03", source="user")
    made.remember("ana", "home_city", "Porto", trust="inference", source="model")
    made.remember("ana", "car", NONE)
    made.remember("ana", "trip", {"to": ["Paris", None], "days": 3.5}, since="2030-01", until="2030-01")
    made.retract(made.remember("ana", "language", "Klingon").event)
    made.remember("bob", "secret", "a word that goes")
    made.erase("bob")
    return made


# -- events -----------------------------------------------------------------------------------------------


def test_events_come_back_whole_from_lines(tmp_path: Path) -> None:
    with told() as one, memory(seed=2) as other:
        count = one.export_bundle(tmp_path / "all.ndjson", legible=True)
        assert other.import_bundle(tmp_path / "all.ndjson").events == count
        assert other.belief_digest() == one.belief_digest()
        one.merge(other)
        other.merge(one)
        assert other.event_digest() == one.event_digest()
        assert other.import_bundle(tmp_path / "all.ndjson").transactions == 0


def test_lines_and_bundle_hold_the_same_frames(tmp_path: Path) -> None:
    with told() as one:
        one.export_bundle(tmp_path / "all.ndjson", legible=True)
        lines = list(event_lines.read_lines(io.BytesIO((tmp_path / "all.ndjson").read_bytes())))
        assert lines == list(one._replica.frames({}))


def test_lines_can_be_read_by_people_and_hold_nothing_that_was_erased(tmp_path: Path) -> None:
    with told() as one:
        one.export_bundle(tmp_path / "all.ndjson", legible=True)
    records = [json.loads(line) for line in (tmp_path / "all.ndjson").read_text(encoding="utf-8").splitlines()]
    said = [record["says"] for record in records if "says" in record]
    assert [says["value"] for says in said if says["kind"] == "claim" and says["predicate"] == "home_city"] == [
        *("Berlin", "Lisbon", "Porto")
    ]
    assert sum("erased" in record for record in records) == 1
    assert "a word that goes" not in (tmp_path / "all.ndjson").read_text(encoding="utf-8")


def test_lines_that_were_cut_off_anywhere_are_refused_before_anything_is_believed(tmp_path: Path) -> None:
    with told() as one, memory(seed=2) as other:
        one.export_bundle(tmp_path / "all.ndjson", legible=True)
        lines = (tmp_path / "all.ndjson").read_bytes().splitlines(keepends=True)
        for kept in range(len(lines)):
            (tmp_path / "cut").write_bytes(b"".join(lines[:kept]))
            with pytest.raises(NotCanonical, match="ask for a new copy|syncmem export"):
                other.import_bundle(tmp_path / "cut")
        assert other.entities() == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (b'"kind": 1,', b'"kind": true,'),
        (b'"kind": 1,', b'"kind": "1",'),
        (b'"hlc": 1', b'"hlc": -1'),
        (b'"payload": "', b'"payload": "*'),
        (b'"first": 1', b'"first": 0'),
        (b'"first": 1', b'"first": 99999999999999999999999'),
        (b'"scope": "vault"', b'"scope": "device"'),
        (b'"cover": {', b'"cover": {"x": "00", '),
        (b'"head": "', b'"head": "zz'),
        (b'"signature": "', b'"signature": "00'),
        (b'{"seq": 1, ', b"[1, "),
    ],
)
def test_lines_that_say_something_impossible_are_refused(wrong: bytes, right: bytes, tmp_path: Path) -> None:
    with told() as one, memory(seed=2) as other:
        one.export_bundle(tmp_path / "all.ndjson", legible=True)
        whole = (tmp_path / "all.ndjson").read_bytes()
        assert wrong in whole
        body = whole.removeprefix(event_lines.MAGIC).rpartition(b'{"end"')[0].replace(wrong, right, 1)
        (tmp_path / "changed").write_bytes(ended(body))
        with pytest.raises(NotCanonical):
            other.import_bundle(tmp_path / "changed")
        assert other.entities() == []


def test_changed_words_beside_the_payload_change_nothing(tmp_path: Path) -> None:
    with told() as one, memory(seed=2) as other:
        one.export_bundle(tmp_path / "all.ndjson", legible=True)
        whole = (tmp_path / "all.ndjson").read_bytes()
        body = whole.removeprefix(event_lines.MAGIC).rpartition(b'{"end"')[0].replace(b'"Lisbon"', b'"Madrid"')
        (tmp_path / "changed").write_bytes(ended(body))
        other.import_bundle(tmp_path / "changed")
        assert other.believe("ana", "home_city").value == "Lisbon"  # type: ignore[union-attr]


# -- what is believed -------------------------------------------------------------------------------------


def test_markdown_tells_the_present_and_what_was_and_will_be(tmp_path: Path) -> None:
    with told() as one:
        assert one.export(tmp_path / "memory.md") == 4
    text = (tmp_path / "memory.md").read_text(encoding="utf-8").replace("\\", "")
    assert text.splitlines() == [
        "# What is believed, 2025-10-09 08:53",
        "",
        "## ana",
        "",
        "- **car**: none (since 2025-10-09 08:53)",
        "- **home_city**: Lisbon (since 2024-03-01, user, contested)",
        "  - before: Berlin (since 2019-05-01, until 2024-03-01, user)",
        "- **trip**: not known now",
        '  - later: {"to": ["Paris", null], "days": 3.5} (since 2030-01-01, until 2030-02-01)',
    ]


@given(st.text())
def test_no_value_becomes_markup_or_a_line_of_its_own(text: str) -> None:
    shown = value(text)
    assert len(shown.splitlines()) <= 1
    assert shown.isprintable()
    bare = shown.replace("\\\\", "").replace("\\", "\n")  # each escaped mark now stands behind a line feed
    for mark in "*_`[]<>#|":
        assert all(bare[place - 1 : place] == "\n" for place, found in enumerate(bare) if found == mark)


def test_a_heading_stays_one_line() -> None:
    assert literal("ana\n# bob\u2028x") == "ana \\# bob x"


def test_json_holds_what_is_believed_now(tmp_path: Path) -> None:
    with told() as one:
        assert one.export(tmp_path / "memory.json") == 2
    held: dict[str, Any] = json.loads((tmp_path / "memory.json").read_text(encoding="utf-8"))
    assert {entity: sorted(slots) for entity, slots in held["entities"].items()} == {"ana": ["car", "home_city"]}
    (home,) = held["entities"]["ana"]["home_city"]
    (car,) = held["entities"]["ana"]["car"]
    assert (home["value"], home["contested"]) == ("Lisbon", True)
    assert (car["value"], car["none"]) == (None, True)


def test_an_empty_memory_is_an_empty_view(tmp_path: Path) -> None:
    with memory() as one:
        assert [one.export(tmp_path / name) for name in ("a.md", "a.json", "a.db")] == [0, 0, 0]
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["entities"] == {}


def test_sqlite_holds_plain_tables(tmp_path: Path) -> None:
    with told() as one:
        assert one.export(tmp_path / "memory.db") == 4
    connection = dbapi.connect(str(tmp_path / "memory.db"))
    rows = connection.execute("SELECT value, none FROM current ORDER BY predicate").fetchall()
    assert rows == [(None, 1), ('"Lisbon"', 0)]
    found = connection.execute("SELECT count(*) FROM beliefs_fts WHERE beliefs_fts MATCH 'berlin'").fetchone()
    assert found == (1,)
    described = connection.execute("SELECT cardinality, description FROM predicates WHERE declared").fetchall()
    assert described == [("single", "where somebody lives")]
    connection.close()


def test_one_entity_alone_may_be_exported(tmp_path: Path) -> None:
    with told() as one:
        one.remember("carla", "language", "Italian")
        assert one.export(tmp_path / "carla.md", entity="carla") == 1
    assert "ana" not in (tmp_path / "carla.md").read_text(encoding="utf-8")


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "memory.md").write_text("mine", encoding="utf-8")
    with told() as one:
        with pytest.raises(InvalidInput, match="choose another name"):
            one.export(tmp_path / "memory.md")
        with pytest.raises(InvalidInput, match="pass form="):
            one.export(tmp_path / "memory.unknown")
        with pytest.raises(InvalidInput, match="use one of"):
            one.export(tmp_path / "new.md", form="pdf")
    assert (tmp_path / "memory.md").read_text(encoding="utf-8") == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["memory.md"]
