"""Relays that suffer: on SQLite on a small disk, or two on one PostgreSQL; what may happen to them, and how it ends.

Rules: every blow is real (signals, a full disk, a backup put back by the command that operators use), and leaves the
relays as they would be left; ``calm`` ends what would go on, as an operator does.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.mailbox.jumping import Jumps, command
from tests.mailbox.postgres import cluster
from tests.mailbox.serving import RelayProcess

DISK_MIB = 96
DAY = 24 * 3600
SLEPT_SECONDS_MAX = 3 * DAY
STARTS_MAX = 6
LIMITS = {
    "FREE_BYTES_MIN": "1",  # the disk itself is to be found full
    "MAILBOX_REQUESTS_SECOND": "100000", "MAILBOX_BYTES_SECOND": str(1 << 30), "MAILBOX_REQUESTS_MAX": "64",
}  # fmt: skip
Blow = Callable[[], object]


class Suffering:
    """Some relay processes over one store."""

    def __init__(self, place: Path | str, folder: Path, count: int, random: Random) -> None:
        self.place, self.folder, self.random = place, folder, random
        self._log = (folder / "relays.log").open("ab")
        environment = os.environ | {f"SYNCMEM_RELAY_LIMITS__{name}": value for name, value in LIMITS.items()}
        self._clocks = [folder / f"clocks-{number}" for number in range(count)]
        self.relays = []
        for file in self._clocks:
            Jumps(0, 0).write(file)
            started = command(file, "--data" if isinstance(place, Path) else "--store", str(place))
            self.relays.append(RelayProcess(place, stderr=self._log, env=environment, command=started))
        self._backup: Path | None = None

    def address(self) -> str:
        """Of one of the relays, which may be gone."""
        return self.random.choice(self.relays).address

    def blows(self) -> dict[str, Blow]:
        return {
            "kill -9": self.kill,
            "stop and start": self.stop,
            "backup": self.back_up,
            "old backup": self.put_back,
            "clock of a relay jumps": self.jump,
            "a relay has slept": self.sleep,
        }

    def calm(self) -> None:
        for relay in self.relays:
            if relay.process.poll() is not None:
                self._start(relay)

    def _start(self, relay: RelayProcess) -> None:
        """As whoever supervises it: again, where it did not come up (a database that is busy coming up itself)."""
        for _ in range(STARTS_MAX):
            with contextlib.suppress(IndexError):  # it said no address
                return relay.start()
            relay.process.wait(STARTS_MAX * 10)
        raise AssertionError((self.folder / "relays.log").read_text(encoding="utf-8")[-2000:])

    def recover(self) -> None:
        """What the main thread has to start: a database is told to end with the thread that has started it."""

    def kill(self) -> None:
        relay = self.random.choice(self.relays)
        relay.kill()
        self.calm()

    def stop(self) -> None:
        relay = self.random.choice(self.relays)
        code, _ = relay.close()
        assert code == 0, "a relay that is stopped ends well"
        self.calm()

    def jump(self) -> None:
        """The wall clock of one relay is wrong from now on: by minutes, or by as much as half a century."""
        file = self.random.choice(self._clocks)
        wrong = self.random.choice([-50 * 365 * DAY, -DAY, -300, 0, 300, 2 * DAY, 50 * 365 * DAY])
        Jumps.read(file)._replace(wall=wrong).write(file)

    def sleep(self) -> None:
        """One relay's machine was suspended: the clock that never goes back is further on."""
        file = self.random.choice(self._clocks)
        found = Jumps.read(file)
        found._replace(slept=found.slept + self.random.randint(1, SLEPT_SECONDS_MAX)).write(file)

    def back_up(self) -> None:
        path = self.folder / f"backup-{self.random.randbytes(4).hex()}"
        self._copy_to(path)
        if self._backup is not None:
            self._backup.unlink()
        self._backup = path

    def put_back(self) -> None:
        if self._backup is None:
            return self.back_up()
        self.calm()
        for relay in self.relays:
            relay.kill()
        self._put_back(self._backup)
        self.calm()
        return None

    def verify(self) -> Any:
        """What ``relay verify`` finds while they run."""
        return json.loads(self.command("verify", "--json"))

    def command(self, *words: str) -> str:
        where = ["--data", str(self.place)] if isinstance(self.place, Path) else ["--store", self.place]
        command = [sys.executable, "-m", "syncmem", "relay", *words, *where]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def close(self) -> None:
        for relay in self.relays:
            if relay.process.poll() is None:
                relay.kill()
        self._log.close()

    def _copy_to(self, path: Path) -> None:
        raise NotImplementedError

    def _put_back(self, path: Path) -> None:
        raise NotImplementedError


