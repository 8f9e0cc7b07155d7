"""A device: a machine with a clock, a disk and a source of randomness, and the process that runs on it."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from syncmem import Environment, Memory
from syncmem.environment import Keyring
from syncmem.errors import FileError
from syncmem.seal.keys import public_key
from syncmem.wire.mailbox import Mailbox
from tests.simulator.disk import Image, VirtualDisk
from tests.simulator.fuse import Died, Fuse
from tests.simulator.network import Connection

if TYPE_CHECKING:
    from tests.simulator.world import World


class Clock:
    """The world's time, and what is wrong with it here."""

    def __init__(self, world: World, fuse: Fuse) -> None:
        self.skew = 0
        self._world = world
        self._fuse = fuse

    def now(self) -> int:
        self._fuse.touch("clock")
        return self._world.time + self.skew

    def elapsed(self) -> float:
        return self._world.time / 1e6

    def sleep(self, seconds: float) -> None:
        self._world.time += int(seconds * 1e6)


class VirtualKeyring(Keyring):
    """Secrets in a dict."""

    def __init__(self) -> None:
        self.secrets: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.secrets.get(name)

    def write(self, name: str, secret: bytes) -> None:
        self.secrets[name] = secret

    def delete(self, name: str) -> None:
        self.secrets.pop(name, None)


class Device:
    """``name`` says where its file lies; a clone is a device of its own."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self.fuse = Fuse()
        self.path = world.folder / f"{name}.db"
        self.disk = VirtualDisk(self.path, f"machine {name}", self.fuse)
        self.clock = Clock(world, self.fuse)
        self.keyring = VirtualKeyring()
        self.saved: dict[str, Image] = {}  # what a step kept of its disk, and what kind of copy that is
        self.answers: dict[int, tuple[dict[str, Any], int]] = {}  # transaction -> what was believed, on how many events
        self.left: Image | None = None  # the disk as it was when the process died
        self.checked: dict[bytes, int] = {}  # log -> the place up to which it was looked at since it was opened
        self._world = world
        self._opened = 0

    def environment(self, seed: str | None = None) -> Environment:
        """``seed``: of the randomness, where it is not to be its own."""
        self._opened += 1
        drawn = Random(seed or f"{self._world.seed}/{self.name}/{self._world.step}/{self._opened}").randbytes

        def randomness(size: int) -> bytes:
            self.fuse.touch("randomness")
            return drawn(size)

        return Environment(self.clock, randomness, self.disk, self.keyring, open_mailbox=self._open_mailbox)

    def _open_mailbox(self, address: str) -> Mailbox:
        inner = self._world.server(address).mailbox(self.name)
        return Connection(inner, self.name, address, self._world.network, self.fuse)

    def open(self, seed: str | None = None) -> None:
        self.checked = {}
        options: dict[str, Any] = {"zone": "UTC", "embedder": None, "keyring": self._world.keyrings}
        try:
            self.memory = Memory(self.path, environment=self.environment(seed), **options)
        except FileError:
            if not self.disk.full:
                raise
            self.disk.full = False  # the user makes room
            self.memory = Memory(self.path, environment=self.environment(seed), **options)

    def close(self) -> None:
        self.memory.close()

    def burn_after(self, touches: int) -> None:
        """The process dies at that touch of the world."""
        self.fuse.set(touches, self._die)

    def _die(self) -> None:
        self.left = self.disk.image()

    def bury(self) -> None:
        """What is left of the dead process goes, and its disk is what it was at that moment."""
        assert self.left is not None
        image, self.left = self.left, None
        self.fuse.clear()
        try:
            self.memory.close()
        except Died:  # pragma: no cover
            raise AssertionError("the fuse was cleared") from None
        self.disk.put_back(image)

    @property
    def public(self) -> bytes | None:
        return self.memory._replica.device

    @property
    def id(self) -> str:
        """By what others know it, also where it was put back and has written nothing since."""
        author = self.memory._replica.author
        side = author.side.read()
        key = b"" if side is None else public_key(side.private)
        known = self.public or (key if author._identities.can_sign_for(key) else b"")
        return self.memory._telling.device_id(known)
