"""The verbs about names, run as commands on a real file."""

from __future__ import annotations

from typing import Any

from tests.cli.running import Shell


def linked(shell: Shell) -> dict[str, Any]:
    """Two names with a claim each, and a link; its receipt."""
    with shell.memory() as memory:
        memory.define("city", cardinality="single")
        memory.remember("robert", "city", "Lisbon", since="2020")
        memory.remember("bob", "city", "Berlin", since="2022")
    receipt: dict[str, Any] = shell.json("same", "robert", "bob", "--source", "crm", "--reason", "one mail address")
    return receipt


def test_names_are_linked_listed_parted_and_linked_again(shell: Shell) -> None:
    link = linked(shell)
    assert [held["value"] for held in shell.json("believe", "robert", "city")] == ["Berlin"]
    printed = shell.text("aliases", "robert")
    assert printed.startswith("bob, also robert\n") and "makes them one" in printed
    assert f"{link['event']}  live" in printed
    assert shell.text("different", "bob", "robert").startswith("UPDATE  From now on they are two.")
    assert [held["value"] for held in shell.json("believe", "robert", "city")] == ["Lisbon"]
    assert "is outweighed" in shell.text("aliases", "robert")
    assert shell.json("aliases", "robert", "--known-at", f"tx{link['known']}")["names"] == ["bob", "robert"]
    assert shell.text("aliases", "eva") == "eva, and no other name\n"


def test_history_and_why_tell_of_whom_each_claim_was_said(shell: Shell) -> None:
    linked(shell)
    history = shell.text("history", "robert", "city")
    assert "remember  robert  Lisbon" in history and "remember  bob  Berlin" in history
    assert 'same  ["robert", "bob"]' in history
    why = shell.text("why", "robert", "city")
    assert "remember  bob  Berlin" in why and "remember  robert  Lisbon" in why


def test_json_lines_link_names(shell: Shell) -> None:
    linked(shell)
    (shell.folder / "lines").write_text('{"verb": "same", "entity": "bert", "other": "bob", "batch": "b"}\n')
    assert [receipt["decision"] for receipt in shell.json("apply", "lines")] == ["UPDATE"]
    assert shell.json("aliases", "bert")["names"] == ["bert", "bob", "robert"]
    shell.text("retract", "--batch", "b")
    assert shell.json("aliases", "bert")["names"] == ["bert"]


def test_erasing_says_which_names_are_meant(shell: Shell) -> None:
    linked(shell)
    refused = shell.run("erase", "robert")
    assert refused.code == 1 and "Erase everything about 'bob', 'robert', on every device" in refused.err
    assert "'bob'" not in shell.run("erase", "robert", "--no-aliases").err
    assert shell.json("erase", "robert", "--no-aliases", "--yes")["events"] == {"vault": 2}
    assert shell.json("entities") == ["bob"]


def test_a_name_linked_with_itself_is_refused_in_one_line(shell: Shell) -> None:
    linked(shell)
    outcome = shell.run("same", "bob", "bob")
    assert outcome.code == 1 and outcome.err.count("\n") == 1 and "pass two" in outcome.err
