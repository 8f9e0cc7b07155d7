"""Planted bugs: each of them must make the engine depart from the reference on a few seeds.

A bug is planted as :mod:`tests.planting` does; where its text is no longer there, the test says which one it is.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.planting import ROOT, Bug, fits, plant

SEEDS = "0-150"
SECONDS_MAX = 60
COPIED_TESTS = ("__init__", "contest", "differential", "evidence", "links", "reference", "strategies", "world")


BUGS = (
    Bug(
        "an observation may lie after the event's clock",
        "model/record.py",
        "observed_at = hlc if said.observed_at is None else min(said.observed_at, hlc)",
        "observed_at = hlc if said.observed_at is None else said.observed_at",
    ),
    Bug(
        "a change is anchored like a state",
        "model/record.py",
        "if role == _TEMPORARY:\n        anchor = observed_at\n    elif said.form == _CHANGE",
        "if role == _TEMPORARY:\n        anchor = observed_at\n    elif False and said.form == _CHANGE",
    ),
    Bug(
        "the ray of a period is as strong as the period",
        "model/record.py",
        "anchor = self.start if self.role == Role.PERIOD else self.anchor",
        "anchor = self.anchor",
    ),
    Bug(
        "the end of a state reaches plans",
        "model/record.py",
        "reached = claim.start <= end.observed_at if end.role == Role.END_STATE else claim.start < end.start",
        "reached = end.role == Role.END_STATE or claim.start < end.start",
    ),
    Bug(
        "a denial denies what is said later",
        "model/record.py",
        "return denial.key == claim.key and denial.spoken > claim.spoken",
        "return denial.key == claim.key",
    ),
    Bug(
        "an affirmation ends a temporary state",
        "model/sweep.py",
        "if later and not record.flags & AFFIRM:",
        "if later:",
    ),
    Bug(
        "a restatement on a trip becomes the home",
        "model/sweep.py",
        "if active.record.flags & PLAIN]",
        "if False]",
    ),
    Bug(
        "a claim that begins under a stronger ray holds all the same",
        "model/sweep.py",
        "closing = [] if active.overlay else [ray for ray in self.rays if ray.strength > rank]",
        "closing = [ray for ray in self.rays if ray.trust > active.trust]",
    ),
    Bug(
        "weaker rays hide stronger tiers",
        "model/sweep.py",
        "if ray.trust > self.rays[-1].trust:",
        "if ray.trust < self.rays[-1].trust:",
    ),
    Bug(
        "a period does not end its value",
        "model/sweep.py",
        "self._end(period_end(period))",
        "pass",
    ),
    Bug(
        "two devices that speak at once are not contested",
        "model/plain.py",
        "position ^ best[0] >= _LOG",
        "False",
    ),
    Bug(
        "whoever speaks later outranks more trust",
        "model/plain.py",
        "if trust != best[4]:",
        "if False:",
    ),
    Bug(
        "what is dead or contested is folded as if it were plain",
        "model/plain.py",
        "flags & _NOT_PLAIN",
        "flags & 0",
    ),
    Bug(
        "an undo cannot be undone",
        "model/liveness.py",
        "return self._verdict(target, naming, UNDONE, self._stands)",
        "return self._verdict(target, naming, UNDONE, lambda position: True)",
    ),
    Bug(
        "whoever names an event takes it back",
        "model/liveness.py",
        "if actor.trust >= target.trust:\n        return True",
        "return True",
    ),
    Bug(
        "a withdrawn batch leaves its retractions standing",
        "model/liveness.py",
        "(self._undone(actor) | self._withdrawn(actor)) & (UNDONE | WITHDRAWN)",
        "self._undone(actor) & UNDONE",
    ),
    Bug(
        "an end outlives the claim that it names",
        "model/liveness.py",
        "if claim is not None and self._visible(claim) and self._gone(claim):",
        "if False:",
    ),
    Bug(
        "a retraction that came first is forgotten",
        "replica/fold.py",
        "recheck += sorted(self.references.named_within(first, count))",
        "pass",
    ),
    Bug(
        "what arrives late of a withdrawn batch stays",
        "replica/fold.py",
        "if self.references.withdrawals(name):\n                recheck += positions",
        "pass",
    ),
    Bug(
        "a passage that is read again brings back what was retracted",
        "model/liveness.py",
        "for twin in self._links.named_twins(target) if target.twins is not None else ():",
        "for twin in ():",
    ),
    Bug(
        "corrections of one passage take each other back",
        "model/liveness.py",
        "relation == Relation.CORRECTS and not target.corrects",
        "relation == Relation.CORRECTS",
    ),
    Bug(
        "what was read again stays when what was read first arrives late",
        "replica/references.py",
        "return [row[0] for row in self._db.execute(_TWINS, (passage,)).fetchall()]",
        "return [position]",
    ),
    Bug(
        "an undone correction gives only back what it named",
        "replica/fold.py",
        "                waiting += self._retracted_by(payload.refs or ())",
        "                waiting += [self._logs.position(ref) for ref in payload.refs or ()]",
    ),
    Bug(
        "a derived claim outlives what it rests on",
        "model/grounds.py",
        "or root in above or not self._stands(root))",
        "or root in above)",
    ),
    Bug(
        "a derived claim rests on its roots, and not on theirs",
        "model/grounds.py",
        "waiting += entered[position]",
        "pass",
    ),
    Bug(
        "whoever derives a claim gives it trust",
        "model/grounds.py",
        "if not roots or claim.trust <= min(",
        "if True or claim.trust <= min(",
    ),
    Bug(
        "one source seen twice corroborates itself",
        "model/grounds.py",
        "if said is None or said.sources & seen:",
        "if said is None:",
    ),
    Bug(
        "what rests on a denied claim is not looked at again",
        "replica/fold.py",
        "for claim in turned for other in self.references.resting_on(claim)",
        "for claim in () for other in self.references.resting_on(claim)",
    ),
    Bug(
        "claims are not judged again when a denial arrives",
        "replica/timelines.py",
        "if bits != record.flags & BY_DENIAL:",
        "if False:",
    ),
    Bug(
        "a page is folded without what comes before it",
        "replica/pages.py",
        "before = self.carry(carry, equality)",
        "before = EMPTY",
    ),
    Bug(
        "folding stops at the next page whatever it begins with",
        "replica/pages.py",
        "if carry == following.carry and not",
        "if not",
    ),
    Bug(
        "a rectangle that was closed is overwritten",
        "replica/rectangles.py",
        "UPDATE beliefs SET known_to = ?4",
        "UPDATE beliefs SET known_to = ?4 - 1 + (known_from = ?4 - 1)",
    ),
    Bug(
        "a belief that begins anew with its own value is parted there",
        "model/plain.py",
        "while index and says_the_same(won[index - 1], won[index]):",
        "while False:",
    ),
    Bug(
        "a definition that arrives late changes nothing",
        "replica/catalog.py",
        "return (before.many, before.equality) != (after.many, after.equality)",
        "return False",
    ),
    Bug(
        "links of less trust count before others",
        "model/link.py",
        "for bond in sorted(bonds, reverse=True):",
        "for bond in sorted(bonds):",
    ),
    Bug(
        "what joins names that are to stay apart joins them",
        "model/link.py",
        "elif not joined and other not in groups.apart[one]:",
        "elif not joined:",
    ),
    Bug(
        "names that were parted are forgotten when one of them joins others",
        "model/link.py",
        "for foe in self.apart.pop(less):",
        "for foe in self.apart.pop(less) and ():",
    ),
    Bug(
        "a link counts that was undone or withdrawn",
        "replica/aliases.py",
        "self._logs.event(position) if acts(position) else None",
        "self._logs.event(position)",
    ),
    Bug(
        "a name stands at any time where it stands now",
        "replica/aliases.py",
        "known = FOREVER - 1 if n is None else n",
        "known = FOREVER - 1",
    ),
    Bug(
        "what was said stays where it was when a link comes or goes",
        "replica/regrouping.py",
        "if home == slot:",
        "if True:",
    ),
    Bug(
        "claims are not judged again by the denials of a name that joins",
        "replica/regrouping.py",
        "work.setdefault(slot, Work()).rebuild = True",
        "work.setdefault(slot, Work())",
    ),
    Bug(
        "what was asserted by then is read from whoever is one now",
        "replica/visible.py",
        "seen = (link for link in links if visible(link.position))",
        "seen = iter(links)",
    ),
    Bug(
        "what was asserted by then includes what was asserted later",
        "replica/visible.py",
        "row[_HLC] <= self.clock",
        "True",
    ),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught(bug: Bug, tmp_path: Path) -> None:
    places = fits(bug)
    assert places == 1, f"the bug {bug.name!r} fits {places} places of {bug.file}; plant it anew in BUGS"
    copy_to(tmp_path)
    plant(bug, tmp_path)
    found = compared(tmp_path)
    assert found.returncode == 1, f"not caught: {bug.name}\n{found.stdout}{found.stderr}"
    assert "disagree" in found.stdout, f"{bug.name} broke the comparison itself\n{found.stdout}{found.stderr}"


def copy_to(folder: Path) -> None:
    """The package, and what compares it with the reference."""
    shutil.copytree(ROOT / "syncmem", folder / "syncmem", ignore=shutil.ignore_patterns("__pycache__", "cli"))
    (folder / "tests").mkdir()
    for name in COPIED_TESTS:
        source = ROOT / "tests" / f"{name}.py"
        if source.exists():
            shutil.copyfile(source, folder / "tests" / source.name)


def compared(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.differential", "--seeds", SEEDS],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=SECONDS_MAX,
        check=False,
    )


def test_without_a_planted_bug_the_engine_and_the_reference_agree(tmp_path: Path) -> None:
    copy_to(tmp_path)
    found = compared(tmp_path)
    assert found.returncode == 0, f"{found.stdout}{found.stderr}"
