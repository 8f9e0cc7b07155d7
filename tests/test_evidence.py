"""What a claim rests on, told through a Memory: derived claims, corroboration, passages, erasure, corrections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from syncmem import Candidate, Environment, InvalidInput, ManualClock, Memory, Receipt, Source
from syncmem.environment import seeded_randomness
from syncmem.judging.consolidating import Judgement
from syncmem.model.event import CHAIN_START, Kind, Ref, Statement, readable
from syncmem.model.instant import from_datetime
from syncmem.model.moved import Moved
from syncmem.replica.telling import Telling
from tests.world import Writer, believed, fresh_replica, instant, payload_of, sorted_keys

DAY = timedelta(days=1) // timedelta(microseconds=1)


class Device:
    """A memory and its clock."""

    def __init__(self, seed: int) -> None:
        self.clock = ManualClock(from_datetime(datetime.fromisoformat("2025-01-01T12:00Z")))
        self.memory = Memory(":memory:", zone="UTC", environment=Environment(self.clock, seeded_randomness(seed)))

    def later(self, days: int = 1) -> Memory:
        self.clock.time += days * DAY
        return self.memory

    def line(self, predicate: str, entity: str = "ana", **asked: Any) -> list[tuple[Any, int, str, str | None]]:
        return [
            (b.value, b.trust, f"{b.valid_from:%m-%d}", b.valid_to and f"{b.valid_to:%m-%d}")
            for b in self.memory.timeline(entity, predicate, **asked)
        ]


@pytest.fixture
def devices() -> Iterator[tuple[Device, Device]]:
    pair = Device(1), Device(2)
    yield pair
    for device in pair:
        device.memory.close()


@pytest.fixture
def desk(devices: tuple[Device, Device]) -> Device:
    return devices[0]


def meet(*devices: Device) -> None:
    for one in devices * 2:
        for other in devices:
            if one is not other:
                one.memory.merge(other.memory)
    assert len({device.memory.belief_digest() for device in devices}) == 1


# -- what can be derived ------------------------------------------------------------------------------------


def test_what_is_no_live_claim_of_the_scope_is_refused_as_a_root(desk: Device) -> None:
    memory = desk.memory
    claim = memory.remember("ana", "office", "Lisbon")
    gone = memory.remember("ana", "office", "Porto")
    retraction = memory.retract(gone.event)
    end = memory.end("ana", "office", "Faro")
    private = memory.remember("ana", "office", "Lagos", scope="device")
    before = memory.event_digest()
    for roots, words in (
        ([end.event], "is no claim"),
        ([retraction.event], "is no claim"),
        ([claim.event, gone.event], "is retracted"),
        ([claim.event, private.event], "is in scope 'device'"),
        (claim.event, "takes a list of texts"),
    ):
        with pytest.raises(InvalidInput, match=words):
            memory.remember("ana", "time_zone", "WET", derived_from=roots)
    assert memory.event_digest() == before


def test_why_and_history_name_what_a_claim_is_derived_from_and_what_took_it_back(desk: Device) -> None:
    root = desk.memory.remember("ana", "office", "Lisbon", source="mail")
    claim = desk.later().remember("ana", "time_zone", "WET", derived_from=[root.event], source="model")
    why = desk.memory.why("ana", "time_zone")
    assert why.winner is not None and why.winner.derived_from == (root.event,)
    assert "model derived it" in why.text and root.event in why.text
    gone = desk.later().retract(root.event)
    told = {entry.event: entry for entry in desk.memory.history("ana", "time_zone")}
    assert list(told) == [claim.event, gone.event]
    assert told[claim.event].status == f"unfounded: {root.event} is retracted"
    assert "no longer holds" in told[gone.event].effect


def test_what_was_derived_ages_from_what_its_root_counts_for_by_then(desk: Device) -> None:
    root = desk.memory.remember("ana", "office", "Lisbon", stale_after="10d", stale_trust="inference")
    early = desk.later(5).remember("ana", "time_zone", "WET", derived_from=[root.event], observed_at="2025-01-06")
    late = desk.later(15).remember("ana", "country", "Portugal", derived_from=[root.event], observed_at="2025-01-20")
    assert [desk.memory.event(receipt.event).trust for receipt in (early, late)] == [90, 30]


# -- claims of devices that keep to no rule ------------------------------------------------------------------


def smuggle(memory: Memory, value: str, roots: list[str], *, trust: int, **extra: Any) -> str:
    """A derived claim, written past all checks of the writing side; its event."""
    with memory.transaction():
        receipt: Receipt = memory.remember("eve", "time_zone", "of no account")
        position = memory._telling.position(receipt.event)
        said = readable(memory._replica.logs.event(position))
        assert isinstance(said, Statement)
        refs = [list(memory._replica.logs.ref(memory._telling.position(root))) for root in roots]
        forged = said._replace(entity="ana", value=value, trust=trust, extra={"derived_from": refs, **extra})
        written = memory._replica.append("vault", [(Kind.CLAIM, forged)])
        memory.undo(receipt.event)
        return memory._telling.event_id(written.positions[-1])


def test_a_claim_of_more_trust_than_its_roots_counts_nowhere(devices: tuple[Device, Device]) -> None:
    liar, _ = devices
    root = liar.memory.remember("ana", "office", "Lisbon", trust="inference")
    claim = smuggle(liar.memory, "WET", [root.event], trust=90)
    meet(*devices)
    for device in devices:
        assert device.memory.beliefs("ana", "time_zone") == []
        assert device.memory.event(claim).status == "unfounded: it claims more trust than it is derived from"


def test_trust_is_laundered_by_one_tier_at_most_however_long_the_chain(devices: tuple[Device, Device]) -> None:
    liar, reader = devices
    mails = [
        liar.memory.remember("ana", "office", "Lisbon", trust="inference", source=Source("mail", name)).event
        for name in "abcd"
    ]
    raised = [smuggle(liar.memory, "WET", mails[i : i + 2], trust=50, corroborated_by=2) for i in (0, 2)]
    higher = smuggle(liar.memory, "CET", raised, trust=70, corroborated_by=2)
    meet(*devices)
    assert [reader.memory.event(event).status for event in raised] == ["live", "live"]
    assert reader.memory.event(higher).status.startswith("unfounded")
    assert reader.memory.beliefs("ana", "time_zone")[0].trust == 50


def test_a_root_that_is_erased_takes_along_what_keeps_silent_about_it(devices: tuple[Device, Device]) -> None:
    """The honest claim mentions Bob and is erased; the other is as if its root had never arrived, at all times."""
    desk, _ = devices
    root = desk.memory.remember("bob", "office", "Lisbon")
    honest = desk.later().remember("ana", "city", "Porto", derived_from=[root.event])
    silent = smuggle(desk.memory, "WET", [root.event], trust=90)
    known = desk.memory.event(silent).known
    assert len(desk.memory.beliefs("ana")) == 2
    meet(*devices)
    desk.later().erase("bob")
    meet(*devices)
    for device in devices:
        assert device.memory.beliefs("ana") == []
        assert device.memory.beliefs("ana", "time_zone", known_at=device.memory.event(silent).known) == []
        assert device.memory.event(silent).status == "unfounded: what it is derived from is not here"
        before = device.memory.belief_digest()
        device.memory.rebuild()
        assert device.memory.belief_digest() == before
    assert desk.memory.beliefs("ana", "time_zone", known_at=known) == []
    with pytest.raises(Exception, match="erased"):
        desk.memory.event(honest.event)


# -- corroboration ------------------------------------------------------------------------------------------


def corroborating(memory: Memory) -> list[Judgement]:
    return [each for each in memory.consolidate() if each.candidate.source.kind == "corroboration"]


def guess(device: Device, mail: str, value: str = "Lisbon", **words: Any) -> Receipt:
    given: dict[str, Any] = {"trust": "inference", "source": Source("mail", mail), "affirm": False, **words}
    return device.later().remember("ana", "home_city", value, **given)


def test_three_independent_mails_outweigh_a_document_and_go_with_each_of_them(devices: tuple[Device, Device]) -> None:
    desk, other = devices
    desk.memory.define("home_city", cardinality="single", corroborated_by=3)
    desk.later().remember("ana", "home_city", "Porto", trust="document", source="letter")
    mails = [guess(desk, name) for name in "abc"]
    assert desk.line("home_city") == [("Porto", 50, "01-02", None)]
    (judged,) = corroborating(desk.memory)
    assert judged.candidate.derived_from == tuple(sorted(receipt.event for receipt in mails))
    assert desk.line("home_city")[-1] == ("Lisbon", 50, "01-05", None)
    gone = desk.later().retract(mails[1].event)
    assert desk.line("home_city") == [("Porto", 50, "01-02", None)]
    desk.later().undo(gone.event)
    assert desk.line("home_city")[-1] == ("Lisbon", 50, "01-05", None)
    meet(*devices)
    assert other.line("home_city") == desk.line("home_city")


def test_nothing_is_corroborated_where_nobody_asked_for_it(desk: Device) -> None:
    desk.memory.define("home_city", cardinality="single")
    for name in "abc":
        guess(desk, name)
    assert corroborating(desk.memory) == []


@pytest.mark.parametrize(
    "sources",
    [
        [Source("mail", "a"), Source("mail", "b"), Source("mail", "a", "copy", (0, 3))],
        [Source("mail", "a"), Source("mail", "b"), Source("assistant", "c")],
        [Source("mail", "a"), Source("mail", "b"), Source()],
    ],
    ids=["one mail twice", "the agent itself", "nobody"],
)
def test_what_is_no_independent_source_does_not_count(desk: Device, sources: list[Source]) -> None:
    desk.memory.define("home_city", cardinality="single", corroborated_by=3)
    for source in sources:
        guess(desk, "", source=source)
    assert corroborating(desk.memory) == []
    guess(desk, "c")
    assert len(corroborating(desk.memory)) == 1


def test_one_mail_on_three_devices_counts_once(devices: tuple[Device, Device]) -> None:
    third = Device(3)
    for device in (*devices, third):
        device.memory.define("home_city", cardinality="single", corroborated_by=2)
        guess(device, "a")
    meet(*devices, third)
    assert [corroborating(device.memory) for device in (*devices, third)] == [[], [], []]
    third.memory.close()


def test_a_conclusion_counts_as_the_mail_that_it_was_drawn_from(desk: Device) -> None:
    desk.memory.define("home_city", cardinality="single", corroborated_by=2)
    mail = guess(desk, "a")
    guess(desk, "", source=Source("model", "x"), derived_from=[mail.event])
    assert corroborating(desk.memory) == []
    guess(desk, "b")
    (judged,) = corroborating(desk.memory)
    assert len(judged.candidate.derived_from) == 2


def test_two_devices_that_corroborate_at_once_say_it_twice_and_believe_it_once(
    devices: tuple[Device, Device],
) -> None:
    desk, _ = devices
    desk.memory.define("home_city", cardinality="single", corroborated_by=2)
    for name in "ab":
        guess(desk, name)
    meet(*devices)
    assert [len(corroborating(device.memory)) for device in devices] == [1, 1]
    meet(*devices)
    assert [(value, end) for value, _, _, end in desk.line("home_city")] == [("Lisbon", None)]
    assert desk.memory.beliefs("ana", "home_city")[0].trust == 50
    assert [corroborating(device.memory) for device in devices] == [[], []]
    assert desk.memory.contested() == []


def test_what_was_said_before_and_after_another_value_does_not_meet(desk: Device) -> None:
    """Two mails that speak of two times corroborate neither."""
    desk.memory.define("home_city", cardinality="single", corroborated_by=2)
    guess(desk, "a")
    guess(desk, "b", "Porto")
    guess(desk, "c")
    assert corroborating(desk.memory) == []


def test_a_corroboration_that_was_taken_back_is_not_written_again(desk: Device) -> None:
    desk.memory.define("home_city", cardinality="single", corroborated_by=2)
    for name in "ab":
        guess(desk, name)
    (judged,) = corroborating(desk.memory)
    desk.later().undo(judged.receipts[0].event)
    assert corroborating(desk.memory) == []
    assert desk.memory.beliefs("ana", "home_city")[0].trust == 30


# -- candidates ---------------------------------------------------------------------------------------------


def test_the_agents_retelling_of_what_is_known_is_linked_and_writes_nothing(desk: Device) -> None:
    claim = desk.memory.remember("ana", "office", "Lisbon")
    other = desk.memory.remember("ana", "country", "Portugal")
    before = desk.memory.event_digest()
    for candidate, known in (
        (Candidate("ana", "office", "Lisbon", source=Source("assistant")), (claim.event,)),
        (Candidate("ana", "office", "Faro", source=Source("assistant"), derived_from=(other.event,)), (other.event,)),
        (Candidate("ana", "office", "Lisbon", source=Source("summary"), derived_from=(claim.event,)), (claim.event,)),
    ):
        desk.memory.submit(candidate)
        (judged,) = desk.memory.consolidate()
        assert (judged.outcome, judged.retold, judged.receipts) == ("NOOP", known, ())
    desk.memory.submit(Candidate("ana", "office", "Faro", source=Source("assistant")))
    (judged,) = desk.memory.consolidate()
    assert (judged.outcome, judged.retold) == ("SET ASIDE", ())
    assert desk.memory.event_digest() == before


def test_a_candidate_that_waits_goes_when_somebody_is_erased_from_whom_it_follows(desk: Device) -> None:
    claim = desk.memory.remember("bob", "office", "Lisbon")
    desk.memory.submit(Candidate("ana", "meets_at", "Bob's office", kind="inferred", derived_from=(claim.event,)))
    assert desk.memory.remember("ana", "city", "Lisbon", derived_from=[claim.event]).opened
    desk.memory.erase("bob")
    assert (desk.memory.consolidate(), desk.memory.beliefs("ana")) == ((), [])


def test_a_candidate_that_follows_from_claims_is_written_as_derived(desk: Device) -> None:
    claim = desk.memory.remember("ana", "office", "Lisbon")
    desk.later(9)
    desk.memory.submit(Candidate("ana", "time_zone", "WET", kind="inferred", derived_from=(claim.event,)))
    (judged,) = desk.memory.consolidate()
    entry = desk.memory.event(judged.receipts[0].event)
    assert (entry.derived_from, entry.trust, entry.observed_at and entry.observed_at.day) == ((claim.event,), 30, 1)
    desk.memory.retract(claim.event)
    assert desk.memory.beliefs("ana", "time_zone") == []
    desk.memory.submit(Candidate("ana", "country", "Portugal", kind="inferred", derived_from=(claim.event,)))
    (judged,) = desk.memory.consolidate()
    assert (judged.outcome, judged.receipts) == ("REFUSED", ())


# -- corrections of what had ended --------------------------------------------------------------------------

ENDS: dict[str, dict[str, Any]] = {
    "no longer": {},
    "no longer, since": {"at": "2025-01-05"},
    "left in": {"at": "2025-01", "changed": True, "observed_at": "2025-02-02"},
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("how", ENDS)
def test_the_right_value_ends_as_the_wrong_one_did(devices: tuple[Device, Device], how: str, named: bool) -> None:
    """It once came back: ends go by value."""
    desk, other = devices
    desk.memory.define("home_city", cardinality="single")
    wrong = desk.memory.remember("ana", "home_city", "Lisboa", since="2024-06", trust="document")
    event = {"event": wrong.event} if named else {}
    desk.later(40).end("ana", "home_city", "Lisboa", trust="document", **ENDS[how], **event)
    (before,) = desk.line("home_city")
    right = desk.later().correct(wrong.event, "Lisbon")
    (after,) = desk.line("home_city")
    assert after == ("Lisbon", 90, *before[2:])
    assert [change.value for change in (*right.closed, *right.opened)] == ["Lisboa", "Lisbon"]
    assert right.opened[0].valid_to == desk.memory.timeline("ana", "home_city")[0].valid_to
    again = desk.later().correct(right.event, "LISBON")
    assert [value for value, *_ in desk.line("home_city")] == ["LISBON"]
    assert desk.line("home_city")[0][2:] == before[2:]
    desk.later().undo(again.event)
    desk.later().undo(right.event)
    assert desk.line("home_city") == [before]
    meet(*devices)
    assert other.line("home_city") == [before]


def test_who_vouches_for_today_while_correcting_is_not_ended_by_what_was_said_before(desk: Device) -> None:
    desk.memory.define("home_city", cardinality="single")
    wrong = desk.memory.remember("ana", "home_city", "Lisboa")
    desk.later(5).end("ana", "home_city", "Lisboa")
    desk.later(5).correct(wrong.event, "Lisbon", observed_at="2025-01-11T12:00Z")
    assert [(value, end) for value, _, _, end in desk.line("home_city")] == [("Lisbon", None)]


def test_an_end_without_the_trust_to_end_is_not_said_again(desk: Device) -> None:
    desk.memory.define("home_city", cardinality="single")
    wrong = desk.memory.remember("ana", "home_city", "Lisboa")
    desk.later(5).end("ana", "home_city", "Lisboa", trust="inference")
    desk.later().correct(wrong.event, "Lisbon")
    assert [(value, end) for value, _, _, end in desk.line("home_city")] == [("Lisbon", None)]


# -- chains and circles -------------------------------------------------------------------------------------


def follows(value: str, *roots: Ref) -> Statement:
    kind, said = payload_of({"op": "assert", "value": value, "trust": 90}, {})
    assert isinstance(said, Statement) and kind == Kind.CLAIM
    return said._replace(extra={"derived_from": [list(root) for root in roots]})


def test_a_chain_of_thousands_stands_and_falls_with_its_first_link() -> None:
    writer, taker = map(Writer, sorted_keys(2))
    kind, first = payload_of({"op": "assert", "value": "0", "trust": 90}, {})
    links = [writer.write(kind, first, instant(1) or 0)]
    for number in range(1, 3000):
        links.append(writer.write(Kind.CLAIM, follows(str(number), links[-1]), (instant(1) or 0) + number))
    gone = taker.write(
        *payload_of({"op": "retract", "target": "first", "trust": 90}, {"first": links[0]}), instant(3) or 0
    )
    taker.write(*payload_of({"op": "undo", "target": "gone", "trust": 90}, {"gone": gone}), instant(4) or 0)
    replica = fresh_replica()
    counts = []
    for log, after, until in ((writer, 0, 3000), (taker, 0, 1), (taker, 1, 2)):
        list(replica.receive(log.frames(after, until)))
        counts.append(len(believed(replica)))
    replica.close()
    assert counts == [3000, 0, 3000]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_what_would_rest_on_itself_does_not_count(length: int) -> None:
    """Only a device that lies about what it moved can write it."""
    key = sorted_keys(1)[0]
    writer, old = Writer(key), replace(key, incarnation=bytes(16))
    hashes = [bytes([number]) * 32 for number in range(1, length + 1)]
    named = [Ref(old.id, place, hashed[:16]) for place, hashed in enumerate(hashes, 1)]
    writer.write(Kind.MOVED, Moved(old.incarnation, 1, CHAIN_START, b"", hashes, None), instant(1) or 0)
    for number in range(length):
        last = writer.write(Kind.CLAIM, follows(f"in it {number}", named[number - 1]), instant(2) or 0)
    writer.write(Kind.CLAIM, follows("on it", last), instant(3) or 0)
    kind, said = payload_of({"op": "assert", "value": "beside it", "trust": 90}, {})
    writer.write(kind, said, instant(4) or 0)
    replica = fresh_replica()
    list(replica.receive(writer.frames()))
    assert [row[2] for row in believed(replica)] == ["beside it"]
    telling = Telling(replica)
    statuses = {telling.entry(replica.logs.by_id[key.id].position(place)).status for place in range(2, length + 3)}
    assert all(status.startswith("unfounded: ") for status in statuses), statuses
    replica.rebuild()
    assert [row[2] for row in believed(replica)] == ["beside it"]
    replica.close()


# -- trust that ages ----------------------------------------------------------------------------------------


def test_a_statement_ages_as_its_predicate_was_defined_when_it_was_said(devices: tuple[Device, Device]) -> None:
    desk, other = devices
    desk.memory.define("weight", cardinality="single", stale_after="10d", stale_trust="inference")
    desk.memory.remember("ana", "weight", 70)
    desk.later(3).remember("ana", "weight", 75, trust="document", source="scales")
    assert desk.line("weight") == [(70, 90, "01-01", "01-11"), (75, 50, "01-11", None)]
    (contested,) = desk.memory.contested()
    assert (contested.value, contested.valid_to) == (70, desk.memory.timeline("ana", "weight")[0].valid_to)
    desk.memory.define("weight", cardinality="single")
    meet(*devices)
    assert other.line("weight") == desk.line("weight")
    why = desk.memory.why("ana", "weight", valid_at="2025-01-20")
    assert "70 does not hold: it has aged, and counts with trust 30, less than 50." in why.text


def test_what_has_aged_is_contested_by_a_guess_only_until_then(desk: Device) -> None:
    desk.memory.define("weight", cardinality="single", stale_after="10d", stale_trust="inference")
    desk.memory.remember("ana", "weight", 70)
    desk.later(5).remember("ana", "weight", 80, trust="inference", source="model")
    assert [(b.value, b.contested) for b in desk.memory.timeline("ana", "weight")] == [(70, True), (80, False)]
    desk.later(10).remember("ana", "weight", 71)
    assert [value for value, *_ in desk.line("weight")] == [70, 80, 71]


@pytest.mark.parametrize("way", ["a definition", "a pack", "a candidate"])
def test_settings_of_a_predicate_reach_its_claims_on_every_way(desk: Device, way: str) -> None:
    if way == "a definition":
        desk.memory.define("budget", cardinality="single", stale_after="365d", stale_trust="inference")
    else:
        desk.memory.define_pack("personal")
    if way == "a candidate":
        desk.memory.submit(Candidate("ana", "spending limit", 900, source=Source("user"), observed_at="now"))
        desk.memory.consolidate()
    else:
        desk.memory.remember("ana", "budget", 900)
    desk.later(2).remember("ana", "budget", 700, trust="document", source="letter")
    assert [(b.value, b.valid_to and f"{b.valid_to:%Y-%m-%d}") for b in desk.memory.timeline("ana", "budget")] == [
        (900, "2026-01-01"),
        (700, None),
    ]
