"""The files with which a relay is installed are right: parsed, checked by systemd, started as the unit starts it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from configparser import RawConfigParser
from pathlib import Path

import pytest

from syncmem.relay.config import load
from syncmem.wire.mailbox import Put
from tests.mailbox.serving import RelayProcess, ask_at, new_key

EXAMPLE = Path(__file__).parents[1] / "examples" / "relay"
UNIT = EXAMPLE / "syncmem-relay.service"
INSTALLED, SETTINGS = "/opt/syncmem/bin/syncmem", "/etc/syncmem/relay.toml"
EXPOSURE_MAX = 20  # of 100, as systemd counts


def adapted(folder: Path) -> tuple[str, Path]:
    """The unit and its settings with paths of a test."""
    settings = tomllib.loads((EXAMPLE / "relay.toml").read_text(encoding="utf-8"))
    text = (EXAMPLE / "relay.toml").read_text(encoding="utf-8").replace(settings["data"], str(folder / "data"))
    file = folder / "relay.toml"
    file.write_text(text.replace("port = 8750", "port = 0").replace(settings["metrics"], "off"), encoding="utf-8")
    program = Path(sys.executable).with_name("syncmem")
    unit = UNIT.read_text(encoding="utf-8").replace(INSTALLED, str(program)).replace(SETTINGS, str(file))
    return unit, file


def commands(unit: str, name: str) -> list[list[str]]:
    return [shlex.split(found) for found in re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)]


def test_the_settings_of_the_example_are_right() -> None:
    settings = load(EXAMPLE / "relay.toml", {}, {})
    assert settings.place == "/var/lib/syncmem-relay"
    assert settings.limit_values.mailbox_bytes_max == 1024**3


def test_a_relay_started_as_the_unit_starts_it_serves_and_stops(tmp_path: Path) -> None:
    unit, _ = adapted(tmp_path)
    ((*before,),) = commands(unit, "ExecStartPre")
    assert subprocess.run(before, capture_output=True, check=False).returncode == 0
    ((*command,),) = commands(unit, "ExecStart")
    relay = RelayProcess(tmp_path / "data", command=command)
    assert ask_at(relay.address, new_key(), Put(b"stream 1", 1, b"x")).results[0].outcome == 0
    assert relay.close() == (0, "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
@pytest.mark.parametrize("check", ["verify", "security"])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, check: str) -> None:
    path = tmp_path / UNIT.name
    path.write_text(adapted(tmp_path)[0], encoding="utf-8")
    options = [] if check == "verify" else ["--offline=true", f"--threshold={EXPOSURE_MAX}"]
    found = subprocess.run(
        ["systemd-analyze", "--man=no", *options, check, str(path)], capture_output=True, text=True, check=False
    )
    about_it = [line for line in (found.stdout + found.stderr).splitlines() if UNIT.name in line and check == "verify"]
    assert found.returncode == 0, found.stdout + found.stderr
    assert about_it == []


def test_the_unit_and_the_container_give_no_rights(tmp_path: Path) -> None:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(UNIT, encoding="utf-8")
    service = unit["Service"]
    assert (service["DynamicUser"], service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("yes", "strict", "")
    steps = (EXAMPLE / "Containerfile").read_text(encoding="utf-8").splitlines()
    words = [step.split(maxsplit=1) for step in steps if step and not step.startswith("#")]
    assert {word for word, _ in words} <= {
        *("FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENV", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT")
    }
    assert dict(words)["USER"] == "65534:65534"
    environment = dict(pair.split("=", 1) for pair in dict(words)["ENV"].split())
    said = {name: value for name, value in environment.items() if name.startswith("SYNCMEM_")}
    assert load(None, said, {}).place == "/data"
