"""What the documents of the protocol say about vectors, words and outcomes is so."""

from __future__ import annotations

import re
from pathlib import Path

from syncmem.conformance.harness import WORDS
from syncmem.conformance.outcomes import Outcome

PROTOCOL = Path(__file__).parents[2] / "protocol"


def rows(document: str, section: str) -> list[list[str]]:
    """The rows of the first table after a heading."""
    text = (PROTOCOL / document).read_text(encoding="utf-8").partition(f"## {section}\n")[2]
    table = re.search(r"\|---.*\n((?:\|.*\n)+)", text)
    assert table is not None, (document, section)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[1].splitlines()]


def test_the_harness_document_lists_every_word_and_no_other() -> None:
    assert [row[0] for row in rows("harness.md", "Words")] == list(WORDS)


def test_the_harness_document_lists_every_outcome_and_no_other() -> None:
    assert [row[0] for row in rows("harness.md", "Outcomes")] == list(map(str, Outcome))
