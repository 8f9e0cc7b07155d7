"""What the documents of the protocol say about vectors, words and outcomes is so; each MUST is held by something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.vectors.generate import examples
from protocol.vectors.generate.areas import all_vectors
from protocol.vectors.generate.vector import held, read
from syncmem.conformance.harness import WORDS
from syncmem.conformance.outcomes import Outcome

ROOT = Path(__file__).parents[2]
PROTOCOL = ROOT / "protocol"
VECTORS = read(held())
WITH_CHECKS = ("README.md", "limits.md", "mailbox.md", "pairing.md")
NOT_CHECKS = ("for each MUST the vectors", "MUST is for whoever it is said of")  # they speak of the word itself


def text(document: str) -> str:
    return (PROTOCOL / document).read_text(encoding="utf-8")


def rows(document: str, section: str) -> list[list[str]]:
    """The rows of the first table after a heading."""
    table = re.search(r"\|---.*\n((?:\|.*\n)+)", text(document).partition(f"## {section}\n")[2])
    assert table is not None, (document, section)
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[1].splitlines()]


def sentences(document: str) -> Iterator[str]:
    """The sentences of a document, on one line each."""
    paragraphs = re.sub(r"\n(?=[^\n|#\-*>])", " ", text(document)).splitlines()
    for paragraph in paragraphs:
        yield from re.split(r"(?<=[.:;])\s+(?=[A-Z`*|])", re.sub(r"\s+", " ", paragraph))


def test_the_harness_document_lists_every_word_and_no_other() -> None:
    assert [row[0] for row in rows("harness.md", "Words")] == list(WORDS)


def test_the_harness_document_lists_every_outcome_and_no_other() -> None:
    assert [row[0] for row in rows("harness.md", "Outcomes")] == list(map(str, Outcome))


def checks() -> dict[str, list[str]]:
    """The words that each row of checks.md quotes, and what holds them."""
    found = [row for section in ("Of writers", "Of readers", "Of mailboxes") for row in rows("checks.md", section)]
    return {quoted: re.findall(r"`([^`]+)`", by) for quoted, by in found}


def test_every_must_is_quoted_in_the_table_of_checks() -> None:
    musts = [s for document in WITH_CHECKS for s in sentences(document) if "MUST" in s]
    asked = [sentence for sentence in musts if not any(words in sentence for words in NOT_CHECKS)]
    assert len(asked) >= 20
    assert [s for s in asked if not any(quoted in s for quoted in checks())] == []


def test_every_row_of_the_table_of_checks_quotes_a_must() -> None:
    musts = [s for document in WITH_CHECKS for s in sentences(document) if "MUST" in s]
    assert [quoted for quoted in checks() if not any(quoted in sentence for sentence in musts)] == []


def test_what_holds_a_check_is_there() -> None:
    named = {name for by in checks().values() for name in by}
    assert [name for name in named if name not in VECTORS and not (ROOT / name).exists()] == []
    assert [quoted for quoted, by in checks().items() if not by] == []


def test_vectors_named_against_attacks_are_there() -> None:
    named = re.findall(r"`([a-z]+/[a-z0-9-]+)`", text("attacks.md"))
    assert len(named) > 40
    assert [name for name in named if name not in VECTORS] == []


def test_the_examples_are_taken_from_the_vectors() -> None:
    assert examples.PATH.read_text(encoding="utf-8") == examples.text(all_vectors())


@pytest.mark.parametrize(("title", "name"), [(title, name) for title, name, _ in examples.EXAMPLES if title != "Event"])
def test_the_bytes_of_an_example_are_those_of_its_vector(title: str, name: str) -> None:
    section = text("examples.md").partition(f"## {title}\n")[2].partition("\n## ")[0]
    shown = "".join(re.findall(r"^ {4}([0-9a-f]+)(?:  .*)?$", section, re.MULTILINE))
    asked = VECTORS[name]["ask"]
    assert shown in [value for value in asked.values() if isinstance(value, str)]


def test_the_beliefs_of_the_worked_case_are_those_of_its_vector() -> None:
    beliefs = VECTORS["fold/worked 11"]["answer"]["beliefs"]
    assert [row[6] for row in beliefs] == ["Lisbon", "Paris", "Lisbon"]
    assert "Lisbon [1, 10), Paris [10, 13), Lisbon [13, FOREVER)" in " ".join(text("beliefs.md").split())
