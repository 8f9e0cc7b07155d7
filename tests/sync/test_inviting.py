"""An invitation to a place that cannot be reached is refused at once, and nothing has changed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem import Environment, ManualClock, Memory, NotFound
from syncmem.cli.app import cli
from syncmem.errors import MailboxError, Unreachable

NO_BUCKET = "s3://no-such-bucket/memory?endpoint=http://127.0.0.1:{port}&region=us-east-1"


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("kind", ["folder", "relay", "bucket"])
def test_who_invites_to_a_place_that_is_not_there_is_told_so_and_does_not_sync_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    there, port = tmp_path / "there", closed_port()
    address = {
        "folder": f"folder:{tmp_path / 'missing'}",
        "relay": f"http://127.0.0.1:{port}",
        "bucket": NO_BUCKET.format(port=port),
    }[kind]
    there.mkdir()
    with Memory(tmp_path / "laptop.db", environment=Environment(clock=ManualClock())) as laptop:
        laptop.create_vault("laptop")
        laptop.invite(f"folder:{there}")
        before = laptop.status()
        with pytest.raises(MailboxError, match=r"; .*(make it|again)"):
            laptop.invite(address, scopes=["work"])
        assert laptop.status() == before


def test_the_command_makes_no_vault_where_the_folder_is_missing(tmp_path: Path) -> None:
    command = ["--db", str(tmp_path / "laptop.db"), "invite", f"folder:{tmp_path / 'missing'}", "--yes"]
    assert CliRunner().invoke(cli, [*command[:2], "init"]).exit_code == 0
    told = CliRunner().invoke(cli, command)
    assert told.exit_code == 1
    assert "there is no folder" in told.stderr
    assert "recovery phrase" not in told.output
    with Memory(tmp_path / "laptop.db") as laptop:
        assert laptop.status().vault is None
    (tmp_path / "missing").mkdir()
    told = CliRunner().invoke(cli, [*command, "--seconds", "0"])
    assert "SYNCMEM-" in told.stdout


def test_who_waits_where_the_folder_went_away_is_told_of_the_folder(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    with Memory(tmp_path / "laptop.db", environment=Environment(clock=ManualClock())) as laptop:
        laptop.create_vault("laptop")
        invitation = laptop.invite(f"folder:{shared}")
        with pytest.raises(NotFound, match="nobody used the code"):
            invitation.wait(lambda name: True, seconds=5)
        for path in sorted(shared.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        shared.rmdir()
        with pytest.raises(Unreachable, match="there is no folder"):
            invitation.wait(lambda name: True, seconds=5)
