"""The worked cases of the belief rule, through the public API: ``python -m tests.scenarios FILE...``

Each case is written by real devices with their clocks set as the case says, and, event by event, as
bytes; it then reaches readers in several orders and over several replicas.  Prints each case that is
wrong, last a line ``N of M right``, and exits 1 unless all are.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from syncmem import NONE, Environment, InvalidInput, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.event import LogKey
from syncmem.model.instant import from_datetime, to_datetime
from syncmem.seal.keys import public_key
from tests.world import ENTITY, PREDICATE, UNIT, instant, ticks, writers_of

ORDERS = 4  # readers of each way of writing
HOUR = UNIT // 24
Case = dict[str, Any]


class NotByHand(Exception):
    """A case that no device could write with its API: its events go in as bytes."""


def main(paths: Sequence[str]) -> int:
    right = total = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for case in json.load(file):
                total += 1
                wrong = first_wrong(case)
                right += wrong is None
                if wrong is not None:
                    print(f"{path} case {case['n']} ({case['title']}): {wrong}")
    print(f"{right} of {total} right")
    return 0 if right == total and total else 1


def first_wrong(case: Case) -> str | None:
    """The first reader of a case that believes something else, in words; None if all are right."""
    for how, found in answers(case):
        if found != case["expect"]:
            return f"{how}: expected {case['expect']}, believed {found}"
    return None


def answers(case: Case) -> Iterable[tuple[str, list[list[Any]]]]:
    """What every reader of a case believes: (how it was written and read, timeline)."""
    events = [{**e, "seq": int("".join(filter(str.isdigit, e["id"])))} for e in case["events"]]
    for seed in range(ORDERS):
        yield f"as bytes, order {seed}", read_bytes(events, random.Random(seed))
    try:
        devices = write_by_hand(events)
    except NotByHand:
        return
    try:
        for name, device in devices.items():
            yield from _met(name, device, devices)
    finally:
        for device in devices.values():
            device.close()


def _met(name: str, device: Memory, devices: dict[str, Memory]) -> Iterable[tuple[str, list[list[Any]]]]:
    """A device, and a fresh one, after meeting all others in an order of their own."""
    others = [other for other in devices if other != name]
    order = random.Random(name).sample(others, len(others))
    with _device(100 + len(name), instant(10_000)) as fresh:
        for other in [*order, name]:
            fresh.merge(devices[other])
        yield f"by hand, new device after {order}", shown(fresh)
    _set_clock(device, instant(10_001))
    for other in order:
        device.merge(devices[other])
    yield f"by hand, device {name} after {order}", shown(device)


def read_bytes(events: list[Case], order: random.Random) -> list[list[Any]]:
    """Deliver a case's logs in a random interleaving over two replicas that then meet."""
    writers = writers_of(events)
    with _device(50, instant(10_000)) as one, _device(51, instant(10_000)) as two:
        held = {one: dict.fromkeys(writers, 0), two: dict.fromkeys(writers, 0)}
        for _ in range(4 * len(events)):
            reader, name = order.choice([one, two]), order.choice(sorted(writers))
            done = held[reader][name]
            until = min(done + order.randint(1, 3), len(writers[name].events))
            again = order.choice([0, done])
            list(reader._replica.receive(writers[name].frames(again, until)))
            held[reader][name] = max(done, until)
        for name in sorted(writers, key=lambda _: order.random()):
            list(one._replica.receive(writers[name].frames(held[one][name])))
        one.merge(two)
        two.merge(one)
        assert one.belief_digest() == two.belief_digest(), "two replicas with the same events differ"
        return shown(two)


# -- writing by hand -----------------------------------------------------------------------------------


def write_by_hand(events: list[Case]) -> dict[str, Memory]:
    """Each device writes its events through its own Memory, meeting others only to learn what it refers to."""
    _check_clocks(events)
    names = sorted({e["device"] for e in events})
    devices = {name: _device(number, instant(-1)) for number, name in enumerate(names, 1)}
    try:
        for device in devices.values():
            device.define(PREDICATE, cardinality="single")
        ids: dict[str, str] = {}
        for e in sorted(events, key=lambda e: (e["hlc"], e["device"], e["seq"])):
            _learn_targets(e, events, devices)
            _set_clock(devices[e["device"]], instant(e["hlc"]))
            try:
                ids[e["id"]] = _write(devices[e["device"]], e, ids)
            except InvalidInput as refused:
                raise NotByHand(str(refused)) from refused
    except NotByHand:
        for device in devices.values():
            device.close()
        raise
    return devices


