"""A memory with a clock in the test's hand, and somebody who talks to it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from syncmem import Environment, ManualClock, Memory, Source, english
from syncmem.environment import seeded_randomness
from syncmem.judging.candidate import NOW, Candidate
from syncmem.judging.consolidating import Judgement
from syncmem.judging.extracting import Utterance
from syncmem.model.instant import from_datetime

SECOND = 1_000_000
USER = Source(kind="user")


class Desk:
    """A device: what is said to it is submitted, and consolidated a second later."""

    def __init__(self, seed: int = 1, path: str = ":memory:", *, pack: bool = True) -> None:
        self.clock = ManualClock(0)
        self.memory = Memory(path, zone="UTC", environment=Environment(self.clock, seeded_randomness(seed)))
        self.on("2025-01-01")
        if pack:
            self.memory.define_pack("personal")

    def on(self, day: str) -> Desk:
        """Noon of a day."""
        self.clock.time = from_datetime(datetime.fromisoformat(f"{day}T12:00+00:00"))
        return self

    def says(self, text: str, source: Source = USER) -> list[Judgement]:
        """Ana says something; what became of it."""
        return self.hears(*english(Utterance(text, "ana", source, "now")))

    def hears(self, *candidates: Candidate) -> list[Judgement]:
        """What is said to it live, where a candidate does not say otherwise."""
        live = [replace(each, observed_at=each.observed_at or NOW) for each in candidates]
        at_once = self.memory.submit(live).judged
        self.clock.time += SECOND
        judged = [*at_once, *self.memory.consolidate()]
        self.clock.time += SECOND
        return judged

    def values(self, predicate: str, **axes: object) -> list[object]:
        return [belief.value for belief in self.memory.beliefs("ana", predicate, **axes)]

    def line(self, predicate: str) -> list[tuple[object, str | None, str | None]]:
        return [
            (b.value, b.valid_from and f"{b.valid_from:%Y-%m-%d}", b.valid_to and f"{b.valid_to:%Y-%m-%d}")
            for b in self.memory.timeline("ana", predicate)
        ]


def meet(*desks: Desk) -> None:
    """All devices exchange everything."""
    for _ in range(3):
        for one in desks:
            for other in desks:
                if one is not other:
                    one.memory.merge(other.memory)
    assert len({desk.memory.belief_digest() for desk in desks}) == 1
