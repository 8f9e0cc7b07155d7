"""Where mailboxes are: the kinds that devices really meet at, each with a way to lose and to go back."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol

from syncmem.environment import Environment, ManualClock, SystemDisk, seeded_randomness
from syncmem.errors import Unreachable
from syncmem.relay.store import SqliteStore
from syncmem.sync.folder import Folder
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Mailbox
from tests.simulator.buckets import BucketServer

COPIED = " (conflicted copy)"
KINDS = ("memory", "relay", "folder")
Given = tuple[BlobName, bytes | None]


class Server(Protocol):
    """What is at one address."""

    def mailbox(self, device: str) -> Mailbox: ...

    def reset(self) -> None: ...

    def back_up(self) -> None: ...

    def put_back(self) -> bool: ...

    def blobs(self) -> Iterator[tuple[bytes, bytes]]: ...

    def lose(self, random: Random) -> bool: ...

    def settle(self) -> bool: ...

    def close(self) -> None: ...


class MemoryServer:
    """The plain reference of a mailbox."""

    def __init__(self, address: str, seed: str) -> None:
        self.address = address
        self.server = InMemoryServer(seeded_randomness(_number(seed)))
        self._saved: Any = None

    def mailbox(self, device: str) -> Mailbox:
        return self.server.mailbox(self.address)

    def reset(self) -> None:
        self.server.reset()

    def back_up(self) -> None:
        self._saved = copy.deepcopy(self.server.boxes)

    def put_back(self) -> bool:
        if self._saved is not None:
            self.server.boxes = copy.deepcopy(self._saved)
        return self._saved is not None

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        for id, box in self.server.boxes.items():
            for stream in box.blobs.values():
                yield from ((id, blob) for blob in stream.values() if blob)

    def lose(self, random: Random) -> bool:
        """One blob is gone as if it had never been there."""
        found = [(s, c) for box in self.server.boxes.values() for s in box.blobs.values() for c, b in s.items() if b]
        if found:
            stream, counter = random.choice(found)
            del stream[counter]
        return bool(found)

    def settle(self) -> bool:
        return False

    def close(self) -> None:
        pass


class _ToStore:
    """The way to a relay's store, without the sockets between."""

    def __init__(self, address: str, relay: RelayServer) -> None:
        self.address = address
        self.push: str | None = None
        self._relay = relay

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        return self._relay.store.exchange(request)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[Given]:
        yield from self._relay.store.get(key, names)

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        return self._relay.store.drop(request)

    def close(self) -> None:
        pass


class RelayServer:
    """The store of a real relay, on SQLite."""

    def __init__(self, address: str, seed: str, folder: Path) -> None:
        self.address = address
        self._folder = folder
        self._randomness = seeded_randomness(_number(seed))
        self._saved: Path | None = None
        self._open()

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.store = SqliteStore(self._folder, self._randomness, clock=ManualClock())

    def mailbox(self, device: str) -> Mailbox:
        return _ToStore(self.address, self)

    def reset(self) -> None:
        self.store.close()
        shutil.rmtree(self._folder)
        self._open()

    def back_up(self) -> None:
        self.store.close()
        self._saved = self._folder.with_suffix(".saved")
        shutil.rmtree(self._saved, ignore_errors=True)
        shutil.copytree(self._folder, self._saved)
        self._open()

    def put_back(self) -> bool:
        if self._saved is None:
            return False
        self.store.close()
        shutil.rmtree(self._folder)
        shutil.copytree(self._saved, self._folder)
        self._open()
        return True

    def restart(self) -> None:
        self.store.close()
        self._open()

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        sql = "SELECT m.id, b.blob FROM blobs b JOIN mailboxes m ON m.no = b.mailbox WHERE b.blob IS NOT NULL"
        yield from self.store.file.db.execute(sql).fetchall()

    def lose(self, random: Random) -> bool:
        db = self.store.file.db
        found = [row[0] for row in db.execute("SELECT id FROM blobs WHERE blob IS NOT NULL ORDER BY id").fetchall()]
        if found:
            db.execute("DELETE FROM blobs WHERE id = ?", (random.choice(found),))
        return bool(found)

    def settle(self) -> bool:
        return False

    def close(self) -> None:
        self.store.close()


