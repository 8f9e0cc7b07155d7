"""The verbs about whole memories: create, merge, carry over, keep safe, examine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from syncmem.cli.progress import progress
from syncmem.cli.session import NOTABLE, Session, in_commands, key_in, verb

if TYPE_CHECKING:
    from syncmem.results import Doctor, MergeReport

EXISTING = click.Path(exists=True, dir_okay=False)
ANY_FILE = click.Path(dir_okay=False)
WHOLE = ("bundle", "events")  # forms that hold all there is
FORMS = (*WHOLE, "markdown", "json", "sqlite")
ENDINGS = {
    ".ndjson": "events",
    ".jsonl": "events",
    ".md": "markdown",
    ".json": "json",
    ".db": "sqlite",
    ".sqlite": "sqlite",
}


@verb("init")
@click.option("--encrypt", is_flag=True, help="Encrypt the file with the key in --key-file, which is made if missing.")
@click.option("--keyring", is_flag=True, help="Keep this device's own key in the system's keyring, if there is one.")
def init(session: Session, encrypt: bool, keyring: bool) -> None:
    """Create the memory's file.

    One that is there already stays as it is; with --keyring its device key moves into the keyring.
    """
    created = not Path(session.db).exists()
    made = _make_key(session.key) if encrypt and created else False
    with session.open(session.db, session.key, keyring=keyring) as memory:
        device = memory.device
        keys = memory.doctor().facts["keys"]
    data = {"path": os.path.abspath(session.db), "device": device, "created": created, "keys": keys}
    session.show(data | ({"key_file": session.key} if made else {}), lambda: _begun(session, data, made, keyring))


def _make_key(file: str | None) -> bool:
    """Make a key where none is; whether it did."""
    from syncmem.replica.cipher import KEY_BYTES, write_key_file

    if file is None:
        raise click.UsageError("Say where the key is to be kept: --key-file FILE.")
    if Path(file).exists():
        return False
    write_key_file(file, os.urandom(KEY_BYTES))
    return True


def _begun(session: Session, data: Any, made: bool, keyring: bool) -> str:
    begun = "A new memory is in" if data["created"] else "There is a memory already in"
    lines = [f"{begun} {session.db} (device {data['device']})."]
    if made:
        lines.append(f"Its key is in {session.key}: keep a copy elsewhere, nothing opens the memory without it.")
    if keyring:
        keys = data["keys"]
        why = f" {keys['side_file']}: {keys['no_keyring']}" if keys["no_keyring"] else ""
        lines.append(f"The key of this device is kept in the {keys['device_key']}{why}.")
    return "\n".join(lines)


@verb("merge")
@click.argument("other", type=EXISTING)
@click.option("--other-key-file", metavar="FILE", help="The key of OTHER, if it is encrypted.", type=ANY_FILE)
def merge(session: Session, other: str, other_key_file: str | None) -> None:
    """Take in all that the memory in OTHER holds.

    OTHER is not changed. The file of the memory is made if it is missing.
    """
    with (
        session.other(other, other_key_file) as source,
        session.memory(create=True) as memory,
        progress(session, "Merging", counted=True) as advance,
    ):
        report = memory.merge(source, progress=advance)
    _show_merge(session, report)


@verb("export")
@click.argument("file", type=ANY_FILE)
@click.option("--form", type=click.Choice(FORMS), help="Unsaid: by the ending of FILE, else bundle.")
@click.option("--scope", "scopes", metavar="NAME", multiple=True, help="Only this scope; may be repeated.")
@click.option("--entity", metavar="NAME", help="Only what is believed of it (not for events).")
def export(session: Session, file: str, form: str | None, scopes: tuple[str, ...], entity: str | None) -> None:
    """Write the memory into one file.

    All events, to import elsewhere: bundle, or events (.ndjson, .jsonl), which can be read. What is believed, for
    people and other tools: markdown (.md), json, sqlite (.db). What is in the scope "device" stays here. The file is
    not encrypted: whoever can read the file can read the memory.
    """
    from syncmem.cli.words import counted

    form = form or ENDINGS.get(os.path.splitext(file)[1].casefold(), "bundle")
    with session.memory() as memory, progress(session, "Exporting"):
        if form in WHOLE:
            if entity is not None:
                raise click.UsageError("Events are exported whole: leave out --entity, or take another --form.")
            count = memory.export_bundle(file, scopes=scopes or None, legible=form == "events")
        else:
            if len(scopes) > 1:
                raise click.UsageError(f"A file of {form} holds one scope: name one.")
            count = memory.export(file, form=form, entity=entity, scope=scopes[0] if scopes else "vault")
    what = "event" if form in WHOLE else "belief"
    session.show({"path": file, "form": form, f"{what}s": count}, lambda: f"{counted(count, what)} in {file}.")


@verb("import")
@click.argument("bundle", type=EXISTING)
def import_bundle(session: Session, bundle: str) -> None:
    """Take in a file that 'syncmem export' wrote.

    Importing it twice changes nothing more.
    """
    from syncmem.errors import InvalidInput, NotCanonical
    from syncmem.importers.archive import Archive
    from syncmem.importers.recognising import EXPORT, another

    with session.memory(create=True) as memory, progress(session, "Importing", counted=True) as advance:
        try:
            report = memory.import_bundle(bundle, progress=advance)
        except NotCanonical as error:
            told = another(Archive(Path(bundle)), EXPORT)
            raise InvalidInput(told) if told else error from error
    _show_merge(session, report)


def _show_merge(session: Session, report: MergeReport) -> None:
    from syncmem.cli.words import counted, repair_text, slot_text

    def text() -> str:
        lines = [f"{counted(report.events, 'new event')}; beliefs changed in {counted(len(report.slots), 'slot')}."]
        lines += [f"  {slot_text(entity, predicate, scope)}" for scope, entity, predicate in report.slots]
        lines += [repair_text(repaired) for repaired in report.repaired]
        return "\n".join(lines)

    session.show(report.to_dict(), text)


@verb("backup")
@click.argument("copy", type=ANY_FILE)
@click.option("--encrypt", metavar="FILE", help="Encrypt the copy with the key in FILE, which is made if missing.")
def backup(session: Session, copy: str, encrypt: str | None) -> None:
    """Write a copy of the memory, while others may go on using it.

    The copy of an encrypted memory is encrypted with the same key.
    """
    with session.memory() as memory, progress(session, "Copying"):
        if encrypt is not None:
            _make_key(encrypt)
        memory.backup(copy, key=key_in(encrypt))
    session.show({"path": copy, "bytes": os.path.getsize(copy)}, lambda: f"A copy is in {copy}.")


@verb("restore")
@click.argument("copy", type=EXISTING)
@click.option("--overwrite", is_flag=True, help="Replace a memory that is there; it is kept as PATH.replaced.")
@click.option("--old-key-file", metavar="FILE", help="The key of the replaced memory, if another.", type=ANY_FILE)
def restore(session: Session, copy: str, overwrite: bool, old_key_file: str | None) -> None:
    """Make the memory from a backup.

    It writes as a new device from then on, so nothing that the old one wrote is written over anywhere.
    """
    from syncmem import files

    replaced = f"{session.db}.replaced" if Path(session.db).exists() else None
    keys = {"key": key_in(session.key), "old_key": key_in(old_key_file)}
    with progress(session, "Restoring"):
        files.restore(copy, session.db, overwrite=overwrite, **keys)
    rest = f" What it was is kept in {replaced}, as it was: delete it when it is not needed." if replaced else ""
    session.show(
        {"path": session.db, "from": copy, "replaced": replaced},
        lambda: f"The memory in {session.db} is what {copy} held.{rest}",
    )


@verb("rebuild")
def rebuild(session: Session) -> None:
    """Fold the log again; beliefs come out the same.

    Everything that is derived from the log is dropped first.
    """
    with session.memory() as memory, progress(session, "Folding the log again"):
        memory.rebuild()
        digest = memory.belief_digest()
    session.show({"belief_digest": digest}, lambda: f"Rebuilt; the digest of all beliefs is {digest}.")


@verb("repair")
@click.pass_context
def repair(ctx: click.Context, session: Session) -> None:
    """Make a damaged memory sound again, as far as it can be.

    No other program may have it open. The damaged file is kept beside it as PATH.damaged; what is missing then is
    fetched from the mailboxes, and all that is derived is folded again. It can be run again at any time.
    """
    from syncmem.cli.words import counted, escaped
    from syncmem.repairing import repair as mend

    with progress(session, "Repairing"):
        done = mend(session.db, key=key_in(session.key))

    def text() -> str:
        if not done.found and done.finished and not done.kept_as:
            return "Nothing is damaged."
        lines = [f"Found: {escaped(found)}" for found in done.found]
        lines.append(f"{counted(done.events, 'event')} are held; beliefs were folded again from them.")
        lines += [f"{counted(done.said_again, 'event')} of this device said again."] if done.said_again else []
        lines += [f"{counted(done.returned, 'event')} came back from the mailboxes."] if done.returned else []
        for one in done.lacking:
            whose = "this device" if one.own else f"device {one.device}"
            lines.append(f"{counted(one.events, 'event')} of {whose} (log {one.log}) are nowhere.")
        lines += [f"Not readable: {counted(rows, 'row')} of {table}." for table, rows in done.rows.items()]
        lines += [f"Not asked: {escaped(trouble)}" for trouble in done.troubles]
        return "\n".join([*lines, *done.next_steps])

    session.show(done.to_dict(), text)
    if done.lacking or not done.finished:
        ctx.exit(NOTABLE)


@verb("inspect")
@click.option(
    "--rows", type=click.IntRange(min=1), default=2_000, show_default=True, help="At most about so many rows."
)
@click.option("--anew", is_flag=True, help="Begin anew, even if all was looked at this week.")
@click.pass_context
def inspect(ctx: click.Context, session: Session, rows: int, anew: bool) -> None:
    """Look at the next rows of the file for what a disk has changed.

    It goes on where it stood; 'sync --watch' does it as well. What it finds is told by status and doctor.
    """
    from syncmem.cli.words import counted, escaped

    with session.memory() as memory:
        done = memory.inspect(rows=rows, anew=anew)

    def text() -> str:
        state = "all was looked at" if done.whole else "it goes on from there"
        looked = f"{counted(done.rows, 'row')} looked at, {state}."
        return "\n".join([looked, *(f"Damaged: {escaped(found)}." for found in done.found)])

    session.show(done.to_dict(), text)
    if done.found:
        ctx.exit(NOTABLE)


@verb("scrub")
@click.pass_context
def scrub(ctx: click.Context, session: Session) -> None:
    """Remove the last traces of what was erased from the file.

    An erasure does that by itself, unless a program that reads the file holds it up.
    """
    with session.memory() as memory, progress(session, "Scrubbing"):
        done = memory.scrub()
    left = "Traces may be left: another program reads the file; end it, then try again."
    session.show({"scrubbed": done}, lambda: "No trace is left." if done else left)
    if not done:
        ctx.exit(NOTABLE)


@verb("doctor")
@click.option("--full", is_flag=True, help="Also verify every event and fold the log again.")
@click.option("--strict", is_flag=True, help=f"Exit with {NOTABLE} if there are problems.")
@click.pass_context
def doctor(ctx: click.Context, session: Session, full: bool, strict: bool) -> None:
    """Examine the memory and what it stands on."""
    with session.memory() as memory, progress(session, "Examining"):
        found = memory.doctor(full=full)
        found = replace(found, problems=tuple(in_commands(problem, ctx) for problem in found.problems))
    session.show(found.to_dict(), lambda: _findings(found))
    if strict and found.problems:
        ctx.exit(NOTABLE)


def _findings(found: Doctor) -> str:
    from syncmem.cli.words import escaped, facts_text

    problems = [click.style("problem: ", fg="yellow") + escaped(problem) for problem in found.problems]
    return "\n".join([facts_text(found.facts), "", *(problems or [click.style("All is well.", fg="green")])])
