"""Tell every case in three ways and report by kind: ``python -m tests.contradictions``. Exits 1 if any is wrong."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.contradictions.cases import CASE_WAYS, Case, cases, faults


def main() -> int:
    told, right = Counter[str](), Counter[str]()
    for case in cases():
        told[case.kind] += 1
        found = _faults(case)
        right[case.kind] += not found
        for fault in found:
            print(f"{case}\n    {fault}")
    for kind, count in sorted(told.items()):
        print(f"{kind.replace('_', ' '):16} {right[kind]:3} of {count:3} right")
    print(f"{'all':16} {right.total():3} of {told.total():3} right, each told in {len(CASE_WAYS)} ways")
    return 0 if right.total() == told.total() and told else 1


def _faults(case: Case) -> list[str]:
    found = []
    for way in CASE_WAYS:
        with tempfile.TemporaryDirectory() as folder:
            found += list(faults(case, way, Path(folder)))
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    sys.exit(main())
