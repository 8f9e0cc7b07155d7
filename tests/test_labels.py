"""Labels keep the purposes of keys, hashes and signatures apart."""

from __future__ import annotations

import itertools
import re

from syncmem import labels

LABELS = {name: value for name, value in vars(labels).items() if isinstance(value, bytes)}


def test_no_label_is_the_beginning_of_another() -> None:
    pairs = itertools.permutations(LABELS.items(), 2)
    assert [(one, other) for (one, first), (other, second) in pairs if second.startswith(first)] == []


def test_labels_are_of_version_1_and_end_with_a_zero_byte() -> None:
    assert [name for name, value in LABELS.items() if not re.fullmatch(rb"syncmem/v1/[a-z]+\0", value)] == []
