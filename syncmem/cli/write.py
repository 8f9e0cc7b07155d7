"""The verbs that write: each appends one event and prints its receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from syncmem.cli.options import (
    DATE,
    DURATION,
    Trust,
    bounds_options,
    keywords,
    optional_entity,
    optional_predicate,
    said_options,
    scope_option,
    slot_arguments,
    source_options,
    taken_value,
    value_options,
)
from syncmem.cli.session import NOTABLE, Session, answered, verb

if TYPE_CHECKING:
    from syncmem.observed import Observation
    from syncmem.results import ErasureReport, Receipt, Withdrawal

SLOTS_SHOWN: Final = 20  # as many as a screen takes


@verb("remember")
@slot_arguments
@value_options
@bounds_options
@click.option("--mentions", metavar="ENTITY", multiple=True, help="Who else it speaks of; may be repeated.")
@click.option("--derived-from", metavar="EVENT", multiple=True, help="From which claim it follows; may be repeated.")
@click.option("--affirm/--no-affirm", default=None, help="Store as a repetition, or never.  [default: if it is one]")
@said_options
@click.option("--strict", is_flag=True, help=f"Exit with {NOTABLE} if the result is contested.")
@click.pass_context
def remember(
    ctx: click.Context, session: Session, /, entity: str, predicate: str, strict: bool, **options: Any
) -> None:
    """Remember that PREDICATE of ENTITY is VALUE.

    \b
      syncmem remember ana home_city Lisbon --since 2025-04
      syncmem remember ana home_city Paris --until 2025-06-15        (a week away)
      syncmem remember ana speaks --value-json '["pt", "de"]'
      syncmem remember ana car --none
    """
    value = taken_value(options)
    with session.memory() as memory:
        receipt = memory.remember(entity, predicate, value, **keywords(options))
    show_receipt(session, receipt)
    if strict and receipt.decision == "CONTESTED":
        ctx.exit(NOTABLE)


@verb("apply")
@click.argument("file", type=click.File("r", encoding="utf-8-sig"))
def apply_lines(session: Session, file: TextIO) -> None:
    """Write the verbs of a file of JSON lines, all or none ("-": standard input).

    \b
      {"verb": "remember", "entity": "ana", "predicate": "home_city", "value": "Lisbon", "since": "2025-04"}
      {"verb": "end", "entity": "ana", "predicate": "employer", "value": "Stripe", "at": "2025-03"}
    """
    from syncmem.lines import apply

    with session.memory() as memory:
        receipts = apply(memory, file)
    told = [receipt.to_dict() for receipt in receipts]
    session.show(told, lambda: "\n".join(_told(receipt, session) for receipt in receipts))


def _told(receipt: Receipt | Observation, session: Session) -> str:
    from syncmem.cli.episodes import observation_text
    from syncmem.cli.words import receipt_text
    from syncmem.observed import Observation

    if isinstance(receipt, Observation):
        return observation_text(receipt)
    return receipt_text(receipt, session.display_zone)


@verb("end")
@slot_arguments
@value_options
@click.option("--at", metavar=DATE, help="Since when it no longer holds, or when it stopped.")
@click.option("--changed", is_flag=True, help="It stopped just then ('left in July'), needs --at.")
@click.option("--event", metavar="ID", help="The claim that is meant.")
@said_options
def end(session: Session, entity: str, predicate: str, **options: Any) -> None:
    """Say that a value no longer holds."""
    value = taken_value(options)
    with session.memory() as memory:
        receipt = memory.end(entity, predicate, value, **keywords(options))
    show_receipt(session, receipt)


@verb("deny")
@slot_arguments
@value_options
@said_options
def deny(session: Session, entity: str, predicate: str, **options: Any) -> None:
    """Say that a value was never true."""
    value = taken_value(options)
    with session.memory() as memory:
        receipt = memory.deny(entity, predicate, value, **keywords(options))
    show_receipt(session, receipt)


@verb("correct")
@click.argument("event")
@value_options
@bounds_options
@said_options
def correct(session: Session, event: str, **options: Any) -> None:
    """Put another claim in the place of EVENT, which was a mistake."""
    value = taken_value(options)
    with session.memory() as memory:
        receipt = memory.correct(event, value, **keywords(options))
    show_receipt(session, receipt)


@verb("retract")
@click.argument("events", metavar="[EVENT]...", nargs=-1)
@click.option("--batch", metavar="ID", help="Without EVENTs: withdraw all of this batch, also what arrives later.")
@scope_option
@source_options
def retract(session: Session, events: tuple[str, ...], **options: Any) -> None:
    """Say that recorded EVENTs, or a whole batch, are mistakes."""
    if not events and options["batch"] is None:
        raise click.UsageError("Give one or more EVENT ids, or --batch ID.")
    with session.memory() as memory:
        receipt = memory.retract(*events, **keywords(options))
    show_receipt(session, receipt)


@verb("undo")
@click.argument("events", metavar="EVENT...", nargs=-1, required=True)
@source_options
def undo(session: Session, events: tuple[str, ...], **options: Any) -> None:
    """Take back EVENTs of any kind, also a retraction, an end or an undo."""
    with session.memory() as memory:
        receipt = memory.undo(*events, **keywords(options))
    show_receipt(session, receipt)


@verb("withdraw")
@click.option("--source", metavar="KIND", help="Kind of source, such as an importer.")
@click.option("--source-id", metavar="ID", help="Which one: an account, a file, a model's name.")
@click.option("--episode", metavar="ID", help="The conversation or document it was taken from.")
@click.option("--device", metavar="ID", help="The device that wrote it; 'syncmem status' shows them.")
@click.option("--since", metavar=DATE, help="Said then or later.")
@click.option("--until", metavar=DATE, help="Said then or earlier.")
@click.option("--scope", metavar="NAME", help="Only there.  [default: every scope]")
@click.option("--trust", type=Trust(), metavar="TIER|0..100", help="What has more trust stays.")
@click.option("--reason", metavar="TEXT", help="Kept with the event.")
@click.option("--dry-run", is_flag=True, help="Say what would be taken back, and keep nothing of it.")
def withdraw(session: Session, **options: Any) -> None:
    """Take back all that a source or a device said in some time.

    What arrives later is not covered: give the same command again then.

    \b
      syncmem withdraw --source mail-import --since 2026-01-01 --dry-run
      syncmem withdraw --device 9f86d081884c --since 2026-03-14 --reason stolen
    """
    if not any(options[name] for name in ("source", "source_id", "episode", "device")):
        raise click.UsageError("Say whose words: --source KIND, --source-id ID, --episode ID or --device ID.")
    with session.memory() as memory:
        receipt = memory.withdraw(**keywords(options))
    session.show(receipt.to_dict(), lambda: _withdrawn_text(receipt))


def _withdrawn_text(receipt: Withdrawal) -> str:
    from syncmem.cli.words import counted, escaped, slot_text

    lines = [f"{'Dry run, nothing is kept of it: ' if receipt.dry_run else ''}{escaped(receipt.why)}"]
    lines += [f"  {verb:12} {count}" for verb, count in receipt.taken.items()]
    lines += [
        f"  {slot_text(entity, name, scope)}  {count}" for scope, entity, name, count in receipt.slots[:SLOTS_SHOWN]
    ]
    if len(receipt.slots) > SLOTS_SHOWN:
        lines.append(f"  and {counted(len(receipt.slots) - SLOTS_SHOWN, 'slot')} more; --json lists them")
    if receipt.taken:
        changed = "Beliefs would change in" if receipt.dry_run else "Beliefs changed in"
        lines.append(f"{changed} {counted(len(receipt.changed), 'slot')}.")
    if receipt.outranked:
        lines.append(f"{counted(receipt.outranked, 'event')} left: said with more trust; pass a higher --trust.")
    if receipt.erasures:
        lines.append(f"{counted(receipt.erasures, 'erasure')} among it: nothing takes an erasure back.")
    if receipt.events:
        lines.append(f"To take this back: syncmem undo {' '.join(receipt.events)} --trust {receipt.trust}")
    return "\n".join(lines)


@verb("erase")
@optional_entity
@click.option("--episode", metavar="ID", help="One episode, instead of ENTITY.")
@click.option("--aliases/--no-aliases", default=None, help="All names that are one with it, too.  [default: yes]")
@click.option("--scope", metavar="NAME", help="Only there.  [default: every scope]")
@click.option("--reason", metavar="TEXT", help="Kept with the erasure; must not name ENTITY.")
@click.option("--trust", type=Trust(), metavar="TIER|0..100")
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase(session: Session, entity: str | None, yes: bool, **options: Any) -> None:
    """Make forget everything about ENTITY, or an episode, on every device. Nothing brings it back."""
    if (entity is None) == (options["episode"] is None):
        raise click.UsageError("Give ENTITY or --episode ID.")
    if not yes:
        what = f"episode {options['episode']}"
        if entity is not None:
            with session.memory() as memory:
                names = [entity] if options["aliases"] is False else memory.aliases(entity).names
            what = f"everything about {', '.join(map(repr, names))}"
        question = f"Erase {what}, on every device, for good?"
        if not answered(lambda: click.confirm(question, err=True), "pass --yes if it is what you want"):
            raise click.Abort
    episode = options.pop("episode")
    with session.memory() as memory:
        report = memory.erase(entity, episode=episode, **keywords(options))
    session.show(report.to_dict(), lambda: _erased_text(report))


def _erased_text(report: ErasureReport) -> str:
    from syncmem.cli.words import counted, escaped

    lines = [f"Erased {', '.join(map(escaped, report.entities))}."] if len(report.entities) > 1 else []
    lines += [f"{counted(count, 'event')} erased in scope {escaped(scope)}." for scope, count in report.events.items()]
    if report.alike:
        others = ", ".join(map(escaped, report.alike))
        lines.append(f"Nothing was said of {escaped(report.entities[0])}; its letters in other case name: {others}.")
    if not report.scrubbed:
        lines.append("A program that reads the file holds up the removal of the last traces; later: syncmem scrub")
    return "\n".join(lines)


@verb("define")
@optional_predicate
@click.option("--single", "cardinality", flag_value="single", help="One value at a time.")
@click.option("--many", "cardinality", flag_value="many", help="Several values at once.")
@click.option(
    "--equality", type=click.Choice(["exact", "casefold", "number", "date"]), help="When values are the same."
)
@click.option("--ttl", metavar=DURATION, help="Values lapse this long after they were last affirmed.")
@click.option("--stale-after", metavar=DURATION, help="Values count with --stale-trust from then on.")
@click.option("--stale-trust", type=Trust(), metavar="TIER|0..100")
@click.option("--then", type=click.Choice(["resume", "vacate"]), help="What follows a bounded value that does not say.")
@click.option("--sensitive/--not-sensitive", default=None, help="Changes are to be confirmed by the user.")
@click.option("--description", metavar="TEXT")
@click.option("--alias", "aliases", metavar="NAME", multiple=True, help="Another name for it; may be repeated.")
@click.option("--corroborated-by", type=int, metavar="N", help="So many independent sources give a tier more of trust.")
@click.option("--pack", metavar="NAME|FILE", help="Define all predicates of a pack, such as 'personal', instead.")
@scope_option
def define(session: Session, predicate: str | None, pack: str | None, **options: Any) -> None:
    """Say what a predicate is like, or take a whole pack of them.

    \b
      syncmem define home_city --single --alias "lives in"
      syncmem define --pack personal            (what is defined already stays as it is)
    """
    if (predicate is None) == (pack is None):
        raise click.UsageError("Give one of PREDICATE and --pack.")
    if pack is not None:
        _define_pack(session, pack, options)
        return
    assert predicate is not None
    if options["cardinality"] is None:
        raise click.UsageError("Give --single (one value at a time) or --many (several at once).")
    with session.memory() as memory:
        receipt = memory.define(predicate, **keywords(options))
    show_receipt(session, receipt)


def _define_pack(session: Session, pack: str, options: dict[str, Any]) -> None:
    from syncmem.cli.words import counted, escaped

    scope = options.pop("scope")
    if any(option not in (None, ()) for option in options.values()):
        raise click.UsageError("--pack says all about its predicates; give no other option than --scope with it.")
    with session.memory() as memory:
        report = memory.define_pack(pack, **({} if scope is None else {"scope": scope}))
    defined = f"{counted(len(report.defined), 'predicate')} defined: {', '.join(report.defined) or 'none'}"
    kept = f"\ndefined before, and left as they are: {', '.join(report.kept)}" if report.kept else ""
    session.show(report.to_dict(), lambda: escaped(defined) + kept)


def show_receipt(session: Session, receipt: Receipt) -> None:
    """Print what a write did."""
    from syncmem.cli.words import receipt_text

    session.show(receipt.to_dict(), lambda: receipt_text(receipt, session.display_zone))
