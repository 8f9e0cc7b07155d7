"""Where the worked cases and the real histories lie: beside the checkout, or where SYNCMEM_SHARED says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"  # also the large inputs, see tests/conftest.py
ROOT = Path(os.environ.get("SYNCMEM_SHARED", Path(__file__).parent.parent.parent / "shared"))


def needs(path: Path) -> pytest.MarkDecorator:
    """Skip where a file of the shared material is not there."""
    return pytest.mark.skipif(not path.exists(), reason=f"{path.name} is not beside the checkout; set SYNCMEM_SHARED")
