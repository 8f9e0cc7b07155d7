"""Beliefs beyond the cases of one single-valued slot: definitions, lanes, equality, clocks, cuts, scopes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.vectors.generate.believing import Row, believed, day, define, lane_of, logs
from protocol.vectors.generate.making import DAY, T0, Log, said
from protocol.vectors.generate.vector import Vector

SINGLE, MANY = {"cardinality": "single"}, {"cardinality": "many"}
MINUTE = 60_000_000
NONE_LANE = lane_of(None)


def vectors() -> Iterator[Vector]:
    for made in (definitions, lanes, scopes, equalities, references, clocks, cuts, times, ties, passed_over):
        yield from made()


def fold(name: str, says: str, written: list[Log], *rows: Row, **other: Any) -> Vector:
    return believed("fold", name, says, written, rows, **other)


def row(start: float, end: float | None, value: Any, trust: int = 90, contested: bool = False, **other: Any) -> Row:
    """A rectangle, its bounds in days."""
    return day(start), None if end is None else day(end), value, trust, contested, *other.values()


def many(start: float, end: float | None, value: Any, key: Any = "", trust: int = 90) -> Row:
    """A rectangle of a many-valued slot; ``key``: where equal values share another one than themselves."""
    return row(start, end, value, trust, lane=lane_of(key or value))


def claim(log: Log, value: Any, on: float, kind: int = 1, **other: Any) -> Any:
    """A statement, made on a day."""
    return log.write(kind, day(on), said(value, **other))


def two_cities(settings: dict[str, Any] | None) -> tuple[list[Log], Log]:
    """Lisbon on day 1 and Porto on day 3, by one device; the log of definitions, and one more."""
    definitions, a, b = logs(3)
    if settings is not None:
        define(definitions, settings)
    claim(a, "Lisbon", 1)
    claim(a, "Porto", 3)
    return [definitions, a, b], definitions


ONE, BOTH = (row(1, 3, "Lisbon"), row(3, None, "Porto")), (many(1, None, "Lisbon"), many(3, None, "Porto"))


def definitions() -> Iterator[Vector]:
    yield fold("undeclared", "A predicate that nobody defined holds many values.", two_cities(None)[0], *BOTH)
    yield fold("declared-single", "A predicate declared single holds one value at a time.", two_cities(SINGLE)[0], *ONE)
    yield fold("declared-many", "A predicate declared many holds several values.", two_cities(MANY)[0], *BOTH)
    written, log = two_cities(SINGLE)
    define(log, MANY, clock=day(9))
    yield fold("defined-again", "Of definitions of one trust the later one stands.", written, *BOTH)
    written, log = two_cities(SINGLE)
    define(log, MANY, clock=day(9), trust=50)
    yield fold("defined-with-less-trust", "A definition of less trust does not stand.", written, *ONE)
    written, log = two_cities(MANY)
    undone = define(log, SINGLE, clock=day(9))
    log.write(7, day(10), [[undone], 90, None, None, None])
    yield fold("definition-undone", "A definition that is undone gives way to the one before.", written, *BOTH)
    written, log = two_cities(None)
    log.write(8, day(4), ["home_city", SINGLE, 90, None, None, "batch", None])
    log.write(6, day(5), ["batch", 90, None, None, None])
    yield fold("definition-withdrawn", "A withdrawn batch takes its definitions along.", written, *BOTH)
    written, log = two_cities({"cardinality": "several", "equality": "fuzzy", "new": 5})
    yield fold("unknown-settings", "Settings of a later version are passed over.", written, *BOTH)
    odd = {**SINGLE, "equality": ["x"], "ttl": "soon", "new": {"a": [5, None]}}
    yield fold("odd-settings", "So are values of settings that no version has.", two_cities(odd)[0], *ONE)
    bytes_within = {**SINGLE, "new": {"a": b"\0"}}
    says = "A definition whose settings hold what no value holds cannot be read, and defines nothing."
    yield fold("settings-with-bytes", says, two_cities(bytes_within)[0], *BOTH)


def lanes() -> Iterator[Vector]:
    """Many-valued slots: a timeline for each value, and "none" that concerns all."""
    written, _ = two_cities(MANY)
    claim(written[1], "Lisbon", 5, kind=3, form=1, start=day(5))
    yield fold(
        "many-ended", "An end of one value leaves the others.", written, many(1, 5, "Lisbon"), many(3, None, "Porto")
    )
    written, _ = two_cities(MANY)
    claim(written[1], None, 6)
    nothing = row(6, None, None, lane=NONE_LANE)
    yield fold(
        "many-none", "Known to have none ends every value.", written, many(1, 6, "Lisbon"), many(3, 6, "Porto"), nothing
    )
    claim(written[1], "Faro", 8)
    yield fold(
        "many-none-then-value", "A value said later ends none in turn.", written,
        many(1, 6, "Lisbon"), many(3, 6, "Porto"), row(6, 8, None, lane=NONE_LANE), many(8, None, "Faro"),
    )  # fmt: skip
    written, _ = two_cities(MANY)
    claim(written[2], None, 6, trust=30)
    until = [many(1, 6, "Lisbon"), many(3, 6, "Porto")]
    from_then = [row(6, None, city, contested=True, lane=lane_of(city)) for city in ("Lisbon", "Porto")]
    yield fold("many-none-of-less-trust", "None of less trust ends nothing, and contests every value.", written,
               *until, *from_then)  # fmt: skip
    written, _ = two_cities(MANY)
    claim(written[2], "Lisbon", 6, kind=4)
    yield fold("many-denied", "A denial of one value leaves the others.", written, many(3, None, "Porto"))


def scopes() -> Iterator[Vector]:
    vault, _ = two_cities(SINGLE)
    work = logs(1, "work")[0]
    claim(work, "Faro", 2)
    claim(work, "Lisbon", 4)
    slot = ("work", "person:ana", "home_city")
    there = [row(2, 4, "Faro", lane=b"", slot=slot), row(4, None, "Lisbon", lane=b"", slot=slot)]
    yield fold(
        "scopes", "Scopes do not concern each other, but use what the vault defines.", [*vault, work], *ONE, *there
    )
    define(work, MANY)
    own = [
        row(2, None, "Faro", lane=lane_of("Faro"), slot=slot),
        row(4, None, "Lisbon", lane=lane_of("Lisbon"), slot=slot),
    ]
    yield fold("scope-with-definition", "A scope's own definition comes first there.", [*vault, work], *ONE, *own)
    vault, _ = two_cities(SINGLE)
    other = logs(1, "work")[0]
    other.write(5, day(9), [[vault[1].ref(2)], 90, None, None, None, None])
    yield fold("reference-into-other-scope", "A reference into another scope has no effect.", [*vault, other], *ONE)
    vault, _ = two_cities(SINGLE)
    other = logs(1, "work")[0]
    gone = claim(other, "Porto", 3)
    other.write(5, day(4), [[gone], 90, None, None, None, None])
    claim(vault[2], "Porto", 6, kind=3, refs=[gone])
    yield fold("end-naming-other-scope", "An end that names a claim of another scope names none: it acts.",
               [*vault, other], row(1, 3, "Lisbon"), row(3, 6, "Porto"))  # fmt: skip
    vault, _ = two_cities(SINGLE)
    claim(vault[2], "Faro", 5, batch="batch")
    other = logs(1, "work")[0]
    other.write(6, day(9), ["batch", 90, None, None, None])
    yield fold("batch-of-other-scope", "A batch is of one scope: its name elsewhere is another batch.", [*vault, other],
               row(1, 3, "Lisbon"), row(3, 5, "Porto"), row(5, None, "Faro"))  # fmt: skip
    definitions, a = logs(2)
    define(definitions, SINGLE)
    claim(a, "Lisbon", 1)
    claim(a, "Porto", 2, entity="person:bo")
    bo = ("vault", "person:bo", "home_city")
    yield fold("entities", "Entities do not concern each other.", [definitions, a], row(1, None, "Lisbon"),
               row(2, None, "Porto", lane=b"", slot=bo))  # fmt: skip


def ended_by(name: str, says: str, equality: str, value: Any, end: Any, ends: bool) -> Vector:
    """A value, and an end that may be about the same one."""
    definitions, a = logs(2)
    define(definitions, {**SINGLE, "equality": equality})
    claim(a, value, 1)
    claim(a, end, 4, kind=3)
    return fold(name, says, [definitions, a], row(1, 4 if ends else None, value))


def equalities() -> Iterator[Vector]:
    for number, (equality, value, end, ends, says) in enumerate(SAME, 1):
        yield ended_by(f"equality-{equality}-{number}", says, equality, value, end, ends)
    definitions, a = logs(2)
    define(definitions, {**SINGLE, "equality": "casefold"})
    claim(a, "Lisbon", 1)
    claim(a, "LISBON", 2)
    yield fold("equality-spelling", "What is shown is the winner's spelling.", [definitions, a], row(1, 2, "Lisbon"),
               row(2, None, "LISBON"))  # fmt: skip
    definitions, a = logs(2)
    define(definitions, {**MANY, "equality": "casefold"})
    claim(a, "New York", 1)
    claim(a, "new  york", 2, kind=3)
    yield fold("equality-lane", "A lane is of the key that equal values share.", [definitions, a],
               many(1, 2, "New York", key="new york"))  # fmt: skip


SAME: tuple[tuple[str, Any, Any, bool, str], ...] = (
    ("exact", "Lisbon", "Lisbon", True, "The same text is the same value."),
    ("exact", "Lisbon", "lisbon", False, "Under exact, case matters."),
    ("exact", "é", "e\u0301", True, "Under exact, texts are compared after NFC."),
    ("exact", 1, 1.0, False, "Under exact, 1 is not 1.0."),
    ("exact", True, 1, False, "True is never 1."),
    ("exact", {"a": [None], "é": 1}, {"a": [None], "e\u0301": 1}, True, "Keys too are compared after NFC."),
    ("casefold", "Straße", "STRASSE", True, "Under casefold, full case folding applies."),
    ("casefold", "  New\u00a0  York ", "new york", True, "Under casefold, runs of white space are one space."),
    ("casefold", ["A"], ["a"], False, "Arrays and maps compare under exact, whatever the equality."),
    ("number", 1, "1.00", True, "Under number, texts of plain decimals are numbers."),
    ("number", 0.1, "0.1", True, "A float is the shortest decimal that reads back as it."),
    ("number", 10**15, 1e15, True, "An integer and a float of one amount are the same."),
    ("number", "-0", 0, True, "Zero has no sign."),
    ("number", "1e3", 1000, False, "Texts with exponents are texts."),
    ("number", True, 1, False, "True is no number."),
    ("date", "2025-03-14T10:15+01:00", "2025-03-14T09:15:00Z", True, "Under date, an instant has any offset."),
    ("date", "2025-03-14", "2025-W11-5", True, "A day may be told by its week."),
    ("date", "2025-Q1", "2025-33", True, "A quarter has two spellings."),
    ("date", "2025-03-14", "2025-03-14T00:00Z", False, "A day is no instant."),
    ("date", "2025-03~", "2025-03", False, "Approximately is not exactly."),
    ("date", "2025-03-14 10:15", "2025-03-14T10:15Z", False, "A local time is no instant."),
    ("casefold", "\U00010d50", "\U00010d70", False, "A character younger than Unicode 14.0 stands for itself."),
    ("casefold", "\U00010d50E\u0301", "\U00010d50é", True, "What stands beside such a character is folded."),
)


def references() -> Iterator[Vector]:
    written, _ = two_cities(SINGLE)
    a, b = written[1:]
    wrong = [*a.ref(2)[:2], a.ref(1)[2]]
    b.write(5, day(9), [[wrong], 90, None, None, None, None])
    yield fold("reference-with-other-id", "A reference whose id does not fit has no effect.", written, *ONE)
    written, _ = two_cities(SINGLE)
    a, b = written[1:]
    b.write(5, day(9), [[a.ref(2), a.ref(1)], 90, None, None, None, None])
    yield fold("retract-two", "A retraction may name several events.", written)
    written, _ = two_cities(SINGLE)
    a, b = written[1:]
    b.write(5, day(9), [[a.ref(2)], 50, "crawler", None, None, None])
    yield fold("retract-with-less-trust", "What may not act leaves its target contested.", written, row(1, 3, "Lisbon"),
               row(3, None, "Porto", contested=True))  # fmt: skip
    yield own_source("retract-own-source", "The same stated source on the same device may take its own word back.", 1)
    yield own_source("retract-source-of-other-device", "The same source on another device may not.", 2)
    written, _ = two_cities(SINGLE)
    a, b = written[1:]
    undo = b.write(7, day(9), [[a.ref(2)], 90, None, None, None])
    yield fold("undo", "An undo takes an event back as if it had not been.", written, row(1, None, "Lisbon"))
    b.write(7, day(10), [[undo], 90, None, None, None])
    yield fold("undo-of-undo", "An undo may be undone.", written, *ONE)
    written, _ = two_cities(SINGLE)
    a, b = written[1:]
    claim(b, "Faro", 2, refs=[a.ref(2)])
    yield fold(
        "correct", "A claim replaces those that it corrects.", written, row(1, 2, "Lisbon"), row(2, None, "Faro")
    )


def own_source(name: str, says: str, by: int) -> Vector:
    definitions, a, b = logs(3)
    define(definitions, SINGLE)
    ref = claim(a, "Lisbon", 1, source_kind="chat", source_id="m 1")
    [a, b][by - 1].write(5, day(9), [[ref], 50, "chat", "m 1", None, None])
    return fold(name, says, [definitions, a, b], *([] if by == 1 else [row(1, None, "Lisbon", contested=True)]))


def clocks() -> Iterator[Vector]:
    yield noted("clock-wrong", "A clock ten days ahead is believed as it is.", None)
    yield noted("clock-note", "A device corrects its own clock with any trust.", "own", trust=30)
    yield noted("clock-note-of-user", "Another device corrects it with a user's trust.", "other", trust=90)
    yield noted("clock-note-of-other", "Another device does not correct it with less.", "other", trust=89, counts=False)
    yield noted("clock-note-elsewhere", "A note is about its places alone.", "own", first=2, counts=False)
    yield noted("clock-note-undone", "A note may be undone.", "own", undone=True, counts=False)


def noted(name: str, says: str, by: str | None, *, trust: int = 90, first: int = 1, undone: bool = False,
          counts: bool = True) -> Vector:  # fmt: skip
    """A says Porto on day 3 with a clock ten days ahead, B says Lisbon on day 6."""
    definitions, a, b = logs(3)
    define(definitions, SINGLE)
    claim(a, "Porto", 13)
    claim(b, "Lisbon", 6)
    writer = {"own": a, "other": b}.get(by or "")
    if writer is not None:
        note = writer.write(9, day(20), [a.id, first, 1 if first == 1 else 9, -10 * DAY, trust, None, None, None])
        if undone:
            writer.write(7, day(21), [[note], 90, None, None, None])
    right = by is not None and counts
    rows = [row(3, 6, "Porto"), row(6, None, "Lisbon")] if right else [row(6, 13, "Lisbon"), row(13, None, "Porto")]
    return fold(name, says, [definitions, a, b], *rows)


def cuts() -> Iterator[Vector]:
    written, _ = two_cities(SINGLE)
    cut = [[written[1].id.hex(), 1]]
    yield fold("cut", "What stands behind the cut of its log is not believed.", written, row(1, None, "Lisbon"),
               cuts=cut)  # fmt: skip
    written, _ = two_cities(SINGLE)
    a, b = written[1:]
    b.write(5, day(9), [[a.ref(2)], 90, None, None, None, None])
    yield fold("cut-before-a-retraction", "A retraction behind the cut does not act.", written, *ONE,
               cuts=[[b.id.hex(), 0]])  # fmt: skip
    written, _ = two_cities(None)
    define(written[2], SINGLE)
    yield fold("cut-before-a-definition", "A definition behind the cut does not stand.", written, *BOTH,
               cuts=[[written[2].id.hex(), 0]])  # fmt: skip


def of(name: str, says: str, first: dict[str, Any], second: dict[str, Any] | None, *rows: Row) -> Vector:
    """Lisbon, said on day 1, and Porto, said on day 9."""
    definitions, a, _ = logs(3)
    define(definitions, SINGLE)
    claim(a, "Lisbon", 1, **first)
    if second is not None:
        claim(a, "Porto", 9, **second)
    return fold(name, says, [definitions, a], *rows)


def times() -> Iterator[Vector]:
    yield of("observed-in-the-future", "Nothing is observed after it is written.", {"observed_at": day(50)}, {},
             row(1, 9, "Lisbon"), row(9, None, "Porto"))  # fmt: skip
    yield of("started-before", "A state may have begun before it was seen.", {"start": day(-5)}, {"start": day(-2)},
             row(-5, -2, "Lisbon"), row(-2, None, "Porto"))  # fmt: skip
    yield of("start-imprecise", "An imprecise change covers from its first instant and counts as late as its last.",
             {}, {"form": 1, "start": day(0), "start_latest": day(5)}, row(0, None, "Porto"))  # fmt: skip
    yield of("start-precise", "The same change told precisely loses to what was seen later.",
             {}, {"form": 1, "start": day(0)}, row(0, 1, "Porto"), row(1, None, "Lisbon"))  # fmt: skip
    yield of("start-not-before-stop", "A claim that starts when it stops holds nothing, and is passed over.",
             {}, {"start": day(9), "stop": day(9), "then": 2}, row(1, None, "Lisbon"))  # fmt: skip
    yield of("then-open-with-stop", "A stop without a word of what follows is a period.", {},
             {"start": day(3), "stop": day(5), "then": 0}, row(1, 3, "Lisbon"), row(3, 5, "Porto"))  # fmt: skip
    yield of("then-resume-without-stop", "Without a stop nothing resumes: the claim is open.", {}, {"then": 1},
             row(1, 9, "Lisbon"), row(9, None, "Porto"))  # fmt: skip
    yield of("form-unknown", "A form of a later version counts as a state.", {"form": 7}, None, row(1, None, "Lisbon"))
    yield of("ttl", "An open claim lapses when its time to live is over.", {"extra": {"ttl": 5 * DAY}}, None,
             row(1, 6, "Lisbon"))  # fmt: skip
    yield of("ttl-of-text", "A time to live that is no number of microseconds is none.", {"extra": {"ttl": "5d"}}, None,
             row(1, None, "Lisbon"))  # fmt: skip
    yield of("ttl-beyond-9999", "A time to live that ends after 9999 does not end.", {"extra": {"ttl": 2**61}}, None,
             row(1, None, "Lisbon"))  # fmt: skip
    yield of("ttl-of-period", "A bounded claim has no time to live.", {"start": day(1), "stop": day(8), "then": 2,
             "extra": {"ttl": DAY}}, None, row(1, 8, "Lisbon"))  # fmt: skip
    stale = {"extra": {"stale_after": 4 * DAY, "stale_trust": 30}}
    yield of("stale", "A claim that ages counts less from then on.", stale, None, row(1, 5, "Lisbon"),
             row(5, None, "Lisbon", trust=30))  # fmt: skip
    yield of("stale-replaced", "What is weaker than it was gives way to less.", stale, {"trust": 50, "start": day(3)},
             row(1, 3, "Lisbon"), row(3, 5, "Lisbon", contested=True), row(5, None, "Porto", trust=50))  # fmt: skip


def spoken(name: str, says: str, apart: int, contested: bool, trust: int = 90, same: bool = False) -> Vector:
    """Two devices speak so many microseconds apart; the later one wins if its trust suffices."""
    definitions, a, b = logs(3)
    define(definitions, SINGLE)
    a.write(1, T0, said("Lisbon"))
    b.write(1, T0 + apart, said("Lisbon" if same else "Porto", trust=trust))
    if trust < 90:
        rows: list[Row] = [(T0, T0 + apart, "Lisbon", 90, False), (T0 + apart, None, "Lisbon", 90, contested)]
    elif same:
        rows = [(T0, None, "Lisbon", 90, False)]
    else:
        rows = [(T0, T0 + apart, "Lisbon", 90, False), (T0 + apart, None, "Porto", 90, contested)]
    return fold(name, says, [definitions, a, b], *rows)


def ties() -> Iterator[Vector]:
    yield spoken("tie", "Two devices that contradict each other within five minutes are contested.", MINUTE, True)
    yield spoken("tie-at-five-minutes", "Five minutes apart are within.", 5 * MINUTE, True)
    yield spoken("no-tie", "More than five minutes apart the later one holds, uncontested.", 5 * MINUTE + 1, False)
    yield spoken(
        "tie-of-one-value", "Two devices that say the same do not contradict each other.", MINUTE, False, same=True
    )
    yield spoken(
        "contested-by-less-trust", "A later word of less trust contests, and does not win.", DAY, True, trust=50
    )
    definitions, a, b = logs(3)
    define(definitions, SINGLE)
    a.write(1, T0, said("Lisbon"))
    b.write(1, T0, said("Porto"))
    yield fold("tie-of-one-instant", "At one instant the log with the greater id wins.", [definitions, a, b],
               (T0, None, "Porto", 90, True))  # fmt: skip
    definitions, a = logs(2)
    define(definitions, SINGLE)
    a.write(1, T0, said("Lisbon"))
    a.write(1, T0, said("Porto"))
    yield fold("one-device-at-one-instant", "Within one log the later place wins, uncontested.", [definitions, a],
               (T0, None, "Porto", 90, False))  # fmt: skip


def passed_over() -> Iterator[Vector]:
    written, _ = two_cities(SINGLE)
    b = written[2]
    b.write(10, day(4), [1, 1, [[written[1].id, 2, written[1].heads[2][:8]]], None])
    b.write(99, day(5), ["of a later version"])
    b.write(1, day(6), said("Faro", trust=101))
    b.write(1, 253_402_300_800_000_000, said("Faro"))
    yield fold("passed-over", "Frontier notes, later kinds and what cannot be read change no belief.", written, *ONE)
    yield fold("nothing", "Who holds nothing believes nothing.", [])
