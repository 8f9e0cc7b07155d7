"""Erasures: what may be kept of statements about an erased entity, and what is believed without the others."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.believing import Row, believed, day, define, logs
from protocol.vectors.generate.episode import episode
from protocol.vectors.generate.making import Log, said, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack

SALT, SUBJECT_KEY = secret("salt of names"), secret("subject key")
ANA, BO = "person:ana", "person:bo"
BO_SLOT = ("vault", BO, "home_city")


def name_of(entity: str, key: bytes = SALT) -> bytes:
    return hmac.digest(key, labels.SUBJECT + entity.encode(), "sha256")[:16]


def erase(log: Log, on: float, *entities: str, salt: bytes | None = SALT, trust: int = 90) -> int:
    """Write an erasure; its place."""
    names = [name_of(entity, salt or SUBJECT_KEY) for entity in entities or (ANA,)]
    place: int = log.write(11, day(on), [names, salt, trust, None, None, None])[1]
    return place


def sees(log: Log, on: float, other: Log, place: int) -> None:
    """Write a frontier note; of a place that is not written yet, its head is made up."""
    head = other.heads[place] if place < len(other.heads) else bytes(8)
    log.write(10, day(on), [1, 1, [[other.id, place, head[:8]]], None])


def three() -> tuple[Log, Log, Log]:
    """Logs of definitions and of two devices; where people live is one place at a time."""
    definitions, a, b = logs(3)
    define(definitions, {"cardinality": "single"})
    return definitions, a, b


def tell(
    name: str, says: str, written: Sequence[Log], gone: dict[int, list[int]], *rows: Row, **other: Any
) -> Iterator[Vector]:
    """What is held after these logs (by number: the places of which the header hash alone is left) and believed."""
    yield believed("erasure", f"{name}-beliefs", says, written, rows, **other)
    held = [[log.id.hex(), len(log.events), log.heads[-1].hex(), gone.get(n, [])] for n, log in enumerate(written)]
    ask = {"word": "receive", "frames": [log.frame().hex() for log in written], **other}
    answer = {"outcome": "accepted", "logs": sorted(held)}
    yield Vector("erasure", f"{name}-logs", says, ask, answer)


def row(start: float, end: float | None, value: str, slot: Any = None) -> Row:
    about = (b"", slot) if slot else ()
    return day(start), None if end is None else day(end), value, 90, False, *about


def vectors() -> Iterator[Vector]:
    for made in (erased, paths, episodes, admitted, linked, named, acting, frames):
        yield from made()


def erased() -> Iterator[Vector]:
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    a.write(1, day(2), said("Porto", entity=BO))
    erase(b, 3)
    yield from tell("erased", "A statement about an erased entity goes, others stay.", [definitions, a, b], {1: [1]},
                    row(2, None, "Porto", BO_SLOT))  # fmt: skip
    yield from tell("erased-before-it-came", "It goes too where the erasure came first.", [definitions, b, a], {2: [1]},
                    row(2, None, "Porto", BO_SLOT))  # fmt: skip
    definitions, a, b = three()
    erase(b, 3)
    a.write(1, day(9), said("Lisbon"))
    says = "A later statement goes too, if its author had not seen the erasure: its clock does not matter."
    yield from tell("erased-later", says, [definitions, a, b], {1: [1]})
    definitions, a, b = three()
    a.write(1, day(1), said("Faro", entity=BO, extra={"mentions": [ANA]}))
    a.write(1, day(2), said("Porto", entity=BO))
    erase(b, 3)
    yield from tell("mentioned", "A statement that mentions the entity goes with it.", [definitions, a, b], {1: [1]},
                    row(2, None, "Porto", BO_SLOT))  # fmt: skip
    definitions, a, b = three()
    for kind in (1, 2, 3, 4):
        a.write(kind, day(kind), said("Lisbon"))
    erase(b, 9)
    yield from tell("every-statement", "Claims, affirmations, ends and denials go alike.", [definitions, a, b],
                    {1: [1, 2, 3, 4]})  # fmt: skip


PATHS = (f'["users","{ANA}","prefs"]', f'["{ANA}","x"]', r'["users","person:\u0061na"]', rf'["a\"b","{ANA}"]')
FILES = (f"/memories/users/{ANA}.md", f"/{ANA}/notes", f"/people/{ANA}", f"/x/{ANA}.tar")
NO_FILES = (
    f"/{ANA}",
    f"/{ANA}.md",
    f"/x//{ANA}",
    f"x/{ANA}",
    f"/x/{ANA}/",
    f"/x/{ANA}.tar.gz",
    f"/x/.{ANA}",
    f"/x/{ANA.title()}.md",
)
HALF = rf'["\ud800","{ANA}"]'
NO_PATHS = (
    f'["{ANA}"]', f'["users", "{ANA}"]', f'["users","{ANA}"', f'["users","{ANA.title()}"]', f'["users","{ANA}",1]',
    rf'["\x","{ANA}"]', f'{{"a":"{ANA}"}}',
)  # fmt: skip


def at(entity: str) -> tuple[str, str, str]:
    return "vault", entity, "home_city"


def paths() -> Iterator[Vector]:
    definitions, a, b = three()
    for place, entity in enumerate(PATHS, 1):
        a.write(1, day(place), said("Lisbon", entity=entity))
    a.write(1, day(9), said("Faro", entity=BO, extra={"mentions": [PATHS[0]]}))
    erase(b, 10)
    says = "An entity that is a path is named by each of its texts, where it is mentioned, too, however it is escaped."
    yield from tell("path", says, [definitions, a, b], {1: [*range(1, len(PATHS) + 2)]})
    definitions, a, b = three()
    for place, entity in enumerate(NO_PATHS, 1):
        a.write(1, day(place), said("Lisbon", entity=entity))
    erase(b, 10)
    rows = [row(place, None, "Lisbon", at(entity)) for place, entity in enumerate(NO_PATHS, 1)]
    yield from tell("no-path", "What only looks like a path stays.", [definitions, a, b], {}, *rows)
    definitions, a, b = three()
    for place, entity in enumerate((*FILES, *NO_FILES), 1):
        a.write(1, day(place), said("Lisbon", entity=entity))
    erase(b, 20)
    rows = [row(place, None, "Lisbon", at(entity)) for place, entity in enumerate(NO_FILES, len(FILES) + 1)]
    says = "A file is named by each text between its slashes, and by the last one without its ending."
    yield from tell("path-of-a-file", says, [definitions, a, b], {1: [*range(1, len(FILES) + 1)]}, *rows)
    definitions, a, b = three()
    for entity in (HALF, '["e\u0301va","x"]', r'["e\u0301va","y"]'):
        a.write(1, day(1), said("Lisbon", entity=entity))
    a.write(1, day(1), said("Porto", entity=PATHS[1]))
    a.write(1, day(1), said("Faro", entity=f'["{ANA}","{BO}"]'))
    erase(b, 3, "\u00e9va", "\ufffd", PATHS[1])
    says = "Its texts are compared in NFC, half of a surrogate pair is no name, and the path itself names it alone."
    kept = [row(1, None, "Lisbon", at(HALF)), row(1, None, "Faro", at(f'["{ANA}","{BO}"]'))]
    yield from tell("path-in-nfc", says, [definitions, a, b], {1: [2, 3, 4]}, *kept)


def episodes() -> Iterator[Vector]:
    definitions, a, b = three()
    turn = episode(mentions=[BO])
    for kind, payload in ((15, turn), (15, episode(speaker=BO)), (1, said("Lisbon", entity=BO))):
        a.write(kind, day(1), payload)
    erase(b, 3)
    says = "An episode goes with its speaker; what was drawn from it about others stays."
    yield from tell("episode-spoken", says, [definitions, a, b], {1: [1]}, row(1, None, "Lisbon", BO_SLOT))
    definitions, a, b = three()
    for kind, payload in ((15, turn), (15, episode())):
        a.write(kind, day(1), payload)
    erase(b, 3, BO)
    yield from tell("episode-mentioned", "It goes with whom it mentions.", [definitions, a, b], {1: [1]})
    definitions, a, b = three()
    id = sha256(labels.EPISODE + pack("vault") + pack(turn)).digest()[:16]
    for kind, payload in ((15, turn), (15, episode())):
        a.write(kind, day(1), payload)
    erase(b, 3, f"episode:{id.hex()}")
    yield from tell("episode-alone", "An episode is an entity itself.", [definitions, a, b], {1: [1]})
    definitions, a, b = three()
    place = erase(b, 3)
    sees(a, 4, b, place)
    a.write(15, day(5), turn)
    yield from tell("episode-seen", "It is kept where its observer had seen the erasure.", [definitions, a, b], {})


def admitted() -> Iterator[Vector]:
    definitions, a, b = three()
    place = erase(b, 3)
    a.write(1, day(1), said("Lisbon"))
    sees(a, 4, b, place)
    a.write(1, day(5), said("Porto"))
    yield from tell("seen", "What is said after a note that covers the erasure is kept.", [definitions, a, b],
                    {1: [1]}, row(5, None, "Porto"))  # fmt: skip
    definitions, a, b = three()
    b.write(1, day(1), said("Lisbon"))
    erase(b, 3)
    b.write(1, day(5), said("Porto"))
    yield from tell("same-log", "In the log of the erasure what stands after it is kept.", [definitions, a, b][::2],
                    {1: [1]}, row(5, None, "Porto"))  # fmt: skip
    definitions, a, b = three()
    place = erase(b, 3)
    sees(a, 4, b, place - 1)
    a.write(1, day(5), said("Porto"))
    yield from tell(
        "seen-too-little", "A note that ends before the erasure covers nothing.", [definitions, a, b], {1: [2]}
    )
    definitions, a, b = three()
    place = erase(b, 3)
    sees(a, 4, b, place)
    a.write(1, day(5), said("Porto"))
    erase(b, 6)
    yield from tell("erased-again", "A second erasure has to be seen too.", [definitions, a, b], {1: [2]})


def linked() -> Iterator[Vector]:
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    a.write(1, day(2), said("Porto", entity=BO))
    a.write(13, day(2), [BO, ANA, 90, None, None, None, None])
    erase(b, 3, BO)
    yield from tell("link", "A link goes with each of its names; of the other all stays that was said of it.",
                    [definitions, a, b], {1: [2, 3]}, row(1, None, "Lisbon"))  # fmt: skip
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    a.write(1, day(2), said("Porto", entity=BO))
    place = erase(b, 3, BO)
    sees(a, 4, b, place)
    a.write(14, day(5), [BO, ANA, 90, None, None, None, None])
    a.write(13, day(6), [BO, ANA, 90, None, None, None, None])
    yield from tell("link-after", "A link by who had seen the erasure is kept.", [definitions, a, b], {1: [2]},
                    row(1, None, "Lisbon"))  # fmt: skip


def named() -> Iterator[Vector]:
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    erase(b, 3, salt=None)
    written = [definitions, a, b]
    shared = {"subject_keys": {"vault": SUBJECT_KEY.hex()}}
    yield from tell(
        "subject-key", "Without a salt names are made with the scope's subject key.", written, {1: [1]}, **shared
    )
    yield from tell("subject-key-unknown", "While the key is not known an erasure waits.", written, {},
                    row(1, None, "Lisbon"))  # fmt: skip
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    a.write(1, day(2), said("Porto", entity=BO))
    erase(b, 3, ANA, BO)
    yield from tell("two-names", "An erasure may name several entities.", [definitions, a, b], {1: [1, 2]})
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    b.write(11, day(3), [[name_of(ANA, secret("another salt"))], SALT, 90, None, None, None])
    yield from tell("other-name", "A name under another key names nobody.", [definitions, a, b], {},
                    row(1, None, "Lisbon"))  # fmt: skip
    work = logs(1, "work")[0]
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    erase(work, 3)
    yield from tell(
        "other-scope", "An erasure is about its own scope.", [definitions, a, work], {}, row(1, None, "Lisbon")
    )


def acting() -> Iterator[Vector]:
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    erase(b, 3)
    yield from tell("behind-a-cut", "An erasure behind a cut does not act.", [definitions, a, b], {},
                    row(1, None, "Lisbon"), cuts=[[b.id.hex(), 0]])  # fmt: skip
    definitions, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    erase(b, 3, trust=0)
    a.write(7, day(4), [[b.ref(1)], 90, None, None, None])
    says = "Nothing takes an erasure back, and any trust is enough."
    yield from tell("undone", says, [definitions, a, b], {1: [1]})
    definitions, a, b = three()
    wrong = a.write(1, day(1), said("Faro", entity=BO))
    a.write(5, day(2), [[wrong], 90, None, None, None, None])
    claim = a.write(1, day(3), said("Porto", entity=BO))
    a.write(1, day(4), said("Lisbon", entity=BO, refs=[claim], extra={"mentions": [ANA]}))
    erase(b, 9)
    says = "What an erased claim had corrected counts again; what acts on others stays."
    yield from tell("erased-correction", says, [definitions, a, b], {1: [4]}, row(3, None, "Porto", BO_SLOT))


def frames() -> Iterator[Vector]:
    """Erased events as they travel."""
    _, a, b = three()
    a.write(1, day(1), said("Lisbon"))
    a.write(1, day(2), said("Porto", entity=BO))
    held = [a.id.hex(), 2, a.heads[-1].hex()]

    def received(name: str, says: str, parts: Sequence[bytes], outcomes: str, gone: list[int]) -> Vector:
        ask = {"word": "receive", "frames": [part.hex() for part in parts]}
        each = outcomes.split()
        return Vector("erasure", name, says, ask, {"outcome": each[-1], "outcomes": each, "logs": [[*held, gone]]})

    hole = a.frame(erased=[1])
    yield received("hole", "An erased event is taken in as its header hash.", [hole], "accepted", [1])
    yield received("hole-after-whole", "Who holds the payload keeps it.", [a.frame(), hole], "accepted known", [])
    yield received("whole-after-hole", "A payload fills a hole, if nothing forbids that.", [hole, a.frame()],
                   "accepted accepted", [])  # fmt: skip
    other = a.device.log()
    other.write(1, day(1), said("Faro"))
    other.write(1, day(2), said("Porto", entity=BO))
    yield received("other-payload-after-hole", "Another payload does not fill it: a fork.", [hole, other.frame()],
                   "accepted forked", [1])  # fmt: skip
    erase(b, 3)
    whole = [b.frame(), hole, a.frame()]
    ask = {"word": "receive", "frames": [part.hex() for part in whole]}
    logs_held = sorted([[b.id.hex(), 1, b.heads[-1].hex(), []], [*held, [1]]])
    answer = {"outcome": "known", "outcomes": ["accepted", "accepted", "known"], "logs": logs_held}
    says = "An erased payload that comes again does not fill its hole."
    yield Vector("erasure", "erased-again-offered", says, ask, answer)
