"""The command group: its help, its exit codes and what an error looks like."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import click

from syncmem.cli import (
    asked,
    care,
    conformance,
    demo,
    episodes,
    extracting,
    importing,
    mcp,
    names,
    read,
    recalled,
    relay,
    serving,
    shell,
    sync,
    view,
    write,
)
from syncmem.cli.session import EXIT_CODES, shared_options
from syncmem.cli.session import report as report_error
from syncmem.errors import SyncmemError

SECTIONS: Final[tuple[tuple[str, Sequence[click.Command]], ...]] = (
    ("Start here", (demo.demo, care.init)),
    (
        "Write",
        (write.remember, write.end, write.deny, write.correct, write.retract, write.undo, write.define),
    ),
    ("Names", (names.same, names.different, names.aliases)),
    ("Many at once", (write.apply_lines, write.withdraw, write.erase)),
    (
        "Read",
        (read.believe, read.timeline, read.history, read.why, read.contested, read.entities, read.predicates),
    ),
    ("See", (view.view,)),
    ("Find", (recalled.recall, recalled.briefing, recalled.search, recalled.why_said, recalled.index)),
    ("What was said", (episodes.observe, episodes.episode, episodes.episodes, episodes.fetch)),
    ("What it claims", (extracting.extract, extracting.reextract)),
    ("From elsewhere", (importing.import_from, importing.imports)),
    ("Ask the user", (asked.questions, asked.answer)),
    ("Several devices", (sync.invite, sync.join, sync.sync, sync.status, sync.devices)),
    (
        "Care of devices",
        (sync.rename, sync.grant, sync.revoke, sync.adopt, sync.recover, sync.move_mailbox, sync.remove_mailbox),
    ),
    ("By hand", (care.merge, care.export, care.import_bundle)),
    ("Serve", (mcp.mcp, relay.relay, serving.serve)),
    ("Care", (care.backup, care.restore, care.scrub, care.rebuild, shell.completion)),
    ("When a disk fails", (care.doctor, care.inspect, care.repair)),
    ("For other implementations", (conformance.conformance,)),
)


class Verbs(click.Group):
    """Commands in sections; the library's errors become one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SyncmemError as error:
            ctx.exit(report_error(ctx, error))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for title, commands in SECTIONS:
            with formatter.section(title):
                formatter.write_dl([((command.name or "").ljust(width), _summary(command)) for command in commands])


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(limit=80)


EPILOG: Final = "\b\nExit codes:\n" + "\n".join(f"  {code}  {meaning}" for code, meaning in EXIT_CODES.items())


@click.group(cls=Verbs, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="syncmem", message="%(prog)s %(version)s")
@shared_options(environment=True)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Memory for agents: what is believed, since when, why, and the same on every device.

    The memory is one file: ./syncmem.db, or what --db or SYNCMEM_DB name. Only init, import,
    import-from, merge, join, recover, restore and demo create a file.

    \b
      syncmem demo                                  one story, three devices
      syncmem init                                  a memory in ./syncmem.db
      syncmem define home_city --single
      syncmem remember ana home_city Lisbon --since 2025-04
      syncmem believe ana home_city
    """
    if os.environ.get("NO_COLOR"):
        ctx.color = False


for _, _commands in SECTIONS:
    for _command in _commands:
        cli.add_command(_command)
