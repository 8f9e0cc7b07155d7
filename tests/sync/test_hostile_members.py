"""What a member of the vault can do to the others with its valid keys: little, and it is named in all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from syncmem import Memory, labels
from syncmem.codec import pack
from syncmem.model import salt
from syncmem.model.event import Erased, Event, LogKey, header, header_hash
from syncmem.model.frame import Frame
from syncmem.seal.envelope import EpochKey, seal, unseal
from syncmem.seal.keys import public_key, sign
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire.blob import (
    Blob,
    Item,
    ItemKind,
    Offer,
    Places,
    State,
    missing_bytes,
    offer_bytes,
    read_blob,
    replaced_bytes,
    wants_bytes,
    write_blob,
)
from syncmem.wire.frames import frame_bytes, read_frame
from syncmem.wire.mailbox import COUNTER_MAX, BlobName, Drop, Exchange, Put, digest, dropping
from tests.sync.group import Group


@dataclass
class Scene:
    """Two honest devices, and the tablet, which is a member and writes what it likes."""

    group: Group
    server: InMemoryServer
    laptop: Memory
    phone: Memory
    tablet: Memory
    _lives: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def key(self) -> EpochKey:
        key = self.tablet._syncer.vault.known("vault")
        assert key is not None
        return key

    def says(self, *items: Item, state: State | None = None) -> None:
        """One blob of the tablet, in a life of its own."""
        key, identity = self.key, self.tablet._replica.identity
        life = next(self._lives).to_bytes(16, "big")
        plain = write_blob(Blob(identity.device, life, 1, state, items), key.vault, key.mailbox, identity.private)
        sealed = seal(key, plain, self.tablet._replica.environment.randomness)
        put = Put(key.stream(LogKey(identity.device, life, "vault").id), 1, sealed)
        self.server.mailbox().exchange(Exchange(key.write_key, [put], {}, 0), key.write_seed)

    def _writer(self, stream: bytes) -> tuple[bytes, bytes] | None:
        """The device that writes a stream."""
        lives = [memory._replica.identity for memory in self.group.devices.values()]
        named = {self.key.stream(life.log_key("vault").id): (life.device, life.incarnation) for life in lives}
        return named.get(stream)

    def there(self) -> list[tuple[BlobName, Blob]]:
        """All blobs that lie in the mailbox, opened."""
        key = self.key
        return [
            (
                BlobName(stream, counter, digest(sealed)),
                read_blob(unseal(key, sealed), key.vault, key.mailbox, self._writer(stream)),
            )
            for stream, blobs in self.server.boxes[key.mailbox].blobs.items()
            for counter, sealed in blobs.items()
            if sealed
        ]

    def frames_of(self, memory: Memory) -> list[Frame]:
        """The frames of a device's log that lie there."""
        device = memory._replica.identity.device
        items = [item for _, blob in self.there() for item in blob.items if item.kind == ItemKind.FRAME]
        return [frame for frame in (read_frame(item.body) for item in items) if frame.key.device == device]

    def drop_all(self) -> None:
        """Drop everything, as one member can in the name of an erasure."""
        seed, key = bytes(32), self.key
        names = [name for name, _ in self.there()]
        self.server.mailbox().exchange(Exchange(key.write_key, [], {}, 0, public_key(seed)), key.write_seed)
        signature = sign(seed, labels.DROPPING, dropping(key.mailbox, names, "erase"))
        drop = Drop(key.write_key, names, "erase", [(public_key(seed), signature)])
        assert all(self.server.mailbox().drop(drop, key.write_seed))

    def write(self) -> None:
        self.laptop.remember("ana", "diary", "laptop")
        self.phone.remember("ana", "diary", "phone")

    def assert_honest_are_whole(self) -> None:
        """What the honest ones wrote is everywhere, also on a device that comes new; without the tablet all is well."""
        self.group.pair("watch")
        for _ in range(4):
            self.group.settle("laptop", "phone", "watch")
            self.group.pass_time(timedelta(hours=2))
        self.laptop.revoke("tablet")
        self.group.settle("laptop", "phone", "watch")
        for name in ("laptop", "phone", "watch"):
            values = {belief.value for belief in self.group.devices[name].beliefs("ana", "diary")}
            assert values >= {"before", "laptop", "phone"}
        self.group.assert_in_sync("laptop", "phone", "watch")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox, [server])
    laptop, phone, tablet = group.found(), group.pair("phone"), group.pair("tablet")
    laptop.remember("ana", "diary", "before")
    group.settle()
    group.assert_in_sync()
    yield Scene(group, server, laptop, phone, tablet)
    group.close()


def frame_item(frame: Frame) -> Item:
    return Item(int(ItemKind.FRAME), frame_bytes(frame))


