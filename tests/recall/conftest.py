"""These tests are the same whatever models are installed: "auto" finds none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_model_by_itself() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("syncmem.recall.embedding._BEST", ())
        yield
