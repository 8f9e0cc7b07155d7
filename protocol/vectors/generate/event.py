"""Events: what is hashed of them, and which payloads can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.vectors.generate.episode import episode
from protocol.vectors.generate.making import DAY, T0, Device, Log, leaf, runs, said, secret
from protocol.vectors.generate.vector import Vector
from syncmem.codec import pack

ANA = Device("ana")
REF = [secret("some log", 16), 7, secret("some event", 16)]
NAME, SALT, LOG = secret("a name", 16), secret("a salt"), secret("another log", 16)
BY_USER = [90, "chat", "message 5"]  # trust, source kind, source id


def nested(levels: int) -> Any:
    """A text inside so many arrays."""
    return [nested(levels - 1)] if levels else "deep"


# name, what it shows, kind, fields
READABLE: tuple[tuple[str, str, int, Any], ...] = (
    ("claim", "Kind 1 claims that a slot holds a value.", 1, said("Lisbon", observed_at=T0, start=T0 - DAY)),
    ("claim-none", "Nil as the value of a claim is: known to have none.", 1, said(None)),
    ("claim-of-everything", "Every field of a statement may be stated.", 1,
     ["person:ana", "home_city", {"a": [1, 2.5, None]}, 1, T0, T0 - DAY, T0, T0 + DAY, 1, 90, "chat", "m 1", "batch 1",
      [REF], {"zone": "Europe/Lisbon", "mentions": ["person:bo"]}]),
    ("affirm", "Kind 2 says the same value again.", 2, said("Lisbon")),
    ("end", "Kind 3 ends a value and may name the claim it means.", 3, said("Lisbon", start=T0, refs=[REF])),
    ("deny", "Kind 4 says that a value never was.", 4, said("Porto")),
    ("retract", "Kind 5 takes events back.", 5, [[REF, REF], *BY_USER, None, {"reason": "misread"}]),
    ("withdraw", "Kind 6 takes a whole batch back.", 6, ["batch 1", *BY_USER, None]),
    ("undo", "Kind 7 takes events back, whatever they are.", 7, [[REF, REF], *BY_USER, None]),
    ("define", "Kind 8 says what a predicate is like.", 8,
     ["home_city", {"cardinality": "single", "ttl": 30 * DAY}, *BY_USER, None, None]),
    ("clock-note", "Kind 9 says by how much a log's clock was wrong.", 9, [LOG, 1, 9, -DAY, *BY_USER, None]),
    ("frontier", "Kind 10 says what a device held from a transaction on.", 10, [3, 1, [[LOG, 9, bytes(8)]], None]),
    ("erase", "Kind 11 erases what its names stand for.", 11, [[NAME], SALT, *BY_USER, None]),
    ("erase-with-shared-key", "Without a salt the names are made with the subject key.", 11,
     [[NAME], None, *BY_USER, None]),
    ("moved", "Kind 12 says that a branch of a forked log is void, and what stood in it stands here anew.", 12,
     [bytes(16), 5, bytes(32), bytes(64), [bytes(32)], None]),
    ("moved-from-the-start", "Before the first place there is nothing to sign.", 12,
     [bytes(16), 1, bytes(32), b"", [bytes(32)] * 256, None]),
    ("same", "Kind 13 says that two names are one entity.", 13, ["person:bo", "person:ana", *BY_USER, "batch 1", None]),
    ("different", "Kind 14 says that two names are two.", 14,
     ["person:bo", "person:ana", *BY_USER, None, {"reason": "no"}]),
    ("episode", "Kind 15 is what was said or written, as it was (see the area episode).", 15, episode()),
    ("later-fields", "Fields that a later version appends are hashed and not read.", 1, [*said("Lisbon"), "new", 5]),
    ("unknown-extra", "Unknown keys of extra are hashed and not read.", 1, said("Lisbon", extra={"mood": "sure"})),
    ("trust-0", "Trust 0 is the least.", 1, said("Lisbon", trust=0)),
    ("trust-100", "Trust 100 is the greatest.", 1, said("Lisbon", trust=100)),
    ("earliest-time", "The year 1 is the first that can be stated.", 1, said("x", start=-62_135_596_800_000_000)),
    ("value-12-deep", "A value may have twelve arrays and maps inside one another.", 1, said(nested(12))),
)  # fmt: skip

# name, what is wrong, kind, payload
KEPT: tuple[tuple[str, str, int, Any], ...] = (
    ("unknown-kind", "An event of a kind that is not known is kept and forwarded.", 99, ["anything", 5]),
    ("unknown-kind-of-bytes", "So is one whose payload is no canonical value.", 4000, b"\xc1anything"),
    ("payload-not-canonical", "A payload in a second encoding is not acted upon.", 1,
     pack(said("Lisbon")).replace(b"\x5a", b"\xcc\x5a")),
    ("payload-no-array", "A payload is an array.", 1, {"entity": "person:ana"}),
    ("too-few-fields", "A payload has all the fields of version 1.", 1, said("Lisbon")[:-1]),
    ("entity-no-text", "An entity is text.", 1, said("Lisbon", entity=5)),
    ("entity-empty", "An entity is not empty.", 1, said("Lisbon", entity="")),
    ("predicate-empty", "A predicate is not empty.", 1, said("Lisbon", predicate="")),
    ("value-bytes", "A claim holds no bytes.", 1, said(b"\0")),
    ("value-infinite", "A claim holds no infinity.", 1, said(float("inf"))),
    ("value-13-deep", "A value with thirteen containers inside one another is no value.", 1, said(nested(13))),
    ("value-too-long", "A value has at most 48 KiB and three bytes.", 1, said("a" * (48 * 1024 + 1))),
    ("time-a-float", "A time is an integer.", 1, said("Lisbon", start=5.0)),
    ("time-before-year-1", "A stated time lies in the years 1 to 9999.", 1, said("x", start=-62_135_596_800_000_001)),
    ("time-after-9999", "What stops after 9999 is left open.", 1, said("x", stop=253_402_300_800_000_000)),
    ("trust-101", "Trust ends at 100.", 1, said("Lisbon", trust=101)),
    ("trust-negative", "Trust begins at 0.", 5, [[REF], -1, None, None, None, None]),
    ("reference-of-two", "A reference is [log, place, event id].", 7, [[REF[:2]], *BY_USER, None]),
    ("reference-short-id", "An event id has 16 bytes.", 7, [[[REF[0], 7, b"\0" * 15]], *BY_USER, None]),
    ("reference-to-place-0", "Places begin with 1.", 5, [[[REF[0], 0, REF[2]]], *BY_USER, None, None]),
    ("reference-where-a-list-belongs", "What a claim corrects is a list of references.", 1, said("Lisbon", refs=REF)),
    ("retract-no-list", "A retraction lists references.", 5, [REF, *BY_USER, None, None]),
    ("undo-no-list", "An undo lists references.", 7, [REF, *BY_USER, None]),
    ("reference-no-array", "References are arrays.", 5, [[REF, 5], *BY_USER, None, None]),
    ("note-beyond-places", "A clock note is about places up to 2^40 - 1.", 9, [LOG, 1, 2**40, 5, *BY_USER, None]),
    ("frontier-beyond-places", "A frontier lists places up to 2^40 - 1.", 10, [3, 1, [[LOG, 2**40, bytes(8)]], None]),
    ("frontier-without-heads", "An entry tells the head there, too.", 10, [3, 1, [[LOG, 9]], None]),
    ("moved-unsigned", "A move from a later place proves the head before it.", 12,
     [bytes(16), 5, bytes(32), b"", [bytes(32)], None]),
    ("moved-too-many", "A move speaks of at most 256 events.", 12,
     [bytes(16), 1, bytes(32), b"", [bytes(32)] * 257, None]),
    ("moved-nothing", "A move speaks of one event at least.", 12, [bytes(16), 1, bytes(32), b"", [], None]),
    ("frontier-negative", "Transactions count from 0.", 10, [-1, 1, [[LOG, 9, bytes(8)]], None]),
    ("same-empty", "A link names two entities.", 13, ["person:bo", "", *BY_USER, None, None]),
    ("different-of-one", "Both of them are text.", 14, ["person:bo", None, *BY_USER, None, None]),
    ("settings-no-map", "Settings are a map.", 8, ["home_city", ["single"], *BY_USER, None, None]),
    ("note-of-short-log", "A clock note names a log by its 16 bytes.", 9, [LOG[:15], 1, 9, 5, *BY_USER, None]),
    ("frontier-of-text", "A frontier lists [log, place, head].", 10, [3, 1, [["log", 9, bytes(8)]], None]),
    ("erase-short-name", "A name has 16 bytes.", 11, [[NAME[:15]], SALT, *BY_USER, None]),
    ("erase-short-salt", "The salt of names has 32 bytes.", 11, [[NAME], SALT[:31], *BY_USER, None]),
)  # fmt: skip


def asked(
    log: Log, kind: int, clock: int, payload: bytes, place: int = 1, previous: bytes | None = None
) -> dict[str, Any]:
    """Where an event stands, and its bytes."""
    ask = {
        "word": "event", "device": log.device.key.hex(), "incarnation": log.incarnation.hex(), "scope": log.scope,
        "place": place, "kind": kind, "clock": clock, "payload": runs(payload),
        "salt": leaf(log.seed(place), place % 256).hex(),
    }  # fmt: skip
    return ask if previous is None else {**ask, "previous": previous.hex()}


def one(name: str, says: str, kind: int, payload: Any, outcome: str, log: Log | None = None, clock: int = T0) -> Vector:
    """The first event of a log."""
    log = log or ANA.log()
    data = payload if isinstance(payload, bytes) else pack(payload)
    ask = asked(log, kind, clock, data)
    log.write(kind, clock, data)
    return Vector("event", name, says, ask, {"outcome": outcome, **hashes(log, kind, clock, data)})


def hashes(log: Log, kind: int, clock: int, data: bytes) -> dict[str, str]:
    """Everything that is hashed of the last event of a log."""
    place = len(log.events)
    return {
        "log": log.id.hex(), "header": log.header(place, kind, clock, data).hex(), "hash": log.hashes[-1].hex(),
        "id": log.hashes[-1][:16].hex(), "head": log.heads[-1].hex(),
    }  # fmt: skip


def vectors() -> Iterator[Vector]:
    for name, says, kind, payload in READABLE:
        yield one(name, says, kind, payload, "accepted")
    for name, says, kind, payload in KEPT:
        yield one(name, says, kind, payload, "kept")
    lisbon = said("Lisbon")
    yield one("other-scope", "Another scope is another log.", 1, lisbon, "accepted", ANA.log("work"))
    yield one("other-incarnation", "Another incarnation is another log.", 1, lisbon, "accepted", ANA.log(life=2))
    yield one("clock-0", "A clock may be as wrong as it can be: here 1970.", 1, lisbon, "accepted", clock=0)
    late = 253_402_300_800_000_000
    yield one(
        "clock-after-9999", "An event whose clock lies after 9999 is not acted upon.", 1, lisbon, "kept", clock=late
    )
    yield second()


def second() -> Vector:
    """An event that has one before it."""
    log = ANA.log()
    log.write(1, T0, said("Lisbon"))
    data = pack(said("Porto"))
    ask = asked(log, 1, T0 + 1, data, 2, log.heads[-1])
    log.write(1, T0 + 1, data)
    says = "The chain goes from the head before an event to the head after it."
    return Vector("event", "second-of-a-log", says, ask, {"outcome": "accepted", **hashes(log, 1, T0 + 1, data)})
