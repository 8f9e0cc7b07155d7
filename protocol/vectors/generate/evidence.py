"""What a statement rests on: passages that were read twice, claims that are derived from others, corroboration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.vectors.generate.believing import day, define, lane_of, logs
from protocol.vectors.generate.fold_more import SINGLE, claim, fold, row
from protocol.vectors.generate.making import Log
from protocol.vectors.generate.vector import Vector

TZ = ("vault", "person:ana", "timezone")


def vectors() -> Iterator[Vector]:
    for made in (twins, corrected_twins, derived, chains, trust, corroborated):
        yield from made()


def begun(count: int = 3) -> list[Log]:
    """Logs, in the first of which the predicate is defined."""
    written = logs(count)
    define(written[0], SINGLE)
    return written


def read(episode: Any, span: Any = None, **other: Any) -> dict[str, Any]:
    """What is stated of the passage."""
    return {"extra": {"episode": episode, **({} if span is None else {"span": span})}, **other}


def retract(log: Log, on: float, *refs: Any, trust: int = 90) -> Any:
    return log.write(5, day(on), [list(refs), trust, None, None, None, None])


def twins() -> Iterator[Vector]:
    def told(name: str, says: str, again: dict[str, Any], *rows: Any, value: Any = "Lisbon", **other: Any) -> Vector:
        written = begun()
        first = claim(written[1], "Lisbon", 1, **read("mail 7", [0, 9]))
        retract(written[1], 2, first, trust=other.pop("by", 90))
        claim(written[2], value, 3, **again, **other)
        return fold(name, says, written, *rows)

    yield told("twin-retracted", "A passage that is read again does not bring back what was retracted.",
               read("mail 7", [0, 9]))  # fmt: skip
    yield told("twin-in-other-case", "Values of twins are compared as casefold, whatever the predicate says.",
               read("mail 7", [0, 9]), value="LISBON")  # fmt: skip
    yield told("twin-affirmed", "An affirmation says what a claim says.", read("mail 7", [0, 9]), kind=2)
    yield told("twin-of-other-source", "Who read the passage does not matter.",
               read("mail 7", [0, 9], source_kind="document", source_id="model 2"))  # fmt: skip
    yield told("other-span", "Another passage is a new statement.", read("mail 7", [10, 19]), row(3, None, "Lisbon"))
    yield told("other-episode", "So is that of another episode.", read("mail 8", [0, 9]), row(3, None, "Lisbon"))
    yield told("other-value", "And another value.", read("mail 7", [0, 9]), row(3, None, "Porto"), value="Porto")
    yield told("no-episode", "A statement that names no episode has no twins.", {}, row(3, None, "Lisbon"))
    yield told("episode-no-text", "An episode that is no text is none.", read(7, [0, 9]), row(3, None, "Lisbon"))
    yield told("twin-of-more-trust", "A retraction acts on a twin if it may; else the twin is disputed.",
               read("mail 7", [0, 9]), row(1, None, "Lisbon", contested=True), by=50)  # fmt: skip
    written = begun()
    first_said = claim(written[1], "Lisbon", 1, **read("mail 7"))
    gone = retract(written[1], 2, first_said)
    claim(written[2], "Lisbon", 3, **read("mail 7"))
    written[2].write(7, day(4), [[gone], 90, None, None, None])
    yield fold("twin-given-back", "An undo of the retraction gives both back.", written, row(1, None, "Lisbon"))


def corrected_twins() -> Iterator[Vector]:
    written = begun()
    first = claim(written[1], "Lisboa", 1, **read("mail 7"))
    claim(written[1], "Lisbon", 2, refs=[first], observed_at=day(1))
    claim(written[2], "Lisboa", 3, **read("mail 7"))
    yield fold(
        "twin-corrected", "What was corrected is not brought back by its passage.", written, row(1, None, "Lisbon")
    )
    written = begun()
    first = claim(written[1], "Lisbon", 3, **read("mail 7"))
    second = claim(written[1], "Lisbon", 4, refs=[first], start=day(2), **read("mail 7"))
    claim(written[1], "Lisbon", 5, refs=[second], start=day(1), **read("mail 7"))
    yield fold("corrections-of-one-passage", "A correction reaches no twin that is a correction.", written,
               row(1, None, "Lisbon"))  # fmt: skip
    written = begun()
    claim(written[1], "Lisbon", 1)
    end = claim(written[1], "Lisbon", 3, kind=3, **read("mail 7"))
    retract(written[1], 4, end)
    claim(written[2], "Lisbon", 5, kind=3, **read("mail 7"))
    claim(written[2], "Lisbon", 2, kind=2, **read("mail 7"))
    yield fold("twin-of-an-end", "Ends have twins among ends.", written, row(1, None, "Lisbon"))


def rests(*refs: Any, **other: Any) -> dict[str, Any]:
    """What a derived claim states of its roots."""
    return {"derived_from": [list(ref) for ref in refs], **other}


def derived() -> Iterator[Vector]:
    def told(name: str, says: str, *rows: Any, then: Any = None, root: Any = None, **other: Any) -> Vector:
        written = begun()
        first = claim(written[1], "Lisbon", 1, **(root or {}))
        claim(written[2], "Porto", 5, extra=rests(first, **other))
        if then is not None:
            then(written[1], first)
        return fold(name, says, written, *rows)

    porto = (row(1, 5, "Lisbon"), row(5, None, "Porto"))
    yield told("derived", "A derived claim counts while its roots do.", *porto)
    yield told("derived-retracted", "It goes when a root is retracted.", then=lambda log, first: retract(log, 6, first))
    yield told("derived-denied", "Or denied.", then=lambda log, first: claim(log, "Lisbon", 6, kind=4))
    yield told("derived-undone", "Or undone.",
               then=lambda log, first: log.write(7, day(6), [[first], 90, None, None, None]))  # fmt: skip
    yield told("derived-corrected", "Or corrected.", row(1, None, "Faro"),
               then=lambda log, first: claim(log, "Faro", 6, refs=[first], observed_at=day(1)))  # fmt: skip
    yield told("derived-withdrawn", "Or withdrawn with its batch.", root={"batch": "import"},
               then=lambda log, first: log.write(6, day(6), ["import", 90, None, None, None]))  # fmt: skip
    yield told("derived-ended", "An end of its root's value leaves it: the root is live.",
               row(1, 4, "Lisbon"), row(5, None, "Porto"),
               then=lambda log, first: claim(log, "Lisbon", 4, kind=3))  # fmt: skip
    lisbon = row(1, None, "Lisbon")
    for name, says, roots in (
        ("derived-from-nothing", "What is derived from nothing waits.", []),
        ("derived-from-words", "What cannot be read as references names what never arrives.", ["somebody"]),
        ("derived-from-a-text", "And what is no list.", "somebody"),
        ("derived-from-nobody", "A root that has not arrived is waited for.", [[bytes(16), 1, bytes(16)]]),
    ):
        written = begun()
        claim(written[1], "Lisbon", 1)
        claim(written[2], "Porto", 5, extra={"derived_from": roots})
        yield fold(name, says, written, lisbon)
    written = begun()
    end = claim(written[1], "Faro", 1, kind=3)
    claim(written[2], "Porto", 5, extra=rests(end))
    yield fold("derived-from-an-end", "A root is a claim; an end is none.", written)
    written = begun()
    first = claim(written[1], "Lisbon", 1)
    retract(written[1], 3, first)
    claim(written[2], "Porto", 2)
    claim(written[2], "Porto", 5, kind=3, extra=rests(first))
    yield fold("only-claims-are-derived", "Of an end the key means nothing.", written, row(2, 5, "Porto"))


def chains() -> Iterator[Vector]:
    written = begun()
    first = claim(written[1], "Lisbon", 1)
    second = claim(written[2], "WET", 2, predicate="timezone", extra=rests(first))
    claim(written[2], "Porto", 3, extra=rests(second))
    denial = claim(written[1], "Lisbon", 4, kind=4)
    yield fold("derived-from-derived", "Whatever rests on a denied claim goes, in any slot.", written)
    written[1].write(7, day(5), [[denial], 90, None, None, None])
    back = row(2, None, "WET", lane=lane_of("WET"), slot=TZ)
    yield fold("derived-restored", "And is back with it.", written, row(1, 3, "Lisbon"), row(3, None, "Porto"), back)
    written = begun()
    first = claim(written[1], "Lisbon", 1)
    second = claim(written[1], "Porto", 3, extra=rests(first))
    claim(written[2], "Porto", 5, kind=3, refs=[second])
    retract(written[1], 6, first)
    claim(written[2], "Porto", 2, predicate="home_city")
    yield fold("end-of-a-derived-claim", "An end that names a claim goes with it.", written, row(2, None, "Porto"))


def trust() -> Iterator[Vector]:
    for name, says, given, counts in (
        ("derived-of-their-trust", "It may have the trust of its roots.", 50, True),
        ("derived-of-less-trust", "Or less.", 30, True),
        ("derived-of-more-trust", "With more it does not count.", 51, False),
    ):
        written = begun()
        one, two = (claim(written[1], city, on, trust=t) for city, on, t in (("Faro", 1, 50), ("Lagos", 2, 90)))
        claim(written[2], "WET", 5, predicate="timezone", trust=given, extra=rests(one, two))
        zone = [row(5, None, "WET", trust=given, lane=lane_of("WET"), slot=TZ)] if counts else []
        yield fold(name, says, written, row(1, 2, "Faro", trust=50), row(2, None, "Lagos"), *zone)


def corroborated() -> Iterator[Vector]:
    def told(name: str, says: str, sources: Any, *rows: Any, given: int = 50, wanted: Any = 2, **other: Any) -> Vector:
        written = begun()
        roots = [
            claim(written[1], "Lisbon", 1, trust=other.get("roots", 30), source_kind=kind, source_id=number)
            for kind, number in sources
        ]
        claim(written[2], "Lisbon", 2, trust=given, extra=rests(*roots, corroborated_by=wanted))
        return fold(name, says, written, *rows)

    first, more = row(1, 2, "Lisbon", trust=30), row(2, None, "Lisbon", trust=50)
    alone = row(1, None, "Lisbon", trust=30)
    mails = [("mail", "a"), ("mail", "b")]
    yield told("corroborated", "Two independent sources give one tier more.", mails, first, more)
    yield told("corroborated-two-tiers", "And no more than one.", mails, alone, given=51)
    yield told("corroborated-too-few", "Fewer than the claim says that it has give nothing.", mails, alone, wanted=3)
    yield told("corroborated-by-one", "One is never enough.", mails[:1], alone, wanted=1)
    yield told("corroborated-by-a-text", "The number is an integer.", mails, alone, wanted="two")
    yield told("corroborated-by-one-source", "One source seen twice is one.", [mails[0], mails[0]], alone)
    yield told("corroborated-by-nobody", "A source that is not stated is none.", [mails[0], (None, None)], alone)
    yield told("corroborated-by-the-agent", "The agent's own words are none.",
               [mails[0], ("assistant:x", "b")], alone)  # fmt: skip
    low = row(1, 2, "Lisbon", trust=7)
    yield told("corroborated-from-below", "Below the tiers the next one is 30.", mails, low,
               row(2, None, "Lisbon", trust=30), given=30, roots=7)  # fmt: skip
    written = begun()
    first_said = claim(written[1], "Lisbon", 1, trust=30, source_kind="mail", source_id="a")
    second = claim(written[1], "Faro", 1, trust=30, source_kind="mail", source_id="b", extra=rests(first_said))
    claim(written[2], "Lisbon", 2, trust=50, extra=rests(first_said, second, corroborated_by=2))
    yield fold("corroborated-by-two-ways", "A derived root counts as the sources that it goes back to.", written,
               row(1, None, "Faro", trust=30))  # fmt: skip
