"""Receipts: the names of entries in the read log, recognisable wherever they are met.

Rule: what was recalled is no evidence.  A text that carries a receipt, or the block of a recall, repeats what this
memory said; whoever judges or extracts knows it by this alone, on every device, without a look into any log.

>>> [receipts_in("as told in recall-00c0ffee00c0ffee"), echoes("I live in Lisbon")]
[('recall-00c0ffee00c0ffee',), False]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

TAG: Final = "syncmem-recall"  # what a block begins and ends with
_RANDOM_BYTES: Final = 8
_RECEIPT: Final = re.compile(r"\brecall-[0-9a-f]{16}\b")
_BLOCK: Final = re.compile(rf"<{TAG}\b[^>]*>.*?(?:</{TAG}>|\Z)", re.DOTALL)


def new_receipt(randomness: Callable[[int], bytes]) -> str:
    """A name that no other recall has."""
    return f"recall-{randomness(_RANDOM_BYTES).hex()}"


def receipts_in(text: str) -> tuple[str, ...]:
    """The receipts that a text carries, each once."""
    return tuple(dict.fromkeys(_RECEIPT.findall(text)))


def blocks_in(text: str) -> tuple[str, ...]:
    """The blocks of recalls that a text holds as they were handed out."""
    return tuple(_BLOCK.findall(text))


def echoes(text: str | None) -> bool:
    """Whether a text carries a receipt or a block."""
    return text is not None and (f"<{TAG}" in text or bool(receipts_in(text)))


def without_blocks(text: str) -> str:
    """A text with blanks in the place of its blocks: every other character stays where it was.

    >>> without_blocks('<syncmem-recall as-of="2026">x</syncmem-recall> I moved.').strip()
    'I moved.'
    """
    return _BLOCK.sub(lambda block: " " * len(block[0]), text) if f"<{TAG}" in text else text
