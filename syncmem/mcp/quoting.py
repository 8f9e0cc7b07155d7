"""Whether the user said something, word for word: only then does a model's statement count as the user's word.

Rules: the quote stands in a text that the user spoke (an episode whose source is the user) and that is on this device;
it is long enough to mean something, and it holds the value, so that no other words lend it their trust.
"""

from __future__ import annotations

import json
from typing import Any, Final

from syncmem.errors import NotFound
from syncmem.memory import Memory
from syncmem.results import Source

QUOTE_LETTERS_MIN: Final = 8
EPISODES_MAX: Final = 500  # the latest ones that are looked at: a conversation, not an archive
_USER: Final = "user"


def spoken(memory: Memory, quote: str, value: Any) -> Source | None:
    """The passage in which the user said it; None where they did not, or not this value."""
    if len(quote.strip()) < QUOTE_LETTERS_MIN or not _holds(quote, value):
        return None
    said = [each for each in memory.episodes() if each.source.kind == _USER and each.text]
    for episode in reversed(said[-EPISODES_MAX:]):
        try:
            start = memory.episode_text(episode.id, fetch=False).find(quote)
        except NotFound:
            continue  # its content is on another device
        if start >= 0:
            return Source(_USER, episode.source.id, episode.id, (start, start + len(quote)))
    return None


def _holds(quote: str, value: Any) -> bool:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value is True or words.casefold() in quote.casefold()
