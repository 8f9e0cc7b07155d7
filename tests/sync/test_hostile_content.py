"""Whatever a mailbox does with the content of episodes: nothing wrong is kept, no event is held up, work is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncmem import Memory
from syncmem.environment import seeded_randomness
from syncmem.errors import MailboxError, NotFound
from syncmem.model.episode import CHUNK_BYTES
from syncmem.seal.envelope import seal
from syncmem.sync.content import SPOILED_MAX
from syncmem.sync.shelf import ANSWERS_MAX, content_key
from syncmem.wire.mailbox import Answer, BlobName, Exchange, Listed, Outcome, PutResult, digest
from tests.sync.group import Group
from tests.sync.lying import Given, Liar

CHUNKS = 20
DOCUMENT = seeded_randomness(3)(CHUNKS * CHUNK_BYTES - 5)
SPOKEN: dict[str, Any] = {"speaker": "ana", "at": "2026-06-15T09:00Z"}


class World:
    """A laptop that observed a document, and a phone that has heard of it and wants it."""

    def __init__(self, tmp_path: Path) -> None:
        self.liar = Liar()
        self.group = Group(tmp_path, "memory:", self.liar.mailbox, [self.liar.server])
        self.laptop, self.phone = self.group.found(), self.group.pair("phone")
        self.episode = self.laptop.observe(DOCUMENT, **SPOKEN).episode
        self.group.settle()

    def shelf(self) -> dict[int, bytes]:
        """The blobs that hold the chunks, by their counters; they may be changed in place."""
        (event,) = self.laptop._replica.db.execute("SELECT event FROM contents").fetchone()
        mailboxes = {content_key(key, event).mailbox for key in self.group.keys_ever()}
        (box,) = [box for id, box in self.liar.server.boxes.items() if id in mailboxes]
        (stream,) = box.blobs.values()
        return stream

    def here(self) -> int:
        return self.phone.episode(self.episode).chunks_here


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.group.close()


def truncated(given: Iterator[Given]) -> Iterator[Given]:
    yield from ((name, blob and blob[:-1]) for name, blob in given)


def swapped(given: Iterator[Given]) -> Iterator[Given]:
    all_of_it = list(given)
    blobs = [blob for _, blob in all_of_it]
    yield from ((name, blob) for (name, _), blob in zip(all_of_it, blobs[1:] + blobs[:1], strict=True))


LIES: dict[str, Callable[[Iterator[Given]], Iterator[Given]]] = {
    "nothing": lambda given: ((name, None) for name, _ in given),
    "rubbish": lambda given: ((name, b"rubbish") for name, _ in given),
    "truncated": truncated,
    "swapped": swapped,
    "fewer": lambda given: iter(list(given)[:3]),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_is_not_the_content_is_not_kept(world: World, lie: str) -> None:
    world.liar.gives = LIES[lie]
    with pytest.raises((NotFound, MailboxError)):
        world.phone.read(world.episode)
    assert world.here() in (0, 3)
    world.laptop.remember("ana", "city", "Lisbon")
    world.group.sync("laptop")
    world.liar.be_honest()
    world.group.settle()
    assert world.phone.believe("ana", "city") is not None
    assert world.phone.read(world.episode) == DOCUMENT


def test_chunks_that_a_member_spoiled_are_put_again_by_who_has_them(world: World) -> None:
    """Somebody with the key puts what it likes at a chunk's counter: it opens, and has another hash."""
    (event,) = world.laptop._replica.db.execute("SELECT event FROM contents").fetchone()
    key = next(key for key in world.group.keys_ever() if key.scope == "vault")
    stream = world.shelf()
    for counter in (1, 5):
        stream[counter] = seal(content_key(key, event), DOCUMENT[:CHUNK_BYTES][::-1], seeded_randomness(9))
    with pytest.raises(NotFound, match="18 of 20 parts"):
        world.phone.read(world.episode)
    world.group.sync("phone", "laptop", "phone")
    assert world.phone.read(world.episode, fetch=False) == DOCUMENT
    assert sorted(stream)[-2:] == [CHUNKS + 1, CHUNKS + 5]


