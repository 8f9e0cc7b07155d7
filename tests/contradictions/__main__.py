"""Tell every case in three ways, then once more without care, and report by kind: ``python -m tests.contradictions``.

``--cases`` also names each answer of a careless telling that is wrong in silence; ``--held-out`` judges the cases of
``held_out`` instead, whose sentences the rules were not made for.  Exits 1 if any careful telling is wrong.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.contradictions.careless import TIERS, Answered, careless
from tests.contradictions.cases import CASE_WAYS, FOLDER, HELD_OUT, Case, cases, faults


def main(arguments: list[str]) -> int:
    count, right = Counter[str](), Counter[str]()
    judged = cases(HELD_OUT if "--held-out" in arguments else FOLDER)
    for case in judged:
        count[case.kind] += 1
        found = _faults(case)
        right[case.kind] += not found
        for fault in found:
            print(f"{case}\n    {fault}")
    for kind, number in sorted(count.items()):
        print(f"{kind.replace('_', ' '):16} {right[kind]:3} of {number:3} right")
    print(f"{'all':16} {right.total():3} of {count.total():3} right, each told in {len(CASE_WAYS)} ways")
    for tier in TIERS:
        _report(judged, tier, named="--cases" in arguments)
    return 0 if right.total() == count.total() and count else 1


def _report(judged: list[Case], tier: str, *, named: bool) -> None:
    answers = [(case, answer) for case in judged for answer in careless(case, tier)]
    print(f"\ntold without care, tier {tier!r}: right, asked about, wrong in silence (share of wrong)")
    for kind in [*sorted({case.kind for case, _ in answers}), "all"]:
        counts = Counter(a.counts for case, a in answers if a.carried and kind in (case.kind, "all"))
        share = counts["wrong"] / max(1, counts.total())
        print(f"{kind.replace('_', ' '):16} {counts['right']:3} {counts['asked']:3} {counts['wrong']:3}  {share:6.1%}")
    dated = Counter(answer.counts for _, answer in answers if not answer.carried)
    print(f"not to be known without the dates that were dropped: {dated.total()} ({_listed(dated)})")
    for case, answer in answers if named else ():
        if answer.carried and answer.counts == "wrong":
            print(f"    {case}\n        {_told(answer)}")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))


def _told(answer: Answered) -> str:
    return f"{answer.asked}: {answer.found} is believed, {answer.right} is right"


def _faults(case: Case) -> list[str]:
    found = []
    for way in CASE_WAYS:
        with tempfile.TemporaryDirectory() as folder:
            found += list(faults(case, way, Path(folder)))
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
