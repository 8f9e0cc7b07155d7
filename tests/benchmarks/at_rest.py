"""What encryption at rest costs: the same memory with a key and without, opened, written and read in turn.

No reach was set; the first stage asks for the price.  Here the "baseline" is the plain memory, opened by the same
SQLite library.  A passphrase is stretched at each opening, by SQLCipher for the database and once more for the
side file; a key of bytes is not.
"""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from syncmem import Memory
from tests.benchmarks.measuring import Action, Compared, Row, alternate, latency, timed
from tests.benchmarks.workshop import Workshop

KEY = bytes(range(32))
PASSPHRASE = "correct horse battery staple"


class Sizes(NamedTuple):
    rounds: int
    claims: int
    openings: int
    writes: int
    reads: int


SIZES = {
    "small": Sizes(rounds=2, claims=40, openings=2, writes=5, reads=20),
    "full": Sizes(rounds=9, claims=20_000, openings=5, writes=100, reads=2_000),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    with workshop.scratch() as folder:
        keys = {"plain": None, "bytes": KEY, "passphrase": PASSPHRASE}
        for name, key in keys.items():
            _fill(folder / name, key, sizes.claims)
        rows = [
            latency(f"open and first read, key of {name}", _openings(folder, name, keys[name], sizes))
            for name in ("bytes", "passphrase")
        ]
        with Memory(folder / "bytes", key=KEY) as ours, Memory(folder / "plain") as plain:
            return [*rows, *_work(ours, plain, sizes)]


def _fill(path: Path, key: bytes | str | None, claims: int) -> None:
    with Memory(path, key=key) as memory:
        memory.define("state", cardinality="single")
        with memory.transaction():
            for number in range(claims):
                memory.remember(f"thing:{number}", "state", f"solid, and so on, as number {number} is")


def _openings(folder: Path, name: str, key: bytes | str | None, sizes: Sizes) -> Compared:
    def opening(path: Path, key: bytes | str | None) -> Action:
        def read() -> None:
            with Memory(path, key=key) as memory:
                assert memory.believe("thing:7", "state") is not None

        return read

    return alternate(
        sizes.rounds,
        lambda _: timed([opening(folder / name, key)] * sizes.openings),
        lambda _: timed([opening(folder / "plain", None)] * sizes.openings),
    )


def _work(ours: Memory, plain: Memory, sizes: Sizes) -> list[Row]:
    new, known = {id(ours): count(), id(plain): count()}, {id(ours): count(), id(plain): count()}

    def writes(memory: Memory) -> list[Action]:
        numbers = islice(new[id(memory)], sizes.writes)
        return [lambda n=n: memory.remember(f"new:{n}", "state", "solid") for n in numbers]  # type: ignore[misc]

    def reads(memory: Memory) -> list[Action]:
        numbers = (n * 7919 % sizes.claims for n in islice(known[id(memory)], sizes.reads))
        return [lambda n=n: memory.believe(f"thing:{n}", "state") for n in numbers]  # type: ignore[misc]

    return [
        latency(
            "remember, median", alternate(sizes.rounds, lambda _: timed(writes(ours)), lambda _: timed(writes(plain)))
        ),
        latency(
            "believe, median", alternate(sizes.rounds, lambda _: timed(reads(ours)), lambda _: timed(reads(plain)))
        ),
    ]
