"""Names of predicates as people and models write them, made comparable, and which predicate is meant by one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from unicodedata import normalize

from syncmem.model.predicate import Predicate

_BETWEEN_WORDS: Final = re.compile(r"[\s_\-./]+")


def normal(name: str) -> str:
    """One spelling of a name: without case, and with one blank wherever words are told apart.

    >>> normal("Home-City"), normal("home_city"), normal(" homeCity ")
    ('home city', 'home city', 'home city')
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", normalize("NFC", name))
    return _BETWEEN_WORDS.sub(" ", spaced.casefold()).strip()


def meant(name: str, defined: Mapping[str, Predicate]) -> list[str]:
    """The defined predicates that a name may mean: it, else those spelled alike, else those with such an alias."""
    if name in defined:
        return [name]
    called = normal(name)
    named = [each for each in sorted(defined) if normal(each) == called]
    return named or [each for each, about in sorted(defined.items()) if called in map(normal, about.aliases)]
