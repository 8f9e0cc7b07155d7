"""The vectors are what their generator makes, and this implementation answers each as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from protocol.vectors.generate.areas import all_vectors
from protocol.vectors.generate.vector import FOLDER, files_of, held, read
from syncmem.conformance.harness import answer
from syncmem.conformance.outcomes import Outcome

HELD = held()
VECTORS = read(HELD)
AREAS = sorted({name.partition("/")[0] for name in VECTORS})


def wrong(expected: dict[str, Any], found: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The fields in which an answer is another than the vector says; what a vector does not fix is free."""
    return {name: (value, found.get(name)) for name, value in expected.items() if found.get(name) != value}


def test_the_files_are_byte_for_byte_what_the_generator_makes() -> None:
    made = files_of(all_vectors())
    assert sorted(made) == sorted(HELD)
    assert [path for path in made if made[path] != HELD[path]] == []


@pytest.mark.parametrize("area", AREAS)
def test_this_implementation_answers_every_vector_of(area: str) -> None:
    asked = {name: vector for name, vector in VECTORS.items() if name.partition("/")[0] == area}
    told = {name: wrong(vector["answer"], answer(vector["ask"])) for name, vector in asked.items()}
    assert {name: fields for name, fields in told.items() if fields} == {}


def test_outcomes_are_of_the_closed_set_and_each_is_shown() -> None:
    outcomes = Counter(vector["answer"]["outcome"] for vector in VECTORS.values())
    assert set(outcomes) == set(map(str, Outcome))


def test_there_are_some_hundred_vectors_beside_the_cases_half_of_them_refused() -> None:
    beside = [vector for name, vector in VECTORS.items() if not name.startswith("fold/")]
    refused = [vector for vector in beside if vector["answer"]["outcome"] not in ("accepted", "known")]
    assert len(beside) >= 500
    assert 0.4 < len(refused) / len(beside) < 0.7


def test_every_vector_says_in_one_sentence_what_it_shows() -> None:
    assert [name for name, v in VECTORS.items() if not (v["says"].endswith(".") and len(v["says"]) <= 120)] == []


def test_files_stay_small() -> None:
    assert {path: len(text) for path, text in HELD.items() if path.endswith(".json") and len(text) > 32_768} == {}


def test_every_number_is_exact_in_languages_whose_numbers_are_floats() -> None:
    assert [name for name, vector in VECTORS.items() if any(int(float(n)) != n for n in numbers(vector))] == []


def numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif type(value) is int:
        yield value


def test_one_command_writes_them_all(tmp_path) -> None:  # type: ignore[no-untyped-def]
    before = {path: text for path, text in HELD.items() if not path.startswith("fold/")}
    command = [sys.executable, "-m", "protocol.vectors.generate", str(tmp_path)]
    told = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, check=True).stdout
    assert f"{len(VECTORS)} vectors" in told
    assert {p: (tmp_path / p).read_text(encoding="utf-8") for p in before} == before


def test_the_vectors_can_be_sent_as_they_are() -> None:
    assert all(
        json.loads(json.dumps(v["ask"])) == v["ask"] and "\n" not in json.dumps(v["ask"]) for v in VECTORS.values()
    )
