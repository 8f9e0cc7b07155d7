"""What a process does until it is killed: it writes, takes back and syncs, and tells of each thing once it is done.

Rule: whoever listens hears "trying" before a value may be gone, and "said" or "gone" only after the verb has returned;
so what was heard last is what the library has acknowledged.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from syncmem import Busy, Memory

DEEDS_MAX = 12
ENTITIES = [f"person:{number}" for number in range(6)]
Tell = Callable[[str, list[str]], None]  # what was done, and to which values


def live(path: Path, seed: str, tell: Tell) -> None:
    """Use a memory until one is killed; values begin with ``seed``, and their last digit says about whom they are."""
    random = Random(seed)
    said: list[tuple[str, str]] = []  # value, event
    with Memory(path) as memory:
        tell("opened", [])
        for number in range(DEEDS_MAX):
            deed = random.choices(list(DEEDS), list(DEEDS.values()))[0]
            deed(memory, random, f"{seed}/{number}", said, tell)
            tell("did", [])
        signal.pause()


def entity_of(value: str) -> str:
    return ENTITIES[int(value[-1])]


def _new(random: Random, number: str) -> str:
    return f"{number}-{random.randrange(len(ENTITIES))}"


def _say(memory: Memory, random: Random, number: str, said: list[tuple[str, str]], tell: Tell) -> None:
    value = _new(random, number)
    said.append((value, memory.remember(entity_of(value), "seen", value).event))
    memory.remember("shared", "holder", value)
    tell("said", [value])


def _say_together(memory: Memory, random: Random, number: str, said: list[tuple[str, str]], tell: Tell) -> None:
    values = [_new(random, f"{number}.{index}") for index in range(random.randrange(2, 6))]
    with memory.transaction():
        events = [memory.remember(entity_of(value), "seen", value).event for value in values]
    said += zip(values, events, strict=True)
    tell("said", values)


def _say_much(memory: Memory, random: Random, number: str, said: list[tuple[str, str]], tell: Tell) -> None:
    values = [_new(random, f"{number}.{index}") for index in range(random.randrange(10, 30))]
    receipts = memory.remember_all(
        {"entity": entity_of(value), "predicate": "seen", "value": value} for value in values
    )
    said += zip(values, (receipt.event for receipt in receipts), strict=True)
    tell("said", values)


def _take_back(memory: Memory, random: Random, number: str, said: list[tuple[str, str]], tell: Tell) -> None:
    if said:
        value, event = said.pop(random.randrange(len(said)))
        tell("trying", [value])
        memory.retract(event)
        tell("gone", [value])


def _sync(memory: Memory, random: Random, number: str, said: list[tuple[str, str]], tell: Tell) -> None:
    with suppress(Busy):  # another process of this device is syncing
        memory.sync()


def _rebuild(memory: Memory, random: Random, number: str, said: list[tuple[str, str]], tell: Tell) -> None:
    memory.rebuild()


DEEDS = {_say: 16, _say_together: 8, _say_much: 2, _take_back: 8, _sync: 8, _rebuild: 1}
