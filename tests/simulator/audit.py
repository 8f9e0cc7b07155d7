"""The end of a run: everything works again, all come to rest, and then every law is asked; see :mod:`laws`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from syncmem import BrokenChain, Environment, Forked, ManualClock, Memory, NotFound
from syncmem.environment import seeded_randomness
from syncmem.model.event import Erased
from syncmem.replica.catalog import VAULT
from syncmem.seal.envelope import EpochKey
from tests.simulator.disk import SUFFIXES
from tests.simulator.laws import CANARY, after_a_step, asked_again, frames_in_mailboxes, look, must, standing
from tests.simulator.ledger import held
from tests.simulator.operations import synced
from tests.simulator.world import SECOND

if TYPE_CHECKING:
    from tests.simulator.device import Device
    from tests.simulator.world import World

ROUNDS_MAX = 14
ROUND = 2 * 86_400 * SECOND  # mailboxes that were left are visited once a day
MISSED = 31 * 86_400 * SECOND
ORDERS = 2  # in which the events are taken in anew


def heal(world: World) -> list[str]:
    """I13: faults end, and all come to rest; the devices that are members."""
    world.step += 1
    world.network.late.clear()
    for device in world.devices.values():
        device.disk.full = False
    for _ in range(ROUNDS_MAX):
        world.time += ROUND
        moved = sum([server.settle() for server in world.servers.values()])
        outcomes = {}
        for name, device in world.devices.items():
            world.step += 1
            outcomes[name] = synced(world, device)
            after_a_step(world, device)
            moved += sum([server.settle() for server in world.servers.values()])
        if not moved and not any(outcome.startswith("moved") for outcome in outcomes.values()):
            break
    else:
        must("I13", False, f"no rest in {ROUNDS_MAX} rounds: {outcomes}")
    return [name for name, outcome in outcomes.items() if outcome != "removed"]


def audit(world: World, names: list[str]) -> None:
    """All laws, of the devices that are members."""
    members = [world.devices[name] for name in names]
    for device in world.devices.values():
        look(world, device)
        asked_again(device)
    agree(world, members)
    nothing_is_lost(world, members)
    removed_devices_are_out(world, members)
    for device in members:
        whole(device)
    nothing_erased_is_left(world, members)
    for device in members[:1]:
        any_order_gives_the_same(world, device)


def agree(world: World, members: list[Device]) -> None:
    """I1, I14: equal, and known to be."""
    for scope in world.scopes:
        having = [device for device in members if scope in device.memory._syncer.vault.scopes]
        stands = {standing(device.memory, scope, notes=True) for device in having}
        must("I1", len(stands) <= 1, f"{[d.name for d in having]} differ in {scope}")
    if world.losses and any(box.missing for device in members for box in device.memory.status().mailboxes):
        world.time += MISSED  # what a mailbox lost and nobody holds is told of for so long
        for device in members:
            synced(world, device)
    for device in members:
        status = device.memory.status()
        gone = [each.name for each in status.devices if each.id in world.orphans]
        missed = status.waiting_for if gone else () if status.in_sync else ("all",)
        must("I13", {*missed} <= {*gone}, f"{device.name} does not come to be in sync: {status}")
        waits = [e for e in status.erasures if e.mailboxes or not {*e.waiting_for} <= {*gone}]
        must("I13", not waits, f"{device.name} waits for erasures: {waits}")


def nothing_is_lost(world: World, members: list[Device]) -> None:
    """I3, I12: also of the kinds that nobody knows."""
    here = {device.name: held(device.memory) for device in members}
    for write in world.ledger.required(set(here)):
        scope = write.words.scope
        shares = scope in world.devices[write.device].memory._syncer.vault.scopes  # else it stays where it is
        for device in members if shares else ():
            if scope in device.memory._syncer.vault.scopes:
                lacks = write.words not in here[device.name]
                must("I3", not lacks, f"{device.name} lacks what {write.device} wrote: {write.words}")


def removed_devices_are_out(world: World, members: list[Device]) -> None:
    """I9: they have no key of an epoch that is written now."""
    out = [device for device in world.devices.values() if device not in members]
    for member in members:
        vault = member.memory._syncer.vault
        current = {key.epoch for scope in vault.scopes if (key := vault.current(scope)) is not None}
        for device in out:
            theirs = device.memory._syncer.vault.keys if device.memory._syncer.vault.exists else {}
            must("I9", not current & theirs.keys(), f"{device.name} is removed and has a key of {member.name}'s epoch")


def whole(device: Device) -> None:
    """I4, I2: every chain and signature; a rebuild changes nothing."""
    memory = device.memory
    problems = [p for p in memory.doctor(full=True).problems if p.startswith("log ") or "repair" in p]
    must("I4", not problems, f"{device.name}: {problems}")
    before = memory.belief_digest(), memory._replica.last_transaction
    memory.rebuild()
    must(
        "I2", before == (memory.belief_digest(), memory._replica.last_transaction), f"{device.name}: a rebuild differs"
    )
    asked_again(device)


def nothing_erased_is_left(world: World, members: list[Device]) -> None:
    """I7: of values that are said in erased events alone there is no byte on a member's disk or in a mailbox in use."""
    if world.forks:
        return  # a twin of an erased event may stand elsewhere under another author's knowledge
    known = set().union(*(held(device.memory) for device in members))
    gone = [w.words.payload for w in world.ledger.writes if world.ledger.is_erased(w) and w.words not in known]
    said = {canary for payload in gone for canary in _canaries(payload)}
    said -= {canary for words in known for canary in _canaries(words.payload)}
    for device in members:
        files = [file for suffix in SUFFIXES if (file := device.path.with_name(device.path.name + suffix)).exists()]
        data = b"".join([file.read_bytes() for file in files] + list(device.disk.files.values()))
        found = [canary for canary in said if canary in data]
        must("I7", not found, f"{device.name} keeps {found}, which was erased")
    for device in members[:1]:
        vault = device.memory._syncer.vault
        current = [key for scope in vault.scopes if (key := vault.current(scope)) is not None]
        for payload in payloads_in_mailboxes(world, current):
            found = [canary for canary in said if canary in payload]
            must("I7", not found, f"a mailbox keeps {found}, which was erased")


