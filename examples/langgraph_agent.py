"""A LangGraph agent that remembers its user: what changed is superseded, never lost, and other devices have it too."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from syncmem.integrations.langgraph import PREDICATE, SyncmemStore


class State(TypedDict):
    user: str
    said: str
    answer: str


def model(said: str, known: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Stands for a model: what it answers, and what it wants to keep. (It needs no network.)"""
    learned = dict(re.findall(r"my (\w+) is (\w+)", said.lower()))
    asked = re.findall(r"what is my (\w+)\?", said.lower())
    answers = [f"Your {name} is {known.get(name, 'unknown to me')}." for name in asked]
    return " ".join(answers) or "Noted.", learned


def talk(state: State, *, store: BaseStore) -> dict[str, str]:
    mine = ("users", state["user"])
    known = {item.key: item.value["is"] for item in store.search(mine, limit=50)}
    answer, learned = model(state["said"], known)
    for name, value in learned.items():
        store.put(mine, name, {"is": value})
    return {"answer": answer}


builder = StateGraph(State)
builder.add_node("talk", talk)
builder.add_edge(START, "talk")
builder.add_edge("talk", END)

with (
    tempfile.TemporaryDirectory() as folder,
    SyncmemStore.open(Path(folder, "laptop.db")) as laptop,
    SyncmemStore.open(Path(folder, "phone.db")) as phone,
):
    agent = builder.compile(store=laptop)
    for said in ["Hello, my city is Berlin.", "My city is Lisbon now.", "What is my city?", "What is my boat?"]:
        print(f"ana: {said}\n  laptop: {agent.invoke({'user': 'ana', 'said': said, 'answer': ''})['answer']}")
    print("  to bob:", agent.invoke({"user": "bob", "said": "What is my city?", "answer": ""})["answer"])

    phone.memory.merge(laptop.memory)  # or sync both through a folder or a relay
    there = builder.compile(store=phone)
    print("  phone:", there.invoke({"user": "ana", "said": "What is my city?", "answer": ""})["answer"])

    past = phone.memory.timeline(phone.entity(("users", "ana"), "city"), PREDICATE)
    print("it was:", ", then ".join(str(belief.value["is"]) for belief in past))