def lives(scene: Scene) -> set[bytes]:
    return {memory._replica.identity.incarnation for memory in (scene.laptop, scene.phone)}


# -- frames --------------------------------------------------------------------------------------------


def with_other_payload(frame: Frame) -> Frame:
    *others, last = frame.events
    assert isinstance(last, Event)
    return replace(frame, events=[*others, replace(last, payload=pack(["forged"]))])


def with_other_signature(frame: Frame) -> Frame:
    return replace(frame, signature=bytes(64))


Forge = Callable[[Frame], Frame]


@pytest.mark.parametrize("forge", [with_other_payload, with_other_signature])
def test_events_in_the_name_of_others_are_refused_and_hold_up_no_true_ones(scene: Scene, forge: Forge) -> None:
    before = lives(scene)
    scene.write()
    scene.group.sync("laptop")
    for frame in scene.frames_of(scene.laptop) * 5:  # some of them are read before the true one
        scene.says(frame_item(forge(frame)))
    reports = scene.group.sync("phone", "laptop", "phone", "laptop")
    if forge is with_other_signature:
        assert scene.phone.status().mailboxes[0].refused
    assert not any(box.forked for report in reports for box in report.mailboxes)
    assert lives(scene) == before
    scene.assert_honest_are_whole()


def test_a_frame_of_a_scope_that_is_not_the_mailboxs_is_refused(scene: Scene) -> None:
    scene.tablet.share("work")
    scene.tablet.remember("eve", "plan", "secret", scope="work")
    replica = scene.tablet._replica
    (frame,) = replica.frames({}, frozenset({"work"}))
    scene.says(frame_item(frame))
    scene.write()
    (report, _) = scene.group.sync("laptop", "phone")
    assert "of another scope" in report.mailboxes[0].refused[0]
    scene.assert_honest_are_whole()


def without_payloads(frame: Frame) -> Frame:
    """The frame as it is when its events were erased, which nobody asked for: it proves itself all the same."""
    shells, cover = [], frame.cover
    for place, event in enumerate(frame.events, frame.first):
        assert isinstance(event, Event)
        value = salt.salt(frame.cover, place % salt.BLOCK_EVENTS)
        assert value is not None
        shells.append(Erased(header_hash(header(frame.key.id, place, event, value))))
        cover = salt.forget(cover, place % salt.BLOCK_EVENTS)
    return replace(frame, events=shells, cover=cover)


def test_logs_without_their_payloads_do_not_stand_for_those_with_them(scene: Scene) -> None:
    """Put there first, or in the place of the others, by who then drops the true ones."""
    scene.write()
    scene.group.settle()
    names = [name for name, _ in scene.there()]
    shells = [frame_item(without_payloads(frame)) for m in (scene.laptop, scene.phone) for frame in scene.frames_of(m)]
    places = [Places(name.stream, 1, COUNTER_MAX) for name in names]
    signature = sign(bytes(32), labels.DROPPING, dropping(scene.key.mailbox, names, "compact"))
    offer = offer_bytes(Offer(public_key(bytes(32)), signature, names))
    scene.says(*shells, Item(int(ItemKind.REPLACED), replaced_bytes(places)), Item(int(ItemKind.OFFER), offer))
    scene.group.settle("laptop", "phone")
    assert {name for name, _ in scene.there()} >= {*names}, "nobody agrees"
    scene.drop_all()
    scene.assert_honest_are_whole()


# -- what is said of the mailbox -----------------------------------------------------------------------


def test_replaced_is_not_believed_of_what_is_there_or_to_come(scene: Scene) -> None:
    """Also not when a flood of the tablet's is listed before it."""
    scene.laptop.rename_device("phone", "the phone")
    scene.laptop.remember("ana", "diary", "laptop")
    scene.group.sync("laptop")
    everywhere = {name.stream for name, _ in scene.there()}
    for _ in range(2):
        scene.says(Item(int(ItemKind.REPLACED), replaced_bytes([Places(s, 1, COUNTER_MAX) for s in everywhere])))
        scene.group.sync("phone")
        scene.write()
        scene.group.sync("laptop")
    scene.group.settle("laptop", "phone")
    assert {device.name for device in scene.phone.status().devices} == {"laptop", "the phone", "tablet"}
    scene.assert_honest_are_whole()


