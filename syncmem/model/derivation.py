"""Derivations: how the batch is called in which one version of one extractor wrote what it found in one episode.

Rule: the name says all three, so that it is withdrawn as one, on every device, and nobody has to look it up.

>>> read_batch("extract/" + "ab" * 16 + "/english/2")
Batch(name='extract/abababababababababababababababab/english/2', extractor='english', version='2', \
episode='abababababababababababababababab')
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

DERIVED: Final = "extract/"
_BATCH: Final = re.compile(rf"{DERIVED}([0-9a-f]{{32}})/([\w.+-]{{1,64}})/([\w.+-]{{1,64}})(?:/(\d+))?")


class Batch(NamedTuple):
    """A batch of what was derived, from its name."""

    name: str
    extractor: str
    version: str
    episode: str


def read_batch(name: str | None) -> Batch | None:
    """What a batch's name says, if it is one of a derivation."""
    found = _BATCH.fullmatch(name or "")
    return None if found is None else Batch(found[0], found[2], found[3], found[1])
