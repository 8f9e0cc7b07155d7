"""A chat in the terminal whose assistant remembers: observe, extract, recall, answer.

``python examples/desktop_assistant.py`` plays a conversation; ``--chat assistant.db`` is one with you. The model is
scripted here, so that the example runs anywhere: it answers from the memory block in its prompt and from nothing else.
Any model takes its place: a function from a prompt to an answer.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator

from syncmem import Memory, english

USER, ASSISTANT = "ana", "assistant"
SAID = [
    "I live in Berlin since 2019. I speak German and Portuguese.",
    "Where do I live?",
    "I moved to Lisbon in April 2025.",
    "Where do I live?",
    "If I moved to Rome, I'd learn Italian.",
    "Which languages do I speak?",
    "Where did I live in 2024?",
]
PROMPT = """You are a helpful assistant. Answer from the memory, and say so if it does not tell.
{memory}
{user} asks: {question}"""


def scripted(prompt: str) -> str:
    """Stands for a model: it reads the beliefs out of the block that it is given."""
    asked = prompt.rpartition("asks: ")[2]
    told: dict[str, list[str]] = {}
    for predicate, value in re.findall(r'^- "ana" "(\w+)": "([^"]*)"', prompt, re.MULTILINE):
        told.setdefault(predicate, []).append(value)
    if re.search(r"\blanguages?\b", asked):
        return f"You speak {' and '.join(sorted(told['language']))}." if "language" in told else "I do not know."
    return f"In {told['home_city'][0]}." if "home_city" in told else "I do not know."


class Assistant:
    """Keeps what the user says, learns from it, and answers with what it knows."""

    def __init__(self, memory: Memory, model: Callable[[str], str]) -> None:
        self._memory = memory
        self._model = model
        memory.define_pack("personal")

    def hears(self, said: str, at: str | None = None) -> str:
        """The answer to what the user said."""
        turn = self._memory.observe(said, speaker=USER, at=at, conversation="desktop")
        learned = self._memory.extract(turn.episode, english, version=1).judged
        answer = self._answer(said) if said.rstrip().endswith("?") else noted([str(each.outcome) for each in learned])
        self._memory.observe(answer, speaker=ASSISTANT, source="assistant", at=at, conversation="desktop")
        return answer

    def _answer(self, question: str) -> str:
        year = re.search(r"\bin (\d{4})\b", question)
        then = {"valid_at": f"{year[1]}-07-01"} if year else {}
        found = self._memory.recall(question, entity=USER, token_budget=500, **then)
        return self._model(PROMPT.format(memory=found.to_prompt(), user=USER, question=question))


def noted(outcomes: list[str]) -> str:
    if not outcomes:
        return "I see."
    return f"Noted ({', '.join(outcomes)})."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--chat", metavar="FILE", help="talk to it yourself; it remembers in this file")
    chosen = parser.parse_args()
    with Memory(chosen.chat or ":memory:", zone="Europe/Lisbon", embedder=None) as memory:
        assistant = Assistant(memory, scripted)
        for said, at in turns(chat=chosen.chat is not None):
            print(f"{ASSISTANT}> {assistant.hears(said, at)}")
        why = memory.why(USER, "home_city").winner
        if why is not None:
            print(f"(it believes {why.value}, because {USER} said {why.quote!r})")


def turns(*, chat: bool) -> Iterator[tuple[str, str | None]]:
    """What the user says, and when: now, or on the days of the script."""
    if not chat:
        for day, said in enumerate(SAID, 1):
            print(f"{USER}> {said}")
            yield said, f"2025-04-{day:02}T09:00"
        return
    while True:
        try:
            said = input(f"{USER}> ").strip()
        except EOFError:
            return
        if said:
            yield said, None


if __name__ == "__main__":
    main()
