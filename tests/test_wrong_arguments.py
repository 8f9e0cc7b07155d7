"""Every public method, passed what it does not take: an error that says what to pass, and nothing has changed."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import syncmem
from syncmem import Candidate, InvalidInput, Memory, Source, SyncmemError, Utterance

WRONG: dict[str, Any] = {
    "None": None,
    "a list": [7],
    "a number": 7,
    "what no file holds": 2**63,
    "no number": math.nan,
    "below zero": -1,
    "bytes": b"x",
    "half a surrogate pair": "\ud800",
    "a null character": "a\0b",
    "an object": object(),
}
RIGHT: dict[str, Any] = {  # what is said, by the names of parameters that have no default; more is said in ``told``
    "entity": "ana",
    "other": "bob",
    "predicate": "city",
    "value": "Lisbon",
    "content": "hello",
    "text": "hello",
    "cardinality": "single",
    "since": "2025-01-01",
    "question": "where?",
    "scopes": ["work"],
    "policy": "all",
    "pack": "personal",
    "candidates": [],
    "answer": "x",
    "extractor": "english",
    "version": 1,
    "scope": "work",
    "name": "phone",
    "address": "memory:",
    "receipt": "r-1",
    "about": "r-1",
    "kind": "mem0",
    "callback": print,
    "code": "SYNCMEM-1",
    "phrase": "word " * 24,
    "mailbox": "folder:nowhere",
}
REST = {"retract": "events", "undo": "events", "fetch": "ids"}  # what has to be named; no mailbox has to
TAKES_NOTHING = {"close", "rebuild"}


def methods() -> list[str]:
    named = [name for name in dir(Memory) if not name.startswith("_") and name not in TAKES_NOTHING]
    return [name for name in named if callable(getattr(Memory, name))]


def calls(name: str, right: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Each parameter in turn with each wrong value; all that is needed besides is right."""
    parameters = list(inspect.signature(getattr(Memory, name)).parameters.values())
    for wronged in [each for each in parameters if each.name != "self" and each.kind is not each.VAR_KEYWORD]:
        for called, wrong in WRONG.items():
            args: list[Any] = []
            kwargs: dict[str, Any] = {}
            for each in [each for each in parameters if each.name != "self"]:
                said = wrong if each is wronged else right.get(each.name)
                if each.kind is each.VAR_POSITIONAL:
                    args += [said] if each is wronged or name in REST else []
                elif each.kind is each.POSITIONAL_ONLY:
                    args.append(said)
                elif each.kind is not each.VAR_KEYWORD and (each is wronged or each.default is each.empty):
                    kwargs[each.name] = said
            yield f"{name}({wronged.name}= {called})", tuple(args), kwargs


def state(memory: Memory) -> tuple[Any, ...]:
    return memory.event_digest(), memory.last_known(), len(memory._in_doubt()), len(memory._queue())


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC", embedder=None) as memory:
        memory.define("city", cardinality="single")
        yield memory


def refused(memory: Memory, called: str, method: Any, *args: Any, **kwargs: Any) -> None:
    """Whatever is raised is an error of this package with a next step, after which all is as it was."""
    before = state(memory)
    try:
        method(*args, **kwargs)
    except SyncmemError as error:
        assert ";" in str(error), f"{called} tells no next step: {error}"
        assert state(memory) == before, f"{called} changed something"
    except Exception as error:
        pytest.fail(f"{called} raises {type(error).__name__}: {error}")


@pytest.mark.parametrize("name", methods())
def test_what_a_method_does_not_take_is_refused_with_the_next_step(name: str, memory: Memory, tmp_path: Path) -> None:
    claim = memory.remember("ana", "city", "Lisbon").event
    turn = memory.observe("I live in Lisbon.", speaker="ana").episode
    told = {"event": claim, "events": claim, "id": turn, "ids": turn, "episode": turn, "device": memory.device}
    for called, args, kwargs in calls(name, {**RIGHT, **told, "path": str(tmp_path / "there")}):
        refused(memory, called, getattr(memory, name), *args, **kwargs)


