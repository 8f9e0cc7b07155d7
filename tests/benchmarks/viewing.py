"""The pages of ``syncmem view``: how long one takes, in a small memory and in one of 100,000 slots.

Each page is asked of the application as a browser would, without a socket. The same page of a memory of a few slots
stands beside it as the "baseline". The page of the slot with 10,000 claims draws groups of them, and so does its map; a
stretch of it, to which one of the groups leads, is told belief by belief.

Reach (first stage): the list of names in 100 ms, a slot's page in 200 ms, whatever the size.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from syncmem import Memory
from tests.benchmarks import material
from tests.benchmarks.measuring import Action, Reach, Row, alternate, at_most, latency, timed
from tests.benchmarks.workshop import Workshop
from tests.view.visiting import Visitor

LIST_REACH_MS, SLOT_REACH_MS = 100.0, 200.0


class Sizes(NamedTuple):
    slots: int
    claims: int
    long: int
    few: int
    rounds: int
    pages: int  # a round


SIZES = {
    "small": Sizes(slots=40, claims=80, long=60, few=8, rounds=2, pages=2),
    "quick": Sizes(slots=10_000, claims=20_000, long=2_000, few=40, rounds=3, pages=8),
    "full": Sizes(slots=100_000, claims=200_000, long=10_000, few=40, rounds=5, pages=10),
}


def shape(slots: int, claims: int, long: int) -> material.Shape:
    return material.Shape(claims, slots, doubtful=min(1_000, claims // 10), lengths=((material.LONG, long),))


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    with ExitStack() as stack:
        many, few = (
            stack.enter_context(Memory(material.built(workshop, each), embedder=None))
            for each in (shape(sizes.slots, sizes.claims, sizes.long), shape(sizes.few, 2 * sizes.few, 10))
        )
        visitors = Visitor.of(many), Visitor.of(few)
        middle = f"person:{sizes.slots // 8}"
        far = {"entity": material.slot_names(sizes.slots // 2)[0], "predicate": material.PREDICATES[0]}
        near = {"entity": material.slot_names(0)[0], "predicate": material.PREDICATES[0]}
        long = {"entity": material.LONG, "predicate": material.PREDICATES[0]}
        listing, slot = at_most(LIST_REACH_MS), at_most(SLOT_REACH_MS)
        of, at = f"{sizes.slots:,} slots", f"slot of {sizes.long:,} claims"
        return [
            _page(visitors, f"the first names, {of}", "/", {}, {}, listing, sizes),
            _page(visitors, f"names from the middle on, {of}", "/", {"after": middle}, {}, listing, sizes),
            _page(visitors, f"names that contain a text, {of}", "/", {"text": ":9"}, {"text": ":"}, listing, sizes),
            _page(visitors, f"one name, {of}", "/thing", _only(far), _only(near), None, sizes),
            _page(visitors, f"a slot, {of}", "/slot", far, near, slot, sizes),
            _page(visitors, f"the page of a {at}", "/slot", long, near, slot, sizes),
            _page(visitors, f"a stretch of a {at}", "/slot", _stretch(many, long), near, slot, sizes),
            _page(visitors, f"the page of a name with a {at}", "/thing", _only(long), _only(near), slot, sizes),
            _page(visitors, f"the history of a {at}", "/history", long, near, None, sizes),
            _page(visitors, f"questions, {of}", "/questions", {}, {}, None, sizes),
        ]


def _stretch(memory: Memory, slot: dict[str, str]) -> dict[str, str]:
    """The stretch to which the middle one of a slot's groups leads."""
    groups = memory.outline(**slot).groups
    middle = groups[len(groups) // 2]
    bounds = {"since": middle.valid_from, "until": middle.valid_to}
    return {**slot, **{name: bound.isoformat() for name, bound in bounds.items() if bound is not None}}


def _only(slot: dict[str, str]) -> dict[str, str]:
    return {"entity": slot["entity"]}


def _page(
    visitors: tuple[Visitor, Visitor], what: str, path: str, many: dict[str, str], few: dict[str, str],
    reach: Reach | None, sizes: Sizes,
) -> Row:  # fmt: skip
    """One page of both memories in turn."""

    def asked(visitor: Visitor, parameters: dict[str, str]) -> Action:
        def ask() -> None:
            answer = visitor.get(path, **parameters)
            assert answer.status == 200, answer.words

        return ask

    ours, baseline = asked(visitors[0], many), asked(visitors[1], few)
    ours()
    found = alternate(sizes.rounds, lambda _: timed([ours] * sizes.pages), lambda _: timed([baseline] * sizes.pages))
    return latency(what, found, reach=reach, kilobytes=len(visitors[0].get(path, **many).text) // 1024)
