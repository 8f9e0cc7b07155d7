"""A PostgreSQL of the tests' own: Debian's programs, a cluster in a temporary folder, real restarts.

The server refuses to run as root, so root runs it as another user. Where it is not installed, tests that need it skip.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SECONDS_MAX = 60
USER = "postgres"  # whom the programs run as where the tests run as root
INSTALL = "install Debian's package postgresql to run this test"


def programs() -> Path | None:
    """The folder of the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@functools.cache
def cluster() -> Cluster:
    """The one server of this process of the tests."""
    made = Cluster()
    atexit.register(made.close)
    return made


class Cluster:
    """A server on a free port of this machine, and as many empty places for tables as are asked for."""

    def __init__(self) -> None:
        found = programs()
        if found is None:
            pytest.skip(INSTALL)
        self._programs = found
        self._as = ["setpriv"]
        if os.geteuid() == 0:
            self._as += [f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
        self.folder = Path(tempfile.mkdtemp(prefix="syncmem-postgres-"))
        if self._as:
            shutil.chown(self.folder, USER, USER)
        self._data = self.folder / "data"
        options = ("-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8", "--no-locale")
        self._run("initdb", "-D", str(self._data), *options)
        self.port = free_port()
        self._count = 0
        self.start()

    def start(self) -> None:
        """A child of this process, that ends with it however that ends."""
        options = ("-k", self.folder, "-h", "127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=32MB")
        command: list[Any] = [*self._as, "--pdeathsig=QUIT", self._programs / "postgres", "-D", self._data]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [*command, "-p", str(self.port), *options], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=os.environ | {"LC_ALL": "C"},
            )  # fmt: skip
        until = time.monotonic() + SECONDS_MAX
        while self._code("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port))[0]:
            assert self._server.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.02)

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", how, "stop")
        self._server.wait(SECONDS_MAX)

    def kill(self) -> None:
        """As a loss of power takes it: no process of it gets to do anything more."""
        server = self._server.pid
        os.kill(server, signal.SIGSTOP)  # it makes no more children
        children = [*map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]
        for process in (*children, server):
            os.kill(process, signal.SIGKILL)
        self._server.wait(SECONDS_MAX)
        while not all(map(_is_dead, children)):
            time.sleep(0.01)

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Connections stay and nothing is answered, as behind a network that drops everything."""
        server = self._server.pid
        os.kill(server, signal.SIGSTOP)
        children = [*map(int, Path(f"/proc/{server}/task/{server}/children").read_text().split())]
        for process in children:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in (*children, server):
                os.kill(process, signal.SIGCONT)

    def database(self) -> str:
        """The address of an empty place for tables: a schema, because a database takes long to be made."""
        self._count += 1
        self.sql(f"CREATE SCHEMA relay{self._count}")
        return f"postgres://tester@127.0.0.1:{self.port}/postgres?search_path=relay{self._count}"

    def sql(self, text: str, address: str = "") -> str:
        """What psql answers, at the tables of an address."""
        if "search_path" in address:
            text = f"SET search_path = {address.rsplit('=', 1)[1]}; {text}"
        address = f"postgres://tester@127.0.0.1:{self.port}/postgres"
        return self._run("psql", "-X", "-A", "-q", "-t", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text).strip()

    def dump(self, address: str) -> str:
        """The tables of an address, as an operator backs them up."""
        schema = address.rsplit("=", 1)[1]
        where = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "tester", "-d", "postgres")
        return self._run("pg_dump", *where, "-n", schema)

    def put_back(self, address: str, dumped: str) -> None:
        """The tables of an address are as they were."""
        schema = address.rsplit("=", 1)[1]
        self.sql(f"DROP SCHEMA {schema} CASCADE")
        file = self.folder / f"{schema}.sql"
        file.write_text(dumped, encoding="utf-8")
        file.chmod(0o644)
        where = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "tester", "-d", "postgres")
        self._run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *where, "-f", str(file))

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def _run(self, program: str, *arguments: str) -> str:
        code, text = self._code(program, *arguments)
        assert code == 0, f"{program}: {text}"
        return text

    def _code(self, program: str, *arguments: str) -> tuple[int, str]:
        command: list[Any] = [*self._as, self._programs / program, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS_MAX, check=False, env=os.environ | {"LC_ALL": "C"}, text=True,
        )  # fmt: skip
        return done.returncode, done.stdout


def free_port() -> int:
    """Below those that the system gives to connections: one that comes while the server is down must not take it."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def _is_dead(process: int) -> bool:
    """Gone, or waiting for a parent to look."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