def test_what_was_passed_over_on_a_members_word_is_read_once_it_is_there(scene: Scene) -> None:
    """It says so of a blob that the mailbox has not brought yet; once a day names are compared."""
    scene.write()
    scene.group.sync("laptop")
    scene.laptop.rename_device("phone", "the phone")
    scene.group.sync("laptop")
    (name, _) = [each for each in scene.there() if each[1].device == scene.laptop._replica.device][-2]
    blobs = scene.server.boxes[scene.key.mailbox].blobs[name.stream]
    late = blobs.pop(name.counter)
    scene.says(Item(int(ItemKind.REPLACED), replaced_bytes([Places(name.stream, name.counter, name.counter)])))
    scene.group.sync("phone")
    blobs[name.counter] = late
    scene.group.sync("phone")
    assert "laptop" not in {belief.value for belief in scene.phone.beliefs("ana", "diary")}
    scene.group.pass_time(timedelta(days=2))
    scene.group.sync("phone")
    assert "laptop" in {belief.value for belief in scene.phone.beliefs("ana", "diary")}
    scene.assert_honest_are_whole()


def test_what_a_member_drops_comes_back(scene: Scene) -> None:
    scene.write()
    scene.group.settle()
    scene.drop_all()
    scene.assert_honest_are_whole()


def test_what_a_member_said_of_its_beliefs_holds_up_nobody_once_it_is_removed(scene: Scene) -> None:
    scene.write()
    scene.group.settle()
    with scene.laptop._replica.transaction():
        mine = scene.laptop._syncer.digests.of("vault")
    scene.says(state=State(mine.events[:16], bytes(16), mine.held + 100))
    scene.group.sync("laptop")
    assert any(device.diverged for device in scene.laptop.status().devices) and not scene.laptop.status().in_sync
    scene.laptop.revoke("tablet")
    scene.group.settle("laptop", "phone")
    scene.group.assert_in_sync("laptop", "phone")


@pytest.mark.parametrize("kind", [ItemKind.WANTS, ItemKind.MISSING])
def test_who_asks_without_end_is_answered_once_for_each_question(scene: Scene, kind: ItemKind) -> None:
    scene.write()
    scene.group.settle()
    logs = [(log.id, 0) for log in scene.laptop._replica.logs.held()]
    streams = [Places(name.stream, 1, COUNTER_MAX) for name, _ in scene.there()]
    for _ in range(5):
        scene.says(Item(int(kind), wants_bytes(logs) if kind == ItemKind.WANTS else missing_bytes(streams)))
        sent = [box.sent for report in scene.group.sync("laptop", "phone") for box in report.mailboxes]
        assert sum(sent) <= 12
    scene.assert_honest_are_whole()


def test_a_state_that_lies_says_something_of_its_author_alone(scene: Scene) -> None:
    scene.write()
    scene.group.settle()
    mine = scene.laptop._syncer.digests.of("vault")
    scene.says(state=State(mine.events[:16], bytes(16), mine.held))
    scene.says(state=State(bytes(16), bytes(16), 2**62 - 1))
    scene.group.sync("laptop", "phone")
    for memory in (scene.laptop, scene.phone):
        assert memory.status().waiting_for == ("tablet",)
    scene.assert_honest_are_whole()


# -- odd things ----------------------------------------------------------------------------------------

ODD = [b"", b"\x00", b"\xc1", pack(None), pack([]), pack([[]]), pack([[b"", 1]]), pack([[bytes(16), -1]]), b"\x91" * 99]
ODD += [pack([[bytes(8), 5, 2**63]]), pack([[bytes(8), 9, 1]]), pack([bytes(32), bytes(64), 7]), b"\x01" + bytes(9000)]


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4, 5, 6, 7, 255])
def test_items_that_make_no_sense_are_refused_alone_or_skipped(scene: Scene, kind: int) -> None:
    for body in ODD:
        scene.says(Item(kind, body))
    scene.write()
    reports = scene.group.sync("laptop", "phone", "laptop")
    assert [box.error for report in reports for box in report.mailboxes if box.error] == []
    scene.assert_honest_are_whole()


@pytest.mark.parametrize("years", [-50, 50])
def test_a_clock_that_is_half_a_century_off_moves_no_other_and_is_forgotten_with_its_owner(
    scene: Scene, years: int
) -> None:
    scene.group.clocks["tablet"].time += years * 365 * 86_400_000_000
    scene.tablet.remember("ana", "city", "nowhere")
    scene.group.sync("tablet")
    scene.write()
    scene.group.settle("laptop", "phone", "tablet")
    scene.group.assert_in_sync("laptop", "phone", "tablet")
    now = scene.group.clocks["laptop"].time
    for memory in (scene.laptop, scene.phone):
        assert abs(memory._replica.now() - now) < 86_400_000_000
    scene.assert_honest_are_whole()


def test_a_flood_of_lives_and_events_is_taken_in_and_ends_with_its_author(scene: Scene) -> None:
    for number in range(300):
        scene.says(Item(9, b"%d" % number))
    with scene.tablet.transaction():
        for number in range(2000):
            scene.tablet.remember("flood", "drop", number)
    scene.group.sync("tablet")
    scene.write()
    scene.group.settle("laptop", "phone")
    scene.assert_honest_are_whole()