def test_dropped_chunks_come_again_at_their_next_counters(world: World) -> None:
    stream = world.shelf()
    for counter in (2, 3):
        stream[counter] = b""  # dropped: the place stays taken
    with pytest.raises(NotFound):
        world.phone.read(world.episode)
    world.group.sync("phone", "laptop", "phone")
    assert world.phone.read(world.episode, fetch=False) == DOCUMENT


def test_a_shelf_that_never_ends_is_given_up(world: World) -> None:
    def endless(request: Exchange, answer: Answer) -> Answer:
        stream = next(iter(answer.ends), bytes(8))
        first = max(request.cursors.values(), default=0) + 1
        made = [Listed(BlobName(stream, first + n, digest(bytes([n % 256]))), 9, None) for n in range(2000)]
        return replace(answer, listed=made, more=True)

    world.liar.tells = endless
    before = world.liar.questions
    with pytest.raises(MailboxError):
        world.phone.read(world.episode)
    assert world.liar.questions - before <= ANSWERS_MAX
    world.liar.be_honest()
    assert world.phone.read(world.episode) == DOCUMENT


def test_a_shelf_full_of_rubbish_costs_a_bounded_number_of_blobs(world: World) -> None:
    stream = world.shelf()
    for counter in range(1, 8 * CHUNKS + 1):
        stream[counter] = b"rubbish" * 100
    with pytest.raises(MailboxError, match="no content of the episode"):
        world.phone.read(world.episode)
    assert world.liar.bytes_given <= 700 * (SPOILED_MAX + 32) + 300_000
    assert world.here() == 0


def test_content_that_a_mailbox_refuses_holds_up_no_event_and_is_told(tmp_path: Path) -> None:
    liar = Liar()
    group = Group(tmp_path, "memory:", liar.mailbox, [liar.server])
    laptop, phone = group.found(), group.pair("phone")
    group.settle()

    def full(request: Exchange, answer: Answer) -> Answer:
        large = [len(put.blob) > CHUNK_BYTES for put in request.puts]
        told = [
            PutResult(Outcome.OVER_QUOTA, "full") if refused else result
            for refused, result in zip(large, answer.results, strict=True)
        ]
        return replace(answer, results=told)

    liar.keeps = lambda put: len(put.blob) <= CHUNK_BYTES
    liar.tells = full
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    laptop.remember("ana", "city", "Lisbon")
    (report,) = group.sync("laptop")
    assert "does not take the content" in (report.mailboxes[0].content_error or "")
    assert not report.complete
    status = laptop.status()
    assert (status.pending, status.published, status.mailboxes[0].unplaced) == (0, False, CHUNKS)
    group.sync("phone")
    assert phone.believe("ana", "city") is not None
    with pytest.raises(NotFound, match="0 of 20 parts"):
        phone.read(seen.episode)
    liar.be_honest()
    group.sync("laptop", "phone")
    assert phone.read(seen.episode) == DOCUMENT
    group.close()


def test_what_a_mailbox_says_it_dropped_and_keeps_shows_as_not_erased(world: World) -> None:
    world.liar.drops = lambda request: [True] * len(request.names)
    world.laptop.erase("ana")
    world.group.sync("laptop")
    assert world.laptop.status().mailboxes[0].erasing == 1
    world.liar.be_honest()
    world.group.settle()
    assert world.laptop.status().mailboxes[0].erasing == 0
    assert not any(world.shelf().values())


def test_a_chunk_that_rots_in_the_file_is_told_and_fetched_again(world: World) -> None:
    phone: Memory = world.phone
    assert phone.read(world.episode) == DOCUMENT
    phone._replica.db.execute("UPDATE chunks SET body = ? WHERE number = 7", (bytes(CHUNK_BYTES),))
    assert not any("damaged" in problem for problem in phone.doctor().problems)
    (problem,) = [problem for problem in phone.doctor(full=True).problems if "damaged" in problem]
    assert problem.startswith("1 parts of episode") and world.episode in problem
    with pytest.raises(NotFound):
        phone.read(world.episode, fetch=False)
    assert phone.read(world.episode) == DOCUMENT
    assert not any("damaged" in problem for problem in phone.doctor(full=True).problems)
