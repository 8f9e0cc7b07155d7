"""The recovery phrase: 24 words on paper that are a member of the vault.

Rules: the words carry 256 random bits and a checksum, so nothing is stretched; a wrong phrase is always
told from a right one, and the message says what is wrong with it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from syncmem import labels
from syncmem.errors import InvalidInput
from syncmem.seal.keys import derive

WORDS: Final = 24
ENTROPY_BYTES: Final = 32


def new_phrase(entropy: bytes) -> str:
    """The phrase of 32 random bytes (BIP-39, English list)."""
    return str(_list().to_mnemonic(entropy))


def paper_seed(phrase: str) -> bytes:
    """The seed of the paper member that a phrase stands for.

    Raises:
        InvalidInput: a word is not in the list, words are missing, or the checksum is wrong.
    """
    words = _words(phrase)
    if len(words) != WORDS:
        raise InvalidInput(f"a recovery phrase has {WORDS} words, these are {len(words)}; enter all of them")
    for place, word in enumerate(words, 1):
        if word not in _list().wordlist:
            near = difflib.get_close_matches(word, _list().wordlist, 1)
            hint = f"did you mean {near[0]!r}?" if near else "look at the paper again"
            raise InvalidInput(f"word {place}, {word!r}, is not a word of recovery phrases; {hint}")
    try:
        entropy = bytes(_list().to_entropy(words))
    except ValueError as error:
        raise InvalidInput("the words do not fit together; check their order and each word") from error
    return derive(entropy, labels.PAPER, 32)


def check_words(phrase: str, entered: Mapping[int, str]) -> bool:
    """Whether words entered again (place from 1 -> word) are those of the phrase."""
    words = _words(phrase)
    return all(_words(word) == [words[place - 1]] for place, word in entered.items())


def _words(phrase: str) -> list[str]:
    """Lower case, and words that were cut to their first four letters made whole."""
    whole = {word[:4]: word for word in _list().wordlist}
    return [whole.get(word, word) if len(word) == 4 else word for word in phrase.lower().split()]


@lru_cache(maxsize=1)
def _list() -> Any:
    from mnemonic import Mnemonic

    return Mnemonic("english")
