"""Devices of two versions: what the older one does not know it keeps, and passes on byte for byte."""

from __future__ import annotations

from pathlib import Path

from syncmem import Memory
from syncmem.codec import pack, unpack
from syncmem.model.event import Event, Kind, LogKey
from syncmem.replica.arriving import Arrival
from syncmem.seal.envelope import seal
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire.blob import Blob, Item, ItemKind, write_blob
from syncmem.wire.frames import frame_bytes
from syncmem.wire.mailbox import Exchange, Put
from tests.sync.group import Group

LATER_KIND = 4711


def write_as_later_version(memory: Memory, kind: int, payload: bytes) -> None:
    """An event as a later version writes it, into the device's own log."""
    replica = memory._replica
    with replica.transaction():
        log, n = replica.author.own_log("vault"), replica.last_transaction + 1
        event = Event(kind, replica.author.tick(), payload)
        position = replica._append(log, [event], n)
        replica._finish(n, [Arrival(position, event)])


def payloads(memory: Memory) -> set[tuple[bytes, int, int, bytes]]:
    """Every event held: its log, its place, its kind, its bytes."""
    logs = memory._replica.logs
    return {
        (log.id, place, event.kind, event.payload)
        for log in logs.held()
        for place in range(1, log.seq + 1)
        if isinstance(event := logs.event(log.position(place)), Event)
    }


def later_claim(memory: Memory) -> bytes:
    """The payload of a claim with two fields more than are known now."""
    memory.remember("ana", "city", "Lisbon")
    *_, last = sorted(found for found in payloads(memory) if found[2] == Kind.CLAIM)
    return pack([*unpack(last[3]), "a field", {"of": "later"}])


def test_what_a_later_version_writes_is_kept_and_passed_on_by_one_that_does_not_know_it(group: Group) -> None:
    laptop, phone = group.found(), group.pair("phone")
    write_as_later_version(laptop, LATER_KIND, pack(["of a kind", 2**40, b"x"]))
    write_as_later_version(laptop, LATER_KIND, b"\xc1 not even canonical")
    write_as_later_version(laptop, int(Kind.CLAIM), later_claim(laptop))
    written = payloads(laptop)
    group.settle()
    laptop.remove_mailbox(group.address)  # what the tablet gets, it gets through the phone
    tablet = group.pair("tablet", by="phone")
    group.settle("phone", "tablet")
    for memory in (phone, tablet):
        assert written <= payloads(memory)
        assert memory.believe("ana", "city").value == "Lisbon"
    assert phone.event_digest() == tablet.event_digest()
    assert phone.belief_digest() == tablet.belief_digest()


def test_blobs_with_items_and_states_of_a_later_version_are_read_as_far_as_they_are_known(tmp_path: Path) -> None:
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop, phone = group.found(), group.pair("phone")
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    replica, key = phone._replica, phone._syncer.vault.known("vault")
    assert key is not None
    life, identity = b"a later version.", replica.identity
    (frame,) = list(replica.frames({}, frozenset({"vault"}), {identity.log_key("vault").id}))[:1]
    items = [Item(99, b"of later"), Item(int(ItemKind.FRAME), frame_bytes(frame))]
    digests = phone._syncer.digests.of("vault")
    state = (digests.events[:16], digests.beliefs[:16], digests.held, "more", [1])
    blob = Blob(identity.device, life, 1, state, items)  # type: ignore[arg-type]
    sealed = seal(key, write_blob(blob, key.vault, key.mailbox, identity.private), replica.environment.randomness)
    put = Put(key.stream(LogKey(identity.device, life, "vault").id), 1, sealed)
    server.mailbox().exchange(Exchange(key.write_key, [put], {}, 0), key.write_seed)
    (report,) = laptop.sync().mailboxes
    assert (report.received, report.refused) == (1, ())
    assert laptop.status().in_sync
    group.close()


def test_what_was_not_known_counts_after_an_upgrade(group: Group) -> None:
    """Rebuilding is what an upgrade does: the same events, by a fold that knows more."""
    laptop, phone = group.found(), group.pair("phone")
    write_as_later_version(laptop, LATER_KIND, pack(["of a kind"]))
    laptop.remember("ana", "city", "Porto")
    group.settle()
    before = phone.belief_digest()
    phone.rebuild()
    assert phone.belief_digest() == before == laptop.belief_digest()
    group.assert_in_sync()
