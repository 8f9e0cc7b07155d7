"""A life with three devices: they hear what the world says, meet, and put at most two questions a week to the user.

What is measured, on the laptop, every evening: how many questions were put; for how many days a change that was heard
was believed wrongly without any question about it being open; how many slots are contested; how many are wrong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from random import Random

from syncmem import Environment, ManualClock, Memory, Question
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime
from tests.simulated_year.world import PREDICATES, SENSITIVE, Slot, World

FIRST = date(2025, 1, 6)  # a Monday
ASKED_A_WEEK = 2
MINUTE = 60_000_000
DEVICES = {"laptop": 5, "phone": 4, "tablet": 1}  # and how much of what is said each hears


@dataclass
class Figures:
    """What came of it."""

    days: int
    asked: list[int] = field(default_factory=list)  # questions put, by week
    kinds: Counter[str] = field(default_factory=Counter)
    kept: int = 0  # questions whose answer was that what is believed is right
    silently_wrong: Counter[Slot] = field(default_factory=Counter)  # the most days on end, for each slot
    contested: float = 0.0  # share of slots at the end
    wrong: float = 0.0  # share of slots at the end that are believed wrongly
    open: int = 0  # questions at the end
    slots: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """The most days for which a change was wrong and no question about it was open."""
        return max(self.silently_wrong.values(), default=0)


class Life:
    """Three devices and a user."""

    def __init__(self, seed: int, noise: float = 1.0) -> None:
        self.chance = Random(seed)
        self.world = World(self.chance, FIRST, noise)
        self.clocks = {name: ManualClock(_noon(FIRST)) for name in DEVICES}
        self.memories = {
            name: Memory(":memory:", zone="UTC", environment=Environment(self.clocks[name], seeded_randomness(number)))
            for number, name in enumerate(DEVICES, seed * 10)
        }
        for name in PREDICATES:
            self.memories["laptop"].define(name, cardinality="single")
        self.memories["laptop"].define(SENSITIVE, cardinality="single", sensitive=True)
        self.meet("laptop", "phone", "tablet")

    def live(self, days: int) -> Figures:
        figures = Figures(days)
        streaks: Counter[Slot] = Counter()
        for number in range(days):
            today = FIRST + timedelta(days=number)
            self._hear(today)
            self._consolidate(number)
            if number % 7 == 6:
                self._ask(figures, today)
            self._look(figures, streaks, today)
        self._sum_up(figures, FIRST + timedelta(days=days - 1))
        return figures

    def close(self) -> None:
        for memory in self.memories.values():
            memory.close()

    def _hear(self, today: date) -> None:
        for number, candidate in enumerate(self.world.day(today)):
            (name,) = self.chance.choices(list(DEVICES), list(DEVICES.values()))
            self._at(_noon(today) + number * MINUTE)
            self.memories[name].submit(candidate)

    def _consolidate(self, number: int) -> None:
        """In the evening; the tablet meets the others twice a week, and every third month it is away for ten days."""
        for name, memory in self.memories.items():
            self.clocks[name].time += 60 * MINUTE
            memory.consolidate()
        away = number % 90 < 10
        self.meet("laptop", "phone", *(["tablet"] if number % 7 in (2, 5) and not away else []))

    def _ask(self, figures: Figures, today: date) -> None:
        put = self.memories["laptop"].questions(limit=ASKED_A_WEEK)
        for question in put:
            slot = (question.entity, question.predicate)
            truth = self.world.now(slot, today)
            figures.kinds[question.kind] += 1
            figures.kept += question.options[0].value == truth
            figures.texts.append(question.text)
            self.memories["laptop"].answer(question, truth)
            self.world.answered(slot)
        figures.asked.append(len(put))

    def _look(self, figures: Figures, streaks: Counter[Slot], today: date) -> None:
        open_now = {_slot(question) for question in self.memories["laptop"].questions()}
        for slot in self.world.heard:
            believed = self.memories["laptop"].believe(*slot)
            right = believed is not None and believed.value == self.world.now(slot, today)
            streaks[slot] = 0 if right or slot in open_now else streaks[slot] + 1
            figures.silently_wrong[slot] = max(figures.silently_wrong[slot], streaks[slot])

    def _sum_up(self, figures: Figures, today: date) -> None:
        laptop = self.memories["laptop"]
        now = datetime.fromtimestamp(self.clocks["laptop"].time / 1e6, UTC)
        slots = [(e, p) for e in laptop.entities() for p in (*PREDICATES, SENSITIVE) if laptop.believe(e, p)]
        figures.slots = len(slots)
        figures.contested = len({(b.entity, b.predicate) for b in laptop.contested(valid_at=now)}) / len(slots)
        wrong = [slot for slot in slots if getattr(laptop.believe(*slot), "value", None) != self.world.now(slot, today)]
        figures.wrong = len(wrong) / len(slots)
        figures.open = len(laptop.questions())

    def meet(self, *names: str) -> None:
        """Each hears of all that the others know."""
        for _ in range(2):
            for name in names:
                for other in names:
                    if other != name:
                        self.memories[name].merge(self.memories[other])

    def _at(self, time: int) -> None:
        for clock in self.clocks.values():
            clock.time = time


def _slot(question: Question) -> Slot:
    return question.entity, question.predicate


def _noon(day: date) -> int:
    return from_datetime(datetime(day.year, day.month, day.day, 12, tzinfo=UTC))
