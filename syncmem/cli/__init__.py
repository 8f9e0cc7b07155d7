"""The command line: each verb of :class:`syncmem.Memory` is a command.

Rules: a command says what the library says and decides nothing itself; ``--json`` prints what the
library returned; nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a value may hold what the terminal cannot show
    from syncmem.cli.app import cli

    cli(prog_name="syncmem")
