"""The content of episodes between devices: it travels when somebody asks, stays whole, and goes when it is erased."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from syncmem import Memory, Source
from syncmem.environment import seeded_randomness
from syncmem.errors import InvalidInput, MailboxError, NotFound
from syncmem.model.episode import CHUNK_BYTES
from syncmem.sync import open_mailbox
from syncmem.sync.placed import Placed
from syncmem.sync.shelf import content_key
from tests.sync.group import Group

SPOKEN: dict[str, Any] = {"speaker": "ana", "at": "2026-06-15T09:00Z"}
DOCUMENT = seeded_randomness(7)(10 * CHUNK_BYTES + 17)
CHUNKS = 11


def contents_at(group: Group, memory: Memory) -> int:
    """How many chunks of any episode that ever was lie in the mailboxes."""
    events = [event for (event,) in memory._replica.db.execute("SELECT event FROM contents").fetchall()]
    shelves = {content_key(key, event).mailbox for key in group.keys_ever() for event in events}
    return sum(mailbox in shelves for mailbox, _ in group.blobs())


def test_a_document_comes_as_an_event_and_its_content_when_it_is_read(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    seen = laptop.observe(DOCUMENT, kind="document", title="Lease", **SPOKEN)
    assert (laptop.status().published, laptop.status().mailboxes[0].unplaced) == (False, CHUNKS)
    (report,) = group.sync("laptop")
    assert report.mailboxes[0].chunks_sent == CHUNKS
    assert laptop.status().published
    (report,) = group.sync("phone")
    assert report.mailboxes[0].received_bytes < CHUNK_BYTES
    group.settle()
    group.assert_in_sync()

    told = phone.episode(seen.episode)
    assert (told.title, told.size, told.chunks, told.chunks_here) == ("Lease", len(DOCUMENT), CHUNKS, 0)
    assert (phone.status().chunks, phone.status().chunks_here) == (CHUNKS, 0)
    with pytest.raises(NotFound, match="0 of 11 parts"):
        phone.read(seen.episode, fetch=False)
    assert phone.read(seen.episode) == DOCUMENT
    assert phone.status().chunks_here == CHUNKS
    assert phone.read(seen.episode, fetch=False) == DOCUMENT
    group.settle()
    assert contents_at(group, laptop) == CHUNKS
    group.assert_in_sync()


def test_a_device_that_keeps_all_content_fetches_it_with_each_sync(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    phone.set_fetching("all")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.sync("laptop")
    (report,) = group.sync("phone")
    assert report.mailboxes[0].chunks_received == CHUNKS
    assert phone.read(seen.episode, fetch=False) == DOCUMENT


def test_who_joins_does_not_download_what_it_never_asked_for(group: Group) -> None:
    laptop = group.found()
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.sync("laptop")
    phone = group.pair("phone")
    (report,) = group.sync("phone")
    assert sum(one.received_bytes for one in report.mailboxes) < CHUNK_BYTES
    assert phone.read(seen.episode) == DOCUMENT


def test_what_is_erased_on_one_device_is_gone_everywhere(group: Group) -> None:
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    turn = laptop.observe("Bob lives in Lisbon", mentions=["bob"], **SPOKEN)
    group.settle()
    assert phone.read(seen.episode) == DOCUMENT
    report = phone.erase("ana")
    assert (report.events, report.scrubbed) == ({"vault": 2}, True)
    group.settle()
    for memory in (laptop, phone, tablet):
        assert memory.episodes() == []
        assert memory._replica.db.execute("SELECT count(*) FROM chunks").fetchone() == (0,)
        assert memory.erasures()[0].complete
    assert contents_at(group, laptop) == 0
    for id in (seen.episode, turn.episode):
        with pytest.raises(NotFound):
            laptop.episode(id)
    piece = DOCUMENT[CHUNK_BYTES : CHUNK_BYTES + 64]
    group.close()
    files = [path for path in group.folder.glob("*.db*") if path.is_file()]
    assert [path.name for path in files if piece in path.read_bytes() or b"lives in Lisbon" in path.read_bytes()] == []


def test_a_late_device_that_still_has_the_content_brings_nothing_back(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.settle()
    phone.read(seen.episode)
    laptop.erase(episode=seen.episode)
    group.settle("laptop")
    assert contents_at(group, laptop) == 0
    (report,) = group.sync("phone")
    assert report.mailboxes[0].chunks_sent == 0
    group.settle()
    assert contents_at(group, laptop) == 0
    assert phone.episodes() == []
    group.assert_in_sync()


def test_one_episode_is_erased_and_what_was_drawn_from_it_stays_without_its_words(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    turn = laptop.observe("I live in Lisbon", **SPOKEN)
    passage = Source("user", episode=turn.episode, span=(10, 16))
    laptop.remember("ana", "city", "Lisbon", source=passage)
    group.settle()
    assert phone.history("ana", "city")[0].quote == "Lisbon"
    winner = phone.why("ana", "city").winner
    assert winner is not None and winner.quote == "Lisbon"
    phone.erase(episode=turn.episode)
    group.settle()
    assert [memory.believe("ana", "city") is not None for memory in (laptop, phone)] == [True, True]
    (entry,) = laptop.history("ana", "city")
    assert (entry.quote, entry.source) == (None, passage)


def test_the_same_observed_on_two_devices_is_one_episode(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    ids = {memory.observe(DOCUMENT, **SPOKEN).episode for memory in (laptop, phone)}
    group.settle()
    assert len(ids) == 1
    for memory in (laptop, phone):
        (one,) = memory.episodes()
        assert one.id in ids
        held = memory.event_digest()
        assert memory.observe(DOCUMENT, **SPOKEN).new is False
        assert memory.event_digest() == held
    group.assert_in_sync()


def test_content_that_a_mailbox_lost_comes_again_from_who_has_it(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    group = Group(tmp_path, f"folder:{tmp_path / 'shared'}")
    laptop = group.found()
    phone = group.pair("phone")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.settle()
    blobs = sorted((tmp_path / "shared").rglob("*.blob"), key=lambda path: -path.stat().st_size)
    blobs[0].unlink()
    blobs[1].write_bytes(b"rot" * 1000)
    cut = blobs[2].read_bytes()
    blobs[2].write_bytes(cut[: len(cut) // 2])
    with pytest.raises(NotFound, match="8 of 11 parts"):
        phone.read(seen.episode)
    group.sync("phone", "laptop", "phone")
    assert phone.read(seen.episode, fetch=False) == DOCUMENT
    group.settle()
    group.assert_in_sync()
    group.close()


def test_a_mailbox_that_was_reset_is_filled_again(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    group = Group(tmp_path, f"folder:{tmp_path / 'shared'}")
    laptop = group.found()
    phone = group.pair("phone")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.settle()
    for each in (tmp_path / "shared").iterdir():
        shutil.rmtree(each)
    group.settle()
    assert phone.read(seen.episode) == DOCUMENT
    group.close()


def test_after_a_removal_the_content_is_in_the_new_mailbox_alone(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.pair("tablet")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.settle()
    laptop.revoke("tablet")
    group.settle("laptop", "phone")
    assert contents_at(group, laptop) == CHUNKS
    desk = group.pair("desk")
    group.settle("laptop", "phone", "desk")
    assert desk.read(seen.episode) == DOCUMENT
    assert phone.read(seen.episode) == DOCUMENT


def test_a_document_in_a_scope_of_its_own_reaches_only_those_who_have_it(group: Group) -> None:
    laptop = group.found()
    laptop.share("work")
    phone, desk = group.pair("phone"), group.pair("desk", scopes=("work",))
    seen = laptop.observe(DOCUMENT, scope="work", **SPOKEN)
    private = laptop.observe(DOCUMENT, scope="device", **SPOKEN)
    group.settle()
    assert desk.read(seen.episode) == DOCUMENT
    assert phone.episodes() == []
    assert [one.id for one in desk.episodes()] == [seen.episode] != [private.episode]


def test_mailboxes_that_cannot_be_asked_are_named(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.settle()
    with phone._lock, phone._replica.transaction():
        phone._syncer.vault.drop_address(group.address)
        phone._syncer.vault.add_address("folder:nowhere-at-all")
    phone._syncer.opener = open_mailbox
    with pytest.raises(MailboxError, match="there is no folder"):
        phone.read(seen.episode)


def test_a_merge_and_a_bundle_carry_the_content_along(tmp_path: Path) -> None:
    with Memory(":memory:") as one, Memory(":memory:") as other, Memory(":memory:") as third:
        seen = one.observe(DOCUMENT, **SPOKEN)
        hidden = one.observe(DOCUMENT, scope="device", **SPOKEN)
        assert other.merge(one).chunks == CHUNKS
        assert other.read(seen.episode) == DOCUMENT
        assert other.merge(one).chunks == 0
        other.export_bundle(tmp_path / "all.bundle")
        assert third.import_bundle(tmp_path / "all.bundle").chunks == CHUNKS
        assert third.read(seen.episode) == DOCUMENT
        for memory in (other, third):
            with pytest.raises(NotFound):
                memory.episode(hidden.episode)


def test_nothing_is_fetched_inside_a_transaction(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.settle()
    with pytest.raises(InvalidInput, match="after the transaction"), phone.transaction():
        phone.read(seen.episode)
    assert phone.episode(seen.episode).chunks_here == 0
    phone.read(seen.episode)
    with phone.transaction():
        assert phone.read(seen.episode) == DOCUMENT


def test_what_is_asked_for_beyond_the_content_is_not_noted(group: Group) -> None:
    laptop = group.found()
    seen = laptop.observe(DOCUMENT, **SPOKEN)
    group.sync("laptop")
    (event,) = laptop._replica.db.execute("SELECT event FROM contents").fetchone()
    with laptop._lock, laptop._replica.transaction():
        Placed(laptop._replica.db).ask(1, [(event, number) for number in (0, CHUNKS + 1, 10**12)] + [(bytes(16), 1)])
    assert laptop._replica.db.execute("SELECT count(*) FROM asked").fetchone() == (0,)
    assert laptop.status().published and laptop.read(seen.episode) == DOCUMENT
