"""A scripted model that knows of the tools what the server says of them, and nothing else, finds its way.

It takes the tool whose words (rare ones weigh more) fit best what is to be done, and gives each argument the note that
fits its description best; what nothing is noted of it leaves out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log
from typing import Any

import pytest
from mcp import Client
from mcp.types import Tool

from syncmem import Memory
from syncmem.mcp.server import build
from tests.mcp.speaking import call, talk

Notes = dict[str, str]
_ENDINGS = re.compile(r"(?:ing|ed|es|s|e)$")


def words(text: str) -> set[str]:
    return {
        _ENDINGS.sub("", word) for word in re.findall(r"[a-z]+", text.casefold().replace("_", " ")) if len(word) > 1
    }


class Model:
    """Chooses tools and arguments by their descriptions."""

    def __init__(self, tools: list[Tool]) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.known = {tool.name: words(f"{tool.name} {tool.description}") for tool in tools}
        self.seen = Counter(word for known in self.known.values() for word in known)

    def choose(self, task: str) -> str:
        return max(self.known, key=lambda name: self._likeness(words(task), name))

    def _likeness(self, asked: set[str], name: str) -> float:
        rare = {word: log(1 + len(self.known) / self.seen[word]) for word in self.known[name]}
        return sum(rare[word] for word in asked & rare.keys()) / sum(rare.values()) ** 0.5

    def arguments(self, name: str, notes: Notes) -> dict[str, str]:
        schema, found = self.tools[name].input_schema, {}
        for field, about in schema.get("properties", {}).items():
            said = words(f"{field} {about.get('description', '')}")
            best = max(notes, key=lambda note: len(words(note) & said) / len(words(note)), default="")
            fits = len(words(best) & said) / max(1, len(words(best)))
            if fits > 0.5 or (field in schema.get("required", ()) and fits > 0):
                found[field] = notes[best]
        return found


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC", embedder=None) as opened:
        opened.define("home_city", cardinality="single")
        yield opened


TASKS = {
    "find what helps with a question before answering the user": "recall",
    "a conversation starts: what is believed of somebody?": "briefing",
    "what was believed of this entity at that time in the world?": "believe",
    "list all that was ever said about it, in order": "history",
    "who said so, and why is it believed?": "why",
    "which things can only the user decide?": "questions",
    "is everything in sync with the other devices?": "status",
    "keep what I learned about somebody": "remember",
    "it holds no longer: she left": "end",
    "I made a mistake, it never held": "retract",
    "the value I gave was wrong, its dates were right": "correct",
    "have the user asked and keep their answer": "answer",
}


def test_what_is_to_be_done_leads_to_the_tool_for_it(memory: Memory) -> None:
    async def say(client: Client) -> Any:
        model = Model(list((await client.list_tools()).tools))
        return {task: model.choose(task) for task in TASKS}

    assert talk(build(memory), say) == TASKS


def test_a_model_that_only_reads_them_keeps_corrects_and_ends_what_it_learns(memory: Memory) -> None:
    who = {"who it is about": "ana", "what about them": "home_city"}

    async def say(client: Client) -> Any:
        model = Model(list((await client.list_tools()).tools))

        async def do(task: str, **notes: str) -> Any:
            name = model.choose(task)
            given = {note.replace("_", " "): value for note, value in notes.items()}
            return await call(client, name, **model.arguments(name, who | given))

        await do("keep what I learned about somebody", text_value="Berlin", told_as_a_change_its_day="2019-05")
        await do("keep what I learned about somebody", text_value="Lissabon", told_as_a_change_its_day="2024-03")
        (wrong,) = await do("what is believed of this entity now in the world?")
        await do(
            "the value I gave was wrong, its dates were right", text_value="Lisbon", id_of_the_statement=wrong["event"]
        )
        right = await do("what is believed of this entity now in the world?")
        found = await do(
            "find what helps with a question before answering the user", what_you_need_to_know="home city?"
        )
        await do("it holds no longer: she left", text_value="Lisbon", the_day_on_which_it_ended="2025-01-01")
        return wrong, right, found, await do("what is believed of this entity now in the world?")

    wrong, right, found, ended = talk(build(memory), say)
    assert (wrong["value"], [(held["value"], held["since"]) for held in right], ended) == (
        "Lissabon",
        [("Lisbon", "2024-03-01T00:00:00Z")],
        [],
    )
    assert '"Lisbon"' in found["context"] and "Lissabon" not in found["context"]
    assert [(each.value, str(each.valid_to)[:10]) for each in memory.timeline("ana", "home_city")] == [
        ("Berlin", "2024-03-01"),
        ("Lisbon", "2025-01-01"),
    ]
