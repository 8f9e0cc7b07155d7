"""Text is compared as of Unicode 14.0, under whatever version of Python."""

from __future__ import annotations

import unicodedata
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncmem.model import text
from syncmem.model.text import folded, normalized

PUBLISHED = Path(__file__).parents[2] / "protocol" / "unicode-14.txt"
OF_UNICODE_15 = "\U0001e030"
OF_UNICODE_16_CAPITAL, OF_UNICODE_16_SMALL = "\U00010d50", "\U00010d70"  # Garay, a script with two cases


def assigned(character: str) -> bool:
    return text._assigned(character)


def test_all_that_unicode_14_assigns_is_assigned_still() -> None:
    known = [code for code in range(0x110000) if assigned(chr(code))]
    assert [hex(code) for code in known if unicodedata.category(chr(code)) == "Cn"] == []


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="only a Python of Unicode 14.0 knows no more")
def test_the_table_is_that_of_unicode_14() -> None:
    mistaken = [c for c in range(0x110000) if assigned(chr(c)) != (unicodedata.category(chr(c)) != "Cn")]
    assert mistaken == []


def test_the_table_for_other_languages_is_the_same() -> None:
    published = accumulate(int(distance, 36) for distance in PUBLISHED.read_text(encoding="ascii").split())
    assert tuple(published) == text._edges()


@given(st.text())
@example("e\u0301" + OF_UNICODE_15 + "e\u0301")
def test_what_is_younger_stands_for_itself(given_text: str) -> None:
    younger = [character for character in given_text if not assigned(character)]
    for changed in (normalized(given_text), folded(given_text)):
        assert [character for character in changed if not assigned(character)] == younger


@given(st.text().filter(lambda words: all(map(assigned, words))))
def test_what_is_assigned_is_normalised_and_folded_as_unicode_says(words: str) -> None:
    assert normalized(words) == unicodedata.normalize("NFC", words)
    assert folded(words) == unicodedata.normalize("NFC", unicodedata.normalize("NFD", words).casefold())


def test_cases_of_a_younger_script_are_told_apart_everywhere() -> None:
    assert folded(OF_UNICODE_16_CAPITAL) == OF_UNICODE_16_CAPITAL != OF_UNICODE_16_SMALL


def test_pieces_between_younger_characters_are_changed() -> None:
    assert folded(f"STRASSE{OF_UNICODE_16_CAPITAL}E\u0301") == f"strasse{OF_UNICODE_16_CAPITAL}\u00e9"


def test_a_long_text_of_alternating_ages_is_compared_too() -> None:
    assert folded(f"A{OF_UNICODE_16_CAPITAL}" * 10_000) == f"a{OF_UNICODE_16_CAPITAL}" * 10_000
