"""What a member does that means harm, or somebody with the key of a device that was removed; and what comes of it."""

from __future__ import annotations

import pytest

from syncmem.errors import InvalidInput, NotCanonical
from syncmem.seal import building
from syncmem.seal.bodies import (
    MEMBERS_MAX,
    WRAPS_MAX,
    Add,
    Body,
    Epoch,
    Grant,
    Granted,
    Name,
    Revoke,
    StatementKind,
    new_member,
)
from syncmem.seal.envelope import EpochKey
from syncmem.seal.graph import STATEMENTS_MAX
from syncmem.seal.keys import transport_key, wrap, wrap_context
from syncmem.seal.roster import Roster
from syncmem.seal.statements import PARENTS_MAX, Statement, write_statement
from tests.seal.cast import VAULT, Cast

LOG, HEAD = b"l" * 16, b"h" * 32


def signed(cast: Cast, by: str, kind: StatementKind, body: Body) -> Statement:
    """Whatever a device likes to say, to what it has heard."""
    roster = cast.roster(by)
    return write_statement(kind, roster.vault, roster.heads, cast.seed(by), cast.now(), body)


# -- who was removed lets others in -------------------------------------------------------------------


def test_whom_a_removed_device_lets_in_behind_its_removal_is_no_member_and_what_it_says_is_void() -> None:
    cast = Cast("phone", "tablet")
    cast.revoke("laptop", "tablet")
    cast.admit("tablet", "accomplice")  # as if it had not heard yet, or lied about it
    cast.admit("accomplice", "another")
    cast.name("accomplice", "phone", "mine")
    cast.revoke("another", "phone")
    stolen = cast.rotate("another")
    cast.adopt("accomplice", LOG, 9)
    roster = cast.roster()
    assert cast.live() == ["laptop", "phone"]
    assert roster.current_epoch(VAULT) != stolen
    assert not {stolen.id} & {epoch.id for epoch in roster.epochs(VAULT)}
    assert roster.member(cast.key("phone")).name == "phone"  # type: ignore[union-attr]
    for name in ("accomplice", "another"):
        assert roster.cut(cast.key(name), LOG) == 0, "what it wrote is kept and not believed"
        assert cast.key(name) not in roster.recipients(roster.current_epoch(VAULT).id)  # type: ignore[union-attr]


def test_whom_a_device_let_in_before_its_removal_stays_until_it_is_removed_too() -> None:
    cast = Cast("tablet")
    cast.admit("tablet", "watch")
    cast.meet()
    cast.revoke("laptop", "tablet")
    cast.meet()
    assert cast.live() == ["laptop", "watch"]
    cast.revoke("laptop", "watch")
    assert cast.live() == ["laptop"]


def test_a_device_that_was_let_in_by_a_removed_one_can_be_let_in_again() -> None:
    cast = Cast("tablet")
    cast.revoke("laptop", "tablet")
    cast.admit("tablet", "phone")  # in good faith: it had not heard
    cast.meet()
    assert cast.live() == ["laptop"]
    assert cast.roster().cut(cast.key("phone"), LOG) == 0
    cast.admit("laptop", "phone")
    assert cast.live() == ["laptop", "phone"]
    assert cast.roster().cut(cast.key("phone"), LOG) is None
    with pytest.raises(InvalidInput, match="must make a new key"):
        cast.admit("laptop", "tablet")


def test_a_stranger_raises_nobody_above_others_by_letting_them_in_long_ago() -> None:
    cast = Cast("phone", "tablet")
    root = cast.roster().statements_in_order()[0]
    tablet = new_member(cast.seed("tablet"), "tablet")
    add = Add(tablet, [])
    cast.say("stranger", write_statement(StatementKind.ADD, root.id, [root.id], cast.seed("stranger"), 0, add))
    cast.revoke("tablet", "phone")
    cast.revoke("phone", "tablet")
    assert cast.live() == ["laptop", "phone"]


def test_a_removed_device_raises_nobody_above_others_either() -> None:
    cast = Cast()
    cast.admit("laptop", "tablet")
    before = cast.roster("tablet")
    for name in ("phone", "watch"):
        cast.admit("laptop", name)
    cast.meet()
    cast.revoke("laptop", "tablet")
    watch = new_member(cast.seed("watch"), "watch")
    cast.say("tablet", building.admission(before, cast.seed("tablet"), watch, [], 0, {}))
    cast.revoke("watch", "phone")
    cast.revoke("phone", "watch")
    assert cast.live() == ["laptop", "phone"]


