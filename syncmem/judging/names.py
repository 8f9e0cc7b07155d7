"""Names as people and models write them, made comparable."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import normalize

_BETWEEN_WORDS: Final = re.compile(r"[\s_\-./]+")


def normal(name: str) -> str:
    """One spelling of a name: without case, and with one blank wherever words are told apart.

    >>> normal("Home-City"), normal("home_city"), normal(" homeCity ")
    ('home city', 'home city', 'home city')
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", normalize("NFC", name))
    return _BETWEEN_WORDS.sub(" ", spaced.casefold()).strip()
