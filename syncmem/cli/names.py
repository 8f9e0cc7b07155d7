"""The verbs about names: which are one entity, which are not, and who said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from syncmem.cli.options import entity_argument, keywords, known_at_option, scope_option, source_options, together
from syncmem.cli.session import Session, verb
from syncmem.cli.write import show_receipt

if TYPE_CHECKING:
    from syncmem.results import Aliases

_link_options = together(
    entity_argument,
    click.argument("other"),
    scope_option,
    source_options,
    click.option("--batch", metavar="ID", help="An import or run, to be withdrawn as a whole."),
)


@verb("same")
@_link_options
def same(session: Session, entity: str, other: str, **options: Any) -> None:
    """Say that ENTITY and OTHER are one; 'syncmem undo EVENT' parts them again.

    \b
      syncmem same robert bob
      syncmem aliases bob
    """
    with session.memory() as memory:
        receipt = memory.same(entity, other, **keywords(options))
    show_receipt(session, receipt)


@verb("different")
@_link_options
def different(session: Session, entity: str, other: str, **options: Any) -> None:
    """Say that ENTITY and OTHER are two, whatever was said before."""
    with session.memory() as memory:
        receipt = memory.different(entity, other, **keywords(options))
    show_receipt(session, receipt)


@verb("aliases")
@entity_argument
@known_at_option
@scope_option
def aliases(session: Session, entity: str, **options: Any) -> None:
    """The names that are one with ENTITY, and who said so."""
    with session.memory() as memory:
        found = memory.aliases(entity, **keywords(options))
    session.show(found.to_dict(), lambda: _told(session, found))


def _told(session: Session, found: Aliases) -> str:
    from syncmem.cli.words import entry_text, escaped

    others = [escaped(name) for name in found.names if name != found.entity]
    lines = [f"{escaped(found.entity)}, {'also ' + ', '.join(others) if others else 'and no other name'}"]
    for link in found.links:
        lines.append(f"  {entry_text(link, session.display_zone)}")
        lines += [f"    => {escaped(link.effect)}"] if link.effect else []
    return "\n".join(lines)
