"""Every file of the kept corpus goes through its target; no fuzzer is needed."""

from __future__ import annotations

import pytest

from tests.fuzz import kept
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_every_kept_file_is_taken_or_refused(name: str) -> None:
    files = kept.files(name)
    assert files
    for path in files:
        TARGETS[name].accepts(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_the_valid_files_are_what_is_written_today(name: str) -> None:
    """After a change of bytes: ``python -m tests.fuzz --write-valid``."""
    kept_now = {path: path.read_bytes() for path in kept.files(name) if path.name.startswith("valid-")}
    assert kept_now == kept.valid_files(name)


def test_the_corpus_is_small() -> None:
    for name in TARGETS:
        assert sum(path.stat().st_size for path in kept.files(name)) < 20_000, name