def _canaries(payload: bytes) -> Iterator[bytes]:
    """The values in a payload that are said once; each ends where no letter or digit follows."""
    for part in payload.split(CANARY)[1:]:
        end = next(
            (i for i, byte in enumerate(part) if not ((chr(byte).isalnum() and byte < 128) or byte == 45)), len(part)
        )
        yield CANARY + part[:end]


def payloads_in_mailboxes(world: World, keys: list[EpochKey]) -> Iterator[bytes]:
    """The payloads of all events that lie in mailboxes under these keys."""
    for frame in frames_in_mailboxes(world, keys):
        yield from (event.payload for event in frame.events if not isinstance(event, Erased))


def any_order_gives_the_same(world: World, device: Device) -> None:
    """I2: fresh replicas that take the logs in other orders believe the same."""
    if device.memory._replica.db.execute("SELECT count(*) FROM cuts").fetchone()[0]:
        return  # without the vault nobody knows of a removal
    wanted = device.memory.belief_digest()
    for number in range(ORDERS):
        order = Random(f"{world.seed}/order/{number}")
        environment = Environment(ManualClock(world.time), seeded_randomness(number))
        with Memory(":memory:", environment=environment, zone="UTC", embedder=None) as fresh:
            logs = device.memory._replica.logs.held(scope=None)
            ids = [log.id for log in logs if log.key is not None and log.key.scope in (*world.scopes, VAULT)]
            order.shuffle(ids)
            for id in ids:
                others = {log.id: log.seq for log in logs if log.id != id}
                with suppress(Forked, BrokenChain, NotFound):
                    fresh._receive(
                        iter(device.memory._offer(others)), events_max=order.choice((1, 7, 1000)), progress=None
                    )
            must(
                "I2", fresh.belief_digest() == wanted, f"the logs of {device.name} in another order give other beliefs"
            )
