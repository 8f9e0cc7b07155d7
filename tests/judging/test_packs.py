"""Packs of predicates: what is shipped, one's own, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncmem import InvalidInput
from syncmem.judging.packs import load
from syncmem.model.names import normal
from tests.judging.desk import Desk, meet

OWN = """
name = "garden"
[predicates.favourite_tree]
cardinality = "single"
equality = "casefold"
aliases = ["tree"]
stale_after = "30d"
stale_trust = "inference"
"""


def test_the_personal_pack_covers_what_assistants_remember() -> None:
    memory = Desk(pack=False).memory
    report = memory.define_pack("personal")
    expected = {"home_city", "employer", "job_title", "email", "phone", "address", "birthday", "partner", "language"}
    expected |= {"diet", "allergy", "travel", "budget", "likes", "project"}
    assert expected <= set(report.defined) and report.kept == ()
    defined = memory.predicates()
    assert defined["language"].many and not defined["home_city"].many
    assert defined["email"].sensitive and not defined["diet"].sensitive
    assert all(each.description and each.aliases for each in defined.values())


def test_no_name_or_alias_of_the_shipped_pack_leads_to_two_predicates() -> None:
    pack = load("personal", Desk(pack=False).memory._environment.disk)
    called = [normal(name) for key, each in pack.predicates.items() for name in {key, *each.aliases}]
    assert sorted(called) == sorted(set(called))


def test_what_was_defined_before_stays_as_it_is_and_is_told() -> None:
    desk = Desk(pack=False)
    desk.memory.define("home_city", cardinality="many", description="several homes")
    report = desk.memory.define_pack("personal")
    assert report.kept == ("home_city",)
    assert desk.memory.predicates()["home_city"].description == "several homes"
    assert desk.memory.define_pack("personal").defined == ()


def test_a_definition_by_the_user_outweighs_the_pack_of_another_device() -> None:
    laptop, phone = Desk(1, pack=False), Desk(2, pack=False)
    laptop.on("2025-01-02").memory.define("home_city", cardinality="many")
    phone.on("2025-01-03").memory.define_pack("personal")
    meet(laptop, phone)
    assert phone.memory.predicates()["home_city"].many
    assert phone.memory.predicates()["diet"] == laptop.memory.predicates()["diet"]


def test_a_pack_of_ones_own_is_read_from_its_path(tmp_path: Path) -> None:
    file = tmp_path / "garden.toml"
    file.write_text(OWN)
    memory = Desk(pack=False).memory
    assert memory.define_pack(str(file)).defined == ("favourite_tree",)
    found = memory.predicates()["favourite_tree"]
    assert (found.many, found.aliases, found.stale_trust) == (False, ("tree",), 30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 'x'", "predicates: Field required"),
        ("name = 'x'\n[predicates.a]\ncardinality = 'few'", "predicates.a.cardinality: Input should be"),
        ("name = 'x'\n[predicates.a]\ncardinality = 'many'\nttl = 5", "predicates.a.ttl"),
        ("name = 'x'\n[predicates.a]\ncardinality = 'many'\ncolour = 'red'", "predicates.a.colour: Extra"),
        ("name = 'x'\n[predicates.a]\ncardinality = 'many'\nstale_after = '5d'", "belong together"),
        ("name = 'x'\n[predicates.a]\ncardinality = 'many'\nttl = 'soon'", "not a duration"),
        ("name = [", "is no TOML"),
        (
            "name = 'x'\n[predicates.a]\ncardinality = 'many'\naliases = ['B']\n[predicates.b]\ncardinality = 'many'",
            "'b' leads to a and to b",
        ),
    ],
)
def test_a_pack_that_is_not_right_defines_nothing_and_says_where(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    memory = Desk(pack=False).memory
    with pytest.raises(InvalidInput, match=message):
        memory.define_pack(str(file))
    assert memory.predicates() == {}


def test_a_pack_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(InvalidInput, match="use personal or the path"):
        Desk(pack=False).memory.define_pack("nobody")


def test_aliases_are_part_of_a_definition_and_bounded() -> None:
    memory = Desk(pack=False).memory
    memory.define("tree", cardinality="many", aliases=["trees", "wood"])
    assert memory.predicates()["tree"].aliases == ("trees", "wood")
    for wrong in ("trees", ["a", "a"], [""], ["a" * 2000], [str(n) for n in range(65)]):
        with pytest.raises(InvalidInput):
            memory.define("tree", cardinality="many", aliases=wrong)