def _check_clocks(events: list[Case]) -> None:
    """Clocks rise along each log, and what is referred to was written before."""
    clock = {e["id"]: e["hlc"] for e in events}
    for device in {e["device"] for e in events}:
        own = [e["hlc"] for e in sorted(events, key=lambda e: e["seq"]) if e["device"] == device]
        if any(later <= earlier for earlier, later in itertools.pairwise(own)):
            raise NotByHand("the clock falls along the log")
    for e in events:
        for target in _targets(e):
            if clock.get(target, e["hlc"]) >= e["hlc"]:
                raise NotByHand("it refers to what was written later")
        if e["op"] == "retract_batch" and not any(m["hlc"] < e["hlc"] for m in events if m.get("batch") == e["batch"]):
            return


def _targets(e: Case) -> list[str]:
    return [*e.get("corrects", ()), *([e["target"]] if e.get("target") else [])]


def _learn_targets(e: Case, events: list[Case], devices: dict[str, Memory]) -> None:
    own = devices[e["device"]]
    for target in _targets(e):
        author = next(other["device"] for other in events if other["id"] == target)
        if author != e["device"]:
            _set_clock(own, (instant(e["hlc"]) or 0) - HOUR)
            own.merge(devices[author])


def _write(memory: Memory, e: Case, ids: dict[str, str]) -> str:
    common = {"trust": e.get("trust", 2), "source": e.get("source")}
    if e["op"] == "retract_batch":
        return memory.retract(batch=e["batch"], scope="vault", **common).event
    if e["op"] == "retract":
        return memory.retract(ids[e["target"]], batch=e.get("batch"), **common).event
    if e["op"] == "undo":
        return memory.undo(ids[e["target"]], **common).event
    value = NONE if e["value"] == "(none)" else e["value"]
    said = {**common, "batch": e.get("batch"), "observed_at": _when(e.get("observed_at"))}
    if e["op"] == "deny":
        return memory.deny(ENTITY, PREDICATE, value, **said).event
    if e["op"] == "end":
        named = ids[e["target"]] if e.get("target") else None
        at = _when(e.get("at"))
        return memory.end(ENTITY, PREDICATE, value, at=at, changed=e["mode"] == "change", event=named, **said).event
    if e.get("corrects"):
        if e.get("valid_from") is None or len(e["corrects"]) != 1:
            raise NotByHand("a correction that moves the start to its own observation")
        said["observed_at"] = said["observed_at"] or _when(e["hlc"])  # a correction unsaid takes the one of its target
        return memory.correct(ids[e["corrects"][0]], value, **_bounds(e), **said).event
    return memory.remember(ENTITY, PREDICATE, value, affirm=e["op"] == "affirm", **_bounds(e), **said).event


def _bounds(e: Case) -> dict[str, Any]:
    start = "changed_on" if e.get("mode") == "change" and e.get("valid_to") is None else "since"
    found = {
        start: _when(e.get("valid_from")),
        "valid_to": _when(e.get("valid_to")),
        "expires_at": _when(e.get("expires_at")),
        "then": e.get("on_end"),
        "ttl": _days(e.get("ttl")),
        "stale_after": _days(e.get("stale_after")),
        "stale_trust": e.get("stale_trust"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _days(count: int | None) -> str | None:
    return None if count is None else f"{count}d"


def _when(tick: int | None) -> Any:
    return None if tick is None else to_datetime(instant(tick) or 0)


# -- devices -------------------------------------------------------------------------------------------


@cache
def _seeds() -> list[int]:
    """Seeds of the randomness seam in the order of the log ids that they lead to."""

    def log_id(seed: int) -> bytes:
        draw = seeded_randomness(seed)
        private, incarnation = draw(32), draw(16)
        return LogKey(public_key(private), incarnation, "vault").id

    return sorted(range(128), key=log_id)


def _device(number: int, now: int | None) -> Memory:
    environment = Environment(clock=ManualClock(now or 0), randomness=seeded_randomness(_seeds()[number]))
    return Memory(":memory:", environment=environment)


def _set_clock(memory: Memory, now: int | None) -> None:
    clock = memory._environment.clock
    assert isinstance(clock, ManualClock)
    clock.time = now or 0


def shown(memory: Memory) -> list[list[Any]]:
    """The believed timeline as the cases write it."""
    return [
        [_tick(b.valid_from), _tick(b.valid_to), "(none)" if b.value is NONE else b.value]
        for b in memory.timeline(ENTITY, PREDICATE)
    ]


def _tick(moment: Any) -> Any:
    return None if moment is None else ticks(from_datetime(moment))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
