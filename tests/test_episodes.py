"""Episodes on one device and between replicas: what they are, what is refused, how they go; in any order."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import AsyncMemory, Environment, InvalidInput, ManualClock, Memory, NotFound, Observation, Source
from syncmem.environment import seeded_randomness
from syncmem.errors import FileError
from syncmem.lines import apply
from syncmem.model.episode import CHUNK_BYTES, EPISODE_BYTES_MAX, INLINE_BYTES_MAX
from syncmem.model.instant import from_datetime
from syncmem.replica.bundle import batches

SPOKEN: dict[str, Any] = {"speaker": "ana", "at": "2026-06-15T09:00Z"}


@pytest.fixture
def memory() -> Any:
    with Memory(":memory:", zone="UTC") as made:
        yield made


# -- what an episode is ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size",
    [1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 5 * CHUNK_BYTES],
)
def test_whatever_its_size_it_is_read_as_it_was_from_wherever_it_came(
    memory: Memory, size: int, tmp_path: Path
) -> None:
    content = seeded_randomness(size)(size)
    path = tmp_path / "content"
    path.write_bytes(content)
    seen = memory.observe(content, **SPOKEN)
    assert memory.read(seen.episode) == content
    assert seen.chunks == (0 if size <= INLINE_BYTES_MAX else -(-size // CHUNK_BYTES))
    held = memory.event_digest()
    for again in (bytearray(content), path, io.BytesIO(content)):
        assert memory.observe(again, **SPOKEN).episode == seen.episode
    with path.open("rb") as file:
        assert not memory.observe(file, **SPOKEN).new
    assert memory.event_digest() == held
    assert b"".join(memory.content(seen.episode)) == content


def test_everything_that_is_declared_makes_the_episode(memory: Memory) -> None:
    declared: list[dict[str, Any]] = [
        {},
        {"speaker": "bob"},
        {"at": "2026-06-15T09:01Z"},
        {"kind": "note"},
        {"conversation": "c"},
        {"title": "t"},
        {"media_type": "text/markdown"},
        {"mentions": ["bob"]},
        {"source": Source("user", "phone")},
        {"scope": "work"},
        {"zone": "Europe/Lisbon"},
        {"beside": {"topic": "home"}},
    ]
    ids = {memory.observe("hello", **{**SPOKEN, **each}).episode for each in declared}
    ids.add(memory.observe(b"hello", **SPOKEN).episode)
    assert len(ids) == len(declared) + 1
    assert all(not memory.observe("hello", **{**SPOKEN, **each}).new for each in declared)
    assert (
        memory.observe("x", mentions=["b", "a"], **SPOKEN).episode
        == memory.observe("x", mentions=["a", "b", "a"], **SPOKEN).episode
    )


def test_what_a_program_keeps_beside_an_episode_is_told_on_other_devices(memory: Memory) -> None:
    beside = {"topic": "home", "levels": [1, 2.5, None], "more": {"a": True}}
    seen = memory.observe("hello", **SPOKEN, beside=beside)
    with Memory(":memory:") as other:
        other.merge(memory)
        assert other.episode(seen.episode).beside == beside
        with pytest.raises(InvalidInput, match="at most 8192 fit"):
            other.observe("hello", **SPOKEN, beside={"text": "x" * 8192})
        with pytest.raises(InvalidInput, match="finite"):
            other.observe("hello", **SPOKEN, beside={"n": float("nan")})


def test_they_are_listed_by_when_they_were_said(memory: Memory) -> None:
    for hour, speaker, conversation in ((11, "ana", "a"), (9, "bob", "a"), (10, "ana", "b")):
        memory.observe(f"at {hour}", speaker=speaker, at=f"2026-06-15T{hour:02}:00Z", conversation=conversation)
    memory.observe("long ago", kind="document", at="undated")
    texts = lambda **asked: [memory.episode_text(one.id) for one in memory.episodes(**asked)]  # noqa: E731
    assert texts() == ["long ago", "at 9", "at 10", "at 11"]
    assert texts(speaker="ana") == ["at 10", "at 11"]
    assert texts(conversation="a") == ["at 9", "at 11"]
    assert texts(since="2026-06-15T10:00Z") == ["at 10", "at 11"]
    assert texts(since="2026-06-15", until="2026-06-15T10:00Z") == ["at 9", "at 10"]
    assert texts(scope="work") == []
    (document,) = [one for one in memory.episodes() if one.kind == "document"]
    assert (document.at, document.source.kind) == (None, "document")


def test_a_span_counts_characters_also_in_a_long_text(memory: Memory) -> None:
    text = "é€𝄞x" * 20_000
    seen = memory.observe(text, **SPOKEN)
    assert memory.episode_text(seen.episode) == text
    for span in ((0, 1), (2, 3), (39_999, 40_002), (79_998, 80_000), (5, 5)):
        assert memory.episode_text(seen.episode, span=span) == text[slice(*span)]
    with pytest.raises(InvalidInput, match="80000 characters"):
        memory.episode_text(seen.episode, span=(0, 80_001))
    memory.remember("ana", "note", "x", source=Source("user", episode=seen.episode, span=(40_001, 40_004)))
    assert memory.history("ana", "note")[0].quote == text[40_001:40_004]
    memory.remember("ana", "odd", "x", source=Source("user", episode=seen.episode, span=(79_999, 90_000)))
    assert memory.history("ana", "odd")[0].quote is None


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("", {}, "nothing in it"),
        (b"\xff", {"media_type": "text/plain"}, "not UTF-8"),
        ("\ud800", {}, "surrogate"),
        (5, {}, "cannot be observed"),
        (io.StringIO("text"), {}, "binary mode"),
        ("x", {"kind": "document", "at": None}, "a document has a date"),
        ("x", {"kind": " "}, "kind is empty"),
        ("x", {"kind": "k" * 65}, "at most 64"),
        ("x", {"speaker": " "}, "speaker is empty"),
        ("x", {"title": "t" * 5000}, "title takes 5000 bytes"),
        ("x", {"mentions": "bob"}, "takes a list of texts"),
        ("x", {"mentions": [str(n) for n in range(257)]}, "at most 256"),
        ("x", {"source": Source("user", episode="other")}, "no other episode"),
        ("x", {"at": "someday"}, "someday"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    memory: Memory, content: Any, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        memory.observe(content, **{**SPOKEN, **given})
    assert memory.episodes() == []


def test_what_is_too_long_is_refused_before_it_is_read_to_its_end(memory: Memory) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def seekable(self) -> bool:
            return True

        def seek(self, place: int, whence: int = 0) -> int:
            return 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return bytes(size)

    endless = Endless()
    with pytest.raises(InvalidInput, match="at most 64 MiB"):
        memory.observe(endless, **SPOKEN)
    assert endless.given <= EPISODE_BYTES_MAX + 2 * CHUNK_BYTES


def test_a_file_that_changes_while_it_is_read_is_refused(memory: Memory) -> None:
    class Changing(io.BytesIO):
        def seek(self, place: int, whence: int = 0) -> int:
            if self.getvalue():
                self.getbuffer()[0] += 1
            return super().seek(place, whence)

    with pytest.raises(InvalidInput, match="changed while it was read"):
        memory.observe(Changing(bytes(3 * CHUNK_BYTES)), **SPOKEN)
    assert memory.episodes() == []
    assert memory._replica.db.execute("SELECT count(*) FROM chunks").fetchone() == (0,)


def test_unknown_episodes_and_files_are_named(memory: Memory, tmp_path: Path) -> None:
    for id in ("ab" * 16, "", "no id", "ab" * 15):
        with pytest.raises(NotFound, match="no episode"):
            memory.episode(id)
    with pytest.raises(FileError, match="cannot be read"):
        memory.observe(tmp_path / "missing", **SPOKEN)
    image = memory.observe(b"\x89PNG" * 10, media_type="image/png", **SPOKEN)
    with pytest.raises(InvalidInput, match="image/png and no text"):
        memory.episode_text(image.episode)
    with pytest.raises(InvalidInput, match="one of them"):
        memory.erase()
    with pytest.raises(InvalidInput, match="one of them"):
        memory.erase("ana", episode=image.episode)
    with pytest.raises(InvalidInput, match="no episode's id"):
        memory.erase(episode=image.episode[:-1])
    with pytest.raises(InvalidInput, match="no policy"):
        memory.set_fetching("some")


def test_lines_and_the_asynchronous_memory_observe_too(memory: Memory) -> None:
    line = json.dumps({"verb": "observe", "content": "I moved.", "speaker": "ana", "at": "2026-06-15T09:00Z"})
    first, second = apply(memory, [line, line])
    assert isinstance(first, Observation) and isinstance(second, Observation)
    assert (first.new, second.new, first.episode) == (True, False, second.episode)

    async def story() -> str:
        async with AsyncMemory(":memory:") as other:
            seen = await other.observe("I moved.", **SPOKEN)
            assert seen.episode == first.episode
            return await other.episode_text(seen.episode)

    assert asyncio.run(story()) == "I moved."


# -- erasure ----------------------------------------------------------------------------------------------


def test_an_episode_may_be_observed_anew_after_it_was_erased(memory: Memory) -> None:
    seen = memory.observe(bytes(100_000), **SPOKEN)
    memory.erase(episode=seen.episode)
    with pytest.raises(NotFound):
        memory.read(seen.episode)
    again = memory.observe(bytes(100_000), **SPOKEN)
    assert (again.new, again.episode) == (True, seen.episode)
    assert memory.read(again.episode) == bytes(100_000)
    memory.rebuild()
    assert [one.id for one in memory.episodes()] == [seen.episode]
    memory.erase(f"episode:{seen.episode}")
    assert memory.episodes() == []


def test_content_of_a_twin_stays_while_one_of_them_does() -> None:
    """Two devices observe the same; one of the events is written by who had seen the erasure."""
    with Memory(":memory:") as one, Memory(":memory:") as other:
        content = bytes(200_000)
        seen = one.observe(content, **SPOKEN)
        other.merge(one)
        one.erase("ana")
        one.observe(content, **SPOKEN)
        other.merge(one)
        one.merge(other)
        for memory in (one, other):
            assert memory.read(seen.episode) == content
        one.erase("ana")
        other.merge(one)
        for memory in (one, other):
            assert memory.episodes() == []
            assert memory._replica.db.execute("SELECT count(*) FROM chunks").fetchone() == (0,)


# -- any order ---------------------------------------------------------------------------------------------

ACTS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["ana", "bob", "eve"]),
        st.sampled_from(["observe", "observe", "long", "erase", "erase one", "merge", "claim"]),
        st.integers(0, 2),
    ),
    max_size=14,
)


def history(acts: list[tuple[int, str, str, int]]) -> list[Memory]:
    """Three devices that observe, erase and meet."""
    clock = ManualClock(from_datetime(datetime(2026, 6, 15, tzinfo=UTC)))
    devices = [
        Memory(":memory:", environment=Environment(clock=clock, randomness=seeded_randomness(n)), zone="UTC")
        for n in range(3)
    ]
    for number, who, act, other in acts:
        clock.time += 1_000_000
        memory = devices[number]
        if act in ("observe", "long"):
            content = f"{who} {other}".encode() * (1 if act == "observe" else 4_000)
            memory.observe(content, speaker=who, at="2026-06-15", mentions=["eve"] if other == 2 else [])
        elif act == "erase":
            memory.erase(who)
        elif act == "erase one":
            for one in memory.episodes(speaker=who)[:1]:
                memory.erase(episode=one.id)
        elif act == "claim":
            memory.remember(who, "said", other)
        elif other != number:
            memory.merge(devices[other])
    return devices


def told(memory: Memory) -> Any:
    """All that can be asked about episodes, but for who wrote the event that stands for one."""
    chunks = memory._replica.db.execute("SELECT episode, number, body FROM chunks ORDER BY 1, 2").fetchall()
    return [(one.id, one.speaker, one.size, memory.read(one.id)) for one in memory.episodes()], chunks


@given(acts=ACTS, order=st.permutations(range(6)))
def test_any_order_and_partition_gives_the_same_episodes(acts: list[Any], order: list[int]) -> None:
    devices = history(acts)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    for _ in range(3):
        for number in order:
            devices[pairs[number][0]].merge(devices[pairs[number][1]])
    with Memory(":memory:") as late:
        frames = [frame for batch in batches(devices[0]._offer({}), 1) for frame in batch]
        for frame in frames:
            late._replica.receive_batch([frame])
        late.merge(devices[0])
        expected = told(devices[0])
        assert [told(memory) for memory in (*devices[1:], late)] == [expected] * 3
        digest = late.event_digest()
        for one in late.episodes():
            content = late.read(one.id)
            again = {"speaker": one.speaker, "at": "2026-06-15", "mentions": one.mentions}
            assert not late.observe(content, zone=None, **{**again, "at": "2026-06-15T00:00Z"}).new
        assert late.event_digest() == digest
        late.rebuild()
        assert told(late) == expected
    for memory in devices:
        memory.close()


@given(acts=ACTS)
def test_erased_is_as_if_it_had_never_been_there(acts: list[Any]) -> None:
    """Erasing somebody leaves what the same history without the episodes that are about them leaves."""
    about_eve = lambda who, act, other: act in ("observe", "long") and (who == "eve" or other == 2)  # noqa: E731
    kept = [act for act in acts if not about_eve(*act[1:])]
    with_eve, without = history(acts), history(kept)
    for devices in (with_eve, without):
        for memory in devices:
            memory.erase("eve")
        for _ in range(2):
            for one in devices:
                for other in devices:
                    if one is not other:
                        one.merge(other)
    texts = [[sorted(memory.read(one.id) for one in memory.episodes()) for memory in d] for d in (with_eve, without)]
    assert texts[0] == texts[1]
    for memory in (*with_eve, *without):
        memory.close()


# -- processes ---------------------------------------------------------------------------------------------

OBSERVING = """
import sys
from pathlib import Path
from syncmem import Memory
with Memory(sys.argv[1]) as memory:
    print("ready", flush=True)
    memory.observe(Path(sys.argv[2]), kind="document", speaker="ana", at="2026-06-15T09:00Z")
    print("done", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_process_that_is_killed_while_it_observes_leaves_all_or_nothing(tmp_path: Path) -> None:
    document, path = tmp_path / "document", tmp_path / "a.db"
    content = seeded_randomness(5)(20 * 2**20)
    document.write_bytes(content)
    Memory(path).close()
    for pause in (0.0, 0.05, 0.1, 0.2, 0.4):
        child = subprocess.Popen([sys.executable, "-c", OBSERVING, path, document], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        try:
            child.wait(pause or 0.001)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        said, _ = child.communicate(timeout=60)
        with Memory(path) as memory:
            held = memory.episodes()
            assert len(held) <= 1 and (held or "done" not in said)
            chunks = memory._replica.db.execute("SELECT count(*) FROM chunks").fetchone()[0]
            assert chunks == sum(one.chunks for one in held)
            if held:
                assert memory.read(held[0].id) == content
                memory.erase("ana")
    with Memory(path) as memory:
        assert memory.observe(document, kind="document", **SPOKEN).new
        assert not [
            problem for problem in memory.doctor(full=True).problems if "log" in problem or "episode" in problem
        ]


def test_a_long_document_takes_little_memory(tmp_path: Path) -> None:
    document = tmp_path / "document"
    document.write_bytes(seeded_randomness(6)(24 * 2**20))
    with Memory(tmp_path / "a.db") as one, Memory(tmp_path / "b.db") as other:
        tracemalloc.start()
        try:
            seen = one.observe(document, kind="document", **SPOKEN)
            other.merge(one)
            assert sum(map(len, other.content(seen.episode))) == 24 * 2**20
            one.export_bundle(tmp_path / "all.bundle")
            assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
        finally:
            tracemalloc.stop()
