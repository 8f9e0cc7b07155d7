"""What must hold of a memory that is opened on what a loss of power left."""

from __future__ import annotations

from random import Random
from typing import Any

from syncmem import Memory
from syncmem.replica.logs import Logs
from tests.power.paths import CANARY, State, World, state

ROUNDS = 3  # one more than usual: where a blob stood that the memory forgot, it first begins a new log
ABOUT_THE_FILE = ("file", "log ", "parts of", "traces", "chain", "damaged", "device's key")  # words of the doctor


class Violation(AssertionError):
    """A promise was broken."""


def must(holds: bool, what: object) -> None:
    if not holds:
        raise Violation(str(what))


def audit(world: World, before: State | None, after: State | None, *, whole: bool, random: Random) -> None:
    """``before``: what was acknowledged last; ``after``: what would have stood after the next acknowledgement."""
    with world.open() as memory:
        if before is not None:
            all_is_there(memory._replica.logs, before)
            if whole:
                nothing_is_half(memory, before, after)
        is_sound(memory)
        if before is not None and before.erased:
            must(not _shows(world), "an erased text is on the disk")
        if random.random() < 0.25:
            digest = memory.belief_digest()
            memory.rebuild()
            must(memory.belief_digest() == digest, "the beliefs are not what a rebuild makes of the events")
        if world.shared.exists() and random.random() < 0.5:
            says_what_is_true(world, memory)
        elif random.random() < 0.25:
            memory.remember("ana", "home", f"afterwards {random.random()}")
            if before is not None:
                all_is_there(memory._replica.logs, before)
            is_sound(memory)


def all_is_there(logs: Logs, acknowledged: State) -> None:
    """No place is missing, and none holds another event."""
    for id, (seq, event) in acknowledged.heads.items():
        log = next((each for each in logs.held(scope=None) if each.id == id), None)
        must(log is not None and log.seq >= seq, f"lost: an acknowledged log has {log and log.seq} of {seq} events")
        assert log is not None
        must(logs.ref(log.position(seq)).id == event, f"place {seq} of a log holds another event than it did")


def nothing_is_half(memory: Memory, before: State, after: State | None) -> None:
    now = state(memory)
    allowed = [(each.events, each.beliefs) for each in (before, after) if each is not None]
    must((now.events, now.beliefs) in allowed, "what stands is neither what was before the write nor after it")


def is_sound(memory: Memory) -> None:
    """Chains, signatures, digests, and what is derived, as far as the doctor looks."""
    damage = memory._replica.db.execute("PRAGMA quick_check(1)").fetchone()[0]
    must(damage == "ok", f"the file is damaged: {damage}")
    told = memory.doctor(full=True).problems
    problems = [problem for problem in told if any(word in problem for word in ABOUT_THE_FILE)]
    must(not problems, f"the doctor says: {problems}")


def says_what_is_true(world: World, memory: Any) -> None:
    """What is said to be published is; then both devices meet, and no place turns out to be used twice."""
    published, held = memory.status().published, state(memory)
    in_sync = memory.status().in_sync and not memory.status().unseen  # for whom nobody waits after a month
    with world.open_peer() as peer:
        peer.sync()
        if published:
            all_is_there(peer._replica.logs, _of_shared(memory, held))
        must(not in_sync or peer.event_digest() == held.events, "said to be in sync, which it is not")
        memory.remember("ana", "home", "afterwards")
        for one in (memory, peer) * ROUNDS:
            one.sync()
        must(peer.event_digest() == memory.event_digest(), "the devices do not come together")
        must(peer.belief_digest() == memory.belief_digest(), "the devices believe otherwise")
        must(not peer._replica.db.execute("SELECT count(*) FROM moves").fetchone()[0], "a log was forked")
        all_is_there(memory._replica.logs, held)
        is_sound(memory)


def _of_shared(memory: Any, held: State) -> State:
    """What other devices are to have of what is held."""
    scopes = memory._syncer.vault.scopes
    logs = {log.id for log in memory._replica.logs.held(scope=None) if log.key and log.key.scope in scopes}
    return held._replace(heads={id: head for id, head in held.heads.items() if id in logs})


def _shows(world: World) -> bool:
    return any(CANARY.encode() in data for data in world.disk.image().values())
