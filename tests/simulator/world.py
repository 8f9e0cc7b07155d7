"""The world of one run: devices, servers, the time, the network between them, and what is known of it all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from syncmem.model.instant import from_datetime
from syncmem.wire.mailbox import Exchange
from tests.simulator import laws
from tests.simulator.device import Device
from tests.simulator.ledger import Ledger, held, places
from tests.simulator.network import Network, Weather
from tests.simulator.servers import Server, opened
from tests.test_replicas_machine import Words

NOON = from_datetime(datetime(2026, 6, 15, 12, tzinfo=UTC))
FIRST = "d0"
SECOND = 1_000_000


class World:
    """Everything; ``drawn`` is what a trace says of it.

    seed: of all randomness. addresses: the mailboxes that devices meet at. scopes: shared ones beside the vault.
    keyrings: whether devices keep their keys there.
    """

    def __init__(self, drawn: dict[str, Any], folder: Path) -> None:
        self.drawn = drawn
        self.seed: str = drawn["seed"]
        self.folder = folder
        self.keyrings: bool = drawn.get("keyrings", False)
        self.scopes: list[str] = ["vault", *drawn.get("scopes", ())]
        self.time = NOON
        self.step = 0
        self.network = Network(self)
        self.ledger = Ledger()
        self.devices: dict[str, Device] = {}
        self.removed: set[str] = set()  # as far as anybody said so
        self.servers: dict[str, Server] = {}
        self.by_step: dict[int, list[Words]] = {}  # what each step wrote
        self.phrase = ""  # of the vault
        self.losses = False  # whether a mailbox has lost anything without saying so
        self.keyless: set[str] = set()  # devices whose key was lost: they wait to be let in anew
        self.orphans: set[str] = set()  # ids of devices that are members and will never be heard of again
        self.forks = False  # whether two lives of one device may have written: then a place may be taken twice
        self.salts: dict[tuple[bytes, bytes], bytes] = {}
        self.places: dict[tuple[bytes, int], bytes] = {}  # log and place -> the hash of what was sent from there
        self.stood: dict[str, set[bytes]] = {}  # device -> what it held and believed at any time

    # -- places and people ---------------------------------------------------------------------------

    def server(self, address: str) -> Server:
        if address not in self.servers:
            self.servers[address] = opened(address, f"{self.seed}/{address}", self.folder)
        return self.servers[address]

    def found(self) -> None:
        """The first device, and the vault."""
        device = self.devices[FIRST] = Device(FIRST, self)
        device.open()
        with self.noting(device):
            self.phrase = device.memory.create_vault(FIRST)
            for address in self.drawn["addresses"]:
                device.memory.add_mailbox(address)
            for predicate, cardinality in self.drawn.get("definitions", {}).items():
                device.memory.define(predicate, cardinality=cardinality)
            for scope in self.drawn.get("scopes", ()):
                device.memory.share(scope)

    @property
    def live(self) -> list[str]:
        """The devices of which nobody said that they are removed."""
        return [name for name in self.devices if name not in self.removed]

    @contextmanager
    def noting(self, device: Device) -> Iterator[None]:
        """What is written meanwhile was acknowledged."""
        before = places(device.memory)
        yield
        self.by_step.setdefault(self.step, []).extend(self.ledger.note(device.name, device.memory, before))

    @contextmanager
    def losing(self, name: str) -> Iterator[None]:
        """What a device held before and does not hold afterwards is lost, unless another one holds it."""
        before = held(self.devices[name].memory)
        yield
        device = self.devices[name]
        device.answers.clear()  # its transactions are those of another life
        after = held(device.memory) if name not in self.removed else set()
        gone = before - after
        for other in self.live:
            if gone and other != name:
                gone -= held(self.devices[other].memory)
        self.ledger.lose(gone)

    @contextmanager
    def weather(self, chances: dict[str, float] | None) -> Iterator[None]:
        """What goes wrong on the network meanwhile."""
        self.network.weather = Weather(chances or {}, Random(f"{self.seed}/weather/{self.step}"))
        try:
            yield
        finally:
            self.network.weather = Weather()

    def random(self, what: str) -> Random:
        """Chance that belongs to the present step."""
        return Random(f"{self.seed}/{what}/{self.step}")

    def lied(self) -> None:
        """A mailbox has not kept what it said it kept (see :class:`tests.simulator.network.Tap`)."""
        self.losses = True

    def sent(self, device: str, request: Exchange) -> None:
        """A device asks a mailbox something (see :class:`tests.simulator.network.Tap`)."""
        if device in self.devices and request.puts:
            laws.keep_standing(self, self.devices[device])
            laws.places_are_used_once(self, self.devices[device], request.puts)
        for put in request.puts:
            laws.on_the_wire(self, request.mailbox, put.blob)

    def close(self) -> None:
        for device in self.devices.values():
            device.fuse.clear()
            device.memory.close()
        for server in self.servers.values():
            server.close()
