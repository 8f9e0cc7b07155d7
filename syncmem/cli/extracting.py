"""The verbs that draw claims from what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncmem.cli.options import together
from syncmem.cli.session import Session, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncmem.judging.rederiving import Derivation

_by = together(
    click.option("--extractor", default="english", show_default=True, metavar="NAME", help="Or one of a plug-in."),
    click.option("--version", default="1", show_default=True, metavar="WORD", help="Of the extractor."),
)


@verb("extract")
@click.argument("episodes", metavar="EPISODE...", nargs=-1, required=True)
@_by
def extract(session: Session, episodes: tuple[str, ...], extractor: str, version: str) -> None:
    """Draw claims from what was said or written.

    Each is judged, and points at the words that it rests on. A version writes nothing twice; what other versions of
    the extractor drew from the episode is withdrawn.

    \b
      syncmem extract $(syncmem episodes --json | jq -r '.[].id')
    """
    with session.memory() as memory:
        derived = [memory.extract(episode, extractor, version=version) for episode in episodes]
    _show(session, derived)


@verb("reextract")
@_by
def reextract(session: Session, extractor: str, version: str) -> None:
    """Draw anew what other versions of an extractor had drawn.

    What was taken back does not come again from the same words.
    """
    with session.memory() as memory:
        derived = memory.reextract(extractor, version=version)
    _show(session, derived)


def _show(session: Session, derived: Sequence[Derivation]) -> None:
    session.show([each.to_dict() for each in derived], lambda: "\n".join(map(_lines, derived)) or "nothing to do")


def _lines(derivation: Derivation) -> str:
    from syncmem.cli.words import escaped

    withdrawn = f", {len(derivation.withdrawn)} older batch withdrawn" if derivation.withdrawn else ""
    known = "drawn before" if derivation.known else f"{len(derivation.judged)} judged"
    lines = [f"{derivation.episode}  {known}{withdrawn}"]
    for judged in derivation.judged:
        heard = judged.candidate
        told = f"{heard.entity} {judged.predicate} = {heard.value!r}"
        lines.append(f"  {judged.outcome}: {escaped(told)}  ({escaped(judged.because)})")
    return "\n".join(lines)
