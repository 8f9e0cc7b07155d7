"""What an interface of another library is passed that it does not take: this library's errors, and nothing written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

from syncmem import InvalidInput, Memory
from syncmem.integrations.anthropic_memory import MemoryFiles
from syncmem.integrations.langgraph import SyncmemStore
from syncmem.integrations.mem0 import Memory as Mem0
from syncmem.integrations.openai_agents import Session

ANA = ("users", "ana")
HELLO = {"role": "user", "content": "Hello"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, zone="UTC") as memory:
        yield memory


def put(*given: Any, **more: Any) -> Callable[[Memory], Any]:
    return lambda memory: SyncmemStore(memory).put(*given, **more)


def doing(operation: Any) -> Callable[[Memory], Any]:
    return lambda memory: SyncmemStore(memory).batch([operation])


def store(**given: Any) -> Callable[[Memory], Any]:
    return lambda memory: SyncmemStore(**{"memory": memory, **given})


def adding(items: Any) -> Callable[[Memory], Any]:
    return lambda memory: asyncio.run(Session("chat", memory).add_items(items))


def mem0(verb: str, *given: Any, **more: Any) -> Callable[[Memory], Any]:
    return lambda memory: getattr(Mem0(memory), verb)(*given, **more)


WRONG: dict[str, tuple[Callable[[Memory], Any], str]] = {
    "a namespace that is a text": (put("users", "k", {"a": 1}), "a tuple of texts, not 'users'"),
    "a namespace that is a list": (put(["users"], "k", {"a": 1}), "a tuple of texts"),
    "a namespace of numbers": (doing(GetOp((1,), "k")), "a tuple of texts"),
    "no namespace": (doing(GetOp(5, "k")), "a tuple of texts"),  # type: ignore[arg-type]
    "a search in a text": (doing(SearchOp("users")), "a tuple of texts"),  # type: ignore[arg-type]
    "a value that is a list": (put(ANA, "k", [1]), "a value is a dict, not list"),
    "a value that is a text": (put(ANA, "k", "x"), "a value is a dict, not str"),
    "an index that is a text": (put(ANA, "k", {"a": 1}, index="a"), "a list of fields, not 'a'"),
    "a limit that is a text": (doing(SearchOp(ANA, limit="x")), "not 'x'; pass 0"),  # type: ignore[arg-type]
    "a query that is a number": (doing(SearchOp(ANA, query=5)), "a query is text"),  # type: ignore[arg-type]
    "a depth below nothing": (doing(ListNamespacesOp(max_depth=-1)), "max_depth .* pass 0"),
    "a put of a text as a path": (doing(PutOp("ab", "k", {"a": 1})), "a tuple of texts"),  # type: ignore[arg-type]
    "a store over a path": (store(memory="x.db"), "memory= takes a Memory, not str"),
    "a store whose index is a list": (store(index=["text"]), "index= takes a dict or None"),
    "an index whose fields are a text": (store(index={"fields": "text"}), r"a list; pass \['text'\]"),
    "an index with a misspelt key": (store(index={"field": ["text"]}), "has no field; it has dims"),
    "an index of no embedder": (store(index={"embed": "nope"}), "'nope' is no embedder .*; pass one of"),
    "a store whose ttl is a number": (store(ttl=5), "ttl= takes a dict or None"),
    "metadata that is a number": (mem0("add", "x", user_id="a", infer=False, metadata=5), "metadata is a dict"),
    "filters that are a list": (mem0("search", "x", filters=["a"]), "filters is a dict"),
    "a session without a name": (lambda memory: Session(5, memory), "session_id= takes text"),  # type: ignore[arg-type]
    "a session over a path": (lambda memory: Session("a", "x.db"), "takes a Memory or"),  # type: ignore[arg-type]
    "items that are a text": (adding("Hello"), "items= takes a list"),
    "an item that is a text": (adding([HELLO, "Hello"]), "items are dicts"),
    "an item that is no JSON": (adding([HELLO, {"role": "user", "content": b"x"}]), "cannot be written as JSON"),
    "an item that is no number": (adding([{"n": float("nan")}]), "cannot be written as JSON"),
    "a limit of items that is a text": (
        lambda memory: asyncio.run(Session("a", memory).get_items("x")),  # type: ignore[arg-type]
        "limit= takes a whole number or None",
    ),
    "files over a path": (lambda memory: MemoryFiles("x.db"), "memory= takes a Memory"),  # type: ignore[arg-type]
    "mentions that are a text": (lambda memory: MemoryFiles(memory, mentions="ana"), "a list of texts"),
}


@pytest.mark.parametrize("called", WRONG)
def test_what_is_not_taken_is_refused_with_the_next_step_and_nothing_is_written(memory: Memory, called: str) -> None:
    SyncmemStore(memory)  # defines its predicate
    before = memory.event_digest()
    call, said = WRONG[called]
    with pytest.raises(InvalidInput, match=said) as error:
        call(memory)
    assert ";" in str(error.value)
    assert memory.event_digest() == before