class _Disk(SystemDisk):
    """Of a folder in memory, where nothing is there to be flushed to."""

    def write(self, path: str, data: bytes) -> None:
        temporary = Path(f"{path}.tmp")
        temporary.write_bytes(data)
        temporary.replace(path)

    def flush(self, path: str) -> None:
        pass

    def remove(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)

    def make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)


class FolderServer:
    """A folder that a service copies between the machines: each device sees its own copy, which is behind.

    What a device wrote reaches another's copy file by file when it is carried there, in any order, perhaps a part of
    it first, perhaps beside a "conflicted copy"; in the end everything has been carried everywhere.
    """

    def __init__(self, address: str, seed: str, folder: Path) -> None:
        self.address = address
        self._folder = folder
        self._seed = seed
        self._partial: set[Path] = set()

    def mailbox(self, device: str) -> Mailbox:
        self._copy(device).mkdir(parents=True, exist_ok=True)
        drawn = seeded_randomness(_number(f"{self._seed}/{device}"))
        return Folder(f"folder:{self._copy(device)}", Environment(randomness=drawn, disk=_Disk()))

    def _copy(self, device: str) -> Path:
        return self._folder / device

    def carry(self, giver: str, taker: str, random: Random, share: float, *, partly: bool = False) -> int:
        """Some of what one copy holds and another does not; how many files."""
        source, target = self._copy(giver), self._copy(taker)
        if not source.is_dir() or not target.is_dir():
            return 0
        count = 0
        for file in sorted(f for f in source.rglob("*") if f.is_file() and f not in self._partial):
            place = target / file.relative_to(source)
            if (place.exists() and place not in self._partial) or random.random() >= share:
                continue
            if file.suffix == ".blob" and file.with_suffix(".dropped").exists():
                continue
            if COPIED in file.stem and place.with_name(f"{file.stem.removesuffix(COPIED)}.dropped").exists():
                continue  # that it was deleted there has been carried
            place.parent.mkdir(parents=True, exist_ok=True)
            content = file.read_bytes()
            cut = partly and random.random() < 0.3
            place.write_bytes(content[: random.randrange(len(content) + 1)] if cut else content)
            (self._partial.add if cut else self._partial.discard)(place)
            if partly and random.random() < 0.2:
                stray = place.with_name(f"{place.stem}{COPIED}{place.suffix}")
                stray.write_bytes(content)
            count += 1
        for mark in sorted(source.rglob("*.dropped")):  # the service carries deletions, too
            gone = (target / mark.relative_to(source)).with_suffix(".blob")
            if gone.exists():
                gone.unlink()
                count += 1
        return count

    def reset(self) -> None:
        for copy_ in self._copies():
            shutil.rmtree(copy_)
            copy_.mkdir()
        self._partial.clear()

    def _copies(self) -> list[Path]:
        return sorted(each for each in self._folder.iterdir() if each.is_dir()) if self._folder.is_dir() else []

    def back_up(self) -> None:
        pass  # whoever shares a folder by a service cannot put all its copies back

    def put_back(self) -> bool:
        return False

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        for copy_ in self._copies():
            for path in sorted(copy_.rglob("*.blob")):
                if (data := path.read_bytes()) and path not in self._partial:
                    yield bytes.fromhex(path.relative_to(copy_).parts[0]), data

    def lose(self, random: Random) -> bool:
        """A file vanishes from one copy; from where it still is, it comes back."""
        found = [path for copy_ in self._copies() for path in sorted(copy_.rglob("*.blob"))]
        if found:
            random.choice(found).unlink()
        return bool(found)

    def settle(self) -> bool:
        """Everything is carried everywhere; whether anything was."""
        names = [each.name for each in self._copies()]
        always = Random(0)
        return bool(sum(self.carry(one, other, always, 1.0) for one in names for other in names if one != other))

    def close(self) -> None:
        pass


def opened(address: str, seed: str, folder: Path) -> Server:
    """The server at an address, which is "kind:number"."""
    kind = address.partition(":")[0]
    if kind == "relay":
        return RelayServer(address, seed, folder / address.replace(":", "-"))
    if kind == "folder":
        return FolderServer(address, seed, folder / address.replace(":", "-"))
    if kind == "bucket":
        return BucketServer(address, seed)
    if kind == "memory":
        return MemoryServer(address, seed)
    raise Unreachable(f"nothing is at {address}; name another")


def _number(seed: str) -> int:
    return Random(seed).getrandbits(64)
