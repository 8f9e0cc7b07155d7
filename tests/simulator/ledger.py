"""What must hold: which writes were acknowledged, what may have been lost since, what was erased, what was answered.

Rules: an acknowledged write must be there in the end, unless the only disks that held it were put back, or its device
was removed, or somebody erased whom it is about and its author had not heard of that; a write that was not
acknowledged may be there or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from syncmem import Memory
from syncmem.model.event import Erased, Event, Kind
from syncmem.model.subjects import subjects
from tests.test_replicas_machine import Words, names_in

Subject = tuple[str, str]  # scope, entity


@dataclass
class Write:
    """An acknowledged write."""

    words: Words
    device: str
    about: frozenset[Subject]
    heard: frozenset[Words]  # the erasures that its author had heard of


@dataclass
class Erasure:
    """An erasure, and whom it means."""

    words: Words
    subjects: frozenset[Subject]


@dataclass
class Ledger:
    """All of it."""

    writes: list[Write] = field(default_factory=list)
    lost: set[Words] = field(default_factory=set)
    erasures: list[Erasure] = field(default_factory=list)

    def note(self, device: str, memory: Memory, before: dict[bytes, int]) -> list[Words]:
        """Everything that was appended to this device's own logs since."""
        found = list(_new(memory, before))
        if found:
            heard = frozenset(words for words in held(memory) if words.kind == Kind.ERASE)
            for words in found:
                about = subjects(words.scope, Event(words.kind, words.clock, words.payload))
                named = frozenset((words.scope, name) for name in about)
                self.writes.append(Write(words, device, named, heard))
        return found

    def note_erasure(self, written: Iterable[Words], entities: Iterable[str]) -> None:
        names = list(entities)
        for words in written:
            if words.kind == Kind.ERASE:
                self.erasures.append(Erasure(words, frozenset((words.scope, name) for name in names)))

    def lose(self, words: Iterable[Words]) -> None:
        """Nobody who could pass them on holds them any more."""
        self.lost |= set(words)

    def required(self, devices: set[str]) -> list[Write]:
        """The writes of these devices that must be there once all have met."""
        return [w for w in self.writes if w.device in devices and w.words not in self.lost and not self.is_erased(w)]

    def is_erased(self, write: Write) -> bool:
        return any(e.words not in write.heard and e.subjects & write.about for e in self.erasures)


def places(memory: Memory) -> dict[bytes, int]:
    """How far each log has come."""
    return {log.id: log.seq for log in memory._replica.logs.by_no.values()}


def held(memory: Memory) -> set[Words]:
    """What a memory holds."""
    return set(names_in(memory))


def _new(memory: Memory, before: dict[bytes, int]) -> Iterable[Words]:
    logs = memory._replica.logs
    for log in logs.by_no.values():
        if log.own and log.key is not None:
            after = before.get(log.id, 0)
            for first, run in logs.runs(log.no, after) if log.seq > after else ():
                for seq, event in enumerate(run, first):
                    if seq > after and not isinstance(event, Erased):
                        yield Words(log.key.scope, log.key.device, event.kind, event.hlc, event.payload)
