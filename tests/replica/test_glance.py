"""A glance answers as looking properly does, whatever another process has written meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, Closed, Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime
from syncmem.replica import reading

NAMES, PREDICATES = ("ana", "bob"), ("home", "language")
DAYS = ("2019-03-01", "2021-07-01", "2023-01-01", "2024-06-15")
SAID = ("Lisbon", "LISBON", "Berlin", NONE)
Verb = Callable[[Memory, Random], object]
VERBS: tuple[Verb, ...] = (
    *[lambda m, c: m.remember(*slot(c), c.choice(SAID), changed_on=c.choice(DAYS), trust=c.choice((60, 90)))] * 5,
    lambda m, c: m.remember(*slot(c), c.choice(SAID), expires_at="2026"),
    lambda m, c: m.end(*slot(c), c.choice(SAID), at=c.choice(DAYS), changed=True),
    lambda m, c: m.define(c.choice(PREDICATES), cardinality=c.choice(("single", "single", "many"))),
    lambda m, c: m.define(c.choice(PREDICATES), cardinality="single", equality=c.choice(("exact", "casefold"))),
    lambda m, c: m.same(*NAMES),
    lambda m, c: m.different(*NAMES),
    lambda m, c: m.retract(batch="none", scope="vault"),
)


def slot(chance: Random) -> tuple[str, str]:
    return chance.choice(NAMES), chance.choice(PREDICATES)


class Watch(ManualClock):
    """A clock on which a second passes whenever it is looked at."""

    def now(self) -> int:
        self.time += 1_000_000
        return self.time


def opened(path: str, clock: ManualClock) -> Memory:
    return Memory(path, zone="UTC", environment=Environment(clock, seeded_randomness(3)))


def watch() -> ManualClock:
    return Watch(from_datetime(datetime(2025, 1, 1, 12, tzinfo=UTC)))


clock = pytest.fixture(watch)


@pytest.fixture
def nothing_to_check(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reading, "CHECKED_FIRST", 0)  # the first that a process reads are never glanced at
    yield


@given(st.randoms(use_true_random=False))
@pytest.mark.usefixtures("nothing_to_check")
def test_what_another_process_wrote_is_read_at_a_glance(
    tmp_path_factory: pytest.TempPathFactory, chance: Random
) -> None:
    path, clock = str(tmp_path_factory.mktemp("glance") / "a.db"), watch()
    with ExitStack() as stack:
        writer, reader = (stack.enter_context(opened(path, clock)) for _ in range(2))
        for predicate in PREDICATES:
            writer.define(predicate, cardinality="single")
        for _ in range(25):
            chance.choice(VERBS)(writer, chance)
            names, day = slot(chance), chance.choice((None, *DAYS))
            last = writer._replica.last_transaction
            known = chance.choice((None, -1, chance.randrange(last + 1), last, "2025-01-01T12:01"))
            properly = writer._beliefs("vault", *names, day, known, None, None, None)
            axes = {"valid_at": day, "known_at": known}
            assert reader.beliefs(*names, **axes) == properly
            if len(properly) < 2:
                assert reader.believe(*names, **axes) == (properly[0] if properly else None)


@pytest.mark.usefixtures("nothing_to_check")
def test_a_belief_begins_where_values_that_are_now_the_same_began(tmp_path: Path, clock: ManualClock) -> None:
    path = str(tmp_path / "a.db")
    with opened(path, clock) as writer, opened(path, clock) as reader:
        writer.define("home", cardinality="single")
        writer.remember("ana", "home", "Lisbon", changed_on="2019-03-01", trust=80)
        writer.remember("ana", "home", "LISBON", changed_on="2021-07-01")
        assert reader.believe("ana", "home").valid_from == datetime(2021, 7, 1, tzinfo=UTC)  # type: ignore[union-attr]
        writer.define("home", cardinality="single", equality="casefold")
        assert reader.believe("ana", "home").valid_from == datetime(2019, 3, 1, tzinfo=UTC)  # type: ignore[union-attr]


@pytest.mark.usefixtures("nothing_to_check")
def test_a_closed_memory_is_not_even_glanced_at(tmp_path: Path, clock: ManualClock) -> None:
    memory = opened(str(tmp_path / "a.db"), clock)
    memory.define("home", cardinality="single")
    memory.remember("ana", "home", "Lisbon")
    assert memory.believe("ana", "home") is not None
    memory.close()
    with pytest.raises(Closed):
        memory.believe("ana", "home")
