"""The verbs of importing: what other programs have, and which imports there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from syncmem.cli.options import Trust, keywords, scope_option
from syncmem.cli.progress import progress
from syncmem.cli.session import Session, verb

if TYPE_CHECKING:
    from syncmem.importers.reports import ImportReport


class Kind(click.ParamType[str]):
    """A kind of archive; the library knows which there are."""

    name = "kind"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from syncmem.importers.kinds import kinds

        return [CompletionItem(kind) for kind in ("auto", *kinds()) if kind.startswith(incomplete)]


class ExtractorName(click.ParamType[str]):
    """The name of an extractor; the library knows which there are."""

    name = "extractor"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from syncmem.judging.extracting import EXTRACTORS

        return [CompletionItem(name) for name in EXTRACTORS.names() if name.startswith(incomplete)]


@verb("import-from")
@click.argument("kind", type=Kind())
@click.argument("file", type=click.Path(exists=True))
@click.option("--user", metavar="ENTITY", help="Who the owner of the archive is.  [default: user]")
@click.option("--name", metavar="TEXT", help="Which account it is, where there are several.")
@click.option("--mapping", metavar="TOML", type=click.Path(exists=True, dir_okay=False), help="For jsonl and csv.")
@click.option("--trust", type=Trust(), metavar="TIER|0..100", help="Of facts; unsaid: as the kind has it.")
@click.option("--extract", "extractor", type=ExtractorName(), metavar="NAME", help="Read the user's turns: english.")
@click.option("--dry-run", is_flag=True, help="Read all of it, say what would come in, write nothing.")
@click.option("--force", is_flag=True, help="Even if it lacks much of what came from there before.")
@click.option("--include-erased", is_flag=True, help="Also what names an entity that was erased.")
@scope_option
def import_from(session: Session, kind: str, file: str, **options: Any) -> None:
    """Take in what another program has, with its history.

    KIND is auto (told by how the file begins), chatgpt, claude, mem0, mcp, graphiti, basic-memory, vcard, jsonl, csv,
    or one that another package adds.
    FILE is the archive as it was exported: a file, a zip file or a folder.  Importing it twice changes nothing more; a
    newer one adds what is new.  All of it is one batch: 'syncmem retract --batch BATCH' withdraws it.

    \b
      syncmem import-from chatgpt chatgpt-export.zip --user ana --dry-run
      syncmem import-from auto contacts.vcf
      syncmem import-from csv jobs.csv --mapping jobs.toml
    """
    given = keywords(options)
    if options["dry_run"] and not Path(session.db).exists():
        session.db = ":memory:"
    with session.memory(create=True) as memory, progress(session, "Reading", counted=True) as advance:
        report = memory.import_archive(file, kind, progress=advance, **given)
    session.show(report.to_dict(), lambda: report_text(report))


def report_text(report: ImportReport) -> str:
    """What an import came to."""
    from syncmem.cli.words import counted, escaped

    new = [counted(report.turns, "turn"), counted(report.claims, "claim"), counted(report.ends, "end")]
    told = [part for part in new if not part.startswith("0 ")] or ["nothing"]
    would = "Would be imported" if report.dry_run else "Imported"
    lines = [f"{would}: {', '.join(told)}; known already: {report.known}."]
    if any(not part.startswith("0 ") for part in new):
        lines.append(f"Batch {escaped(report.batch)}.")
    if report.derived:
        lines.append(f"{counted(report.derived, 'statement')} extracted.")
    if report.erased:
        lines.append(f"Left out, because it names what was erased: {report.erased} (--include-erased takes it in).")
    if report.skipped:
        lines.append(f"Skipped: {report.skipped}.")
        lines += [f"  {escaped(problem)}" for problem in report.problems]
    if report.refused is not None and report.dry_run:
        lines.append(f"Lacks {report.lacking} of what came from there before; --force is needed to import it.")
    return "\n".join(lines)


@verb("imports")
def imports(session: Session) -> None:
    """List the batches that came out of archives."""
    from syncmem.cli.words import counted, escaped

    with session.memory() as memory:
        found = memory.imports()
    lines = [
        f"{escaped(each.batch)}  {counted(each.events, 'event')}{'  withdrawn' if each.withdrawn else ''}"
        for each in found
    ]
    session.show([each.to_dict() for each in found], lambda: "\n".join(lines) or "nothing was imported")
