"""Cases in which what a parent knew is not enough: random histories seldom find them."""

from __future__ import annotations

from syncmem.seal.bodies import Add, Body, Genesis, Name, Revoke
from syncmem.seal.graph import Graph
from syncmem.seal.resolution import Resolution
from syncmem.seal.statements import Statement
from tests.seal.histories import LAPTOP, OTHERS, member, statement
from tests.seal.reference import Reference

PHONE, TABLET, WATCH, _ = OTHERS


class Told:
    """Statements in the order in which they are told; ids ascend with them."""

    def __init__(self) -> None:
        root = statement(LAPTOP, [], Genesis(1, bytes(16), member(LAPTOP), None, None), bytes(16))
        self.said = [root]

    def say(self, signer: bytes, body: Body, *parents: Statement) -> Statement:
        id = len(self.said).to_bytes(16, "big")
        self.said.append(statement(signer, parents or self.said[-1:], body, id, self.said[0].id))
        return self.said[-1]

    def counts(self, said: Statement) -> bool:
        """By the fast resolver, which has to agree with the plain one, also about what stands."""
        resolution, reference = Resolution(Graph(self.said)), Reference(self.said)
        counting = set(resolution.counting)
        assert counting == reference.counting(reference.all)
        assert set(resolution.standing) == set(filter(reference.stands, reference.all))
        return said in counting


def revoke(device: bytes) -> Revoke:
    return Revoke(device, [], False, None)


def test_who_meets_an_accomplice_after_its_voucher_fell_is_not_removed_by_it() -> None:
    told = Told()
    told.say(LAPTOP, Add(member(TABLET), []))
    start = told.say(LAPTOP, Add(member(PHONE), []))
    removal = told.say(LAPTOP, revoke(TABLET), start)
    accomplice = told.say(TABLET, Add(member(WATCH), []), start)
    both = told.say(LAPTOP, Name(PHONE, "x"), removal, accomplice)
    against = told.say(WATCH, revoke(PHONE), accomplice)
    met = told.say(PHONE, Name(PHONE, "mine"), both, against)
    assert told.counts(met)
    assert not told.counts(against)


def test_who_hears_that_its_opponent_was_let_in_earlier_by_another_has_lost() -> None:
    told = Told()
    tablet = told.say(LAPTOP, Add(member(TABLET), []))
    told.say(LAPTOP, Name(TABLET, "x"))
    told.say(LAPTOP, Add(member(PHONE), []))
    start = told.say(LAPTOP, Add(member(WATCH), []))
    removals = [told.say(WATCH, revoke(PHONE), start), told.say(PHONE, revoke(WATCH), start)]
    both = told.say(PHONE, Name(PHONE, "x"), *removals)
    assert told.counts(both), "the phone is the senior one"
    earlier = told.say(TABLET, Add(member(WATCH), []), tablet)
    met = told.say(PHONE, Name(PHONE, "mine"), both, earlier)
    assert not told.counts(met)
    assert not told.counts(both)


def test_a_device_that_more_than_one_let_in_stays_when_one_of_them_falls() -> None:
    told = Told()
    told.say(LAPTOP, Add(member(TABLET), []))
    start = told.say(LAPTOP, Add(member(PHONE), []))
    removal = told.say(LAPTOP, revoke(TABLET), start)
    first = told.say(TABLET, Add(member(WATCH), []), start)
    second = told.say(PHONE, Add(member(WATCH), []), start)
    alone = told.say(WATCH, Name(WATCH, "by the tablet"), first)
    vouched = told.say(WATCH, Name(WATCH, "by both"), first, second)
    assert told.counts(vouched)
    assert not told.counts(alone)
    assert told.counts(removal)
