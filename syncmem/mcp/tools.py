"""The tools: what a model may do with a memory, and with how much trust.

Rules: what a model says counts as inferred, so it overrules nothing that the user said; only the user, asked by the
client, answers a question; what was known when, erasing and keys are not offered; an error tells the next step.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from syncmem.comparing import Difference
from syncmem.errors import SyncmemError
from syncmem.mcp.quoting import spoken
from syncmem.mcp.shapes import Asked, Found, Held, State, Step, Written, plain
from syncmem.memory import Memory
from syncmem.model.value import NONE
from syncmem.results import Source

P = ParamSpec("P")
R = TypeVar("R")
Whose = Callable[[], AbstractContextManager[Memory]]  # the memory of whoever asks, open while it is answered

READS: Final = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
WRITES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
QUESTIONS_MAX: Final = 20
HITS_MAX: Final = 50
_TRUST: Final = "inference"  # what a model says is no word of the user

Entity = Annotated[str, Field(description="who or what it is about, a short stable name such as 'ana'")]
Predicate = Annotated[str, Field(description="what about them, such as 'home_city'; status lists those in use")]
Date = Annotated[str | None, Field(description="2025, 2025-03, 2025-03-14 or 2025-03-14T09:00Z")]
Value = Annotated[Any, Field(description="text, number, true/false, list or object; null: there is none")]
Event = Annotated[str, Field(description="the id of the statement, from believe or history")]


def told(tool: Callable[P, R], refusal: Callable[[str], Exception] = ToolError) -> Callable[P, R]:
    """A tool whose refusals reach the model as they are written, and a list as one text, also where it is empty."""

    @functools.wraps(tool)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            found = tool(*args, **kwargs)
        except SyncmemError as error:
            raise refusal(str(error)) from error
        return _as_one_text(found) if isinstance(found, list) else found  # type: ignore[return-value]

    return run


def _as_one_text(found: list[Any]) -> CallToolResult:
    """A list as the SDK tells it to programs; to a model that reads the text alone it would say nothing of no items."""
    items = [item.model_dump(mode="json") for item in found]
    text = json.dumps(items, ensure_ascii=False, indent=2)
    return CallToolResult(content=[TextContent(text=text)], structured_content={"result": items})


class Tools:
    """The tools over the memory of whoever asks; ``agent`` names the model's host in the sources of what it says."""

    def __init__(self, whose: Whose, agent: str) -> None:
        self._whose = whose
        self._source = Source("model", agent)

    # -- reading ------------------------------------------------------------------------------------

    def recall(
        self,
        question: Annotated[str, Field(description="what you need to know, in words")],
        entity: Annotated[str | None, Field(description="only about this one")] = None,
        valid_at: Date = None,
        token_budget: Annotated[int, Field(ge=50, le=20_000)] = 800,
    ) -> Found:
        """Find what is known that helps with a question. Use it before answering anything about the user.

        Only what holds (now, or at valid_at) is found. "contested" means: ask before relying on it.
        """
        with self._whose() as memory:
            found = memory.recall(
                question, k=HITS_MAX, token_budget=token_budget, entity=entity, valid_at=valid_at, scope=None
            )
        return Found.of(found)

    def briefing(self, entity: Entity, token_budget: Annotated[int, Field(ge=50, le=20_000)] = 800) -> Found:
        """What is believed of somebody, for the start of a conversation."""
        with self._whose() as memory:
            return Found.of(memory.briefing(entity, token_budget=token_budget, scope=None))

    def believe(
        self,
        entity: Entity,
        predicate: Annotated[str | None, Field(description="only this; missing: all that is believed")] = None,
        valid_at: Date = None,
    ) -> list[Held]:
        """What is believed of an entity, now or as it was at a time in the world. Empty: not known."""
        with self._whose() as memory:
            return [Held.of(belief) for belief in memory.beliefs(entity, predicate, valid_at=valid_at)]

    def history(self, entity: Entity, predicate: Predicate) -> list[Step]:
        """All that was ever said about one thing, in the order in which it was learned, and what became of it."""
        with self._whose() as memory:
            return [Step.of(entry) for entry in memory.history(entity, predicate)]

    def why(self, entity: Entity, predicate: Predicate, valid_at: Date = None) -> str:
        """Why something is believed: who said so, what supports it, what it lost or won against."""
        with self._whose() as memory:
            return memory.why(entity, predicate, valid_at=valid_at).text

    def questions(self) -> list[Asked]:
        """What only the user can decide. Raise one when it fits the conversation, then call answer with its id."""
        with self._whose() as memory:
            return [Asked.of(question) for question in memory.questions()[:QUESTIONS_MAX]]

    def status(self) -> State:
        """Whether the memory is in sync with the user's other devices, and what it knows of."""
        with self._whose() as memory:
            return State.of(memory)

    def changed(self, since: str) -> str:
        """What is believed differently since a day, in lines."""
        with self._whose() as memory:
            lines = [_difference(each) for each in memory.changes(since, scope=None)]
        return "\n".join([f"What is believed differently since {since}:", *lines]) if lines else "Nothing changed."

    # -- writing ------------------------------------------------------------------------------------

    def remember(
        self,
        entity: Entity,
        predicate: Predicate,
        value: Value,
        since: Annotated[Date, Field(description="if it was said since when it holds")] = None,
        changed_on: Annotated[Date, Field(description="if it was told as a change: its day")] = None,
        until: Annotated[Date, Field(description="if it holds for a time only: its last day")] = None,
        quote: Annotated[str | None, Field(description="the words of the user that say it, exactly")] = None,
    ) -> Written:
        """Keep something that was learned about somebody. Say the same again when you hear it again.

        Nothing is overwritten: a newer value closes the older one at its date, and what the user stated stands against
        what you infer. With a quote that the user really said it counts as their word. Do not keep wishes, examples,
        what others are quoted with, or your own words.
        """
        held = NONE if value is None else value
        with self._whose() as memory:
            passage = None if quote is None else spoken(memory, quote, value)
            said = memory.remember(
                entity,
                predicate,
                held,
                since=since,
                changed_on=changed_on,
                until=until,
                source=passage or self._source,
                trust=_TRUST if passage is None else "user",
            )
        return Written.of(said, as_their_word=passage is not None)

    def end(
        self,
        entity: Entity,
        predicate: Predicate,
        value: Value,
        at: Annotated[Date, Field(description="the day on which it ended, if it was said")] = None,
    ) -> Written:
        """Something holds no longer ("she left the company"); what follows is not known. Use remember if it is."""
        changed, held = at is not None, NONE if value is None else value
        with self._whose() as memory:
            said = memory.end(entity, predicate, held, at=at, changed=changed, source=self._source, trust=_TRUST)
        return Written.of(said)

    def retract(self, event: Event, reason: Annotated[str, Field(description="in a few words")]) -> Written:
        """A statement of yours was a mistake and never held. What the user stated you cannot retract; ask them."""
        with self._whose() as memory:
            return Written.of(memory.retract(event, reason=reason, source=self._source, trust=_TRUST))

    def correct(self, event: Event, value: Value) -> Written:
        """A statement of yours had the wrong value; its dates stay."""
        held = NONE if value is None else value
        with self._whose() as memory:
            return Written.of(memory.correct(event, held, source=self._source, trust=_TRUST))


def _difference(each: Difference) -> str:
    """One line; values are JSON, so that none of them begins a line or an instruction of its own."""
    before, now = (
        ", ".join(json.dumps(plain(belief.value), ensure_ascii=True) for belief in beliefs) or "nothing"
        for beliefs in (each.before, each.now)
    )
    return f"- {json.dumps(each.entity)} {json.dumps(each.predicate)}: {before} became {now}"
