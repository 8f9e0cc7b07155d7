"""Shrinking a trace that breaks a law to the few steps that it needs: whole steps go first, then what is said in them.

Rule: what is left must break the same law.  The choices of a step do not depend on those before it (each names the
step it is about, and draws chance from its own number), so most traces lose most of their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.simulator.running import run
from tests.simulator.trace import Step, Trace

TRIES_MAX = 600
_OPTIONAL = ("net", "dies", "wait", "batch", "source", "observed", "mentions", "scope")
_CALM = {"keyrings": False, "scopes": []}


def shrunk(trace: Trace, law: str, tries_max: int = TRIES_MAX) -> Trace:
    """The shortest trace found that breaks the law as well."""
    left = [tries_max]

    def breaks(tried: Trace) -> bool:
        left[0] -= 1
        return left[0] >= 0 and run(tried).law == law

    steps = _fewer(trace.steps, lambda kept: breaks(Trace(trace.world, list(kept))))
    world = trace.world
    for name, calm in _CALM.items():
        if world.get(name) != calm and breaks(Trace({**world, name: calm}, steps)):
            world = {**world, name: calm}
    if len(world["addresses"]) > 1 and breaks(Trace({**world, "addresses": world["addresses"][:1]}, steps)):
        world = {**world, "addresses": world["addresses"][:1]}
    steps = _simpler(world, steps, breaks)
    steps = _fewer(steps, lambda kept: breaks(Trace(world, list(kept))))
    kept = {name: world[name] for name in ("seed", "devices", "addresses", "scopes", "keyrings", "definitions")}
    return Trace(kept, steps)


def _fewer(steps: Sequence[Step], breaks: Callable[[Sequence[Step]], bool]) -> list[Step]:
    """Leave out ever smaller parts (ddmin), until no single step can go."""
    kept, size = list(steps), max(1, len(steps) // 2)
    while kept:
        first, shorter = 0, False
        while first < len(kept):
            tried = kept[:first] + kept[first + size :]
            if breaks(tried):
                kept, shorter = tried, True
            else:
                first += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return kept


def _simpler(world: dict[str, Any], steps: list[Step], breaks: Callable[[Trace], bool]) -> list[Step]:
    """Leave out what need not be said in a step: bad weather, deaths, waits, particulars."""
    for place, step in enumerate(steps):
        for name in _OPTIONAL:
            if name in step:
                plain = {key: value for key, value in step.items() if key != name}
                tried = [*steps[:place], plain, *steps[place + 1 :]]
                if breaks(Trace(world, tried)):
                    steps, step = tried, plain
        for kind in list(step.get("net", ())):
            calmer = {**step, "net": {key: chance for key, chance in step["net"].items() if key != kind}}
            tried = [*steps[:place], calmer, *steps[place + 1 :]]
            if breaks(Trace(world, tried)):
                steps, step = tried, calmer
    return steps