class OnSqlite(Suffering):
    """One relay; its folder is a disk of its own where this process may mount one (as root)."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.disk = folder / "disk"
        self.disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", str(self.disk)]
        self.has_disk = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
        super().__init__(self.disk / "relay", folder, 1, random)

    def blows(self) -> dict[str, Blow]:
        return super().blows() | (
            {"disk full": self.fill, "kill -9 on a full disk": self.kill_full} if self.has_disk else {}
        )

    def fill(self) -> None:
        """There is no room, down to a few pages, until it is calm again."""
        status = os.statvfs(self.disk)
        left = status.f_bavail * status.f_bsize - self.random.choice([0, 4096, 20_000])
        if left > 0:
            with contextlib.suppress(OSError), (self.disk / "ballast").open("ab") as file:
                os.posix_fallocate(file.fileno(), file.tell(), left)

    def kill_full(self) -> None:
        self.fill()
        self.relays[0].kill()
        self.calm()

    def calm(self) -> None:
        (self.disk / "ballast").unlink(missing_ok=True)
        super().calm()

    def _copy_to(self, path: Path) -> None:
        self.calm()
        self.command("backup", str(path))

    def _put_back(self, path: Path) -> None:
        self.command("restore", str(path), "--overwrite")
        for kept in self.disk.glob("relay/*.replaced*"):  # the disk is small
            kept.unlink()

    def close(self) -> None:
        super().close()
        if self.has_disk:
            subprocess.run(["umount", str(self.disk)], check=False)


class OnPostgres(Suffering):
    """Two relays on one database, which goes down, too."""

    def __init__(self, folder: Path, random: Random) -> None:
        self._cluster = cluster()
        super().__init__(self._cluster.database(), folder, 2, random)
        self._full = self._down = False

    def blows(self) -> dict[str, Blow]:
        return super().blows() | {"power loss of the database": self.lose_power, "database full": self.fill}

    def lose_power(self) -> None:
        self._down = True
        self._cluster.kill()

    def recover(self) -> None:
        if self._down:
            self._cluster.start()
            self._down = False

    def close(self) -> None:
        self.recover()
        super().close()

    def fill(self) -> None:
        """Every row that is inserted finds no room, until it is calm again."""
        if not self._full:
            self._sql(
                "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
                "RAISE EXCEPTION 'for a test' USING ERRCODE = '53100'; END$$; "
                "CREATE TRIGGER fail BEFORE INSERT ON blobs FOR EACH ROW EXECUTE FUNCTION fail()"
            )
            self._full = True

    def calm(self) -> None:
        if getattr(self, "_full", False):
            self._sql("DROP FUNCTION fail CASCADE")
            self._full = False
        super().calm()

    def _sql(self, text: str) -> None:
        assert isinstance(self.place, str)
        self._cluster.sql(text, self.place)

    def _copy_to(self, path: Path) -> None:
        self.calm()
        path.write_text(self._cluster.dump(str(self.place)), encoding="utf-8")

    def _put_back(self, path: Path) -> None:
        self._cluster.put_back(str(self.place), path.read_text(encoding="utf-8"))
        self.command("restored")
