"""The command line: each verb of :class:`syncmem.Memory` is a command.

Rules: a command says what the library says and decides nothing itself; ``--json`` prints what the
library returned; nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line on ``sys.argv`` and exit with its code."""
    from syncmem.cli.app import cli

    cli(prog_name="syncmem")
