"""Beliefs of names that are one: links, how they are weighed, and what else acts on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from protocol.vectors.generate.believing import Row, day, define, logs
from protocol.vectors.generate.fold_more import SINGLE, claim, fold, row
from protocol.vectors.generate.making import Log
from protocol.vectors.generate.vector import Vector

ANA, BO, CY = "person:ana", "person:bo", "person:cy"
SAME, DIFFERENT = 13, 14


def link(
    log: Log, on: float, one: str, other: str, kind: int = SAME, *, trust: int = 90, batch: str | None = None
) -> Any:
    """Write a link."""
    return log.write(kind, day(on), [one, other, trust, None, None, batch, None])


def of(entity: str, start: float, end: float | None, value: Any, scope: str = "vault", **other: Any) -> Row:
    """A rectangle in the slot of an entity."""
    return (*row(start, end, value, **other)[:5], b"", (scope, entity, "home_city"))


def three(*entities: str) -> tuple[list[Log], Log, Log]:
    """Lisbon of one entity on day 1 and Porto of another on day 3; a log to write links, and one to act on them."""
    definitions, a, b, c = logs(4)
    define(definitions, SINGLE)
    for number, entity in enumerate(entities or (BO, ANA)):
        claim(a, ("Lisbon", "Porto", "Faro")[number], 1 + 2 * number, entity=entity)
    return [definitions, a, b, c], b, c


ONE = (of(ANA, 1, 3, "Lisbon"), of(ANA, 3, None, "Porto"))
TWO = (of(BO, 1, None, "Lisbon"), of(ANA, 3, None, "Porto"))


def made(name: str, says: str, written: Sequence[Log], *rows: Row, **other: Any) -> Vector:
    return fold(f"names-{name}", says, [*written], *rows, **other)


def vectors() -> Iterator[Vector]:
    for area in (joined, weighed, acted_on, in_scopes):
        yield from area()


def joined() -> Iterator[Vector]:
    written, b, _ = three()
    link(b, 5, BO, ANA)
    yield made("one", "What is said of names that are one is in the slot of the least.", written, *ONE)
    written, b, _ = three(BO, CY)
    link(b, 5, CY, ANA)
    link(b, 6, BO, CY)
    yield made("chain", "The least may be a name of which nothing was said.", written, *ONE)
    written, b, _ = three("person:\U0001f600", "person:\uffee")
    link(b, 5, "person:\U0001f600", "person:\uffee")
    rows = (of("person:\uffee", 1, 3, "Lisbon"), of("person:\uffee", 3, None, "Porto"))
    yield made("least-by-bytes", "Names are compared by their UTF-8 bytes.", written, *rows)
    written, b, _ = three()
    link(b, 5, ANA, BO)
    claim(b, "Porto", 6, kind=4, entity=BO)
    yield made("denied", "A denial of one name is one of the other.", written, of(ANA, 1, None, "Lisbon"))
    written, b, _ = three()
    link(b, 5, ANA, ANA)
    link(b, 6, BO, BO, DIFFERENT)
    yield made("itself", "A link of a name with itself has no effect.", written, *TWO)
    written, b, _ = three()
    b.write(SAME, day(5), ["", ANA, 90, None, None, None, None])
    yield made("nameless", "A link of a name that is empty cannot be read.", written, *TWO)


def weighed() -> Iterator[Vector]:
    written, b, c = three()
    link(b, 5, BO, ANA)
    link(c, 6, ANA, BO, DIFFERENT)
    yield made("parted-later", "Of links of one trust the later one counts first.", written, *TWO)
    written, b, c = three()
    link(b, 5, BO, ANA)
    link(c, 6, ANA, BO, DIFFERENT, trust=50)
    yield made("parted-with-less-trust", "One of more trust counts before a later one.", written, *ONE)
    written, b, c = three(BO, ANA, CY)
    link(b, 5, ANA, CY, DIFFERENT)
    link(b, 6, BO, CY)
    link(c, 7, BO, ANA, trust=80)
    rows = (of(BO, 1, 5, "Lisbon"), of(BO, 5, None, "Faro"), of(ANA, 3, None, "Porto"))
    yield made("would-join-what-is-parted", "A link that would join what is kept apart has no effect.", written, *rows)
    written, b, c = three(BO, ANA, CY)
    link(b, 5, BO, ANA, trust=80)
    link(b, 6, BO, CY, trust=80)
    link(c, 7, ANA, CY, DIFFERENT, trust=70)
    rows = (of(ANA, 1, 3, "Lisbon"), of(ANA, 3, 5, "Porto"), of(ANA, 5, None, "Faro"))
    yield made("parts-nothing", "A difference between names that are one by stronger links has none.", written, *rows)
    written, b, c = three()
    link(b, 9, BO, ANA)
    link(c, 6, ANA, BO, DIFFERENT)
    note = [b.id, 1, 1, -5 * 86_400_000_000, 90, None, None, None]
    written[0].write(9, day(9), note)
    yield made("clock-note", "Links are weighed by their corrected clocks.", written, *TWO)


def acted_on() -> Iterator[Vector]:
    written, b, c = three()
    c.write(7, day(6), [[link(b, 5, BO, ANA)], 90, None, None, None])
    yield made("undone", "A link that is undone leaves both as they were.", written, *TWO)
    written, b, c = three()
    c.write(7, day(6), [[link(b, 5, BO, ANA)], 50, None, None, None])
    yield made("undone-with-less-trust", "It takes as much trust to undo it.", written, *ONE)
    written, b, c = three()
    c.write(5, day(6), [[link(b, 5, BO, ANA)], 90, None, None, None, None])
    yield made("retracted", "A retraction does not act on links.", written, *ONE)
    written, b, c = three()
    link(b, 5, BO, ANA, batch="batch")
    c.write(6, day(6), ["batch", 90, None, None, None])
    yield made("withdrawn", "A withdrawn batch takes its links along.", written, *TWO)
    written, b, _ = three()
    link(b, 5, BO, ANA)
    yield made("cut", "A link behind a cut does not count.", written, *TWO, cuts=[[b.id.hex(), 0]])


def in_scopes() -> Iterator[Vector]:
    vault, b, _ = three()
    work = logs(1, "work")[0]
    claim(work, "Faro", 2, entity=BO)
    link(b, 5, BO, ANA)
    there = of(ANA, 2, None, "Faro", "work")
    yield made("of-the-vault", "A link in the vault counts in every scope.", [*vault, work], *ONE, there)
    link(work, 6, ANA, BO, DIFFERENT)
    there = of(BO, 2, None, "Faro", "work")
    yield made("weighed-in-a-scope", "In a scope its own links are weighed with those of the vault.", [*vault, work],
               *ONE, there)  # fmt: skip
    vault, _, _ = three()
    work = logs(1, "work")[0]
    claim(work, "Faro", 2, entity=BO)
    link(work, 5, BO, ANA)
    there = of(ANA, 2, None, "Faro", "work")
    yield made("of-a-scope", "A link in another scope counts there alone.", [*vault, work], *TWO, there)