def test_a_removed_device_that_has_heard_of_it_says_nothing_any_more() -> None:
    cast = Cast("phone", "tablet")
    cast.revoke("laptop", "tablet")
    cast.meet()
    cast.name("tablet", "phone", "mine")
    cast.revoke("tablet", "phone")
    cast.admit("tablet", "accomplice", [])
    assert cast.live() == ["laptop", "phone"]
    assert cast.roster().member(cast.key("accomplice")) is None
    assert cast.roster().heads == cast.roster("laptop").heads, "nor does anybody build on it"


# -- removals against each other ----------------------------------------------------------------------


def test_two_that_remove_each_other_leave_the_senior_one_which_speaks_on() -> None:
    cast = Cast("phone", "tablet")
    cast.revoke("phone", "tablet")
    cast.revoke("tablet", "phone")
    cast.meet()
    assert cast.live() == ["laptop", "phone"]
    cast.rotate("phone")
    cast.admit("phone", "watch")
    assert cast.live() == ["laptop", "phone", "watch"]


def test_of_three_in_a_circle_the_most_senior_speaks_first_and_falls_to_the_one_it_did_not_name() -> None:
    cast = Cast("phone", "tablet")
    cast.revoke("phone", "tablet")
    cast.revoke("tablet", "laptop")
    cast.revoke("laptop", "phone")
    assert cast.live() == ["tablet"], "the phone's word against the tablet fell with the phone"


def test_a_junior_device_removes_the_most_senior_one_that_stays_silent() -> None:
    cast = Cast("phone")
    cast.revoke("phone", "laptop")
    cast.name("laptop", "phone", "not heard of yet")
    assert cast.live() == ["phone"]
    assert cast.roster().member(cast.key("phone")).name == "phone"  # type: ignore[union-attr]


def test_a_device_that_retired_itself_cannot_be_used_against_others_afterwards() -> None:
    cast = Cast("phone")
    before = cast.roster("laptop")
    cast.revoke("laptop", "laptop")
    cast.meet()
    against = Revoke(cast.key("phone"), [], False, None)
    parents, vault = before.heads, before.vault
    cast.say("thief", write_statement(StatementKind.REVOKE, vault, parents, cast.seed("laptop"), 0, against))
    assert cast.live() == ["phone"]


def test_the_phrase_is_taken_out_by_nobody_else_and_brings_back_what_a_thief_has_taken() -> None:
    cast = Cast("phone")
    for victim in ("paper", "laptop"):
        cast.revoke("phone", victim)
    cast.admit("phone", "thief")
    cast.meet()
    assert cast.live() == ["phone", "thief"]
    cast.say("paper", *cast.heard["phone"].values())
    for thief in ("phone", "thief"):
        cast.revoke("paper", thief)
    cast.admit("paper", "new")
    cast.meet()
    assert cast.live() == ["new"]
    current = cast.roster().current_epoch(VAULT)
    assert current is not None
    assert [name for name in cast.heard if current.id in cast.all_keys(name)] == ["paper", "new"]


def test_the_phrase_can_retire_itself() -> None:
    cast = Cast("phone")
    cast.say("paper", *cast.heard["laptop"].values())
    cast.revoke("paper", "paper")
    assert not cast.roster().member(cast.key("paper")).live  # type: ignore[union-attr]


# -- keys ---------------------------------------------------------------------------------------------


def test_a_device_cannot_be_listed_with_the_transport_key_of_somebody_else() -> None:
    """Whoever lets the phone in with a key of its own would read what is sealed to the phone."""
    cast = Cast("tablet")
    phone, roster = new_member(cast.seed("phone"), "phone"), cast.roster()
    forged = [
        phone._replace(transport=transport_key(cast.seed("tablet"))),
        phone._replace(transport=transport_key(cast.seed("tablet")), proof=new_member(cast.seed("tablet"), "x").proof),
    ]
    for member in forged:
        with pytest.raises(InvalidInput, match="never signed"):
            building.admission(roster, cast.seed("tablet"), member, [VAULT], 0, cast.keys("tablet"))


def epoch_of(cast: Cast, by: str, scope: str, given: dict[str, EpochKey]) -> Statement:
    """An epoch as its signer likes it: any key for anybody."""
    roster = cast.roster(by)
    wraps = [
        (cast.key(name), wrap(transport_key(cast.seed(name)), context, key.secret + key.subject))
        for name, key in given.items()
        for context in [wrap_context(roster.vault, scope, cast.key(name))]
    ]
    key = next(iter(given.values()))
    return signed(cast, by, StatementKind.EPOCH, Epoch(scope, sorted(wraps), key.key_mark, key.subject_mark))


