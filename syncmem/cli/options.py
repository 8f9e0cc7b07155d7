"""Arguments and options that several verbs share, and how they become arguments of Memory.

Rule: an option is named like the keyword that it fills; what is not given is not passed, so every
default is the library's.  Dates and durations go through as text and are read by the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from syncmem.cli.session import Command, Session
from syncmem.errors import SyncmemError

TIERS: Final = ("user", "integration", "document", "inference")
DATE: Final = "DATE"
DURATION: Final = "DURATION"


class Trust(click.ParamType[int | str]):
    """A tier by name, or a number from 0 to 100."""

    name = "trust"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value)
        if text in TIERS or (text.isascii() and text.isdigit()):
            return text if text in TIERS else int(text)
        self.fail(f"{text!r} is no trust; use {', '.join(TIERS)} or 0 to 100", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(tier) for tier in TIERS if tier.startswith(incomplete)]


class Span(click.ParamType[tuple[int, int]]):
    """A passage of an episode: its first character and the one behind its last."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        first, colon, last = str(value).partition(":")
        if not colon or not (first + last).isascii() or not first.isdigit() or not last.isdigit():
            self.fail(f"{value!r} is no passage; say FIRST:LAST, such as 2:17", param, ctx)
        return int(first), int(last)


class Known(click.ParamType[int | str]):
    """A date as text, or a transaction number such as tx17."""

    name = "known"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value)
        number = text.removeprefix("tx")
        return int(number) if number != text and number.isascii() and number.isdigit() else text


def together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator; help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


# -- what is spoken about ----------------------------------------------------------------------------


def _known(find: Callable[[Any, click.Context], list[str]]) -> Callable[..., list[str]]:
    """Completion from the memory itself; silent where there is none."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        try:
            with ctx.ensure_object(Session).memory() as memory:
                return [name for name in find(memory, ctx) if name.startswith(incomplete)]
        except SyncmemError:
            return []

    return complete


_complete_entity = _known(lambda memory, ctx: memory.entities())
entity_argument = click.argument("entity", shell_complete=_complete_entity)
optional_entity = click.argument("entity", required=False, shell_complete=_complete_entity)
_complete_predicate = _known(lambda memory, ctx: sorted(memory.predicates()))
predicate_argument = click.argument("predicate", shell_complete=_complete_predicate)
optional_predicate = click.argument("predicate", required=False, shell_complete=_complete_predicate)
slot_arguments = together(entity_argument, predicate_argument)

value_options = together(
    click.argument("value", required=False),
    click.option("--value-json", metavar="JSON", help="The value as JSON, instead of VALUE as text."),
    click.option("--none", "no_value", is_flag=True, help="The value is: it is known that there is none."),
)


def taken_value(options: dict[str, Any]) -> object:
    """The one value among the options of ``value_options``, which are removed."""
    text, as_json, none = options.pop("value"), options.pop("value_json"), options.pop("no_value")
    if (text is not None) + (as_json is not None) + none != 1:
        raise click.UsageError("Give one value: VALUE as text, or --value-json JSON, or --none.")
    if text is not None:
        return text
    from syncmem.model.value import NONE, from_json

    return NONE if none else from_json(as_json)


# -- who says so, and when ---------------------------------------------------------------------------

scope_option = click.option("--scope", metavar="NAME", help="The unit of sharing.  [default: vault]")
source_options = together(
    click.option("--trust", type=Trust(), metavar="TIER|0..100", help=f"{', '.join(TIERS)} or a number."),
    click.option("--source", metavar="KIND", help="Kind of source: user, document, integration, model ..."),
    click.option("--source-id", metavar="ID", help="Which one: an account, a file, a model's name."),
    click.option("--episode", metavar="ID", help="The conversation or document it was taken from."),
    click.option("--span", type=Span(), metavar="FIRST:LAST", help="The passage of --episode, in characters."),
    click.option("--reason", metavar="TEXT", help="Kept with the event."),
)
said_options = together(
    scope_option,
    source_options,
    click.option("--observed-at", metavar=DATE, help="When it was said or seen.  [default: now]"),
    click.option("--batch", metavar="ID", help="An import or run, to be withdrawn as a whole."),
)
bounds_options = together(
    click.option("--since", metavar=DATE, help="A state that has held since then."),
    click.option("--changed-on", metavar=DATE, help="A change that happened then."),
    click.option("--until", metavar=DATE, help="The last day (or month ...) on which it holds."),
    click.option("--valid-to", metavar=DATE, help="The first moment at which it no longer holds."),
    click.option("--expires-at", metavar=DATE, help="The moment at which this temporary value lapses."),
    click.option("--then", type=click.Choice(["resume", "vacate"]), help="After its end: the older value, or nothing."),
    click.option("--ttl", metavar=DURATION, help="Lapses this long after it was last affirmed, such as 30d."),
    click.option("--stale-after", metavar=DURATION, help="Counts with --stale-trust from then on."),
    click.option("--stale-trust", type=Trust(), metavar="TIER|0..100"),
)
known_at_option = click.option(
    "--known-at", type=Known(), metavar="DATE|txN", help="As this device believed it then, or after its transaction N."
)
view_options = together(
    known_at_option,
    click.option("--asserted-by", metavar=DATE, help="By what had been said anywhere until then."),
    click.option("--device", metavar="ID", help="As another device believed it."),
)
valid_at_option = click.option("--valid-at", metavar=DATE, help="What held then.  [default: now]")


def keywords(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, as keywords of Memory's verbs."""
    given = {name: value for name, value in options.items() if value is not None}
    source = {"kind": "source", "id": "source_id", "episode": "episode", "span": "span"}
    stated = {field: given.pop(option) for field, option in source.items() if option in given}
    if stated:
        from syncmem.results import Source

        given["source"] = Source(**stated)
    return given
