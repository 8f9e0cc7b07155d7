"""The roster is a function of the set, as a plain reading of the rules has it; and outsiders change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem.seal.bodies import Name
from syncmem.seal.graph import Graph
from syncmem.seal.resolution import Resolution
from syncmem.seal.roster import Roster
from syncmem.seal.statements import Statement
from tests.seal.histories import DEVICES, LOGS, MOODS, OTHERS, Story, answers, closed
from tests.seal.reference import Reference
from tests.strategies import randoms


@st.composite
def stories(draw: st.DrawFn, statements_max: int = 24) -> Story:
    story = Story(draw(randoms()), paper=draw(st.booleans()))
    mood = draw(st.sampled_from(sorted(MOODS)))
    story.tell(draw(st.integers(1, statements_max)), mood)
    return story


def agree(statements: Iterable[Statement], reference: Reference) -> None:
    resolution = Resolution(Graph(statements))
    assert set(resolution.standing) == set(filter(reference.stands, reference.all))
    assert set(resolution.counting) == reference.counting(reference.all)


def plain_answers(reference: Reference) -> dict[str, object]:
    """As :func:`tests.seal.histories.answers`."""
    within = reference.counting(reference.all)
    live = [device for device in DEVICES if reference.is_live(device, reference.all)]
    scopes = sorted(reference.given)
    names = [s for s in sorted(within, key=reference.place) if isinstance(s.body, Name)]
    first = {device: reference.adds(device, within) for device in live}
    listed = {device: device.decode().strip() for device in first} | {s.body.device: s.body.name for s in names}
    return {
        "live": sorted(live, key=lambda device: reference.seniority(device, within)),
        "names": {device: listed[device] for device in live},
        "cuts": {(device, log): reference.cut(device, log) for device in DEVICES for log in LOGS},
        "epochs": {scope: [epoch.id for epoch in reference.epochs(scope)] for scope in scopes},
        "current": {scope: current for scope in scopes if (current := reference.current(scope))},
        "recipients": {e.id: reference.recipients(s, e.id) for s in scopes for e in reference.epochs(s)},
        "scopes": {d: {s for s in scopes if any(d == to for _, _, to in reference.given[s])} for d in DEVICES},
    }


@settings(max_examples=150, deadline=None)
@given(stories())
def test_the_roster_is_what_a_plain_reading_of_the_rules_says(story: Story) -> None:
    reference = Reference(story.said)
    agree(story.said, reference)
    assert answers(Roster(story.said)) == plain_answers(reference)


@settings(max_examples=60, deadline=None)
@given(stories(), randoms())
def test_any_part_that_knows_its_past_is_resolved_as_the_plain_reading_has_it(story: Story, random: Random) -> None:
    part = closed(story.said, random.sample(story.said, min(len(story.said), random.randint(1, 3))))
    random.shuffle(part)
    reference = Reference(part)
    agree(part, reference)
    assert answers(Roster(part)) == plain_answers(reference)


@settings(max_examples=60, deadline=None)
@given(stories(), randoms())
def test_the_order_of_arrival_and_repetition_do_not_matter(story: Story, random: Random) -> None:
    shuffled = story.said + random.sample(story.said, len(story.said) // 2)
    random.shuffle(shuffled)
    one, other = Roster(story.said), Roster(shuffled)
    assert answers(one) == answers(other)
    assert one.heads == other.heads
    assert one.members == other.members
    assert one.statements_in_order() == other.statements_in_order()


@settings(max_examples=60, deadline=None)
@given(stories(), randoms())
def test_what_waits_for_its_ancestors_has_no_effect_and_is_not_forgotten(story: Story, random: Random) -> None:
    lost = set(random.sample(story.said[1:], min(2, len(story.said) - 1)))
    held = [statement for statement in story.said if statement not in lost]
    complete = [s for s in held if not any(one in lost for one in closed(story.said, [s]))]
    roster = Roster(held)
    assert answers(roster) == answers(Roster(complete))
    assert roster.heads == Roster(complete).heads
    assert roster.ids == {statement.id for statement in held}
    assert roster.missing <= {statement.id for statement in lost}
    assert set(roster.statements_in_order()) == set(held)


@settings(max_examples=60, deadline=None)
@given(stories(), randoms())
def test_whether_a_statement_stands_never_changes(story: Story, random: Random) -> None:
    """Whatever arrives later: only what was said at the same time can make it void."""

    part = closed(story.said, random.sample(story.said, 1))
    before, after = (set(Resolution(Graph(said)).standing) for said in (part, story.said))
    assert before == after & set(part)


@settings(max_examples=100, deadline=None)
@given(stories(), st.sampled_from(sorted(MOODS)), st.integers(1, 12))
def test_what_strangers_say_changes_nothing(story: Story, mood: str, count: int) -> None:
    before = Roster(story.said)
    told, heads = answers(before), before.heads
    live = {standing.device for standing in before.members}
    story.tell(count, mood, [b"stranger".ljust(32), b"another".ljust(32), *(set(OTHERS) - live)])
    after = Roster(story.said)
    assert answers(after) == told
    assert after.heads == heads


@settings(max_examples=150, deadline=None)
@given(stories(), st.sampled_from(sorted(MOODS)), st.integers(1, 12))
def test_what_a_device_says_behind_its_removal_by_a_more_senior_one_changes_nothing(
    story: Story, mood: str, count: int
) -> None:
    """Neither does what its accomplices say: however far back they claim to speak."""
    before = Roster(story.said)
    resolution = before._resolution
    gone = {
        revocation.body.device
        for revocation in resolution.revocations
        if (resolution.seniority(revocation.signer) or 0) < (resolution.seniority(revocation.body.device) or -1)
        and not resolution.is_revoked(revocation.signer)
    }
    told = answers(before)
    never = set(OTHERS) - {standing.device for standing in before.members}
    if gone:
        story.tell(count, mood, sorted(gone | never))
    assert answers(Roster(story.said)) == told
