"""Salts: leaves of a tree, which can be forgotten one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from protocol.vectors.generate.making import cover, leaf, node, secret
from protocol.vectors.generate.vector import Vector

SEED = secret("salt tree")


def asked(number: int, nodes: Sequence[list[Any]], forget: Sequence[int] = ()) -> dict[str, Any]:
    ask = {"word": "salt", "cover": [[n, value.hex()] for n, value in nodes], "leaf": number}
    return {**ask, "forget": list(forget)} if forget else ask


def found(number: int, forgotten: Sequence[int] = ()) -> dict[str, Any]:
    left = [[n, value.hex()] for n, value in cover(SEED, forgotten)]
    return {"outcome": "accepted", "salt": leaf(SEED, number).hex(), "cover": left}


def vectors() -> Iterator[Vector]:
    whole = [[1, SEED]]
    for name, number in (("first", 0), ("second", 1), ("middle", 128), ("last", 255)):
        says = f"Leaf {number} follows from the seed, a hash for each bit of its number."
        yield Vector("salt", f"leaf-{name}", says, asked(number, whole), found(number))
    yield Vector(
        "salt", "forget-one", "Forgetting a leaf leaves the siblings on its path: eight nodes for 255 leaves.",
        asked(4, whole, [5]), found(4, [5]),
    )  # fmt: skip
    yield Vector(
        "salt", "forget-neighbours", "Forgetting both leaves under a node leaves nothing of that node.",
        asked(6, whole, [4, 5]), found(6, [4, 5]),
    )  # fmt: skip
    yield Vector(
        "salt", "forget-in-any-order", "The cover that is left does not depend on the order of forgetting.",
        asked(100, whole, [200, 3]), found(100, [3, 200]),
    )  # fmt: skip
    yield Vector(
        "salt", "forgotten-leaf", "Nobody can compute a leaf that was forgotten.",
        asked(5, whole, [5]), {"outcome": "forgotten", "cover": found(5, [5])["cover"]},
    )  # fmt: skip
    yield Vector(
        "salt", "leaf-outside-the-cover", "A cover of the left half knows nothing of the right one.",
        asked(200, [[2, node(SEED, 2)]]), {"outcome": "forgotten"},
    )  # fmt: skip
    yield Vector(
        "salt", "leaf-from-a-leaf", "A cover may hold a leaf itself.",
        asked(7, [[256 + 7, leaf(SEED, 7)]]), {"outcome": "accepted", "salt": leaf(SEED, 7).hex()},
    )  # fmt: skip
    yield Vector("salt", "no-such-leaf", "A block has 256 leaves.", asked(256, whole), {"outcome": "invalid"})
