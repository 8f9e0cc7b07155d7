"""What a hostile member or mailbox puts in the way is refused alone and with a reason; the rest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncmem import Memory
from syncmem.errors import Revoked
from syncmem.model.event import LogKey
from syncmem.seal.bodies import Epoch, Name, Revoke, StatementKind
from syncmem.seal.envelope import EpochKey, seal
from syncmem.seal.graph import STATEMENTS_MAX
from syncmem.seal.keys import transport_key, wrap, wrap_context
from syncmem.seal.statements import write_statement
from syncmem.sync.in_memory import InMemoryServer
from syncmem.sync.place import Place
from syncmem.sync.recovery import leave_for_paper, recovery_key
from syncmem.wire.blob import Blob, Item, ItemKind, write_blob
from syncmem.wire.frames import frame_bytes
from syncmem.wire.mailbox import LISTED_MAX, PUTS_MAX, Exchange, Put
from tests.sync.group import Group


def put_in_the_name_of(memory: Memory, server: InMemoryServer, *items: Item, life: bytes = b"another life....") -> None:
    """What a member could write itself, under a life of its own that nobody has heard of."""
    replica, key = memory._replica, memory._syncer.vault.known("vault")
    assert key is not None
    identity = replica.identity
    blob = Blob(identity.device, life, 1, None, items)
    log = LogKey(identity.device, blob.incarnation, "vault")
    sealed = seal(key, write_blob(blob, key.vault, key.mailbox, identity.private), replica.environment.randomness)
    put = Put(key.stream(log.id), 1, sealed)
    server.mailbox().exchange(Exchange(key.write_key, [put], {}, 0), key.write_seed)


def test_a_statement_of_another_vault_is_refused_and_stops_nothing(tmp_path: Path) -> None:
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop, phone = group.found(), group.pair("phone")
    group.settle()
    with Memory(":memory:") as stranger:
        stranger.create_vault("stranger")
        foreign = stranger._syncer.vault.roster.statements_in_order()[0].wire
    put_in_the_name_of(phone, server, Item(ItemKind.STATEMENT, foreign))
    phone.remember("ana", "city", "Lisbon")
    group.sync("phone")
    (vault,) = laptop.sync().mailboxes
    assert vault.error is None
    assert ["of another vault" in reason for reason in vault.refused] == [True]
    assert laptop.believe("ana", "city").value == "Lisbon"
    group.close()


def test_rubbish_left_for_the_recovery_phrase_does_not_keep_it_from_working(tmp_path: Path) -> None:
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop = group.found()
    laptop.remember("ana", "city", "Lisbon")
    group.sync("laptop")
    vault = laptop._syncer.vault
    key, paper = recovery_key(vault.roster), next(member for member in vault.roster.members if member.paper)
    assert key is not None
    place = Place(key, server.mailbox(), laptop._replica.environment.randomness)
    for number, wires in enumerate(([b"no statement"], [b"\x90"], []), 1):
        leave_for_paper(place, b"rubbish %d" % number, paper.transport, ["memory:"], wires)
    place.put(b"unsealed", 1, b"nothing that opens")
    back = Memory.recover(tmp_path / "new.db", group.phrase, "memory:", environment=group.environment("new"))
    back.sync()
    assert back.believe("ana", "city").value == "Lisbon"
    back.close()
    group.close()


def test_more_rubbish_than_one_answer_lists_does_not_hide_what_was_left_for_the_phrase(tmp_path: Path) -> None:
    """Whoever was a member knows the place; it fills a stream that stands before that of any device."""
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop = group.found()
    laptop.remember("ana", "city", "Lisbon")
    group.sync("laptop")
    key = recovery_key(laptop._syncer.vault.roster)
    assert key is not None
    for first in range(1, LISTED_MAX + 2, PUTS_MAX):
        puts = [Put(bytes(8), counter, b"rubbish") for counter in range(first, first + PUTS_MAX)]
        server.mailbox().exchange(Exchange(key.write_key, puts, {}, 0), key.write_seed)
    back = Memory.recover(tmp_path / "new.db", group.phrase, "memory:", environment=group.environment("new"))
    back.sync()
    assert back.believe("ana", "city").value == "Lisbon"
    back.close()
    group.close()


@pytest.mark.parametrize("rotates", [True, False], ids=["rotates", "leaves it to others"])
def test_a_thief_that_keeps_its_key_from_the_phrase_does_not_keep_it_from_working(
    tmp_path: Path, rotates: bool
) -> None:
    """It removes the other device; the phrase brings back all that was said before it changed the key."""
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop, thief = group.found(), group.pair("thief")
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    vault = thief._syncer.vault
    logs = thief._replica.logs.held(device=laptop._syncer.vault.device)
    against = Revoke(laptop._syncer.vault.device, [(log.id, log.seq, log.head) for log in logs], False, None)
    said = [(StatementKind.REVOKE, against), (StatementKind.EPOCH, for_itself(thief))][: 1 + rotates]
    with thief._syncer._writing():
        for kind, body in said:
            vault.add([write_statement(kind, vault.roster.vault, vault.roster.heads, vault.seed, 0, body)])
        thief._syncer._tell_paper(server.mailbox(), "memory:")
    back = Memory.recover(
        tmp_path / "new.db", group.phrase, "memory:", name="new", environment=group.environment("new")
    )
    back.sync()
    assert back.believe("ana", "city").value == "Lisbon"
    back.revoke("thief")
    back.sync()
    assert [device.name for device in back.status().devices if device.live] == ["new"]
    back.close()
    group.close()


def for_itself(memory: Memory) -> Epoch:
    """A new key of the vault that a device gives to nobody else."""
    vault = memory._syncer.vault
    key = EpochKey(vault.roster.vault, "vault", b"", b"k" * 32, vault.subject_key("vault") or b"")
    context = wrap_context(key.vault, key.scope, vault.device)
    wrapped = wrap(transport_key(vault.seed), context, key.secret + key.subject)
    return Epoch("vault", [(vault.device, wrapped)], key.key_mark, key.subject_mark)


def test_another_vaults_genesis_left_for_the_recovery_phrase_does_not_keep_it_from_working(tmp_path: Path) -> None:
    """Any member, also one that was removed since, can write where the phrase looks."""
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop = group.found()
    laptop.remember("ana", "city", "Lisbon")
    group.sync("laptop")
    roster = laptop._syncer.vault.roster
    key, paper = recovery_key(roster), next(member for member in roster.members if member.paper)
    assert key is not None
    place = Place(key, server.mailbox(), laptop._replica.environment.randomness)
    with Memory(":memory:") as stranger:
        stranger.create_vault("stranger")
        wires = [statement.wire for statement in stranger._syncer.vault.roster.statements_in_order()]
    leave_for_paper(place, b"rubbish", paper.transport, ["memory:"], wires)
    back = Memory.recover(tmp_path / "new.db", group.phrase, "memory:", environment=group.environment("new"))
    back.sync()
    assert back.believe("ana", "city").value == "Lisbon"
    back.close()
    group.close()


def test_whom_a_removed_device_lets_in_before_it_hears_of_it_is_not_believed_and_gets_no_new_key(group: Group) -> None:
    laptop = group.found()
    tablet = group.pair("tablet")
    group.settle()
    laptop.revoke("tablet")
    watch = group.pair("watch", by="tablet")
    watch.remember("ana", "city", "Porto")
    watch.sync()
    laptop.remember("ana", "language", "Portuguese")
    group.settle("laptop")
    assert laptop.believe("ana", "city") is None
    assert [device.name for device in laptop.status().devices if device.live] == ["laptop"]
    for removed in (tablet, watch):
        with pytest.raises(Revoked):
            removed.sync()
    assert watch.believe("ana", "language") is None
    laptop.adopt("watch")
    assert laptop.believe("ana", "city").value == "Porto"


def test_a_flood_of_statements_is_refused_and_its_author_can_still_be_removed(tmp_path: Path) -> None:
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop, phone = group.found(), group.pair("phone")
    group.settle()
    vault = phone._syncer.vault
    body = Name(vault.device, "the flood")
    flood = [
        write_statement(StatementKind.NAME, vault.roster.vault, vault.roster.heads, vault.seed, number, body)
        for number in range(STATEMENTS_MAX)
    ]
    for part in (flood[: STATEMENTS_MAX // 2], flood[STATEMENTS_MAX // 2 :]):
        put_in_the_name_of(phone, server, *(Item(ItemKind.STATEMENT, one.wire) for one in part), life=part[0].id)
    laptop.sync()
    assert any("the roster is full" in reason for box in laptop.status().mailboxes for _, reason in box.refused)
    laptop.revoke("the flood")
    laptop.remember("ana", "city", "Lisbon")
    assert [one.error for one in laptop.sync().mailboxes if one.error] == []
    assert [device.name for device in laptop.status().devices if device.live] == ["laptop"]
    group.close()


def test_a_blob_whose_frames_inflate_without_end_is_refused_early(tmp_path: Path) -> None:
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    laptop, phone = group.found(), group.pair("phone")
    group.settle()
    with Memory(":memory:", environment=group.environment("bomb")) as bomb:
        for _ in range(4):
            bomb.remember("ana", "diary", "x" * 48_000)
        (frame, *_) = bomb._replica.frames({})
    inflating = [Item(ItemKind.FRAME, frame_bytes(frame))] * 1000  # some 200 bytes each, and 48,000 once it is read
    put_in_the_name_of(phone, server, *inflating)
    phone.remember("ana", "city", "Lisbon")
    group.sync("phone")
    (vault,) = laptop.sync().mailboxes
    assert ["more events than may be" in reason for reason in vault.refused] == [True]
    assert laptop.believe("ana", "city").value == "Lisbon"
    group.close()
