"""Many users in one process: whose memory it is, how many are open, and what is left of one that goes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import Busy, Closed, InvalidInput, Memories, Memory, NotAReplica

PATIENT = {"wait_seconds": 60.0}
HASTY = {"wait_seconds": 0.05}

names = st.one_of(
    st.sampled_from(["ana", "Ana", "ANA", "../ana", "a\\b", ".", "..", "con", "ä", "a\u0308", "a b", "a%20b", "%"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)


def languages(memory: Memory) -> list[object]:
    return sorted(str(belief.value) for belief in memory.beliefs("me", "language"))


@given(st.lists(names, unique=True))
def test_every_name_is_a_file_of_its_own_inside_the_folder(users: list[str]) -> None:
    with TemporaryDirectory() as folder:
        memories = Memories(folder)
        paths = [memories.path(user) for user in users]
        assert all(path.parent == Path(folder) and path.name.isascii() for path in paths)
    assert len({path.name.casefold() for path in paths}) == len(users)


def test_names_come_back_from_the_files(tmp_path: Path) -> None:
    users = ["Ana", "../bob", "ana", "ä", "a\u0308"]
    with Memories(tmp_path / "users") as memories:
        for user in users:
            with memories.open(user) as memory:
                memory.remember("me", "name", user)
        (tmp_path / "users" / "other.db").write_bytes(b"")
        assert memories.users() == sorted(users)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["users"]


def test_names_that_are_none_are_refused(tmp_path: Path) -> None:
    with Memories(tmp_path) as memories:
        for user, message in [("", "not empty"), ("x" * 300, "shorter id"), ("\ud800", "surrogate")]:
            with pytest.raises(InvalidInput, match=message), memories.open(user):
                pass
    with pytest.raises(InvalidInput, match="1 or more"):
        Memories(tmp_path, open_max=0)


def test_no_more_are_open_than_allowed_and_the_one_unused_longest_goes(tmp_path: Path) -> None:
    with Memories(tmp_path, open_max=2, **HASTY) as memories:
        with memories.open("a") as a, memories.open("b"):
            with pytest.raises(Busy, match="open_max"), memories.open("c"):
                pass
            with memories.open("a") as again:
                assert again is a
        with memories.open("a") as still:
            assert still is a  # unused, and there was no need for its room
        with memories.open("c"), memories.open("a") as used_last:
            assert used_last is a  # b made room
        with memories.open("b") as anew, memories.open("d"):
            assert anew.beliefs("me", "language") == []
        with pytest.raises(Closed):
            a.believe("me", "language")


def test_threads_share_a_memory_and_users_never_meet(tmp_path: Path) -> None:
    users, rounds = [f"user {n}" for n in range(6)], 30

    def work(number: int) -> None:
        user = users[number % len(users)]
        with memories.open(user) as memory:
            memory.remember("me", "language", f"{user} {number}")
            assert all(str(value).startswith(user + " ") for value in languages(memory))

    with Memories(tmp_path, open_max=3, **PATIENT) as memories:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(len(users) * rounds // 6)))
        for number, user in enumerate(users):
            with memories.open(user) as memory:
                wanted = range(number, len(users) * rounds // 6, len(users))
                assert languages(memory) == sorted(f"{user} {each}" for each in wanted)


def test_who_waits_for_room_gets_it_when_another_is_done(tmp_path: Path) -> None:
    with Memories(tmp_path, open_max=1, **PATIENT) as memories:
        inside, outside = threading.Event(), threading.Event()

        def other() -> None:
            inside.wait(30)
            with memories.open("b"):
                outside.set()

        thread = threading.Thread(target=other)
        thread.start()
        with memories.open("a"):
            inside.set()
            assert not outside.is_set()
        thread.join(30)
        assert outside.is_set()


def test_an_erased_user_leaves_nothing_and_may_come_again(tmp_path: Path) -> None:
    with Memories(tmp_path, **HASTY) as memories:
        with memories.open("ana") as memory:
            memory.remember("me", "language", "Portuguese")
            memory.backup(f"{memory.path}.backup-1")
            with pytest.raises(Busy, match="in use"):
                memories.erase("ana")
        assert memories.erase("ana") and not memories.erase("ana")
        assert list(tmp_path.iterdir()) == [] and memories.users() == []
        with memories.open("ana") as memory:
            assert memory.beliefs("me", "language") == []


def test_one_that_does_not_open_blocks_nobody(tmp_path: Path) -> None:
    with Memories(tmp_path, open_max=1, **PATIENT) as memories:
        memories.path("ana").write_bytes(b"no database at all" * 100)
        for _ in range(3):
            with pytest.raises(NotAReplica), memories.open("ana"):
                pass
        with memories.open("bob") as memory:
            memory.remember("me", "language", "English")
        assert memories.erase("ana") and memories.users() == ["bob"]


def test_closing_leaves_what_is_in_use_until_it_is_given_back(tmp_path: Path) -> None:
    memories = Memories(tmp_path)
    with memories.open("ana") as memory, memories.open("bob") as other:
        pass
    with memories.open("ana") as memory:
        memories.close()
        memories.close()
        memory.remember("me", "language", "Portuguese")
        assert closed(lambda: other.believe("me", "language"))
        with pytest.raises(Closed, match="anew"), memories.open("bob"):
            pass
    assert closed(lambda: memory.believe("me", "language"))


def closed(call: Callable[[], object]) -> bool:
    try:
        call()
    except Closed:
        return True
    return False