def made_up(cast: Cast, letter: bytes, scope: str = VAULT) -> EpochKey:
    subject = next(iter(cast.keys("laptop").values())).subject
    return EpochKey(cast.roster().vault, scope, b"", letter * 32, subject)


def test_an_epoch_whose_signer_left_itself_out_ends_with_its_signer() -> None:
    cast = Cast("phone", "tablet")
    key = made_up(cast, b"k")
    sly = cast.say("tablet", epoch_of(cast, "tablet", VAULT, {"laptop": key, "phone": key}))
    cast.meet()
    assert cast.roster().current_epoch(VAULT) == sly
    assert cast.key("tablet") in cast.roster().recipients(sly.id)
    roster = cast.roster("laptop")
    removal = Revoke(cast.key("tablet"), [], False, None)
    cast.say(
        "laptop", write_statement(StatementKind.REVOKE, roster.vault, roster.heads, cast.seed("laptop"), 0, removal)
    )
    assert cast.roster().needs_rotation(VAULT)
    after = cast.rotate("laptop")
    assert cast.roster().current_epoch(VAULT) == after
    assert set(cast.all_keys("phone")) >= {after.id}
    assert after.id not in cast.all_keys("tablet")


def test_an_epoch_that_a_removed_device_signed_behind_its_removal_is_never_current() -> None:
    cast = Cast("phone", "tablet")
    key = made_up(cast, b"k")
    epochs = [epoch_of(cast, "tablet", VAULT, {"laptop": key, "phone": key}) for _ in range(20)]  # ids of all sorts
    cast.revoke("laptop", "tablet")
    due = cast.roster("laptop").current_epoch(VAULT)
    cast.say("tablet", *epochs)
    assert cast.roster().current_epoch(VAULT) == due


def test_who_gives_a_device_another_key_than_the_others_has_given_it_none() -> None:
    """Else the phone would write, in good faith, where nobody reads."""
    cast = Cast("phone", "tablet")
    right, wrong = made_up(cast, b"r"), made_up(cast, b"w")
    epoch = cast.say("tablet", epoch_of(cast, "tablet", VAULT, {"laptop": right, "tablet": right, "phone": wrong}))
    cast.meet()
    assert cast.keys("laptop")[epoch.id].secret == right.secret
    assert epoch.id not in cast.keys("phone")


def test_rubbish_that_is_wrapped_for_a_device_does_not_keep_the_right_key_from_it() -> None:
    cast = Cast("phone", "tablet")
    cast.admit("laptop", "watch", [])
    cast.meet()
    epoch = cast.roster().current_epoch(VAULT)
    assert epoch is not None
    rubbish = Granted(cast.key("watch"), [Grant(VAULT, epoch.id, bytes(112))])
    cast.say("tablet", signed(cast, "tablet", StatementKind.GRANT, rubbish))
    assert epoch.id not in cast.all_keys("watch")
    cast.grant("laptop", "watch", VAULT)
    assert epoch.id in cast.all_keys("watch")


def test_nobody_changes_the_subject_key_of_a_scope() -> None:
    """Else what is erased under one key would not be known under the other."""
    cast = Cast("phone", "tablet")
    current = cast.roster().current_epoch(VAULT)
    other = EpochKey(cast.roster().vault, VAULT, b"", b"k" * 32, b"another subject key".ljust(32))
    cast.say("tablet", epoch_of(cast, "tablet", VAULT, {"laptop": other, "phone": other, "tablet": other}))
    assert cast.roster().current_epoch(VAULT) == current


# -- scopes -------------------------------------------------------------------------------------------


def test_a_scope_is_not_taken_over_by_a_member_that_never_had_it() -> None:
    cast = Cast("phone", "tablet")
    cast.rotate("laptop", "work")
    cast.grant("laptop", "phone", "work")
    cast.meet()
    current = cast.roster().current_epoch("work")
    bait = made_up(cast, b"k", "work")
    cast.say("tablet", epoch_of(cast, "tablet", "work", {"laptop": bait, "phone": bait, "tablet": bait}))
    assert cast.roster().current_epoch("work") == current
    assert cast.roster().scopes_of(cast.key("tablet")) == {VAULT}


def test_nor_by_one_that_says_it_founded_it_first() -> None:
    cast = Cast("phone", "tablet")
    bait = made_up(cast, b"k", "work")
    first = [epoch_of(cast, "tablet", "work", {"laptop": bait, "phone": bait, "tablet": bait}) for _ in range(20)]
    cast.rotate("phone", "work")
    cast.meet()
    current = cast.rotate("phone", "work")
    cast.say("tablet", *first)
    assert cast.roster().current_epoch("work") == current
    assert cast.roster().scopes_of(cast.key("laptop")) == {VAULT}


