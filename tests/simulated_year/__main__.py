"""``python -m tests.simulated_year --seed 7``: the figures of one year; ``--texts`` to read what was asked."""

from __future__ import annotations

import argparse
import sys

from tests.simulated_year.life import Figures, Life


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--days", type=int, default=364)
    options.add_argument("--noise", type=float, default=1.0, help="how many times the usual amount of wrong guesses")
    options.add_argument("--texts", action="store_true", help="print the questions that were put")
    given = options.parse_args()
    life = Life(given.seed, given.noise)
    figures = life.live(given.days)
    life.close()
    print(f"seed {given.seed}: {report(figures)}")
    for text in figures.texts if given.texts else ():
        print(f"    {text}")
    return 0


def report(figures: Figures) -> str:
    weeks = max(1, len(figures.asked))
    put = sum(figures.asked)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(figures.kinds.items()))
    return (
        f"{figures.days} days, {figures.slots} slots; {put / weeks:.2f} questions a week, at most {max(figures.asked)} "
        f"({kinds}; in {figures.kept} the belief was right); longest silently wrong: {figures.longest} days; "
        f"at the end {figures.contested:.1%} contested, {figures.wrong:.1%} wrong, {figures.open} questions open"
    )


if __name__ == "__main__":
    sys.exit(main())
