"""The table of limits that an operator reads is the one that holds."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from click.testing import CliRunner

from syncmem.cli.app import cli
from syncmem.relay.limits import MIB, Limits

PROTOCOL = Path(__file__).parents[2] / "protocol" / "README.md"
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*?) \| (?:`(--[a-z-]+)`)? ?\|", re.MULTILINE)


def usual(value: float | None) -> str:
    if value is None:
        return "the disk"
    return f"{value // MIB} MiB" if isinstance(value, int) and value >= MIB else f"{value:g}"


def test_every_limit_stands_in_the_protocol_with_its_usual_value() -> None:
    told = {name: value for name, value, _ in ROW.findall(PROTOCOL.read_text(encoding="utf-8"))}
    limits = Limits()
    assert told == {field.name: usual(getattr(limits, field.name)) for field in fields(limits)}


def test_every_option_in_the_table_is_one_of_the_command() -> None:
    options = [option for _, _, option in ROW.findall(PROTOCOL.read_text(encoding="utf-8")) if option]
    shown = CliRunner().invoke(cli, ["relay", "--help"]).output
    assert len(options) == 4
    assert all(option in shown for option in options)