def test_nor_by_one_that_grants_it_to_itself() -> None:
    """With rubbish, so that the next rotation would bring it the key."""
    cast = Cast("phone", "tablet")
    epoch = cast.rotate("laptop", "work")
    cast.meet()
    grants = Granted(cast.key("tablet"), [Grant("work", epoch.id, bytes(112))])
    cast.say("tablet", signed(cast, "tablet", StatementKind.GRANT, grants))
    cast.meet()
    again = cast.rotate("laptop", "work")
    assert again.id not in cast.all_keys("tablet")
    assert cast.roster().scopes_of(cast.key("tablet")) == {VAULT}


def test_two_that_found_a_scope_apart_share_that_of_the_senior_one_once_it_is_granted() -> None:
    cast = Cast("phone")
    founded = cast.rotate("laptop", "work")
    cast.rotate("phone", "work")
    cast.meet()
    assert cast.roster().current_epoch("work") == founded
    assert cast.roster().scopes_of(cast.key("phone")) == {VAULT}
    with pytest.raises(InvalidInput, match="rotate it on a device that has"):
        cast.rotate("phone", "work")
    cast.grant("laptop", "phone", "work")
    cast.meet()
    assert founded.id in cast.keys("phone")


# -- cuts ---------------------------------------------------------------------------------------------


def test_of_two_cuts_the_lower_one_counts_and_an_adoption_raises_the_one_that_it_knew() -> None:
    cast = Cast("phone", "tablet")
    cast.revoke("laptop", "tablet", [(LOG, 9, HEAD)])
    cast.revoke("phone", "tablet", [(LOG, 4, HEAD)])
    assert cast.roster().cut(cast.key("tablet"), LOG) == 4
    cast.adopt("laptop", LOG, 12)  # it has not heard of the phone's
    assert cast.roster().cut(cast.key("tablet"), LOG) == 4
    cast.meet()
    cast.adopt("laptop", LOG, 7)
    assert cast.roster().cut(cast.key("tablet"), LOG) == 7
    assert cast.roster().cut(cast.key("tablet"), b"m" * 16) == 0, "a log that no cut names"


def test_a_device_is_not_shielded_from_a_removal_that_is_yet_to_come() -> None:
    cast = Cast("phone", "tablet")
    cast.adopt("phone", LOG, 1_000_000)
    cast.meet()
    cast.revoke("laptop", "tablet", [(LOG, 4, HEAD)])
    assert cast.roster().cut(cast.key("tablet"), LOG) == 4


def test_a_cut_that_names_what_nobody_ever_saw_cuts_where_it_says_and_is_lowered_by_another() -> None:
    cast = Cast("phone", "tablet")
    cast.revoke("phone", "tablet", [(LOG, 2**39, b"no such head".ljust(32))])
    assert cast.roster().cut(cast.key("tablet"), LOG) == 2**39
    cast.meet()
    cast.revoke("laptop", "tablet", [(LOG, 4, HEAD)])
    assert cast.roster().cut(cast.key("tablet"), LOG) == 4


def test_whoever_removes_an_accomplice_makes_nothing_believed_that_it_wrote() -> None:
    """The phone has not heard of the tablet's removal: to it the accomplice is a member, cut at what it has seen."""
    cast = Cast("phone", "tablet")
    cast.revoke("laptop", "tablet")
    cast.admit("tablet", "accomplice")
    cast.meet("phone", "tablet", "accomplice")
    cast.revoke("phone", "accomplice", [(LOG, 50, HEAD)])
    assert cast.roster("phone").cut(cast.key("accomplice"), LOG) == 50
    assert cast.roster().cut(cast.key("accomplice"), LOG) == 0
    cast.meet()
    cast.adopt("phone", LOG, 3)
    assert cast.roster().cut(cast.key("accomplice"), LOG) == 3, "who wants it says so"


# -- floods -------------------------------------------------------------------------------------------


