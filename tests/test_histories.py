"""Real edit histories, delivered late and in other orders to several devices: every known answer is right.

Of the large ones some entities alone, with their whole histories; of all with ``HYPOTHESIS_PROFILE=long``, or by
``python -m tests.histories``.
"""

from __future__ import annotations

import pytest

from tests.histories import as_timeline, run
from tests.shared import LONG, ROOT, needs

DATA = ROOT / "data"
SMALL = ("rustsec", "lettabench", "openstates")
ONE_IN = {"congress": 6, "ourairports": 8, "endoflife": 3, "tz": 2}
RUNS = [
    *((name, mode, 3) for name in SMALL for mode in ("in-order", "shuffle", "reverse", "offline", "dup")),
    *((name, mode, 2) for name in ("endoflife", "tz") for mode in ("shuffle", "offline")),
    ("congress", "shuffle", 2),
    ("ourairports", "shuffle", 2),
]


@pytest.mark.parametrize(("name", "mode", "devices"), [pytest.param(*r, marks=needs(DATA / r[0])) for r in RUNS])
def test_every_answer_is_right_on_every_device(name: str, mode: str, devices: int) -> None:
    result, equal = run(DATA / name, devices, mode, seed=7, one_in=1 if LONG else ONE_IN.get(name, 1))
    assert not result.wrong
    assert result.right == result.total > 0
    assert equal


def test_a_source_s_rows_become_one_timeline() -> None:
    rows = [("A", 1, 3), ("A", 3, 9), ("B", 5, None)]
    assert as_timeline(rows, many=False) == [("A", 1, 5), ("B", 5, None)]
    assert as_timeline(rows, many=True) == [("A", 1, 9), ("B", 5, None)]
