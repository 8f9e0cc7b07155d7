"""The verbs of several devices: invite, join, recover, sync, status, and the care of the devices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

from syncmem.cli.session import NOTABLE, Session, answered, is_terminal, verb
from syncmem.errors import InvalidInput

if TYPE_CHECKING:
    from syncmem.memory import Memory
    from syncmem.standing import ErasureStatus, SlotChange, Status, SyncReport

WORDS_ASKED: Final = (3, 11, 20)  # of the recovery phrase, to be entered again
WATCH_SECONDS: Final = 30.0
WATCH_STEP_SECONDS: Final = 0.5


@verb("invite")
@click.argument("mailbox", required=False)
@click.option("--scope", "scopes", multiple=True, metavar="NAME", help="Share this scope too; may be repeated.")
@click.option("--name", metavar="NAME", help="What this device is called, when the vault is made.")
@click.option("--yes", is_flag=True, help="Ask nothing: let in whoever uses the code.")
@click.option("--seconds", default=600.0, show_default=True, help="How long to wait for the new device.")
def invite(
    session: Session, mailbox: str | None, scopes: tuple[str, ...], name: str | None, yes: bool, seconds: float
) -> None:
    """Show a code that lets one new device in, and wait for it.

    MAILBOX is where the devices meet: folder:PATH (a shared folder), s3://BUCKET/PREFIX (a bucket) or https://HOST
    (a relay). The first time this also makes the vault and shows its recovery phrase.
    """
    with session.memory() as memory:
        with memory.transaction():  # no vault where there can be no invitation
            phrase = memory.create_vault(name) if memory.status().vault is None else None
            invitation = memory.invite(mailbox, scopes=scopes)
        if phrase is not None:
            _show_phrase(phrase, ask=not yes)
        if not session.json:
            if is_terminal():
                click.echo(invitation.qr())
            click.echo("On the new device:\n", err=True)
        click.echo(f"syncmem join {invitation.code}" if not session.json else invitation.code, err=session.json)

        def approve(device: str) -> bool:
            return yes or _confirmed(device)

        device = invitation.wait(approve, seconds)
        report = memory.sync()
    session.show(
        {"device": device, "complete": report.complete}, lambda: f"{device} is in. Sync it with 'syncmem sync'."
    )


def _confirmed(device: str) -> bool:
    question = f"{device!r} asks to be let in. Is that the device you hold?"
    otherwise = f"{device!r} was not let in: invite in a terminal or with --yes, and join with the new code"
    return answered(lambda: click.confirm(question, err=True), otherwise)


def _show_phrase(phrase: str, *, ask: bool) -> None:
    """Show the recovery phrase, and have three of its words entered again."""
    words = phrase.split()
    click.echo(
        "The recovery phrase. Write it down: it is shown once, and the only way back without any device.\n", err=True
    )
    for start in range(0, len(words), 6):
        line = "  ".join(f"{number:2} {word:<9}" for number, word in enumerate(words[start : start + 6], start + 1))
        click.echo(f"  {line}", err=True)
    click.echo(err=True)
    if not ask or not is_terminal("stdin"):
        return
    from syncmem.seal.phrase import check_words

    for place in WORDS_ASKED:
        while not check_words(phrase, {place: click.prompt(f"Word {place}, to be sure", err=True)}):
            click.echo("That is another word; look at what you wrote down.", err=True)


@verb("join")
@click.argument("code")
@click.option("--name", metavar="NAME", help="What this device is called.  [default: the host's name]")
@click.option("--mailbox", metavar="ADDRESS", help="The same mailbox, under the name it has here.")
@click.option("--seconds", default=120.0, show_default=True, help="How long to wait to be let in.")
def join(session: Session, code: str, name: str | None, mailbox: str | None, seconds: float) -> None:
    """Join the vault whose device shows CODE, and sync."""
    from syncmem.memory import Memory
    from syncmem.sync.pairing import Code

    Code.parse(code)
    opening = session.opening(session.key)
    click.echo("Asking to be let in: the other device asks whether this one may; say yes there.", err=True)
    with session.leaving_none():
        joined = Memory.join(session.db, code, name=name, mailbox=mailbox, wait_seconds=seconds, **opening)
    with joined as memory:
        report = memory.sync()
    session.show(report.to_dict(), lambda: f"Joined. {_summary(report)}")


@verb("recover")
@click.argument("mailbox")
@click.option("--name", metavar="NAME", help="What this device is called.  [default: the host's name]")
def recover(session: Session, mailbox: str, name: str | None) -> None:
    """Come back with the recovery phrase: it is asked for, never given as an argument."""
    from syncmem.memory import Memory

    phrase = answered(
        lambda: click.prompt("Recovery phrase", err=True, hide_input=is_terminal("stdin")),
        "run 'syncmem recover' in a terminal, or give the phrase on standard input",
    )
    with session.leaving_none():
        recovered = Memory.recover(session.db, phrase, mailbox, name=name, **session.opening(session.key))
    with recovered as memory:
        report = memory.sync()
    session.show(report.to_dict(), lambda: f"Recovered. {_summary(report)}")


@verb("sync")
@click.argument("mailboxes", nargs=-1)
@click.option("--show-changes", is_flag=True, help="Tell what is believed differently because of what arrived.")
@click.option("--watch", is_flag=True, help="Go on until interrupted.")
@click.option(
    "--every", default=WATCH_SECONDS, show_default=True, metavar="SECONDS",
    help="With --watch: how often, where no relay tells.",
)  # fmt: skip
def sync(session: Session, mailboxes: tuple[str, ...], show_changes: bool, watch: bool, every: float) -> None:
    """Send what the mailboxes lack, and take in what is new.

    Without MAILBOXES: all that are known. Exits with 4 where one was not reached or refused something.
    """
    with session.memory() as memory:
        if watch:
            _sync_on(session, memory, mailboxes, show_changes, every)
            return
        report = memory.sync(*mailboxes)
        session.show(report.to_dict(), lambda: _told(report, show_changes))
    if not report.complete:
        raise click.exceptions.Exit(NOTABLE)


def _sync_on(session: Session, memory: Memory, mailboxes: tuple[str, ...], show_changes: bool, every: float) -> None:
    """Sync until interrupted, or removed from the vault."""

    def show(report: SyncReport) -> None:
        session.show(report.to_dict(), lambda: _told(report, show_changes))

    with memory.sync_in_background(*mailboxes, every_seconds=every, on_report=show) as syncing:
        while syncing.running:
            time.sleep(WATCH_STEP_SECONDS)
    if syncing.error is not None:
        raise syncing.error


@verb("move-mailbox")
@click.argument("old")
@click.argument("new")
def move_mailbox(session: Session, old: str, new: str) -> None:
    """Sync at NEW instead of OLD: a relay or a folder has another address now.

    The mailbox goes on as it was; what it lacks is sent when this device next syncs.
    """
    from syncmem.sync import shown

    _change(session, f"Moved to {shown(new)}; now run 'syncmem sync'.", lambda memory: memory.move_mailbox(old, new))


@verb("remove-mailbox")
@click.argument("address")
def remove_mailbox(session: Session, address: str) -> None:
    """Sync at ADDRESS no more; what lies there stays."""
    from syncmem.sync import shown

    _change(session, f"{shown(address)} is synced with no more.", lambda memory: memory.remove_mailbox(address))


@verb("status")
def status(session: Session) -> None:
    """What is verified, pending, held or refused."""
    with session.memory() as memory:
        found = memory.status()
    session.show(found.to_dict(), lambda: _status_text(found))


@verb("devices")
def devices(session: Session) -> None:
    """The devices of the vault."""
    with session.memory() as memory:
        found = memory.status().devices
    session.show([device.to_dict() for device in found], lambda: "\n".join(map(_device_line, found)) or None)


@verb("rename")
@click.argument("device")
@click.argument("name")
def rename(session: Session, device: str, name: str) -> None:
    """Call DEVICE (its id or name) NAME."""
    _change(session, f"{device} is called {name}.", lambda memory: memory.rename_device(device, name))


@verb("grant")
@click.argument("device")
@click.argument("scopes", nargs=-1, required=True)
def grant(session: Session, device: str, scopes: tuple[str, ...]) -> None:
    """Give DEVICE more scopes."""

    def give(memory: Memory) -> None:
        for scope in scopes:
            memory.share(scope)
        memory.grant(device, scopes)

    _change(session, f"{device} gets {', '.join(scopes)} with the next sync.", give)


@verb("revoke")
@click.argument("device")
@click.option("--wipe", is_flag=True, help="Tell it to delete its memory when it next syncs.")
@click.option("--reason", metavar="TEXT")
def revoke(session: Session, device: str, wipe: bool, reason: str | None) -> None:
    """Remove DEVICE (its id or name) from the vault; the others get new keys."""
    done = f"{device} is removed; sync so that the others hear of it."
    _change(session, done, lambda memory: memory.revoke(device, wipe=wipe, reason=reason))


@verb("adopt")
@click.argument("device")
def adopt(session: Session, device: str) -> None:
    """Let what a removed DEVICE wrote count after all, as far as it has arrived here."""
    _change(session, f"What {device} wrote counts again.", lambda memory: memory.adopt(device))


def _change(session: Session, done: str, change: Any) -> None:
    with session.memory() as memory:
        change(memory)
    session.show({"done": done}, lambda: done)


# -- words --------------------------------------------------------------------------------------------


def _told(report: SyncReport, show_changes: bool) -> str:
    from syncmem.cli.words import repair_text
    from syncmem.sync import shown

    lines = [_summary(report)]
    for one in report.mailboxes:
        where = f"{shown(one.address)} ({one.scope})"
        lines += [f"  {repair_text(repaired)}" for repaired in one.repaired]
        lines += [f"  {where}: {why}" for why in (one.error, one.content_error, *one.refused) if why]
        if one.over_quota is not None:
            lines.append(f"  {where}: takes no more for now; nothing is lost, it is sent later")
        if one.reset:
            lines.append(f"  {where}: was not what it was; what it lacked was sent again")
        if one.forked:
            lines.append(f"  {where}: a copy of this device writes there too; sync once more")
    if show_changes:
        lines += [_change_line(change) for change in report.changes]
        lines += ["  ... and more"] if report.more_changes else []
    return "\n".join(lines)


def _summary(report: SyncReport) -> str:
    from syncmem.cli.words import counted

    sent = sum(one.sent for one in report.mailboxes)
    received = sum(one.received for one in report.mailboxes)
    slots = len({(c.scope, c.entity, c.predicate) for c in report.changes})
    return (
        f"Sent {counted(sent, 'blob')}, received {counted(received, 'blob')} "
        f"with {counted(report.events, 'new event')}; {counted(slots, 'slot')} changed."
    )


def _change_line(change: SlotChange) -> str:
    from syncmem.cli.words import value_text

    before = ", ".join(dict.fromkeys(value_text(part.value) for part in change.closed)) or "nothing"
    after = ", ".join(dict.fromkeys(value_text(part.value) for part in change.opened)) or "nothing"
    causes = ", ".join(dict.fromkeys(part.event for part in change.opened))
    return f"  {change.entity} {change.predicate}: {before} -> {after}" + (f"  (because of {causes})" if causes else "")


def _status_text(found: Status) -> str:
    from syncmem.cli.words import counted, escaped
    from syncmem.sync import shown

    if found.vault is None:
        raise InvalidInput("this memory belongs to no vault yet; 'syncmem invite folder:PATH' makes one")
    lines = ["In sync: verified with every device." if found.in_sync else "Not in sync."]
    if found.outside is not None:
        lines.append(f"  {found.outside[0].upper()}{found.outside[1:]}.")
    if found.pending:
        lines.append(f"  {counted(found.pending, 'event')} not known to have arrived at every mailbox.")
    if found.waiting_for:
        names = ", ".join(found.waiting_for)
        lines.append(f"  Not verified yet with: {names}. Run 'syncmem sync' there, and then here.")
    if found.unseen:
        lines.append(f"  Not heard of for 30 days: {', '.join(found.unseen)}.")
    for scope in map(escaped, found.unshared):
        lines.append(f"  Scope {scope} is on this device only; share it with 'syncmem grant DEVICE {scope}'.")
    for one in found.mailboxes:
        state = f"last success {_when(one.last_success)}"
        counts = {
            "waiting": one.waiting,
            "pending": one.pending,
            "missing": one.missing,
            "held": one.held,
            "refused": len(one.refused),
        }
        counts["with what was erased"] = one.erasing
        counts["parts of episodes not there"] = one.unplaced
        state += "".join(f", {count} {word}" for word, count in counts.items() if count)
        lines.append(f"{shown(one.address)} ({one.scope}): {state}")
        lines += [f"  {one.trouble}"] if one.trouble else []
        lines += [f"  {name}: {why}" for name, why in one.refused]
    if found.chunks:
        lines.append(f"Content of episodes: {found.chunks_here} of {found.chunks} parts are here.")
    lines += [_erasure_line(erasure) for erasure in found.erasures]
    lines += [f"Damaged: {escaped(damage)}." for damage in found.damage]
    if found.scrub_pending:
        lines.append("Scrub pending: another program reads an old view of the file; end it, then run 'syncmem scrub'.")
    return "\n".join([*lines, *map(_device_line, found.devices)])


def _erasure_line(erasure: ErasureStatus) -> str:
    from syncmem.sync import shown

    waiting = [*erasure.waiting_for, *(f"the mailbox {shown(address)}" for address in erasure.mailboxes)]
    return f"Erasure {erasure.event} by {erasure.erased_by}: waiting for {', '.join(waiting)}."


def _device_line(device: Any) -> str:
    from syncmem.cli.words import counted

    if not device.live:
        state = "removed"
    elif device.own:
        state = "this device"
    elif device.diverged:
        state = "holds the same events and believes something else: please report this"
    elif device.verified:
        state = f"verified {_when(device.verified_at)}"
    else:
        counts = {"behind": device.behind, "ahead": device.ahead}
        apart = "".join(f", {counted(count, 'event')} {word}" for word, count in counts.items() if count)
        state = f"not verified{apart}, last heard of {_when(device.last_seen)}"
    return f"{device.id}  {device.name}: {state}"


def _when(time: Any) -> str:
    return "never" if time is None else time.strftime("%Y-%m-%d %H:%M UTC")
