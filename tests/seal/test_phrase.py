"""A recovery phrase is read as people write it, and a wrong one is always told, with what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem.errors import InvalidInput
from syncmem.seal.keys import derive
from syncmem.seal.phrase import check_words, new_phrase, paper_seed

ENTROPY = bytes(range(32))
PHRASE = new_phrase(ENTROPY)


@given(st.binary(min_size=32, max_size=32))
def test_a_phrase_has_24_words_and_leads_to_its_seed(entropy: bytes) -> None:
    phrase = new_phrase(entropy)
    assert len(phrase.split()) == 24
    assert paper_seed(phrase) == derive(entropy, b"syncmem/v1/paper\0", 32)


def test_the_words_are_those_of_bip_39() -> None:
    assert new_phrase(bytes(32)) == " ".join(["abandon"] * 23 + ["art"])
    assert new_phrase(b"\xff" * 32) == " ".join(["zoo"] * 23 + ["vote"])
    eight = "letter advice cage absurd amount doctor acoustic avoid"
    assert new_phrase(b"\x80" * 32) == f"{eight} {eight} {eight.replace('avoid', 'bless')}"


@pytest.mark.parametrize(
    "written",
    [
        PHRASE.upper(),
        PHRASE.title(),
        f"  {PHRASE}\n",
        PHRASE.replace(" ", "\n"),
        PHRASE.replace(" ", "\t  "),
        PHRASE.replace(" ", "\u00a0"),
        " ".join(word[:4] for word in PHRASE.split()),
    ],
    ids=["capitals", "titles", "around", "lines", "tabs", "hard spaces", "four letters of each"],
)
def test_case_white_space_and_endings_do_not_matter(written: str) -> None:
    assert paper_seed(written) == paper_seed(PHRASE)


def test_a_word_that_is_none_is_named_with_its_place_and_the_nearest() -> None:
    words = PHRASE.split()
    words[6] = "advicee"
    with pytest.raises(InvalidInput, match="word 7, 'advicee', .* did you mean 'advice'"):
        paper_seed(" ".join(words))
    words[6] = "qqqqqq"
    with pytest.raises(InvalidInput, match="word 7, 'qqqqqq', .* look at the paper again"):
        paper_seed(" ".join(words))


@pytest.mark.parametrize("count", [0, 1, 12, 23, 25, 48])
def test_a_phrase_of_another_length_says_how_many_words_it_has(count: int) -> None:
    with pytest.raises(InvalidInput, match=f"24 words, these are {count}"):
        paper_seed(" ".join((PHRASE.split() * 2)[:count]))


def test_one_wrong_word_is_noticed_with_odds_of_255_in_256() -> None:
    words = PHRASE.split()
    noticed = 0
    others = new_phrase(bytes(range(100, 132))).split() + new_phrase(bytes(range(200, 232))).split()
    wrong = [[*words[:at], other, *words[at + 1 :]] for at in range(24) for other in others if other != words[at]]
    for phrase in wrong:
        try:
            seed = paper_seed(" ".join(phrase))
        except InvalidInput as error:
            assert "do not fit together" in str(error)
            noticed += 1
        else:
            assert seed != paper_seed(PHRASE)
    assert noticed >= len(wrong) * 0.98


def test_words_that_changed_places_are_noticed() -> None:
    words = PHRASE.split()
    words[0], words[1] = words[1], words[0]
    with pytest.raises(InvalidInput, match="do not fit together"):
        paper_seed(" ".join(words))


def test_words_entered_again_are_held_against_the_phrase() -> None:
    words = PHRASE.split()
    assert check_words(PHRASE, {1: words[0], 24: words[23].upper() + " ", 7: words[6][:4]})
    assert not check_words(PHRASE, {1: words[1]})
    assert not check_words(PHRASE, {1: ""})
    assert not check_words(PHRASE, {1: f"{words[0]} {words[1]}"})