def test_a_crowd_that_a_member_let_in_does_not_stop_its_removal() -> None:
    """More members than a rotation can be wrapped for; the most senior get the key, others can be given it."""
    cast = Cast("phone", "tablet")
    before = cast.roster("tablet")
    vault, heads, seed = before.vault, before.heads, cast.seed("tablet")
    epoch = before.current_epoch(VAULT)
    assert epoch is not None
    for number in range(MEMBERS_MAX + 10):
        member = new_member(cast.seed(f"crowd {number}"), "crowd")
        body = Add(member, [Grant(VAULT, epoch.id, bytes(112))])
        cast.say("tablet", write_statement(StatementKind.ADD, vault, heads, seed, 0, body))
    cast.meet()
    with pytest.raises(InvalidInput, match="at most 50 devices"):
        cast.admit("laptop", "watch")
    cast.revoke("laptop", "tablet")
    current = cast.roster().current_epoch(VAULT)
    assert current is not None
    assert isinstance(current.body, Epoch)
    assert len(current.body.wraps) == WRAPS_MAX
    assert {current.id} <= cast.all_keys("phone").keys() & cast.all_keys("paper").keys()


def test_a_vault_that_a_thief_has_filled_is_brought_back_by_the_phrase() -> None:
    """The new device comes after the whole crowd, and has the key that it makes even so."""
    cast = Cast("thief")
    cast.revoke("thief", "laptop")
    before = cast.roster("thief")
    epoch = before.current_epoch(VAULT)
    assert epoch is not None
    for number in range(MEMBERS_MAX + 10):
        member = new_member(cast.seed(f"crowd {number}"), "crowd")
        body = Add(member, [Grant(VAULT, epoch.id, bytes(112))])
        said = write_statement(StatementKind.ADD, before.vault, before.heads, cast.seed("thief"), 0, body)
        cast.say("thief", said)
    cast.say("paper", *cast.heard["thief"].values())
    cast.admit("paper", "new")
    cast.revoke("new", "thief")
    current = cast.roster().current_epoch(VAULT)
    assert current is not None
    assert current.id in cast.keys("new")
    assert current.id not in cast.all_keys("thief")


def test_more_heads_than_can_be_named_hide_nobodys_word() -> None:
    cast = Cast("phone", "tablet")
    roster, seed = cast.roster(), cast.seed("tablet")
    for number in range(PARENTS_MAX + 50):
        body = Name(cast.key("tablet"), f"name {number}")
        cast.say("tablet", write_statement(StatementKind.NAME, roster.vault, roster.heads, seed, 0, body))
    cast.revoke("phone", "tablet")
    cast.meet()
    said = cast.name("laptop", "phone", "my phone")
    assert len(said.parents) == PARENTS_MAX
    assert cast.key("phone") in {cast.heard["laptop"][parent].signer for parent in said.parents}
    assert cast.live() == ["laptop", "phone"]


def test_more_statements_than_a_roster_holds_are_refused() -> None:
    cast = Cast()
    roster, seed = cast.roster(), cast.seed("laptop")
    one = write_statement(StatementKind.NAME, roster.vault, roster.heads, seed, 0, Name(cast.key("laptop"), "x"))
    many = [
        Statement(n.to_bytes(16, "big"), one.kind, one.vault, one.parents, one.signer, n, one.body, one.wire)
        for n in range(STATEMENTS_MAX)
    ]
    with pytest.raises(NotCanonical, match="at most 4096 statements"):
        Roster([*roster.statements_in_order(), *many])


def test_a_statement_of_another_vault_has_no_effect_and_another_genesis_is_refused() -> None:
    cast, other = Cast("phone"), Cast()
    other.say("laptop", building.genesis(other.seed("laptop"), "laptop", 0, b"other".ljust(16), None, None))
    genesis = next(s for s in other.heard["laptop"].values() if not s.parents and s.id != cast.roster().vault)
    foreign = write_statement(
        StatementKind.REVOKE,
        genesis.id,
        [genesis.id],
        cast.seed("laptop"),
        0,
        Revoke(cast.key("phone"), [], True, None),
    )
    cast.say("laptop", foreign)
    assert cast.live() == ["laptop", "phone"]
    assert foreign.id not in cast.roster().ids
    with pytest.raises(NotCanonical, match="one genesis"):
        Roster([*cast.heard["laptop"].values(), genesis])


def test_what_names_parents_that_never_arrive_waits_and_stops_nothing() -> None:
    cast = Cast("phone", "tablet")
    lost = cast.name("tablet", "tablet", "lost")
    waiting = cast.revoke("tablet", "phone")
    del cast.heard["tablet"][lost.id]
    cast.meet()
    roster = cast.roster()
    assert cast.live() == ["laptop", "phone", "tablet"]
    assert roster.missing == {lost.id}
    assert waiting in roster.statements_in_order()
    cast.name("laptop", "phone", "my phone")
    assert cast.roster().member(cast.key("phone")).name == "my phone"  # type: ignore[union-attr]
    cast.say("tablet", lost)
    assert cast.live() == ["laptop", "tablet"]
