"""The world: what is true of whom, what changes, and what of it is said, by whom and how. Deterministic by its seed.

Every day 40 candidates are heard.  Two of them (5 %) tell of something that changed that day; one change in ten is
heard from lower tiers alone: the user does not speak of that slot until asked.  The others repeat what is true, by the
user (most), by an integration, by a document (which may be old, and then tells what was true) or as a guess of a
model; or they are what was quoted or hypothetical, and the assistant's own words; or they are noise, somewhat more
than one a week: wrong guesses, and statements whose verb a careless model dropped.  Noise is what contests slots
about which nothing has changed; until the user speaks of them again, only a question settles them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import Any, Final

from syncmem import Candidate, Source

CANDIDATES_A_DAY: Final = 40
CHANGES_A_DAY: Final = 2
ONLY_FROM_BELOW: Final = 0.1  # share of changes of which the user does not speak
PEOPLE: Final = 50
PREDICATES: Final = (
    *("home_city", "address", "employer", "job_title", "diet", "partner", "budget", "timezone", "pronouns"),
    *("favourite_food", "favourite_team", "gym", "doctor", "dentist", "bank", "insurer", "phone_model", "laptop_model"),
    *("commute", "bedtime"),
)
SENSITIVE: Final = "door_code"  # of the first few people
VALUES: Final = 30  # of each predicate

# How the candidates that tell of no change are spread: by whom and how, in percent.
MANNERS: Final = {
    "user": 64.4,
    "integration": 9,
    "document": 6,
    "right guess": 8,
    "set aside": 10,
    "visit": 2,
    "wrong guess": 0.4,
    "careless": 0.2,
}
NOISE: Final = ("wrong guess", "careless")
Slot = tuple[str, str]


@dataclass
class World:
    """What is true, day by day."""

    chance: Random
    first: date
    noise: float = 1.0  # how many times the usual amount
    truth: dict[Slot, list[tuple[date, str]]] = field(default_factory=dict)  # since when, what
    visits: dict[Slot, tuple[date, str]] = field(default_factory=dict)  # through which day
    silent: set[Slot] = field(default_factory=set)  # of which the user does not speak
    heard: dict[Slot, date] = field(default_factory=dict)  # since when the present truth can be known

    def __post_init__(self) -> None:
        people = [f"person-{number}" for number in range(PEOPLE)]
        slots = [(person, name) for person in people for name in PREDICATES]
        slots += [(person, SENSITIVE) for person in people[:5]]
        self.chance.shuffle(slots)
        self.truth = {slot: [(self.first - timedelta(days=400), self._value(slot))] for slot in slots}
        self._slots = slots
        self._weights = [1 / (place + 20) for place in range(len(slots))]

    def now(self, slot: Slot, today: date) -> str:
        """What is true today."""
        through, place = self.visits.get(slot, (today, ""))
        return place if slot in self.visits and today <= through else self._of(slot, today)

    def day(self, today: date) -> list[Candidate]:
        """What is heard today, in its order."""
        shares = [share * (self.noise if kind in NOISE else 1) for kind, share in MANNERS.items()]
        kinds = self.chance.choices(list(MANNERS), shares, k=CANDIDATES_A_DAY - CHANGES_A_DAY)
        said = [self._change(today) for _ in range(CHANGES_A_DAY)]
        said += [self._said(kind, today) for kind in kinds]
        self.chance.shuffle(said)
        return said

    def answered(self, slot: Slot) -> None:
        """The user was asked, and speaks of it from now on."""
        self.silent.discard(slot)

    # -- what is said ------------------------------------------------------------------------------------

    def _change(self, today: date) -> Candidate:
        slot = self._slot(lambda each: each not in self.visits)
        self.truth[slot].append((today, self._value(slot)))
        self.heard[slot] = today
        self.silent.discard(slot)
        if self.chance.random() < ONLY_FROM_BELOW:
            self.silent.add(slot)
            return self._from_below(slot, today)
        told: dict[str, Any] = {"verb": "change", "since": f"{today}"} if self.chance.random() < 0.5 else {}
        return self._candidate(slot, self._of(slot, today), "user", **told)

    def _said(self, kind: str, today: date) -> Candidate:
        slot = self._slot(lambda each: kind not in ("user", "visit") or each not in self.silent)
        if kind == "user":
            self.heard.setdefault(slot, today)
            return self._candidate(slot, self.now(slot, today), "user")
        if kind in ("integration", "document", "right guess"):
            return self._from_below(slot, today, kind)
        if kind == "wrong guess":
            return self._candidate(slot, self._value(slot), "model", kind="inferred")
        if kind == "careless":
            return self._candidate(slot, self._value(slot), "user", words="It might be so next year.")
        if kind == "visit" and slot[1] == "home_city":
            through = today + timedelta(days=self.chance.randint(2, 9))
            self.visits[slot] = (through, self._value(slot))
            return self._candidate(slot, self.visits[slot][1], "user", verb="temporary", until=f"{through}")
        manner = self.chance.choice(("quoted", "hypothetical", "stated"))
        return self._candidate(slot, self._value(slot), "assistant" if manner == "stated" else "user", kind=manner)

    def _from_below(self, slot: Slot, today: date, kind: str | None = None) -> Candidate:
        kind = kind or self.chance.choice(("integration", "document", "right guess"))
        if kind == "integration":
            return self._candidate(slot, self._of(slot, today), "integration:calendar")
        if kind == "right guess":
            return self._candidate(slot, self._of(slot, today), "model", kind="inferred")
        late = 0 if slot in self.silent else self.chance.choice((0, 0, 3, 30, 300))
        written = today - timedelta(days=late)
        return self._candidate(slot, self._of(slot, written), f"document:{written}", observed_at=f"{written}")

    @staticmethod
    def _candidate(slot: Slot, value: str, source: str, **told: Any) -> Candidate:
        return Candidate(*slot, value, source=Source(*source.split(":")), **{"observed_at": "now", **told})

    # -- chance ------------------------------------------------------------------------------------------

    def _of(self, slot: Slot, day: date) -> str:
        return [value for since, value in self.truth[slot] if since <= day][-1]

    def _value(self, slot: Slot) -> str:
        """Another value than the true one."""
        present = self.truth[slot][-1][1] if slot in self.truth else None
        return self.chance.choice([v for n in range(VALUES) if (v := f"{slot[1]} {n}") != present])

    def _slot(self, fits: Any) -> Slot:
        while True:
            (slot,) = self.chance.choices(self._slots, self._weights)
            if fits(slot):
                return slot
