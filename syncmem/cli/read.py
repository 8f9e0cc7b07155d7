"""The verbs that read: what is believed, when, why, and what is in doubt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from syncmem.cli.options import (
    entity_argument,
    keywords,
    known_at_option,
    optional_predicate,
    scope_option,
    slot_arguments,
    valid_at_option,
    view_options,
)
from syncmem.cli.session import Session, verb

if TYPE_CHECKING:
    from syncmem.results import Belief, Explanation


@verb("believe")
@entity_argument
@optional_predicate
@valid_at_option
@view_options
@scope_option
def believe(session: Session, entity: str, predicate: str | None, **options: Any) -> None:
    """What is believed of ENTITY, now or at another time.

    \b
      syncmem believe ana home_city
      syncmem believe ana home_city --valid-at 2025-06-10
      syncmem believe ana home_city --known-at 2025-06-17     (what did we believe then?)

    --json prints a list: several values may hold at once.
    """
    with session.memory() as memory:
        beliefs = memory.beliefs(entity, predicate, **keywords(options))
    show_name = predicate is None
    session.show([belief.to_dict() for belief in beliefs], lambda: _lines(session, beliefs, show_name) or "unknown")


@verb("timeline")
@slot_arguments
@view_options
@scope_option
@click.option("--width", type=click.IntRange(min=20), help="Columns to draw in.  [default: the terminal's]")
def timeline(session: Session, entity: str, predicate: str, width: int | None, **options: Any) -> None:
    """Draw what is believed over time."""
    with session.memory() as memory:
        found = memory.timeline(entity, predicate, **keywords(options))

    def draw() -> None:
        from syncmem.cli.screen import draw_timeline

        draw_timeline(found, zone=session.display_zone, width=width)

    session.show([belief.to_dict() for belief in found], draw)


@verb("history")
@slot_arguments
@scope_option
def history(session: Session, entity: str, predicate: str, **options: Any) -> None:
    """Every event about a slot, in order of arrival."""
    from syncmem.cli.words import history_text

    with session.memory() as memory:
        entries = memory.history(entity, predicate, **keywords(options))
    session.show(
        [entry.to_dict() for entry in entries],
        lambda: history_text(entries, session.display_zone) or "nothing was ever said",
    )


@verb("why")
@slot_arguments
@valid_at_option
@known_at_option
@scope_option
def why(session: Session, entity: str, predicate: str, **options: Any) -> None:
    """Why something is believed, and what was said against it."""
    with session.memory() as memory:
        found = memory.why(entity, predicate, **keywords(options))
    session.show(found.to_dict(), lambda: _explained(session, found))


@verb("contested")
@scope_option
def contested(session: Session, **options: Any) -> None:
    """Beliefs that something contradicts: what to ask the user.

    'syncmem why' tells what contradicts them.
    """
    with session.memory() as memory:
        beliefs = memory.contested(**keywords(options))
    data = [belief.to_dict() for belief in beliefs]
    session.show(data, lambda: _lines(session, beliefs, True) or "nothing is contested")


@verb("entities")
@scope_option
def entities(session: Session, **options: Any) -> None:
    """List what the memory knows something about."""
    from syncmem.cli.words import escaped

    with session.memory() as memory:
        names = memory.entities(**keywords(options))
    session.show(names, lambda: "\n".join(map(escaped, names)) or "no entities yet")


@verb("predicates")
@scope_option
def predicates(session: Session, **options: Any) -> None:
    """List the predicates and what they are like."""
    with session.memory() as memory:
        found = memory.predicates(**keywords(options))

    def table() -> None:
        from syncmem.cli.screen import show_predicates

        show_predicates(found)

    session.show({name: asdict(predicate) for name, predicate in found.items()}, table)


def _lines(session: Session, beliefs: Sequence[Belief], show_slot: bool) -> str:
    from syncmem.cli.words import belief_text, slot_text

    zone = session.display_zone
    return "\n".join(
        (f"{slot_text(belief.entity, belief.predicate, belief.scope)} = " if show_slot else "")
        + belief_text(belief, zone)
        for belief in beliefs
    )


def _explained(session: Session, found: Explanation) -> str:
    from syncmem.cli.words import entry_text, escaped, several_names

    zone, lost, gone = session.display_zone, (e for e, _ in found.lost), (e for e, _ in found.taken_back)
    named = several_names([*([found.winner] if found.winner else []), *found.supports, *lost, *gone])
    parts = [escaped(found.text)]
    parts += [f"\nwins:\n  {entry_text(found.winner, zone, named=named)}"] if found.winner else []
    parts += ["\nsays the same:"] * bool(found.supports)
    parts += [f"  {entry_text(entry, zone, named=named)}" for entry in found.supports]
    for title, entries in (("does not hold:", found.lost), ("taken back:", found.taken_back)):
        parts += [f"\n{title}"] * bool(entries)
        parts += [f"  {entry_text(entry, zone, named=named)}\n    {escaped(reason)}" for entry, reason in entries]
    return "\n".join(parts)