def test_what_a_correction_does_not_take_is_refused(memory: Memory) -> None:
    """It takes what ``remember`` takes, and hands it on; what it does not take (``affirm``) it says."""
    taken = inspect.signature(Memory.remember).parameters.values()
    for name in [each.name for each in taken if each.kind is each.KEYWORD_ONLY]:
        for called, wrong in WRONG.items():
            claim = memory.remember("ana", "city", "Lisbon", affirm=False).event
            refused(memory, f"correct({name}= {called})", memory.correct, claim, "Porto", **{name: wrong})


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", ["path", "key", "zone", "wait_seconds", "environment", "embedder"])
def test_a_memory_opens_with_nothing_that_it_does_not_take(name: str, wrong: object, tmp_path: Path) -> None:
    given = {"path": str(tmp_path / "one.db"), name: wrong}
    try:
        Memory(**given).close()
    except SyncmemError as error:
        assert ";" in str(error)


def test_an_error_says_which_argument_and_what_it_takes(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"^mentions= takes a list of texts, not None; pass a list of texts$"):
        memory.remember("ana", "city", "Lisbon", mentions=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"^limit= is beyond 64 bits; pass a smaller number$"):
        memory.questions(limit=2**63)
    with pytest.raises(InvalidInput, match=r"^path= holds a NUL character, which no path can; pass another one$"):
        memory.export_bundle("a\0b")


def test_text_that_names_a_source_is_its_kind_and_its_id(memory: Memory) -> None:
    """So that a letter is a document, which says its date, and not a kind that nobody knows, with the user's trust."""
    with pytest.raises(InvalidInput, match="document's date; pass observed_at="):
        memory.remember("ana", "city", "Lisbon", source="document:letter")
    said = memory.remember("ana", "city", "Lisbon", source="document:letter", observed_at="2025-01-01")
    assert memory.event(said.event).source == Source("document", "letter")
    assert memory.event(said.event).trust == 50
    assert memory.withdraw(source="document:letter").taken == {"remember": 1}
    assert Candidate("ana", "city", "Faro", source=Source("assistant:helper")).source == Source("assistant", "helper")


@pytest.mark.parametrize(
    ("source", "trust"),
    [
        (None, 90),
        ("user", 90),
        ("integration:calendar", 70),
        ("document", 50),
        ("model", 90),
        ("mail-import", 90),
    ],
)
def test_trust_that_is_not_said_is_that_of_the_kind_of_the_source(
    memory: Memory, source: str | None, trust: int
) -> None:
    told: dict[str, Any] = {"source": source, "observed_at": "2025-01-01", "affirm": False}
    assert memory.event(memory.remember("ana", "city", "Lisbon", **told).event).trust == trust
    assert memory.event(memory.remember("ana", "city", "Lisbon", **told, trust=60).event).trust == 60


MADE: dict[str, dict[str, Any]] = {  # what else callers call, with what each needs
    "Candidate": {"entity": "ana", "predicate": "city", "value": "Lisbon"},
    "Source": {"kind": "user"},
    "Utterance": {"text": "I live in Lisbon.", "speaker": "ana"},
    "english": {"said": Utterance("I live in Lisbon.", speaker="ana")},
    "repair": {"path": "there.db"},
    "restore": {"backup_path": "there.db", "path": "here.db"},
}


@pytest.mark.parametrize("name", MADE)
def test_what_else_is_called_refuses_what_it_does_not_take(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = getattr(syncmem, name)
    for parameter in inspect.signature(called).parameters.values():
        for wrong in WRONG.values() if parameter.kind is not parameter.VAR_KEYWORD else ():
            try:
                called(**{**MADE[name], parameter.name: wrong})
            except SyncmemError as error:
                assert ";" in str(error), f"{name}({parameter.name}={wrong!r}) tells no next step: {error}"
    assert list(tmp_path.iterdir()) == []
