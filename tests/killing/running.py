"""One life of two devices whose processes are killed again and again; after each time, and in the end, it is looked.

Rules: who kills has nothing open while it forks; what was acknowledged is kept here, in memory, and never asked of
the library.
"""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import BinaryIO, NamedTuple

from syncmem import Memory
from tests.killing.living import ENTITIES, live
from tests.test_processes import events_by_place

ROUNDS_TO_HEAL = 8


class Violation(Exception):
    """Something that was acknowledged is not there, or a memory is not whole."""


@dataclass
class Heard:
    """What the processes of one device have acknowledged; ``trying``: what they were about to take back."""

    said: set[str] = field(default_factory=set)
    trying: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    def note(self, what: str, values: list[str]) -> None:
        if what == "failed":
            raise Violation("\n".join(values))
        if values:
            getattr(self, what).update(values)


class Process(NamedTuple):
    id: int
    told: BinaryIO
    heard: Heard


def run(seed: int, cycles: int, folder: Path) -> Counter[str]:
    """One life; what was done in it.

    Raises:
        Violation: something that was promised does not hold.
    """
    random, counts = Random(seed), Counter[str]()
    paths = {name: folder / f"{name}.db" for name in ("laptop", "phone")}
    heard = {name: Heard() for name in paths}
    _found(folder / "shared", paths)
    for cycle in range(cycles):
        names = ["laptop"] * random.randrange(1, 4) + ["phone"] * random.randrange(2)
        processes = [
            _started(paths[name], f"{name} {seed}.{cycle}.{index}", heard[name]) for index, name in enumerate(names)
        ]
        _kill(processes, random)
        counts["processes"] += len(processes)
        for name in sorted(set(names)):
            with Memory(paths[name]) as memory:
                look(memory, heard[name], f"seed {seed}, cycle {cycle}, {name}")
    _heal(paths, list(heard.values()), f"seed {seed}, in the end")
    counts.update({"cycles": cycles, "acknowledged": sum(len(each.said) + len(each.gone) for each in heard.values())})
    return counts


def _found(shared: Path, paths: dict[str, Path]) -> None:
    """A vault of two devices that meet in a folder."""
    shared.mkdir(parents=True)
    with Memory(paths["laptop"]) as laptop:
        laptop.define("holder", cardinality="single")
        laptop.create_vault("laptop")
        invitation = laptop.invite(f"folder:{shared}")
        try:
            Memory.join(paths["phone"], invitation.code, name="phone", wait_seconds=0)
        except LookupError:  # it has asked
            invitation.accept(lambda name: name == "phone")
        Memory.join(paths["phone"], invitation.code, name="phone", wait_seconds=0).close()


def _started(path: Path, seed: str, heard: Heard) -> Process:
    """A process that lives until it is killed, and tells through a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return Process(child, os.fdopen(reading, "rb"), heard)

    def tell(what: str, values: list[str]) -> None:
        os.write(writing, json.dumps([what, values]).encode() + b"\n")

    try:
        live(path, seed, tell)
    except BaseException:
        tell("failed", [traceback.format_exc()])
    finally:
        os._exit(1)


def _kill(processes: list[Process], random: Random) -> None:
    """Hear some of what one of them tells, kill all at some moment, and hear what all had told by then."""
    if random.random() < 0.7:
        first = random.choice(processes)
        for _ in range(random.randrange(1, 9)):
            first.heard.note(*json.loads(first.told.readline()))
        time.sleep(random.random() * 0.004)
    else:
        time.sleep(random.random() * 0.03)  # it may not even have opened the memory
    for process in processes:
        os.kill(process.id, signal.SIGKILL)
    for process in processes:
        os.waitpid(process.id, 0)
        with process.told as told:
            for line in told:
                process.heard.note(*json.loads(line))


def look(memory: Memory, heard: Heard, when: str) -> None:
    """Whether all that was acknowledged on this device is there, and what was taken back is not believed."""
    believed = {belief.value for entity in ENTITIES for belief in memory.beliefs(entity, "seen")}
    lost = sorted(heard.said - heard.trying - believed)
    back = sorted(heard.gone & believed)
    if lost or back:
        raise Violation(f"{when}: lost {lost}, back again {back}")


def _heal(paths: dict[str, Path], heard: list[Heard], when: str) -> None:
    """Once nobody is killed any more both hold and believe the same, and nothing is damaged."""
    with Memory(paths["laptop"]) as laptop, Memory(paths["phone"]) as phone:
        for _ in range(ROUNDS_TO_HEAL):
            for memory in (laptop, phone):
                memory.sync()
            if laptop.status().in_sync and phone.status().in_sync:
                break
        else:
            standing = [memory.status().to_dict() for memory in (laptop, phone)]
            raise Violation(f"{when}: not in sync after {ROUNDS_TO_HEAL} rounds, but {standing}")
        for memory in (laptop, phone):
            for each in heard:
                look(memory, each, when)
            problems = [text for text in memory.doctor(full=True).problems if "log" in text or "damaged" in text]
            digests = [memory.belief_digest(), (memory.rebuild(), memory.belief_digest())[1], laptop.belief_digest()]
            if problems or len(set(digests)) > 1:
                raise Violation(f"{when}: {problems or 'beliefs differ'}")
        twice = [place for place, ids in events_by_place(laptop, phone).items() if len(ids) > 1]
        if twice:
            raise Violation(f"{when}: places of a log were used twice: {twice}")
