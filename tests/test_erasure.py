"""Erasing an entity: what goes, what stays, who hears of it, and that no byte of it is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pytest

from syncmem import (
    AsyncMemory,
    Environment,
    Grade,
    InvalidInput,
    ManualClock,
    Memory,
    NotFound,
    Source,
    labels,
    restore,
)
from syncmem.environment import seeded_randomness
from syncmem.model import salt
from syncmem.model.event import Erased, Event, Kind, LogKey, Statement, head_words, header, header_hash
from syncmem.model.frame import Frame
from syncmem.model.instant import to_datetime
from syncmem.replica import driver
from syncmem.replica.digests import Digests, ScopeDigests
from syncmem.seal.keys import sign
from tests.test_erasure_properties import derived

ROOT = Path(__file__).parent.parent
DAY = 86_400_000_000
CANARIES = ("Canarina", "canary-value", "canary-mail", "canary-reason", "canary-batch", "canary-episode", "canary_pred")
CANARY = CANARIES[0]
READER = """
import sys
from syncmem.replica import driver
connection = driver.connect(sys.argv[1], read_only=True)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM runs").fetchone()
print("reading", flush=True)
sys.stdin.readline()
"""
GREP = """
import os, sys
words = [w.encode() for w in sys.argv[2:]]
for name in sorted(os.listdir(sys.argv[1])):
    data = open(os.path.join(sys.argv[1], name), "rb").read()
    for word in words:
        if word.lower() in data.lower():
            print(name, word)
