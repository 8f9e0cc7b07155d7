"""Three devices as users run them: processes, files, a relay over a socket, a shared folder; offline for a while."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.running import Shell, environment
from tests.mailbox.serving import RelayProcess

ROUNDS_MAX = 8


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pair(shell: Shell, by: str, name: str, mailbox: str) -> None:
    """One device invites at its terminal, the other joins at its own."""
    command = [sys.executable, "-m", "syncmem", "--db", f"{by}.db", "invite", mailbox, "--yes", "--name", by]
    with subprocess.Popen(
        command, cwd=shell.folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as inviting:
        assert inviting.stdout is not None
        code = next(line.split()[-1] for line in inviting.stdout if line.startswith("syncmem join"))
        joined = shell.run("--db", f"{name}.db", "join", code, "--name", name)
        assert joined.code == 0, joined
        inviting.communicate(timeout=60)
        assert inviting.returncode == 0


def sync_all(shell: Shell, names: list[str]) -> list[Any]:
    """Sync in turn until each says that it is in sync; what they say then."""
    for _ in range(ROUNDS_MAX):
        for name in names:
            shell.run("--db", f"{name}.db", "sync")
        standing: list[Any] = []
        while len(standing) < len(names) and all(one["in_sync"] for one in standing):  # each answer is a process
            standing.append(shell.json("--db", f"{names[len(standing)]}.db", "status"))
        if all(one["in_sync"] for one in standing):
            return standing
    raise AssertionError(standing)


def test_where_nobody_can_be_asked_who_may_come_in_both_devices_are_told_what_to_do(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "shared").mkdir()
    command = [sys.executable, "-m", "syncmem", "--db", "laptop.db", "invite", "folder:shared"]
    assert shell.run("--db", "laptop.db", "init").code == 0
    for address in ((), ("ftp://host",)):
        refused = shell.run("--db", "laptop.db", "invite", *address)
        assert refused.code == 1 and ";" in refused.err and "recovery phrase" not in refused.err
        assert "belongs to no vault" in shell.run("--db", "laptop.db", "status").err
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as inviting:  # fmt: skip
        assert inviting.stdout is not None
        code = inviting.stdout.readline().split()[-1]
        joined = shell.run("--db", "phone.db", "join", code, "--name", "phone", "--seconds", "3")
        told = inviting.communicate(timeout=60)[1]
    assert inviting.returncode == joined.code == 1
    assert "'phone' was not let in" in told and "--yes" in told
    assert "say yes there" in joined.err and "join again" in joined.err

    pair(shell, "laptop", "phone", "folder:shared")
    shell.run("--db", "phone.db", "remember", "ana", "language", "Greek")
    for name in ("phone", "laptop"):
        assert shell.run("--db", f"{name}.db", "sync").code == 0
    assert "In sync: verified with every device." in shell.text("--db", "laptop.db", "status")
    shell.run("--db", "laptop.db", "remember", "ana", "language", "Welsh")
    assert shell.run("--db", "laptop.db", "sync").code == 0
    assert "Not verified yet with: phone. Run 'syncmem sync' there, and then here." in shell.text(
        "--db", "laptop.db", "status"
    )
    assert "2 events behind" in shell.text("--db", "laptop.db", "status")
    for name in ("phone", "laptop"):  # which is what it says
        assert shell.run("--db", f"{name}.db", "sync").code == 0
    assert "In sync: verified with every device." in shell.text("--db", "laptop.db", "status")


def test_three_devices_offline_for_a_while_agree_through_a_relay_and_a_folder(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "shared").mkdir()
    relay = RelayProcess(tmp_path / "relay", "--port", str(free_port()))
    names = ["laptop", "phone", "tablet"]
    assert shell.run("--db", "laptop.db", "init").code == 0
    assert shell.run("--db", "laptop.db", "define", "home_city", "--single").code == 0
    pair(shell, "laptop", "phone", relay.address)
    pair(shell, "laptop", "tablet", f"folder:{tmp_path / 'shared'}")
    sync_all(shell, names)

    relay.kill()  # nobody reaches anybody over the network; each goes on alone
    said = [
        ("laptop", "Lisbon", "2025-03-01"),
        ("tablet", "Berlin", "2019-05-01"),  # late: it was true before
        ("phone", "Porto", "2025-09-01"),
    ]
    for name, city, day in said:
        told = shell.run("--db", f"{name}.db", "remember", "ana", "home_city", city, "--changed-on", f"{day}T00:00Z")
        assert told.code == 0, told
    assert shell.run("--db", "phone.db", "sync").code != 0
    relay.start()

    standing = sync_all(shell, names)
    assert len({one["frontier"]["vault"] for one in standing}) == 1
    memories = [shell.memory(f"{name}.db") for name in names]
    assert len({memory.event_digest() for memory in memories}) == 1
    assert len({memory.belief_digest() for memory in memories}) == 1
    for memory in memories:
        found = [memory.believe("ana", "home_city", valid_at=f"{year}-12-01T00:00Z") for year in (2019, 2024, 2025)]
        assert [belief.value if belief else None for belief in found] == ["Berlin", "Berlin", "Porto"]
        memory.close()
    assert relay.close()[0] == 0
