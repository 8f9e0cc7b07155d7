"""Vectors: made after the write, gone with it, the same nearest ones whatever computes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from syncmem import InvalidInput, Memory
from syncmem.recall import nearest
from syncmem.recall.asked import Axes
from syncmem.recall.embedding import NEEDS, Hashing, chosen, installed
from syncmem.recall.nearest import Nearest
from syncmem.recall.vectors import Vectors, packed
from tests.recall.checking import check_index

WORDS = ("tennis", "chess", "piano", "violin", "sailing", "climbing", "baking", "running", "reading", "painting")


class Counting(Hashing):
    """An embedder that tells what it was given."""

    def __init__(self, name: str = "counting") -> None:
        self.id = name  # type: ignore[misc]
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.texts += texts
        return super().embed_documents(texts)


def filled(count: int, **options: Any) -> Memory:
    """A memory in which many people do two things each."""
    random, memory = Random(1), Memory(":memory:", **options)
    with memory.transaction():
        for number in range(count):
            memory.remember(f"person {number}", "hobby", " and ".join(random.sample(WORDS, 2)) + f" {number}")
    return memory


def test_no_vector_is_made_inside_a_write_and_recall_says_what_lags() -> None:
    embedder = Counting()
    with filled(40, embedder=embedder) as memory:
        assert embedder.texts == []
        found = memory.recall("tennis", log=False)
        assert len(embedder.texts) == 16 and found.notes == ("24 texts have no vector yet: index() makes them",)
        told: list[tuple[int, int]] = []
        memory.index(progress=lambda made, wanted: told.append((made, wanted)))
        assert told[-1][0] == told[-1][1] == 24
        assert memory.recall("tennis", log=False).notes == ()
        assert len(embedder.texts) == len(set(embedder.texts)) == 40
        memory.remember("eva", "hobby", "table tennis")
        memory.recall("tennis", log=False)
        assert embedder.texts[-1] == "eva hobby: table tennis."


def test_a_description_that_is_defined_anew_is_embedded_anew_and_nothing_else() -> None:
    embedder = Counting()
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("ana", "sport", "tennis")
        memory.remember("ana", "car", "Fiat")
        memory.index()
        memory.define("sport", cardinality="many", description="What somebody plays.")
        memory.index()
        assert embedder.texts[2:] == ["ana sport: tennis. What somebody plays."]
        memory.define("undescribed", cardinality="many")
        memory.index()
        assert len(embedder.texts) == 3


def test_vectors_go_with_what_they_stand_for_and_another_model_has_its_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=Counting("one")) as memory:
        memory.remember("ana", "sport", "tennis")
        memory.remember("bob", "sport", "chess")
        memory.index()
    other = Counting("other")
    with Memory(tmp_path / "a.db", embedder=other) as memory:
        memory.index()
        assert len(other.texts) == 2
        rows = memory._replica.db.execute("SELECT count(*) FROM vectors").fetchone()
        assert rows == (4,)
        vector = packed(other.embed_query("ana sport: tennis."), 256)
        assert vector in (tmp_path / "a.db").read_bytes() + (tmp_path / "a.db-wal").read_bytes()
        memory.erase("ana")
        check_index(memory)
        assert vector not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(("limit", "same"), [(20_000, 20), (10, 8)], ids=["all compared", "one bit first"])
def test_the_nearest_are_the_same_whatever_computes_them(
    limit: int, same: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one-bit vectors choose first, and sqlite-vec is asked for few, some of the nearest are left out."""
    monkeypatch.setattr(nearest, "EXACT_MAX", limit)
    with filled(300, embedder="hashing") as memory:
        memory.index()
        vectors = Vectors(memory._replica, Hashing())
        ways = [
            Nearest(memory._replica, vectors),
            Nearest(memory._replica, vectors, extension=False),
            Nearest(memory._replica, vectors, extension=False, numpy=False),
        ]
        assert ways[-1].engine == "python"
        for question in ("chess and sailing", "person 17", "hobby of person 9: violin"):
            asked = packed(Hashing().embed_query(question), 256)
            found = [list(way.to(asked).nearest(Axes(0), ""))[:20] for way in ways]
            assert len(found[0]) == 20 and all(len({*found[2]} & {*each}) >= same for each in found)
            assert same < 20 or found[0] == found[1] == found[2]
        slots = memory._replica.db.execute("SELECT slot, digest FROM documents LIMIT 9").fetchall()
        likenesses = [way.to(asked).of(slots) for way in ways]
        assert all(one == pytest.approx(likenesses[0], abs=1e-5) for one in likenesses) and len(likenesses[0]) == 9


def test_the_first_pass_follows_what_is_written_taken_back_and_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "EXACT_MAX", 10)
    with filled(50, embedder="hashing") as memory:
        memory.index()
        assert memory.recall("juggling", log=False).hits == ()
        event = memory.remember("eva", "hobby", "juggling").event
        for _ in range(2):
            assert "vector" in memory.recall("jugglin", log=False).hits[0].why
            undo = memory.retract(event).event
            assert all(hit.belief.value != "juggling" for hit in memory.recall("jugglin", log=False).hits)
            memory.undo(undo)
        memory.erase("eva")
        assert memory.recall("jugglin", log=False).hits == ()


def test_without_a_model_recall_works_and_says_so() -> None:
    with Memory(":memory:") as memory:
        memory.remember("ana", "sport", "tennis")
        found = memory.recall("tennis")
        assert [hit.why for hit in found.hits] == [("text",)]
        assert found.notes == (
            "only words were compared: there is no embedder; pip install 'syncmem[embed]' for a model",
        )


def test_an_unknown_or_lying_embedder_is_refused_with_the_next_step() -> None:
    with pytest.raises(InvalidInput, match="there is no embedder 'gpt'; use auto, none, e5"):
        chosen("gpt")

    class Lying(Hashing):
        def embed_query(self, text: str) -> Sequence[float]:
            return [1.0, 2.0]

    with Memory(":memory:", embedder=Lying()) as memory, pytest.raises(InvalidInput, match="correct its dimension"):
        memory.remember("ana", "sport", "tennis")
        memory.recall("tennis")


@pytest.mark.parametrize("name", NEEDS)
def test_an_embedder_finds_what_is_alike(name: str) -> None:
    if not installed(name):
        pytest.skip(f"{NEEDS[name][1]}")
    embedder = chosen(name)
    assert embedder is not None
    texts = ["ana sport: tennis, every Friday", "bob pet: a black cat called Tom"]
    vectors = [packed(vector, embedder.dimension) for vector in embedder.embed_documents(texts)]
    asked = packed(embedder.embed_query("Which sport, tennis?"), embedder.dimension)
    near = [sum(a * b for a, b in zip(nearest._numbers(v), nearest._numbers(asked), strict=True)) for v in vectors]
    assert near[0] > near[1]
