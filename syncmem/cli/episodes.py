"""The verbs of episodes: what was said or written, kept as it was."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from syncmem.cli.options import DATE, keywords, scope_option
from syncmem.cli.session import Session, verb
from syncmem.model.episode import EPISODE_BYTES_MAX

if TYPE_CHECKING:
    from datetime import tzinfo

    from syncmem.observed import EpisodeInfo, Observation

STDIN: Final = "-"


@verb("observe")
@click.argument("file", metavar="FILE|-")
@click.option("--speaker", metavar="ENTITY", help="Who spoke or wrote; it is erased with them.")
@click.option("--at", metavar=DATE, help="When it was said or written; a document needs it.  [default: now]")
@click.option("--kind", metavar="WORD", help="turn, document, or a word of your own.  [default: document; of -: turn]")
@click.option("--conversation", metavar="ID", help="What turns belong to.")
@click.option("--title", metavar="TEXT")
@click.option("--media-type", metavar="TYPE", help="[default: by the name of FILE; of -: text/plain]")
@click.option("--mentions", metavar="ENTITY", multiple=True, help="Who else it speaks of; may be repeated.")
@click.option("--source", metavar="KIND", help="Whose word it is.  [default: document for a document, else user]")
@scope_option
def observe(session: Session, file: str, **options: Any) -> None:
    """Keep what was said or written, as it was.

    Claims can point at it. "-" is standard input.

    \b
      echo "I moved to Lisbon in May." | syncmem observe - --speaker ana --at 2024-06-01T09:00Z
      syncmem observe lease.pdf --speaker landlord --at 2024-05-20
      syncmem remember ana home_city Lisbon --episode ID
    """
    given = {"kind": "turn" if file == STDIN else "document", **keywords(options)}
    content: object
    if file == STDIN:
        content, given = sys.stdin.buffer.read(EPISODE_BYTES_MAX + 1), {"media_type": "text/plain", **given}
    else:
        from pathlib import Path

        content, given = Path(file), {"media_type": _guessed(file), **given}
    with session.memory() as memory:
        observation = memory.observe(content, **given)
    session.show(observation.to_dict(), lambda: observation_text(observation))


def _guessed(file: str) -> str | None:
    """The media type that a name suggests."""
    import mimetypes

    return mimetypes.guess_type(file)[0]


def observation_text(observation: Observation) -> str:
    """What observing came to, on one line."""
    state = "observed" if observation.new else "known already, nothing was written"
    return f"{observation.episode}  {state}, {observation.size} bytes"


@verb("episodes")
@click.option("--speaker", metavar="ENTITY")
@click.option("--since", metavar=DATE)
@click.option("--until", metavar=DATE)
@click.option("--conversation", metavar="ID")
@scope_option
def episodes(session: Session, **options: Any) -> None:
    """List what was observed, the earliest first."""
    with session.memory() as memory:
        found = memory.episodes(**keywords(options))
    zone = session.display_zone
    session.show(
        [one.to_dict() for one in found], lambda: "\n".join(_line(one, zone) for one in found) or "nothing was observed"
    )


@verb("episode")
@click.argument("id")
@click.option("--text", "content", flag_value="text", help="Print its text instead, fetched if it is not here.")
@click.option("--raw", "content", flag_value="raw", help="Print its bytes instead.")
@click.option("--no-fetch", is_flag=True, help="Ask no mailbox for what is not here.")
def episode(session: Session, id: str, content: str | None, no_fetch: bool) -> None:
    """What is known of an episode, or what was said in it.

    \b
      syncmem episode ID
      syncmem episode ID --raw > lease.pdf
    """
    with session.memory() as memory:
        if content == "raw":
            for part in memory.content(id, fetch=not no_fetch):
                click.echo(part, nl=False)
            return
        found = memory.episode(id)
        told = {"text": memory.episode_text(id, fetch=not no_fetch)} if content else {}
    zone = session.display_zone
    session.show(found.to_dict() | told, lambda: _shown(told["text"]) if told else _line(found, zone))


@verb("fetch")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--always", "policy", flag_value="all", help="From now on keep all content on this device.")
@click.option("--on-demand", "policy", flag_value="on_demand", help="From now on keep what is read here.")
def fetch(session: Session, ids: tuple[str, ...], policy: str | None) -> None:
    """Bring the content of episodes here (without ID: of all)."""
    with session.memory() as memory:
        if policy is not None:
            memory.set_fetching(policy)
        parts = memory.fetch(*ids) if policy != "on_demand" or ids else 0
        lacking = sum(one.chunks - one.chunks_here for one in memory.episodes() if not ids or one.id in ids)
    told = {"fetched": parts, "lacking": lacking}
    session.show(told, lambda: f"{parts} parts came, {lacking} are not here.")


def _line(one: EpisodeInfo, zone: tzinfo) -> str:
    from syncmem.cli.words import escaped
    from syncmem.model.instant import local_text

    parts = [
        one.id,
        local_text(one.at, zone) or "undated",
        escaped(one.kind),
        escaped(one.speaker or ""),
        escaped(one.title or one.conversation or ""),
        f"{one.size} bytes of {escaped(one.media_type)}",
        f"{one.chunks_here} of {one.chunks} parts are here" if one.chunks else "",
        f"scope {escaped(one.scope)}" if one.scope != "vault" else "",
    ]
    return "  ".join(part for part in parts if part)


def _shown(text: str) -> str:
    """Text from anywhere, line by line, without control sequences."""
    from syncmem.cli.words import escaped

    return "\n".join(escaped(line.replace("\t", "    ")) for line in text.splitlines())
