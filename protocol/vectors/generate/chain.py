"""Logs: frames that continue them, and frames that do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from protocol.vectors.generate.making import T0, Device, Log, flipped, framed, said
from protocol.vectors.generate.vector import Vector
from syncmem.codec import pack

ANA, BO = Device("ana"), Device("bo")


def written(count: int, device: Device = ANA, life: int = 1, word: str = "city") -> Log:
    """A log of so many claims."""
    log = device.log(life=life)
    for number in range(1, count + 1):
        log.write(1, T0 + number, said(f"{word} {number}"))
    return log


def taken(name: str, says: str, frames: Sequence[bytes], outcomes: str, *logs: tuple[Log, int]) -> Vector:
    """Frames in the order in which they come, and what is held afterwards: logs up to a place."""
    each = outcomes.split()
    held = [[log.id.hex(), last, log.heads[last].hex(), []] for log, last in sorted(logs, key=lambda o: o[0].id)]
    answer = {"outcome": each[-1], "outcomes": each, "logs": held}
    return Vector("chain", name, says, {"word": "receive", "frames": [f.hex() for f in frames]}, answer)


def vectors() -> Iterator[Vector]:
    log = written(6)
    a, b, c = log.frame(1, 2), log.frame(3, 4), log.frame(5, 6)
    yield taken("in-order", "Frames that follow each other make the log longer.", [a, b], "accepted accepted", (log, 4))
    yield taken("repeated", "What is held is known and changes nothing.", [a, a], "accepted known", (log, 2))
    yield taken("older-again", "An older frame again is known too.", [a, b, a], "accepted accepted known", (log, 4))
    yield taken(
        "overlapping", "Of a frame that begins with what is held the rest is taken in.",
        [a, log.frame(1, 4)], "accepted accepted", (log, 4),
    )  # fmt: skip
    yield taken("beginning-missing", "A log begins with place 1.", [b], "gap")
    yield taken("gap", "What does not follow waits for what is missing.", [a, c], "accepted gap", (log, 2))
    yield taken(
        "gap-filled", "After what was missing the frame is taken in.",
        [a, c, b, c], "accepted gap accepted accepted", (log, 6),
    )  # fmt: skip
    other = written(6, BO)
    yield taken(
        "two-devices", "Logs of two devices do not concern each other.",
        [a, other.frame(1, 3)], "accepted accepted", (log, 2), (other, 3),
    )  # fmt: skip
    again = written(2, life=2)
    yield taken(
        "two-incarnations", "A restored device writes another log under the same key.",
        [a, again.frame()], "accepted accepted", (log, 2), (again, 2),
    )  # fmt: skip
    yield from forks(log)
    yield from faults(log)
    yield from blocks()


def forks(log: Log) -> Iterator[Vector]:
    """Two lives of one device under one incarnation, as a copied file makes them."""
    a = log.frame(1, 2)
    copied = written(6, word="other city")
    says = "Other events in places that are held are a fork; what is held stays."
    yield taken("fork", says, [a, copied.frame(1, 2)], "accepted forked", (log, 2))
    yield taken(
        "fork-in-what-follows", "Events that continue other ones than those held are a fork too.",
        [a, copied.frame(3, 4)], "accepted forked", (log, 2),
    )  # fmt: skip
    yield taken(
        "fork-of-a-longer-log", "A longer log with other events in the places held is a fork.",
        [a, copied.frame(1, 4)], "accepted forked", (log, 2),
    )  # fmt: skip
    yield taken(
        "fork-then-more", "After a fork was refused the log that is held goes on.",
        [a, copied.frame(1, 2), log.frame(3, 4)], "accepted forked accepted", (log, 4),
    )  # fmt: skip


def changed(parts: list[Any], place: int, value: Any) -> bytes:
    """A frame in which one part is another."""
    return framed([*parts[:place], value, *parts[place + 1 :]])


def faults(log: Log) -> Iterator[Vector]:
    """Frames that do not prove what they say; nothing of them is taken in."""
    a, parts = log.frame(1, 2), log.parts(3, 4)
    forged = log.signature(4, flipped(log.heads[4], 0))
    yield taken(
        "signature-of-other-head", "The signature is of the stated head and no other.",
        [a, changed(parts, 9, forged)], "accepted wrong-signature", (log, 2),
    )  # fmt: skip
    yield taken(
        "signature-of-other-place", "The signature is of the stated last place and no other.",
        [a, changed(parts, 9, log.signature(5, log.heads[4]))], "accepted wrong-signature", (log, 2),
    )  # fmt: skip
    yield taken(
        "signature-changed", "One bit of the signature is enough.",
        [a, changed(parts, 9, flipped(parts[9], 5))], "accepted wrong-signature", (log, 2),
    )  # fmt: skip
    stolen = Log(BO, log.scope, log.incarnation, log.events, log.hashes, log.heads)
    yield taken(
        "signature-of-other-device", "Nobody signs for another device's log.",
        [a, changed(parts, 9, stolen.signature(4))], "accepted wrong-signature", (log, 2),
    )  # fmt: skip
    yield taken(
        "event-dropped", "An event cannot be left out: the places no longer fit the signed head.",
        [a, framed(log.parts(4, 4)), framed(short(log))], "accepted gap wrong-signature", (log, 2),
    )  # fmt: skip
    swapped = [1, [parts[5][0][1][0][1][1], parts[5][0][1][0][1][0]]]
    yield taken(
        "events-swapped", "Two events cannot change places.",
        [a, changed(parts, 5, [[-1, [swapped]]])], "accepted forked", (log, 2),
    )  # fmt: skip
    first = log.parts(1, 2)
    yield taken(
        "payload-changed", "A changed payload does not lead to the stated head.",
        [changed(first, 5, [[-1, [[1, [pack(said("Rome")), log.events[1][2]]]]]])], "broken-chain",
    )  # fmt: skip
    yield taken(
        "clock-changed", "A changed clock does not lead to the stated head.",
        [changed(first, 3, [1, [T0 + 1, T0 + 3]])], "broken-chain",
    )  # fmt: skip
    yield taken(
        "kind-changed", "A changed kind does not lead to the stated head.",
        [changed(first, 2, [1, [1, 4]])], "broken-chain",
    )  # fmt: skip


def short(log: Log) -> list[Any]:
    """Place 3 alone, with the head and the signature of place 4."""
    return [*log.parts(3, 3)[:8], log.heads[4], log.signature(4)]


def blocks() -> Iterator[Vector]:
    """Where one block of 256 places ends and the next begins."""
    log = ANA.log()
    for _ in range(258):
        log.write(200, T0, b"")
    yield taken(
        "across-blocks", "The first block ends with place 255; the next one has a seed of its own.",
        [first_block(log), log.frame(256, 258)], "accepted accepted", (log, 258),
    )  # fmt: skip


def first_block(log: Log) -> bytes:
    """255 events that are all alike, in few bytes."""
    parts = log.parts(1, 255)
    return framed([*parts[:2], [0, 255, 200], [0, 255, T0], [0, 255, 0], [[-1, [[0, 255, b""]]]], *parts[6:]])
