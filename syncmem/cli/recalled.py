"""The verbs of recall: what is found for a question, and what a model had been given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from syncmem.cli.options import (
    Trust,
    entity_argument,
    keywords,
    known_at_option,
    scope_option,
    together,
    valid_at_option,
)
from syncmem.cli.session import Session, verb

if TYPE_CHECKING:
    from syncmem.recall.results import Hit, Recalled, Said

_limits = together(
    click.option("-k", "k", type=int, metavar="N", help="At most so many beliefs.  [default: 10; briefing: 50]"),
    click.option("--token-budget", type=int, metavar="N", help="The block for a model takes at most so many tokens."),
    valid_at_option,
    known_at_option,
    click.option("--min-trust", type=Trust(), metavar="TIER|0..100", help="Only what is believed with as much trust."),
    click.option("--history", "include_history", is_flag=True, default=None, help="Also what held before, as such."),
    scope_option,
    click.option("--no-log", "log", flag_value=False, default=None, help="Leave no receipt in the read log."),
    click.option("--prompt", is_flag=True, help="Print the block for a model."),
)


@verb("recall")
@click.argument("question")
@click.option("--entity", metavar="NAME", help="Only beliefs about this entity.")
@click.option("--predicate", "predicates", multiple=True, metavar="NAME", help="Only this predicate; repeatable.")
@_limits
def recall(session: Session, question: str, prompt: bool, **options: Any) -> None:
    """Find the beliefs that answer QUESTION, best first.

    \b
      syncmem recall "Where does Ana live?"
      syncmem recall "Where did Ana live?" --valid-at 2020 --prompt --token-budget 400

    The receipt leads 'syncmem why-said' to what was found. SYNCMEM_EMBEDDER names the embedder, or 'none'.
    """
    options["predicates"] = list(options["predicates"]) or None
    with session.memory() as memory:
        found = memory.recall(question, **keywords(options))
    _show(session, found, prompt)


@verb("briefing")
@entity_argument
@_limits
def briefing(session: Session, entity: str, prompt: bool, **options: Any) -> None:
    """What is believed of ENTITY, for the start of a conversation."""
    with session.memory() as memory:
        found = memory.briefing(entity, **keywords(options))
    _show(session, found, prompt)


@verb("search")
@click.argument("text")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many rows.  [default: 100]")
@scope_option
def search(session: Session, text: str, **options: Any) -> None:
    """List the beliefs, of any time, that hold every word of TEXT."""
    from syncmem.cli.words import belief_text, slot_text

    with session.memory() as memory:
        found = memory.search(text, **keywords(options))
    zone = session.display_zone
    lines = [f"{slot_text(b.entity, b.predicate, b.scope)} = {belief_text(b, zone)}" for b in found]
    session.show([belief.to_dict() for belief in found], lambda: "\n".join(lines) or "nothing found")


@verb("why-said")
@click.argument("receipt_or_text")
@click.option("--share", is_flag=True, help="Let the other devices tell it, too, once they have synced.")
def why_said(session: Session, receipt_or_text: str, share: bool) -> None:
    """What a model had been given, and what would be different now.

    RECEIPT_OR_TEXT is a receipt, or any text that holds one or the block that was handed out; '-' reads it.
    """
    text = sys.stdin.read() if receipt_or_text == "-" else receipt_or_text
    with session.memory() as memory:
        said = memory.why_said(text)
        if share:
            memory.share_recall(said.receipt)
    session.show(said.to_dict(), lambda: _told(session, said))


@verb("index")
def index(session: Session) -> None:
    """Make all that recall needs: texts, and vectors where an embedder is installed."""
    with session.memory() as memory:
        memory.index()
    session.show({"indexed": True}, lambda: "everything is indexed")


def _show(session: Session, found: Recalled, prompt: bool) -> None:
    if prompt:
        session.show(found.to_dict(), lambda: found.prompt)
    else:
        session.show(found.to_dict(), lambda: _lines(session, found))


def _lines(session: Session, found: Recalled) -> str:
    lines = [_hit(session, hit) for hit in found.hits] or ["nothing found"]
    lines += [f"(cut by the budget) {_hit(session, hit)}" for hit in found.cut]
    lines += [f"receipt {found.receipt}"] if found.receipt else []
    return "\n".join([*lines, *(f"note: {note}" for note in found.notes)])


def _hit(session: Session, hit: Hit) -> str:
    from syncmem.cli.words import belief_text, slot_text

    belief = hit.belief
    told = f"{slot_text(belief.entity, belief.predicate, belief.scope)} = {belief_text(belief, session.display_zone)}"
    return f"{'was: ' if hit.past else ''}{told}  ({', '.join(hit.why)} {hit.score:.2f})"


def _told(session: Session, said: Said) -> str:
    from syncmem.cli.words import belief_text, escaped, slot_text

    lines = [escaped(said.text)]
    for claim in said.claims:
        given = "given" if claim.handed else "cut"
        belief = claim.belief
        told = "(erased)"
        if belief is not None:
            slot = slot_text(belief.entity, belief.predicate, belief.scope)
            told = f"{slot} = {belief_text(belief, session.display_zone)}"
        lines.append(f"  {given}: {told}  [{escaped(claim.since)}]")
    return "\n".join(lines)
