"""The way from a device to a server: what is asked and answered goes wrong as the step says, and is listened in on.

Rules: what goes wrong is drawn from the number of the step, so that it stays the same when other steps are left out;
a request that is late arrives when another step says so, after what was asked later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import Protocol

from syncmem.errors import OverQuota, Unreachable
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Listed, Mailbox, Outcome, PutResult
from tests.simulator.fuse import Fuse

Given = tuple[BlobName, bytes | None]
LOST = "the question was lost; sync again"
LIES = ("swallow", "part", "swap")  # of a mailbox that means ill; drawn apart from the others
KINDS = ("lose", "late", "twice", "mute", "refuse", "hide", "damage", "gone", "busy", "old")


@dataclass
class Weather:
    """What goes wrong in one step: chances, by kind; none where the step names none.

    lose: the question does not arrive. late: it arrives later, and is not answered. twice: it arrives twice.
    mute: the answer is lost. refuse: there is no room for a blob. hide: a blob is not listed. damage: a bit of a blob
    is another. gone: a blob that is listed is not given. busy: nothing is given now. old: an earlier answer comes.
    swallow: a blob is said to be kept, and is not. part: this device is shown only some of the writers, others
    others. swap: two blobs stand under each other's names.
    """

    chances: dict[str, float] = field(default_factory=dict)
    random: Random = field(default_factory=lambda: Random(0))

    def strikes(self, kind: str) -> bool:
        chance = self.chances.get(kind, 0.0)
        return chance > 0 and self.random.random() < chance


class Tap(Protocol):
    """Who listens in."""

    def sent(self, device: str, request: Exchange) -> None: ...

    def lied(self) -> None: ...


@dataclass
class Network:
    """All that is between devices and servers."""

    tap: Tap
    weather: Weather = field(default_factory=Weather)
    late: list[tuple[str, Exchange, bytes]] = field(default_factory=list)
    heard: dict[bytes, Answer] = field(default_factory=dict)  # mailbox -> an earlier answer
    questions: int = 0


class Connection:
    """See :class:`syncmem.wire.mailbox.Mailbox`."""

    def __init__(self, inner: Mailbox, device: str, address: str, network: Network, fuse: Fuse) -> None:
        self.address = address
        self._device = device
        self.push: str | None = None
        self._inner = inner
        self._network = network
        self._fuse = fuse

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        network, weather = self._network, self._network.weather
        network.questions += 1
        network.tap.sent(self._device, request)
        self._fuse.touch("ask")
        if weather.strikes("lose"):
            raise Unreachable(LOST)
        if weather.strikes("late"):
            network.late.append((self.address, request, write_seed))
            raise Unreachable(LOST)
        refused = {number for number in range(len(request.puts)) if weather.strikes("refuse")}
        swallowed = {number for number in range(len(request.puts)) if weather.strikes("swallow")} - refused
        if swallowed:
            network.tap.lied()
        kept = [put for number, put in enumerate(request.puts) if number not in refused | swallowed]
        answer = self._inner.exchange(replace(request, puts=kept), write_seed)
        if weather.strikes("twice"):
            answer = self._inner.exchange(replace(request, puts=kept), write_seed)
        if not request.puts:
            if weather.strikes("old") and request.mailbox in network.heard:
                answer = network.heard[request.mailbox]
            network.heard[request.mailbox] = answer
        self._fuse.touch("answer")
        if weather.strikes("mute"):
            raise Unreachable("the answer was lost; sync again")
        results = iter(answer.results)
        told = [
            PutResult(Outcome.OVER_QUOTA, "full; try again later")
            if number in refused
            else PutResult(Outcome.STORED, "")
            if number in swallowed
            else next(results)
            for number in range(len(request.puts))
        ]
        listed = [self._spoilt(entry) for entry in answer.listed if not weather.strikes("hide")]
        return self._lied(Answer(answer.epoch, told, answer.ends, listed, answer.more))

    def _lied(self, answer: Answer) -> Answer:
        """What a mailbox that means ill makes of an answer."""
        weather = self._network.weather
        listed, ends = list(answer.listed), dict(answer.ends)
        if weather.strikes("part"):
            ends = {stream: end for stream, end in ends.items() if self._is_shown(stream)}
            listed = [entry for entry in listed if entry.name.stream in ends]
        if len(listed) > 1 and weather.strikes("swap"):
            one, other = weather.random.sample(range(len(listed)), 2)
            blobs = listed[one].blob, listed[other].blob
            listed[one], listed[other] = listed[one]._replace(blob=blobs[1]), listed[other]._replace(blob=blobs[0])
        return Answer(answer.epoch, answer.results, ends, listed, answer.more)

    def _is_shown(self, stream: bytes) -> bool:
        return sha256(self._device.encode() + stream).digest()[0] % 2 == 0

    def _spoilt(self, entry: Listed) -> Listed:
        blob = entry.blob
        return entry._replace(blob=self._flipped(blob)) if blob and self._network.weather.strikes("damage") else entry

    def _flipped(self, blob: bytes) -> bytes:
        bit = self._network.weather.random.randrange(len(blob) * 8)
        changed = bytearray(blob)
        changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[Given]:
        weather = self._network.weather
        self._network.questions += 1
        self._fuse.touch("get")
        for name, blob in self._inner.get(key, write_seed, names):
            if weather.strikes("busy"):
                raise OverQuota("asked too often; try again later", 1.0)
            if blob and weather.strikes("damage"):
                blob = self._flipped(blob)
            yield name, None if weather.strikes("gone") else blob
            self._fuse.touch("got")

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        self._network.questions += 1
        self._fuse.touch("drop")
        if self._network.weather.strikes("lose"):
            raise Unreachable(LOST)
        dropped = self._inner.drop(request, write_seed)
        self._fuse.touch("dropped")
        if self._network.weather.strikes("mute"):
            raise Unreachable("the answer was lost; sync again")
        return dropped

    def close(self) -> None:
        self._inner.close()