"""


class Desk:
    """A device with its clock; in no vault, so its erasures bring their own salt, unless it shares a key."""

    def __init__(self, number: int, path: Any = ":memory:", key: bytes | None = None) -> None:
        self.clock = ManualClock(1_700_000_000_000_000 + number)
        self.path = path
        self.number = number
        self.key = key
        self.open()

    def open(self) -> None:
        self.number += 100
        environment = Environment(self.clock, seeded_randomness(self.number))
        self.memory = Memory(self.path, zone="UTC", environment=environment, wait_seconds=0.2)
        if self.key is not None:
            self.memory._replica.subjects_named_by(lambda scope: self.key)

    def digests(self, scope: str = "vault") -> ScopeDigests:
        replica = self.memory._replica
        with replica.transaction():
            return Digests(replica.db, replica.logs).of(scope)


@pytest.fixture
def desks() -> Iterator[list[Desk]]:
    desks = [Desk(number) for number in range(3)]
    desks[0].memory.define("home", cardinality="single")
    yield desks
    for desk in desks:
        desk.memory.close()


def canary(memory: Memory, entity: str = CANARY) -> list[str]:
    """Claims about an entity with a trace of every kind; the ids of the events."""
    source = Source("mail", "canary-mail", "canary-episode", (3, 9))
    said: dict[str, Any] = {"source": source, "batch": "canary-batch", "reason": "canary-reason"}
    return [
        memory.remember(entity, "home", "canary-value 1", **said).event,
        memory.remember(entity, "canary_pred", {"x": ["canary-value 2"]}, **said).event,
        memory.end(entity, "canary_pred", "canary-value 3", **said).event,
        memory.deny(entity, "canary_pred", "canary-value 4", **said).event,
    ]


def tables(memory: Memory) -> str:
    """All that the tables hold, as text."""
    execute = memory._replica.db.execute
    names = [row[0] for row in execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    return "".join(str(execute(f"SELECT * FROM {name}").fetchall()) for name in names)


def held(memory: Memory, event: str) -> Event | Erased:
    log, seq = event.split("-")
    logs = memory._replica.logs
    found = next(entry for entry in logs.by_no.values() if entry.name == log)
    return logs.event(found.position(int(seq)))


def salt_of(memory: Memory, event: str) -> bytes | None:
    log, seq = event.split("-")
    logs = memory._replica.logs
    cover = logs.cover(next(no for no, entry in logs.by_no.items() if entry.name == log), int(seq))
    assert cover is not None
    return salt.salt(cover, int(seq) % salt.BLOCK_EVENTS)


def meet(*desks: Desk) -> None:
    for _ in range(3):
        for one in desks:
            for other in desks:
                if one is not other:
                    one.memory.merge(other.memory)
    assert len({desk.memory.event_digest() for desk in desks}) == 1
    assert len({desk.memory.belief_digest() for desk in desks}) == 1


# -- here ----------------------------------------------------------------------------------------------


def test_everything_about_an_entity_goes_and_nothing_else(desks: list[Desk]) -> None:
    memory = desks[0].memory
    memory.remember("bob", "home", "Rome", source="chat", batch="other")
    before = memory.belief_digest(), desks[0].digests().beliefs
    events = canary(memory)
    report = memory.erase(CANARY)
    assert (report.events, len(report.erasures), report.scrubbed) == ({"vault": 4}, 1, True)
    assert (memory.belief_digest(), desks[0].digests().beliefs) == before
    assert memory.beliefs(CANARY) == [] and memory.timeline(CANARY, "home").beliefs == ()
    assert memory.history(CANARY, "home") == [] and memory.entities() == ["bob"]
    assert not [word for word in CANARIES if word in tables(memory)]
    for event in events:
        with pytest.raises(NotFound, match="was erased; nothing of it is left"):
            memory.event(event)
    assert memory.doctor(full=True).facts["erasures"] == {"known": 1, "not_applied": 0, "scrubbed": True}
    assert memory.event(report.erasures[0]).verb == "erase"


def test_what_was_believed_at_any_time_is_as_if_it_had_never_been_heard(desks: list[Desk]) -> None:
    memory = desks[0].memory
    first = memory.remember("bob", "met", "somebody", mentions=[CANARY])
    second = memory.remember("bob", "met", "nobody")
    known = memory.remember("bob", "home", f"with {CANARY}", mentions=[CANARY]).known
    memory.remember("bob", "home", "Rome", changed_on="2023-01-01")
    later = memory.remember("bob", "home", "Oslo", changed_on="2023-11-01").known
    memory.erase(CANARY)
    assert [b.value for b in memory.beliefs("bob", "met")] == ["nobody"]
    assert memory.beliefs("bob", "met", known_at=first.known) == []
    assert memory.believe("bob", "met", known_at=second.known).value == "nobody"  # type: ignore[union-attr]
    assert memory.believe("bob", "home", known_at=known) is None
    values = [(b.value, b.valid_to is None) for b in memory.timeline("bob", "home", known_at=later)]
    assert values == [("Rome", False), ("Oslo", True)]
    assert "somebody" not in tables(memory) and CANARY not in tables(memory)
    assert [entry.value for entry in memory.history("bob", "met")] == ["nobody"]
    assert memory.why("bob", "home").winner.value == "Oslo"  # type: ignore[union-attr]


def test_a_claim_comes_back_when_its_correction_is_erased(desks: list[Desk]) -> None:
    memory = desks[0].memory
    plain = memory.remember("bob", "home", "Rome", since="2020-01-01")
    wrong = memory.correct(plain.event, f"at {CANARY}'s", mentions=[CANARY])
    assert memory.believe("bob", "home").value == f"at {CANARY}'s"  # type: ignore[union-attr]
    memory.erase(CANARY)
    assert memory.believe("bob", "home").value == "Rome"  # type: ignore[union-attr]
    assert memory.believe("bob", "home", known_at=wrong.known).value == "Rome"  # type: ignore[union-attr]


def test_a_correction_mentions_whom_the_claim_mentioned(desks: list[Desk]) -> None:
    memory = desks[0].memory
    claim = memory.remember("bob", "met", "x", mentions=[CANARY])
    memory.correct(claim.event, "y")
    memory.erase(CANARY)
    assert memory.beliefs("bob", "met") == []


def test_an_erased_statement_that_had_corrected_one_of_another_slot(desks: list[Desk]) -> None:
    """No verb writes such an event; another implementation may."""
    memory = desks[0].memory
    plain = memory.remember("bob", "home", "Rome")
    ref = memory._replica.logs.ref(memory._telling.position(plain.event))
    stated = (None, None, None, None, 0, 90, None, None, None)
    odd = Statement(CANARY, "home", "canary-value", 0, *stated, refs=[ref], extra=None)
    with memory._replica.transaction():
        written = memory._replica.append("vault", [(Kind.CLAIM, odd)])
    assert memory.believe("bob", "home") is None
    memory.erase(CANARY)
    for n in (None, written.n):
        assert memory.believe("bob", "home", known_at=n).value == "Rome"  # type: ignore[union-attr]
    same_when_folded_again(memory)


def test_an_end_that_arrived_before_the_claim_it_names_is_told_anew_rightly(desks: list[Desk]) -> None:
    """The claim is dead when it arrives, so from then on the end does not count."""
    one, two, three = (desk.memory for desk in desks)
    claim = one.remember("bob", "base", "Rome", since="2020-01-01").event
    two.merge(one)
    two.end("bob", "base", "Rome", event=claim)
    two.retract(claim)
    three.remember("bob", "base", "Rome", since="2019-01-01", observed_at="2019-02-01")
    three.remember("bob", "base", "Rome", mentions=[CANARY], observed_at="2018-01-01")
    logs = {log: list(frames) for log, frames in groupby(two._offer({}), lambda frame: frame.key)}
    for frames in sorted(logs.values(), key=lambda frames: frames[0].key.device != two._replica.device):
        three._receive(frames, 256, None)
    three.erase(CANARY)
    same_when_folded_again(three)


def same_when_folded_again(memory: Memory) -> None:
    before = derived(memory)
    memory.rebuild()
    assert derived(memory) == before


def test_nothing_takes_an_erasure_back_and_nothing_names_what_it_erased(desks: list[Desk]) -> None:
    memory = desks[0].memory
    claim = memory.remember(CANARY, "home", "Rome")
    retraction = memory.retract(claim.event)
    report = memory.erase(CANARY)
    memory.undo(report.erasures[0])
    memory.undo(retraction.event)
    assert memory.believe(CANARY, "home") is None
    assert memory.event(retraction.event).names == (claim.event,)
    for verb in (memory.undo, memory.retract):
        with pytest.raises(NotFound, match="was erased"):
            verb(claim.event)
    memory.rebuild()
    assert memory.believe(CANARY, "home") is None


def test_what_is_said_afterwards_is_kept(desks: list[Desk]) -> None:
    memory = desks[0].memory
    canary(memory)
    memory.erase(CANARY)
    memory.remember(CANARY, "home", "Oslo")
    meet(*desks)
    assert [d.memory.believe(CANARY, "home").value for d in desks] == ["Oslo"] * 3  # type: ignore[union-attr]
    desks[2].memory.erase(CANARY)
    meet(*desks)
    assert [d.memory.believe(CANARY, "home") for d in desks] == [None] * 3


def test_names_and_sources_that_others_use_stay(desks: list[Desk]) -> None:
    memory = desks[0].memory
    memory.remember("bob", "home", "Rome", source=Source("mail", "canary-mail"), batch="canary-batch")
    canary(memory)
    memory.erase(CANARY)
    assert memory.believe("bob", "home").source.id == "canary-mail"  # type: ignore[union-attr]
    memory.retract(batch="canary-batch")
    assert memory.believe("bob", "home") is None


def test_the_event_names_nobody_and_its_reason_must_not_either(desks: list[Desk]) -> None:
    memory = desks[0].memory
    with pytest.raises(InvalidInput, match="say it without the name"):
        memory.erase(CANARY, reason=f"{CANARY.upper()} asked for it")
    report = memory.erase(CANARY, reason="asked for it")
    assert memory.event(report.erasures[0]).reason == "asked for it"
    assert CANARY not in tables(memory)


def test_scopes_are_erased_together_or_one_by_one(desks: list[Desk]) -> None:
    memory = desks[0].memory
    for scope in ("vault", "work", "device"):
        memory.remember(CANARY, "home", scope, scope=scope)
    assert memory.erase(CANARY, scope="work").events == {"work": 1}
    assert memory.believe(CANARY, "home", scope="work") is None
    assert memory.believe(CANARY, "home").value == "vault"  # type: ignore[union-attr]
    assert memory.erase(CANARY).events == {"device": 1, "vault": 1, "work": 0}
    assert CANARY not in tables(memory)


def test_an_erasure_that_is_rolled_back_has_done_nothing(desks: list[Desk]) -> None:
    memory = desks[0].memory
    canary(memory)
    before = tables(memory)
    with pytest.raises(ZeroDivisionError), memory.transaction():
        report = memory.erase(CANARY)
        assert report.events == {"vault": 4} and not report.scrubbed
        raise ZeroDivisionError
    assert tables(memory) == before
    with memory.transaction():
        memory.erase(CANARY)
    assert memory.doctor().facts["erasures"]["scrubbed"]
    assert memory.erase(CANARY).events == {"vault": 0}


def test_a_subscriber_and_a_merge_report_live_with_slots_that_are_gone(desks: list[Desk]) -> None:
    one, other = desks[0].memory, desks[1].memory
    canary(one)
    report = other.merge(one)
    assert any(entity == CANARY for _, entity, _ in report.slots)
    other.erase(CANARY)
    latest, notices = other._changes_since(0)
    assert latest == other._replica.last_transaction and CANARY not in {n.entity for n in notices}
    one.merge(other)
    one.remember("eva", "home", "Rome")
    assert {n.entity for n in one._changes_since(0)[1]} == {"eva"}


def test_cost_grows_with_the_entity_not_with_what_is_stored() -> None:
    """Counted in statements that the database runs, the one rewriting of the file apart."""
    costs = []
    for others in (10, 400):
        memory = Desk(1).memory
        with memory.transaction():
            for number in range(others):
                memory.remember(f"person {number}", "home", "Rome", source="mail")
        canary(memory)
        counted: list[str] = []
        memory._replica.db.raw.set_trace_callback(counted.append)
        memory.erase(CANARY)
        memory._replica.db.raw.set_trace_callback(None)
        costs.append(len([sql for sql in counted if "VACUUM" not in sql and "vacuum_db" not in sql]))
        memory.close()
    assert costs[1] <= costs[0] + 5


# -- between devices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, b"k" * 32], ids=["own salt", "the vault's key"])
def test_others_erase_what_they_hold_and_what_still_comes(key: bytes | None) -> None:
    desks = [Desk(number, key=key) for number in range(3)]
    canary(desks[0].memory)
    desks[1].memory.merge(desks[0].memory)
    stale = desks[2].memory.remember(CANARY, "home", "said by one who had not heard").event
    desks[1].memory.erase(CANARY)
    desks[0].memory.merge(desks[1].memory)
    assert not [word for word in CANARIES if word in tables(desks[0].memory)]
    desks[0].memory.merge(desks[2].memory)
    assert isinstance(held(desks[0].memory, stale), Erased)
    assert isinstance(held(desks[2].memory, stale), Event)
    assert salt_of(desks[0].memory, stale) is None and salt_of(desks[2].memory, stale) is not None
    meet(*desks)
    assert isinstance(held(desks[2].memory, stale), Erased)
    for desk in desks:
        assert CANARY not in tables(desk.memory)
        assert not [p for p in desk.memory.doctor(full=True).problems if p.startswith("log")]


def test_who_had_heard_may_speak_again_even_where_the_erasure_arrives_last(desks: list[Desk]) -> None:
    one, two, three = (desk.memory for desk in desks)
    erasure = one.erase(CANARY).erasures[0]
    two.merge(one)
    said = two.remember(CANARY, "home", "Oslo").event
    stale = three.remember(CANARY, "home", "Rome").event
    frames = list(two._offer({}))
    late = [frame for frame in frames if frame.key.id.hex().startswith(erasure.split("-")[0])]
    three._receive([frame for frame in frames if frame not in late], 256, None)
    assert isinstance(held(three, said), Event)
    three._receive(late, 256, None)
    assert isinstance(held(three, said), Event) and isinstance(held(three, stale), Erased)
    assert three.believe(CANARY, "home").value == "Oslo"  # type: ignore[union-attr]
    before = three.belief_digest(), tables(three)
    three.rebuild()
    assert three.belief_digest() == before[0]


def test_a_key_that_comes_late(desks: list[Desk]) -> None:
    """An erasure whose names cannot be read yet waits; what it erases goes as soon as the key is there."""
    sharing = Desk(7, key=b"k" * 32)
    sharing.memory.remember(CANARY, "home", "Rome")
    memory = desks[0].memory
    memory.merge(sharing.memory)
    sharing.memory.erase(CANARY)
    memory.merge(sharing.memory)
    assert memory.believe(CANARY, "home") is not None
    assert memory.doctor().facts["erasures"]["not_applied"] == 1
    memory._replica.subjects_named_by(lambda scope: b"k" * 32)
    with memory._replica.transaction():
        written = memory._replica.reerase()
    assert written is not None and CANARY not in tables(memory)
    assert memory.belief_digest() == sharing.memory.belief_digest()


def test_a_claim_and_the_erasure_in_one_bundle(desks: list[Desk], tmp_path: Path) -> None:
    """The erasing log is taken in first, so the payload is stored at no time."""
    one, two, three = (desk.memory for desk in desks)
    canary(one)
    one.export_bundle(tmp_path / "claims")
    two.erase(CANARY)
    two.export_bundle(tmp_path / "erasure")
    three.import_bundle(tmp_path / "erasure")
    three.import_bundle(tmp_path / "claims")
    assert CANARY not in tables(three) and three.beliefs(CANARY) == []
    four = Desk(9).memory
    said: list[str] = []
    four._replica.db.raw.set_trace_callback(said.append)
    four._receive([*one._offer({}), *two._offer({})], 20_000, None)
    four._replica.db.raw.set_trace_callback(None)
    assert any("INSERT INTO runs" in sql for sql in said)
    assert not [sql for sql in said if CANARY in sql or CANARY.encode().hex() in sql.lower()], "it reached the database"
    assert not [word for word in CANARIES if word in tables(four)]
    assert four.belief_digest() == three.belief_digest()
    assert three.import_bundle(tmp_path / "claims").events == 0


def test_a_tombstone_that_nothing_explains_is_filled_when_the_event_comes(desks: list[Desk]) -> None:
    one, two = desks[0].memory, desks[1].memory
    one.remember("bob", "home", "Rome")
    claim = one.remember("eva", "home", "Oslo")
    retraction = one.retract(claim.event)
    frames = list(one._offer({}))
    two._receive([without(frame, claim.event) for frame in frames], 256, None)
    assert isinstance(held(two, claim.event), Erased)
    assert {log.id: log.head for log in two._replica.logs.by_no.values()}[frames[0].key.id] == frames[-1].head
    assert two.entities() == ["bob"]
    assert two.merge(one).events == 0, "the version vector says that it holds all"
    two._receive(frames, 256, None)
    assert isinstance(held(two, claim.event), Event)
    assert two.believe("eva", "home") is None and two.event(claim.event).status == "retracted"
    two.undo(retraction.event)
    assert two.believe("eva", "home").value == "Oslo"  # type: ignore[union-attr]
    before = two.belief_digest()
    two.rebuild()
    assert two.belief_digest() == before
    assert two._receive(frames, 256, None).transactions == 0
    one.merge(two)
    assert one.belief_digest() == before


def test_a_forged_payload_fills_nothing(desks: list[Desk]) -> None:
    one, two = desks[0].memory, desks[1].memory
    claim = one.remember("eva", "home", "Oslo")
    frames = list(one._offer({}))
    two._receive([without(frame, claim.event) for frame in frames], 256, None)
    seq = int(claim.event.split("-")[1])
    forged = [
        replace(f, events=[Event(1, e.hlc, e.payload.replace(b"Oslo", b"Rome")) for e in f.events])  # type: ignore[union-attr]
        for f in frames
        if f.first <= seq < f.first + len(f.events)
    ]
    assert two._receive(forged, 256, None).transactions == 0
    assert isinstance(held(two, claim.event), Erased)


def without(frame: Frame, event: str) -> Frame:
    """The frame as one sends it that has erased an event."""
    log, seq = event.split("-")
    if not frame.key.id.hex().startswith(log) or not frame.first <= int(seq) < frame.first + len(frame.events):
        return frame
    leaf, events = int(seq) % salt.BLOCK_EVENTS, list(frame.events)
    value, stated = salt.salt(frame.cover, leaf), events[int(seq) - frame.first]
    assert value is not None and isinstance(stated, Event)
    events[int(seq) - frame.first] = Erased(header_hash(header(frame.key.id, int(seq), stated, value)))
    return replace(frame, events=events, cover=salt.forget(frame.cover, leaf))


def test_half_a_block_from_one_who_erased_and_the_rest_from_one_who_did_not(desks: list[Desk]) -> None:
    """The salts that the first lacks are taken from the second."""
    one, two = desks[0].memory, desks[1].memory
    ids = [one.remember("bob", "step", number).event for number in range(6)]
    (whole,) = one._offer({})
    cut = int(ids[2].split("-")[1])
    head = one._replica.logs.head_at(one._replica.logs.by_id[whole.key.id], cut)
    signature = sign(one._replica.identity.private, labels.HEAD, head_words(whole.key.id, cut, head))
    first = Frame(whole.key, 1, whole.events[:cut], without(whole, ids[4]).cover, head, signature)
    two._receive([first], 256, None)
    two.merge(one)
    assert [isinstance(held(two, event), Event) for event in ids] == [True] * 6
    assert two.belief_digest() == one.belief_digest()
    three = desks[2].memory
    three.merge(two)
    assert three.belief_digest() == one.belief_digest()


def test_an_erasure_behind_the_cut_of_a_removed_device_does_not_act(desks: list[Desk]) -> None:
    one, two, three = (desk.memory for desk in desks)
    claim = one.remember("eva", "home", "Oslo").event
    three.merge(one)
    two.erase("eva")
    thief = two._replica.identity.device

    def cut_of(key: LogKey) -> int | None:
        return 0 if key.device == thief else None

    one._replica.govern(cut_of)
    one.merge(two)
    assert one.believe("eva", "home").value == "Oslo"  # type: ignore[union-attr]
    one._replica.govern(lambda key: None)  # adopted after all
    with one._replica.transaction():
        one._replica.recut()
    assert one.believe("eva", "home") is None
    three.merge(two)
    assert isinstance(held(three, claim), Erased)
    assert one.belief_digest() == three.belief_digest()


def test_a_removed_device_that_is_adopted_again_erases_what_came_in_between(desks: list[Desk]) -> None:
    one, two, three = (desk.memory for desk in desks)
    cuts: dict[bytes, int] = {}
    one._replica.govern(lambda key: cuts.get(key.device))
    two.erase("eva")
    one.merge(two)
    cuts[two._replica.identity.device] = 0
    with one._replica.transaction():
        one._replica.recut()
    stale = three.remember("eva", "home", "Oslo").event
    one.merge(three)
    assert isinstance(held(one, stale), Event)
    cuts.clear()
    with one._replica.transaction():
        one._replica.recut()
    assert isinstance(held(one, stale), Erased) and one.entities() == []


def test_what_another_device_believed_is_told_as_redacted_until_it_had_heard(desks: list[Desk]) -> None:
    one, two = desks[0].memory, desks[1].memory
    two.merge(one)
    two.remember("bob", "home", "Rome")
    two.remember(CANARY, "home", "Rome")
    time_before = desks[1].clock.time + 1_000
    one.merge(two)
    for desk in desks:
        desk.clock.time += DAY
    one.erase(CANARY)

    def grade(**asked: Any) -> Grade:
        belief = one.believe("bob", "home", device=two.device, **asked)
        assert belief is not None
        return belief.grade

    assert grade() == Grade.REDACTED
    two.merge(one)
    two.remember("bob", "age", 40)
    one.merge(two)
    assert grade() == Grade.PROVISIONAL
    assert grade(known_at=to_datetime(time_before)) == Grade.REDACTED


def test_a_restored_backup_does_not_bring_it_back(tmp_path: Path) -> None:
    desks = [Desk(1, str(tmp_path / "a.db")), Desk(2, str(tmp_path / "b.db"))]
    canary(desks[0].memory)
    desks[1].memory.merge(desks[0].memory)
    desks[0].memory.backup(tmp_path / "backup")
    desks[0].memory.erase(CANARY)
    meet(*desks)
    desks[0].memory.close()
    restore(tmp_path / "backup", tmp_path / "a.db", overwrite=True)
    desks[0].open()
    assert desks[0].memory.believe(CANARY, "home") is not None, "it has not heard of it any more"
    desks[0].memory.remember(CANARY, "home", "said after the restore")
    meet(*desks)
    for desk in desks:
        assert not [word for word in (*CANARIES, "said after") if word in tables(desk.memory)]
        desk.memory.close()


# -- no byte is left -----------------------------------------------------------------------------------


def traces(folder: Path, *words: str) -> list[str]:
    """Where in the files of a folder any word stands (looked for by another process: opening a file here and
    closing it again would drop the locks of this one)."""
    command = [sys.executable, "-c", GREP, str(folder), *(words or CANARIES)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def filled(path: Path, number: int = 1) -> Memory:
    """A memory with many pages that were split in every way, canaries strewn between."""
    desk = Desk(number, str(path))
    memory = desk.memory
    memory.define("home", cardinality="single")
    order = list(range(600))
    Random(number).shuffle(order)
    for first in range(0, len(order), 60):
        with memory.transaction():
            for item in order[first : first + 60]:
                entity = f"person {item * 7919 % 600:04}"
                memory.remember(entity, f"p{item % 5}", "v" * (item * 37 % 200), source=f"source {item % 50}")
                if item % 10 == 0:
                    reason = "canary-reason" * (1 + item % 90)
                    memory.remember(
                        CANARY, f"canary_pred {item}", f"canary-value {item}" * (item % 23 + 1), reason=reason
                    )
                    canary(memory)
    memory.remember("bob", "met", "canary-value too", mentions=[CANARY])
    return memory


@pytest.mark.parametrize("journal", ["wal", "truncate"])
def test_no_byte_is_left_in_any_file(tmp_path: Path, journal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if journal == "truncate":
        monkeypatch.setattr(driver, "_turned_to_wal", lambda connection: False)
    folder = tmp_path / "data"
    folder.mkdir()
    memory = filled(folder / "a.db")
    assert traces(folder)
    mode = memory._replica.db.execute("PRAGMA journal_mode").fetchone()[0]
    assert mode == journal or not driver.driver().wal_safe
    assert memory.erase(CANARY).scrubbed
    assert traces(folder) == []
    memory.remember("bob", "home", "Rome")
    memory.close()
    assert traces(folder) == []
    with Memory(folder / "a.db") as again:
        assert again.doctor(full=True).facts["erasures"]["scrubbed"]
    assert traces(folder) == []


def test_what_arrives_erased_is_never_in_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    sender = Desk(3).memory
    canary(sender)
    memory = Desk(4, str(folder / "a.db")).memory
    memory.erase(CANARY)
    memory.remember("bob", "home", "Rome")
    memory.merge(sender)
    assert traces(folder) == []
    memory.close()
    other = Desk(5, str(folder / "b.db")).memory
    eraser = Desk(6).memory
    eraser.erase(CANARY)
    other._receive([*sender._offer({}), *eraser._offer({})], 20_000, None)
    assert traces(folder) == []
    other.close()


def test_a_reader_holds_up_the_last_step_which_is_done_later(tmp_path: Path) -> None:
    if not driver.driver().wal_safe:
        pytest.skip("without write-ahead logging a reader holds up the erasure itself")
    folder = tmp_path / "data"
    folder.mkdir()
    memory = filled(folder / "a.db")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(folder / "a.db")],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
        assert not memory.erase(CANARY).scrubbed
        assert memory.beliefs(CANARY) == []
        assert not memory.scrub()
        assert any("syncmem scrub" in problem for problem in memory.doctor().problems)
        memory.close()  # remembered in the file
        memory = Desk(1, str(folder / "a.db")).memory
        assert not memory.doctor().facts["erasures"]["scrubbed"]
        memory.remember("bob", "home", "Rome")
        assert traces(folder), "the reader's view is still there"
    finally:
        reader.communicate("\n")
    memory.remember("bob", "home", "Oslo")  # a later write does it
    assert memory.doctor().facts["erasures"]["scrubbed"]
    assert traces(folder) == []
    memory.close()


def test_another_process_that_has_the_file_open_sees_it_gone(tmp_path: Path) -> None:
    one, other = (Desk(1, str(tmp_path / "a.db")).memory for _ in range(2))
    canary(one)
    assert other.believe(CANARY, "home") is not None
    one.erase(CANARY)
    one.remember("bob", "home", "Rome")
    assert other.believe(CANARY, "home") is None and other.entities() == ["bob"]
    other.remember(CANARY, "home", "Oslo")
    assert one.believe(CANARY, "home").value == "Oslo"  # type: ignore[union-attr]
    one.close()
    other.close()


def test_a_process_that_dies_before_it_scrubs(tmp_path: Path) -> None:
    """The next start finishes what it had to do."""
    folder = tmp_path / "data"
    folder.mkdir()
    filled(folder / "a.db").close()
    code = (
        "import os, sys; from syncmem import Memory; memory = Memory(sys.argv[1]);"
        "memory._replica.db.rewrite = lambda: os._exit(9); memory.erase(sys.argv[2])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(folder / "a.db"), CANARY]
    assert subprocess.run(command, env=environment, check=False).returncode == 9
    Memory(folder / "a.db").close()
    assert traces(folder) == []


# -- other doors ---------------------------------------------------------------------------------------


def test_async() -> None:
    async def main() -> None:
        async with AsyncMemory(":memory:") as memory:
            await memory.remember("ana", "home", "Rome")
            assert (await memory.erase("ana")).events == {"vault": 1}
            assert await memory.scrub()

    asyncio.run(main())


def test_erasing_what_nobody_knows_tells_the_others_all_the_same() -> None:
    memory = Desk(1).memory
    report = memory.erase("nobody")
    assert report.events == {"vault": 0} and len(report.erasures) == 1
    assert report.to_dict()["scrubbed"] is True
