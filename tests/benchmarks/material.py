"""The material: histories of any size, as logs of several devices and as rows for the baseline.

Everything is seeded.  Devices write at a steady pace from 2020 on about the ten years before, in an
order of their own; their logs arrive one after the other, so claims arrive out of order in both senses.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from syncmem.environment import Environment
from syncmem.model.event import Define, Form, Kind, Statement, Then, header
from syncmem.model.frame import Frame
from syncmem.model.sweep import FOLD_VERSION
from syncmem.replica import pages, schema
from syncmem.replica.replica import BULK_EVENTS, Replica
from syncmem.seal.keys import public_key
from tests.benchmarks import baseline
from tests.benchmarks.workshop import Workshop
from tests.world import Writer, sorted_keys

SECOND = 1_000_000
FIRST_DATE = 1_262_304_000 * SECOND  # 2010-01-01
FIRST_CLOCK = 1_577_836_800 * SECOND  # 2020-01-01
PACE = 20 * SECOND  # between two claims, whoever writes them
TRUST, DOUBT = 90, 30  # of most claims, and of the doubtful ones
PREDICATES = tuple(f"pred{number}" for number in range(4))
SHORT, LONG = "short", "long"  # entities with histories of a fixed length
REPLICA = "replica.db"
_GENERATION = 1  # raise it whenever a built file would differ


@dataclass(frozen=True)
class Shape:
    """What a history is like: ``claims`` changes with explicit dates, spread evenly over ``slots``.

    Attributes:
        doubtful: each so-many-th claim has little trust, so that some beliefs are contested; 0: none.
        lengths: (entity, claims) of further slots with a history of their own.
    """

    claims: int
    slots: int
    devices: int = 4
    doubtful: int = 0
    lengths: tuple[tuple[str, int], ...] = ()
    seed: int = 1

    @property
    def total(self) -> int:
        return self.claims + sum(length for _, length in self.lengths)

    @property
    def name(self) -> str:
        """The name of the file that holds it, other for each way of storing it."""
        stored = (_GENERATION, FOLD_VERSION, inspect.getsource(schema), pages.PAGE_RECORDS, BULK_EVENTS)
        return f"claims-{self.claims}-{sha256(repr((self, stored)).encode()).hexdigest()[:12]}"


class Said(NamedTuple):
    """A claim and when it was written."""

    statement: Statement
    hlc: int


def slot_names(slot: int) -> tuple[str, str]:
    """Entity and predicate of a slot."""
    return f"person:{slot // len(PREDICATES)}", PREDICATES[slot % len(PREDICATES)]


def change(entity: str, predicate: str, value: str, start: int, trust: int = TRUST) -> Statement:
    """A change on an explicit date."""
    return Statement(
        *(entity, predicate, value, int(Form.CHANGE), None, start, None, None, int(Then.OPEN), trust),
        *("user", None, None, None, None),
    )


def state(entity: str, predicate: str, value: str, observed_at: int) -> Statement:
    """A state seen at an explicit time."""
    return Statement(
        *(entity, predicate, value, int(Form.STATE), observed_at, None, None, None, int(Then.OPEN), TRUST),
        *("user", None, None, None, None),
    )


def history(shape: Shape, device: int) -> Iterator[Said]:
    """What one device says, in order of its clock."""
    chance = random.Random(shape.seed * 1_000 + device)
    slots = [slot_names(number % shape.slots) for number in _share(shape.claims, device, shape.devices)]
    for entity, length in shape.lengths:
        slots += [(entity, PREDICATES[0])] * len(_share(length, device, shape.devices))
    chance.shuffle(slots)
    for number, (entity, predicate) in enumerate(slots):
        start = FIRST_DATE + chance.randrange((FIRST_CLOCK - FIRST_DATE) // SECOND) * SECOND
        trust = DOUBT if shape.doubtful and number % shape.doubtful == shape.doubtful - 1 else TRUST
        said = change(entity, predicate, f"value {chance.randrange(1000)}", start, trust)
        yield Said(said, FIRST_CLOCK + (number * shape.devices + device) * PACE)


def _share(count: int, device: int, devices: int) -> range:
    """The part of ``count`` that falls to a device."""
    return range(count * device // devices, count * (device + 1) // devices)


def frames(shape: Shape) -> Iterator[Frame]:
    """The logs of a history, one device after the other, the definitions first."""
    registrar, *keys = sorted_keys(shape.devices + 1)
    yield from definitions(Writer(registrar))
    for device, key in enumerate(keys):
        writer = Writer(key)
        for said in history(shape, device):
            writer.write(Kind.CLAIM, said.statement, said.hlc)
        yield from writer.frames()


def definitions(writer: Writer) -> list[Frame]:
    """All predicates as single-valued."""
    for number, predicate in enumerate(PREDICATES):
        payload = Define(predicate, {"cardinality": "single"}, TRUST, None, None, None, None)
        writer.write(Kind.DEFINE, payload, FIRST_DATE + number)
    return writer.frames()


def rows(shape: Shape) -> Iterator[baseline.Row]:
    """The same claims in the same order for the baseline."""
    for device, key in enumerate(sorted_keys(shape.devices + 1)[1:]):
        log = key.id
        for seq, said in enumerate(history(shape, device), 1):
            yield baseline.row(log, seq, said.statement, said.hlc)


# -- replicas -----------------------------------------------------------------------------------------


def open_replica(path: Path, environment: Environment | None = None) -> Replica:
    return Replica(str(path), environment or Environment(), public_key)


def built(workshop: Workshop, shape: Shape) -> Path:
    """The file of a history, taken in as an import would; kept for the next run where there is a cache."""

    def build(folder: Path) -> None:
        replica = open_replica(folder / REPLICA)
        for _ in replica.receive(frames(shape), events_max=BULK_EVENTS):
            pass
        replica.close()

    return workshop.kept(shape.name, build) / REPLICA


def canonical_bytes(replica: Replica) -> int:
    """What all events take as they travel: headers and payloads."""
    total = 0
    for log in replica.logs.by_no.values():
        for first, events in replica.logs.runs(log.no):
            for seq, event in enumerate(events, first):
                total += len(header(log.id, seq, event, bytes(16))) + len(event.payload)
    return total
