"""Taking back all that a device or a source said: what goes, what stays, and that one undo brings it back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import Environment, InvalidInput, ManualClock, Memory, NotFound, Source, Withdrawal
from syncmem.environment import seeded_randomness
from syncmem.model.frame import Frame
from syncmem.model.instant import from_datetime, to_datetime
from syncmem.taking_back import REFERENCES_MAX
from tests.test_erasure_properties import World
from tests.test_replicas_machine import NOON

HOME = ("ana", "home")


class Desk:
    """A device whose clock the test turns."""

    def __init__(self, number: int) -> None:
        self.clock = ManualClock(from_datetime(NOON) + number)
        environment = Environment(self.clock, seeded_randomness(number + 1))
        self.memory = Memory(":memory:", zone="UTC", environment=environment)

    @property
    def now(self) -> datetime:
        moment = to_datetime(self.clock.time)
        assert moment is not None
        return moment

    def later(self, **how: int) -> datetime:
        self.clock.time += timedelta(**how) // timedelta(microseconds=1)
        return self.now


@pytest.fixture
def desks() -> Iterator[list[Desk]]:
    """Laptop, phone and tablet; the laptop has defined where people live."""
    desks = [Desk(number) for number in range(3)]
    desks[0].memory.define("home", cardinality="single")
    yield desks
    for desk in desks:
        desk.memory.close()


def meet(*desks: Desk) -> None:
    for desk in desks:
        for other in desks:
            desk.memory.merge(other.memory)


def values(memory: Memory, entity: str = "ana", predicate: str = "home") -> list[object]:
    return [belief.value for belief in memory.timeline(entity, predicate)]


# -- a stolen device ----------------------------------------------------------------------------------


def test_all_that_a_stolen_phone_did_is_taken_back_on_every_device_and_one_undo_restores_it(desks: list[Desk]) -> None:
    laptop, phone, tablet = desks
    kept = laptop.memory.remember(*HOME, "Lisbon", changed_on="2024-03-01").event
    phone.memory.remember("ana", "language", "Portuguese")
    guess = laptop.memory.remember("ana", "language", "Klingon").event
    retraction = laptop.memory.retract(guess).event
    meet(*desks)
    before = laptop.memory.belief_digest()

    stolen = phone.later(hours=1)
    thief = phone.memory
    thief.remember(*HOME, "Nowhere", changed_on="2024-06-01")
    thief.correct(kept, "Elsewhere")
    thief.end("ana", "language", "Portuguese")
    thief.deny("ana", "language", "Portuguese")
    thief.undo(retraction)
    thief.define("home", cardinality="many")
    thief.retract(kept)
    laptop.later(hours=2)
    laptop.memory.merge(thief)
    poisoned = laptop.memory.belief_digest()
    assert poisoned != before

    receipt = laptop.memory.withdraw(device=thief.device, since=stolen, reason="stolen")
    assert laptop.memory.belief_digest() == before
    taken = {"define": 1, "deny": 1, "end": 1, "remember": 2, "retract": 1, "undo": 1}
    assert (receipt.taken, len(receipt.events), receipt.outranked) == (taken, 1, 0)
    assert receipt.slots == (("vault", "ana", "home", 2), ("vault", "ana", "language", 2))
    assert set(receipt.changed) == {("vault", "ana", "home"), ("vault", "ana", "language")}
    assert laptop.memory.event(receipt.events[0]).reason == "stolen"

    tablet.memory.merge(thief)
    tablet.memory.merge(laptop.memory)
    assert tablet.memory.belief_digest() == before
    laptop.memory.undo(*receipt.events)
    tablet.memory.merge(laptop.memory)
    assert laptop.memory.belief_digest() == poisoned == tablet.memory.belief_digest()


def test_a_thief_who_undoes_the_withdrawal_is_taken_back_by_the_next_one(desks: list[Desk]) -> None:
    laptop, phone, _ = desks
    phone.memory.remember(*HOME, "Nowhere")
    laptop.memory.merge(phone.memory)
    first = laptop.memory.withdraw(device=phone.memory.device)
    phone.later(hours=1)
    phone.memory.merge(laptop.memory)
    phone.memory.undo(*first.events)
    laptop.memory.merge(phone.memory)
    assert values(laptop.memory) == ["Nowhere"]
    second = laptop.memory.withdraw(device=phone.memory.device)
    assert (second.taken, values(laptop.memory)) == ({"remember": 1, "undo": 1}, [])


def test_what_the_device_had_said_and_undone_itself_does_not_come_back(desks: list[Desk]) -> None:
    laptop, phone, _ = desks
    said = phone.memory.remember(*HOME, "Nowhere").event
    phone.memory.undo(said)
    laptop.memory.merge(phone.memory)
    receipt = laptop.memory.withdraw(device=phone.memory.device)
    assert (receipt.taken, values(laptop.memory)) == ({"remember": 1, "undo": 1}, [])
    laptop.memory.undo(*receipt.events)
    assert (values(laptop.memory), laptop.memory.event(said).status) == ([], "undone")


def test_an_erasure_by_the_device_is_told_of_and_stays(desks: list[Desk]) -> None:
    laptop, phone, _ = desks
    laptop.memory.remember("bob", "home", "Porto")
    meet(laptop, phone)
    phone.memory.erase("bob")
    phone.memory.remember(*HOME, "Nowhere")
    laptop.memory.merge(phone.memory)
    receipt = laptop.memory.withdraw(device=phone.memory.device)
    assert (receipt.erasures, receipt.taken) == (1, {"remember": 1})
    assert laptop.memory.entities() == ["ana"]


# -- a poisoned import --------------------------------------------------------------------------------


def test_an_import_is_taken_back_from_the_day_on_which_it_went_wrong(desks: list[Desk]) -> None:
    laptop = desks[0]
    mail = Source("mail-import", "ana@example.org")
    laptop.memory.remember(*HOME, "Lisbon", changed_on="2024-03-01", source=mail, observed_at="2024-03-02")
    wrong = laptop.later(days=1)
    laptop.memory.remember(*HOME, "Porto", changed_on="2024-04-01", source=mail, observed_at="2024-04-02")
    laptop.memory.remember("ana", "language", "Latin", source=Source("mail-import", "other@example.org"))
    laptop.memory.remember("ana", "language", "English", source="user")
    laptop.later(days=1)
    laptop.memory.remember(*HOME, "Braga", changed_on="2024-05-01", source=mail, observed_at="2024-05-02")

    taken = laptop.memory.withdraw(source=mail, since=wrong, until=wrong.date())
    assert (taken.slots, values(laptop.memory)) == ((("vault", "ana", "home", 1),), ["Lisbon", "Braga"])
    laptop.memory.withdraw(source="mail-import", since=wrong)
    assert (values(laptop.memory), values(laptop.memory, "ana", "language")) == (["Lisbon"], ["English"])
    laptop.memory.withdraw(source=Source(id="ana@example.org"))
    assert values(laptop.memory) == []


def test_what_arrives_later_is_taken_back_when_the_verb_is_said_again(desks: list[Desk]) -> None:
    laptop, phone, _ = desks
    laptop.memory.remember(*HOME, "Porto", source="mail-import")
    phone.memory.remember("ana", "language", "Latin", source="mail-import")
    first = laptop.memory.withdraw(source="mail-import")
    assert first.taken == {"remember": 1} and "withdraw again" in first.why
    laptop.memory.merge(phone.memory)
    assert values(laptop.memory, "ana", "language") == ["Latin"]
    second = laptop.memory.withdraw(source="mail-import")
    assert (second.slots, values(laptop.memory, "ana", "language")) == ((("vault", "ana", "language", 1),), [])
    third = laptop.memory.withdraw(source="mail-import")
    assert (third.events, third.taken, third.changed) == ((), {}, ())
    assert third.why.startswith("All that was found is undone already")


def test_a_large_import_takes_as_few_events_as_hold_it(desks: list[Desk]) -> None:
    memory = desks[0].memory
    number = 2 * REFERENCES_MAX + 1
    with memory.transaction():
        for each in range(number):
            memory.remember(f"person {each % 50}", "note", f"note {each}", source="mail-import", affirm=False)
    before = memory.belief_digest()
    receipt = memory.withdraw(source="mail-import", reason="x" * 8 * 1024)
    assert (receipt.taken, len(receipt.events)) == ({"remember": number}, 3)
    assert memory.beliefs("person 7") == []
    memory.undo(*receipt.events)
    assert memory.belief_digest() == before


def test_each_scope_gets_its_own_event(desks: list[Desk]) -> None:
    memory = desks[0].memory
    for scope in ("vault", "work", "device"):
        memory.remember(*HOME, "Porto", scope=scope, source="mail-import")
    receipt = memory.withdraw(source="mail-import")
    assert (len(receipt.events), receipt.taken) == (3, {"remember": 3})
    for event in receipt.events:
        memory.undo(event)
    memory.withdraw(source="mail-import", scope="work")
    assert [memory.believe(*HOME, scope=scope) is None for scope in ("vault", "work", "device")] == [False, True, False]


def test_what_was_said_with_more_trust_stays_and_is_counted(desks: list[Desk]) -> None:
    memory = desks[0].memory
    memory.remember(*HOME, "Porto", source="sync-bot")
    receipt = memory.withdraw(source="sync-bot", trust="inference")
    assert (receipt.outranked, receipt.events, values(memory)) == (1, (), ["Porto"])
    assert memory.withdraw(source="sync-bot").taken == {"remember": 1}


def test_a_removed_device_takes_nothing_back(desks: list[Desk]) -> None:
    memory = desks[0].memory
    memory.remember(*HOME, "Porto", source="mail-import")
    replica = memory._replica
    replica.govern(lambda key: replica.logs.by_id[key.id].seq)
    with replica.transaction():
        replica.cuts.note(replica.logs.own[0].id, replica.last_transaction, replica.logs.own[0].seq)
    receipt = memory.withdraw(source="mail-import")
    assert (receipt.taken, len(receipt.events), values(memory)) == ({}, 1, ["Porto"])


# -- saying it right ----------------------------------------------------------------------------------


def test_a_dry_run_tells_what_would_happen_and_changes_nothing(desks: list[Desk]) -> None:
    memory = desks[0].memory
    memory.remember(*HOME, "Lisbon", changed_on="2024-01")
    memory.remember(*HOME, "Porto", changed_on="2024-03", source="mail-import")
    before = memory.event_digest(), memory.belief_digest(), memory._replica.last_transaction
    dry = memory.withdraw(source="mail-import", dry_run=True)
    assert (memory.event_digest(), memory.belief_digest(), memory._replica.last_transaction) == before
    assert (dry.events, dry.dry_run, dry.taken) == ((), True, {"remember": 1})
    real = memory.withdraw(source="mail-import")
    told = [(each.taken, each.slots, each.changed, each.why) for each in (dry, real)]
    assert told[0] == told[1] and values(memory) == ["Lisbon"]


@pytest.mark.parametrize(
    ("words", "refusal", "message"),
    [
        ({}, InvalidInput, "whose words"),
        ({"source": Source()}, InvalidInput, "whose words"),
        ({"source": Source("mail", span=(1, 2))}, InvalidInput, "single events"),
        ({"device": "ffffffffffff"}, NotFound, "devices"),
        ({"source": "mail", "since": "someday"}, InvalidInput, "someday"),
        ({"source": 7}, InvalidInput, "Source"),
    ],
)
def test_words_that_do_not_say_whose_are_refused(
    desks: list[Desk], words: dict[str, object], refusal: type[Exception], message: str
) -> None:
    with pytest.raises(refusal, match=message):
        desks[0].memory.withdraw(**words)  # type: ignore[arg-type]


def test_a_source_that_nobody_named_is_no_error(desks: list[Desk]) -> None:
    receipt = desks[0].memory.withdraw(source="mial-import")
    assert isinstance(receipt, Withdrawal) and receipt.to_dict()["events"] == []
    assert receipt.why.startswith("Nothing that is held here was said so")


def test_more_events_than_one_can_name_are_refused_with_the_way_out(desks: list[Desk]) -> None:
    memory = desks[0].memory
    event = memory.remember(*HOME, "Porto").event
    for verb in (memory.undo, memory.retract):
        with pytest.raises(InvalidInput, match="in parts"):
            verb(*[event] * (REFERENCES_MAX + 1))
    with pytest.raises(InvalidInput, match="names events"):
        memory.undo()


# -- as if it had never been said ----------------------------------------------------------------------


class Theft(World):
    """Devices that say and take back; from some moment on, one of them is in wrong hands."""

    def work(self, steps: int) -> None:
        for _ in range(steps):
            memory = self.random.choice(self.memories)
            verbs = (self.say, self.name, self.merge, self.logs_in_any_order, self.define, self.link)
            verb = self.random.choices(verbs, weights=(10, 6, 4, 4, 1, 2))[0]
            try:
                verb(memory)
            except (InvalidInput, NotFound):
                pass
            memory._environment.clock.time += self.random.choice((1, 60_000_000, 86_400_000_000))  # type: ignore[attr-defined]

    def name(self, memory: Memory) -> None:
        """As there, but for ends that name a claim: those count while it has not arrived, and not once it is undone."""
        if self.ids:
            event = self.random.choice(self.ids[-12:])
            verb = self.random.choice(("retract", "undo", "correct", "withdraw"))
            if verb == "correct":
                self.ids.append(memory.correct(event, self.random.choice(("A", "B", "D"))).event)
            elif verb == "withdraw":
                self.ids.append(memory.retract(batch="import", scope="vault").event)
            else:
                self.ids.append(getattr(memory, verb)(event).event)

    def meet(self) -> None:
        for memory in self.memories:
            for other in self.memories:
                memory.merge(other)

    def fresh(self, frames: list[Frame]) -> Memory:
        """A replica that hears of all this, in some order and partition."""
        memory = Memory(":memory:", environment=Environment(ManualClock(0), seeded_randomness(99)))
        logs: dict[bytes, list[Frame]] = {}
        for frame in frames:
            logs.setdefault(frame.key.id, []).append(frame)
        order = list(logs.values())
        self.random.shuffle(order)
        heard = [frame for log in order for frame in log]
        memory._receive(iter(heard), events_max=self.random.choice((1, 4, 256)), progress=None)
        return memory


@given(st.integers(0, 10**9))
def test_a_withdrawal_is_as_if_it_had_never_been_said_and_its_undo_as_if_it_had_not_been_withdrawn(seed: int) -> None:
    random = Random(seed)
    world = Theft(random, devices=3, vault=False)
    judge, victim, _ = world.memories
    world.work(random.randint(5, 25))
    victim.remember("ana", "city", "A")  # its log is there
    honest = list(victim._offer({}))
    log = victim._replica.logs.own[0]
    since = to_datetime(log.clock + 1)
    key, place = log.key, log.seq
    world.work(random.randint(5, 25))
    world.meet()
    before = judge.belief_digest()
    heard = list(judge._offer({}))
    receipt = judge.withdraw(device=victim.device, since=since, trust=100)
    never = world.fresh([*honest, *(frame for frame in heard if frame.key != key)])
    assert never._replica.logs.by_id[log.id].seq == place
    assert judge.belief_digest() == never.belief_digest()
    assert world.fresh(list(judge._offer({}))).belief_digest() == judge.belief_digest()
    assert judge.withdraw(device=victim.device, since=since, trust=100).events == ()
    if receipt.events:
        judge.undo(*receipt.events, trust=receipt.trust)
    assert judge.belief_digest() == before
    assert world.fresh(list(judge._offer({}))).belief_digest() == before
    judge.rebuild()
    assert judge.belief_digest() == before
