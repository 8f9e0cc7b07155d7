"""Event digests: by which devices find out that they hold the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from protocol.vectors.generate.believing import day
from protocol.vectors.generate.making import Device, Log, said, secret
from protocol.vectors.generate.vector import Vector
from syncmem.codec import pack

ANA, BO = Device("ana"), Device("bo")
STATEMENTS = sorted(secret(f"statement {number}", 16) for number in range(3))


def log(device: Device, scope: str, events: int) -> Log:
    written = device.log(scope)
    for number in range(events):
        written.write(1, day(number + 1), said("Lisbon"))
    return written


VAULT, WORK, HOME = log(ANA, "vault", 2), log(ANA, "work", 3), log(ANA, "home", 4)
BOS_VAULT, BOS_WORK = log(BO, "vault", 1), log(BO, "work", 5)
ALL = (VAULT, WORK, HOME, BOS_VAULT, BOS_WORK)


def told(
    name: str, says: str, scope: str, held: Sequence[Log], counting: Sequence[Log], statements: Sequence[bytes] = (),
    erased: Sequence[int] = (),
) -> Vector:  # fmt: skip
    """What is held, and which logs of it count."""
    ends = [(one, _said(one)) for one in counting]
    rows = sorted([[one.id, place, one.heads[place]] for one, place in ends if place], key=lambda row: row[0])
    ask = {
        "word": "digest", "scope": scope, "frames": [one.frame(erased=erased).hex() for one in held],
        "statements": [id.hex() for id in statements],
    }  # fmt: skip
    events = sum(len(one.events) for one in counting)
    hashed = sha256(pack([rows, sorted(statements)])).hexdigest()
    return Vector(
        "digest", name, says, ask, {"outcome": "accepted", "events": hashed, "held": events + len(statements)}
    )


def _said(log: Log) -> int:
    """The last place of a log that holds no frontier note."""
    return max((place for place, (kind, *_) in enumerate(log.events, 1) if kind != 10), default=0)


def noted(said_first: int, *, then: int = 0) -> Log:
    """A log with events, two frontier notes, and other events."""
    written = log(BO, "vault", said_first)
    for number in range(2):
        written.write(10, day(20 + number), [number, 1, [[VAULT.id, 1, VAULT.heads[1][:8]]], None])
    for number in range(then):
        written.write(1, day(30 + number), said("Lisbon"))
    return written


def vectors() -> Iterator[Vector]:
    yield told("nothing", "Who holds nothing has a digest, too.", "vault", [], [])
    yield told("one-log", "A log counts by its id, its last place and its head there.", "vault", [VAULT], [VAULT])
    yield told("roster", "The statements of the roster count by their ids.", "vault", [VAULT], [VAULT], STATEMENTS)
    says = "Neither logs nor statements have an order: they are sorted."
    yield told("any-order", says, "vault", [BOS_VAULT, VAULT], [VAULT, BOS_VAULT], STATEMENTS[::-1])
    says = "What is defined in the vault counts in every scope, and other scopes do not."
    yield told("scope", says, "work", ALL, [VAULT, BOS_VAULT, WORK, BOS_WORK], STATEMENTS)
    yield told("vault", "The vault's own digest is over its logs alone.", "vault", ALL, [VAULT, BOS_VAULT], STATEMENTS)
    says = "A scope of which nothing is held has the digest of what counts in every scope."
    yield told("scope-without-events", says, "garden", ALL, [VAULT, BOS_VAULT], STATEMENTS)
    says = "Erased events count as before: their places and their chain are the same."
    yield told("erased", says, "work", [VAULT, WORK], [VAULT, WORK], erased=[1])
    says = "Notes at the end of a log do not count: who holds them holds no more of what is believed."
    yield told("notes-at-the-end", says, "vault", [VAULT, noted(1)], [VAULT, noted(1)])
    says = "Notes before another event count as places before it."
    yield told("notes-within", says, "vault", [VAULT, noted(1, then=1)], [VAULT, noted(1, then=1)])
    says = "A log of notes alone does not count."
    yield told("notes-alone", says, "vault", [VAULT, noted(0)], [VAULT, noted(0)])
