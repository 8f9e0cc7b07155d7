"""Devices that pair, write, sync, are removed, restored, cloned and cut off, over mailboxes that misbehave.

Rules held in the end, once everything works again and all have synced: nothing that was acknowledged on
any device that is still a member is missing anywhere; all hold and believe the same, and each says so
because it was verified.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from syncmem import BrokenChain, Forked, Memory, NotFound, Revoked, restore
from syncmem.errors import MailboxError
from syncmem.model.episode import INLINE_BYTES_MAX
from syncmem.model.event import Erased
from syncmem.model.instant import from_datetime
from syncmem.sync.shelf import content_key
from tests.machine import disk_of, put_back
from tests.sync.group import NOON, Group
from tests.sync.test_versions import LATER_KIND, write_as_later_version
from tests.sync.trouble import Trouble

NAMES = ("laptop", "phone", "tablet", "desk", "watch", "spare")
DEVICES = st.integers(0, len(NAMES) - 1)
PREDICATES = st.sampled_from(["city", "language"])
YEAR = 365 * 86_400_000_000  # microseconds
CLOCK = from_datetime(NOON)
VALUES = st.sampled_from(["A", "B", "C"])


class Syncers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="syncmem-sync-"))
        self.trouble = Trouble()
        self.group = Group(self.folder, "memory:one", self.trouble.mailbox)
        self.held: dict[str, set[str]] = {}  # device -> values it acknowledged
        self.removed: set[str] = set()
        self.number = 0
        self.backups: dict[str, tuple[Path, set[str]]] = {}
        self.had_trouble = False  # listings may have hidden what was to be dropped

    @initialize(second=st.booleans())
    def begin(self, second: bool) -> None:
        laptop = self.group.found()
        self.held["laptop"] = set()
        laptop.define("city", cardinality="single")
        if second:
            laptop.add_mailbox("memory:two")

    # -- picking ------------------------------------------------------------------------------------

    @property
    def live(self) -> list[str]:
        return [name for name in self.held if name not in self.removed]

    def pick(self, number: int) -> tuple[str, Memory]:
        name = self.live[number % len(self.live)]
        return name, self.group.devices[name]

    def sync_quietly(self, name: str) -> None:
        """A sync that may meet trouble: it never raises for what a mailbox did."""
        with contextlib.suppress(Revoked):
            self.group.devices[name].sync()

    def members(self, memory: Memory) -> set[str]:
        """The devices that one knows as members."""
        roster = memory._syncer.vault.roster
        devices = {name: self.group.devices[name]._replica.device for name in self.live}
        return {name for name, device in devices.items() if device is not None and roster.is_live(device)}

    # -- writing ------------------------------------------------------------------------------------

    @rule(number=DEVICES, predicate=PREDICATES)
    def remember(self, number: int, predicate: str) -> None:
        self.remember_on(*self.pick(number), predicate)

    def remember_on(self, name: str, memory: Memory, predicate: str = "city") -> None:
        self.number += 1
        value = f"{name} {self.number}"
        memory.remember("ana", "diary", value)
        memory.remember("ana", predicate, value)
        self.held[name].add(value)
        self.group.pass_time()

    @rule(number=DEVICES, value=VALUES)
    def end_or_retract(self, number: int, value: str) -> None:
        _, memory = self.pick(number)
        event = memory.remember("bob", "language", value).event
        memory.retract(event)

    @rule(number=DEVICES)
    def remember_much(self, number: int) -> None:
        name, memory = self.pick(number)
        with memory.transaction():
            for _ in range(300):
                self.number += 1
                memory.remember("ana", "diary", f"{name} {self.number}")
                self.held[name].add(f"{name} {self.number}")
        self.group.pass_time()

    @rule(number=DEVICES)
    def tell_a_secret(self, number: int) -> None:
        name, memory = self.pick(number)
        self.number += 1
        memory.remember("secret", "diary", f"{name} {self.number}")
        memory.remember("ana", "knows", f"{name} {self.number}", mentions=["secret"])
        self.group.pass_time()

    @rule(number=DEVICES, other=st.sampled_from(["bob", "eve"]), same=st.booleans())
    def link(self, number: int, other: str, same: bool) -> None:
        _, memory = self.pick(number)
        (memory.same if same else memory.different)("secret", other)
        self.group.pass_time()

    @rule(number=DEVICES)
    def erase(self, number: int) -> None:
        self.pick(number)[1].erase("secret")
        self.group.pass_time()

    @rule(number=DEVICES, speaker=st.sampled_from(["ana", "secret"]), long=st.booleans(), episode=st.integers(0, 3))
    def observe(self, number: int, speaker: str, long: bool, episode: int) -> None:
        """What several devices may observe apart."""
        content = f"{speaker} says {episode}. " * (1 + long * INLINE_BYTES_MAX // 4)
        self.pick(number)[1].observe(content, speaker=speaker, at="2026-06-15")
        self.group.pass_time()

    @rule(number=DEVICES)
    def read(self, number: int) -> None:
        _, memory = self.pick(number)
        for one in memory.episodes()[:2]:
            with contextlib.suppress(NotFound, MailboxError):
                memory.read(one.id)

    @rule(number=DEVICES)
    def erase_an_episode(self, number: int) -> None:
        _, memory = self.pick(number)
        for one in memory.episodes(speaker="secret")[:1]:
            memory.erase(episode=one.id)
        self.group.pass_time()

    @rule(number=DEVICES, years=st.sampled_from([-50, 50]))
    def a_clock_is_set_wrong(self, number: int, years: int) -> None:
        self.group.clocks[self.pick(number)[0]].time = CLOCK + years * YEAR

    @rule(number=DEVICES)
    def a_clock_is_set_right(self, number: int) -> None:
        self.group.clocks[self.pick(number)[0]].time = CLOCK

    @rule(number=DEVICES)
    def write_as_a_later_version(self, number: int) -> None:
        """Of a kind that nobody here knows."""
        self.number += 1
        write_as_later_version(self.pick(number)[1], LATER_KIND, b"later %d" % self.number)

    # -- syncing ------------------------------------------------------------------------------------

    @rule(number=DEVICES)
    def sync(self, number: int) -> None:
        self.sync_quietly(self.pick(number)[0])

    @rule()
    def all_sync(self) -> None:
        for name in self.live:
            self.sync_quietly(name)

    @rule(seed=st.integers(0, 2**16), rate=st.sampled_from([0.05, 0.3]))
    def trouble_begins(self, seed: int, rate: float) -> None:
        self.had_trouble = True
        self.trouble.begin(Random(seed), rate)

    @rule()
    def trouble_ends(self) -> None:
        self.trouble.end()

    @rule()
    def a_mailbox_is_reset(self) -> None:
        self.trouble.reset()

    @rule()
    def a_mailbox_is_backed_up(self) -> None:
        self.trouble.back_up()

    @rule()
    def a_mailbox_is_put_back(self) -> None:
        self.trouble.put_back()

    # -- devices ------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.held) < len(NAMES) and not self.trouble.active)
    @rule(number=DEVICES)
    def pair(self, number: int) -> None:
        name = NAMES[len(self.held)]
        by = self.pick(number)[0]
        self.sync_quietly(by)
        if by in self.live and self.group.devices[by]._syncer.vault.current("vault") is not None:
            self.group.pair(name, by)
            self.held[name] = set()

    @precondition(lambda self: len(self.live) > 2)
    @rule(number=DEVICES, other=DEVICES)
    def revoke(self, number: int, other: int) -> None:
        (name, memory), (gone, _) = self.pick(number), self.pick(other)
        named = {device.name for device in memory.status().devices}  # a copy is no member of its own
        if name != gone and {name, gone} <= self.members(memory) and gone in named:
            memory.revoke(gone)
            self.removed.add(gone)

    @rule(number=DEVICES)
    def reopen(self, number: int) -> None:
        name, memory = self.pick(number)
        memory.close()
        self.group.open(name)

    @rule(number=DEVICES)
    def back_up(self, number: int) -> None:
        name, memory = self.pick(number)
        path = self.folder / f"{name}-{self.number}.backup"
        path.unlink(missing_ok=True)
        memory.backup(path)
        self.backups[name] = (path, set(self.held[name]))

    @rule(number=DEVICES)
    def put_back(self, number: int) -> None:
        """The disk dies; what was not in the backup is at most in the mailboxes and on the others."""
        name, memory = self.pick(number)
        if name in self.backups:
            path, held = self.backups[name]
            elsewhere: set[str] = set()
            for other in self.live:
                if other != name:
                    elsewhere |= values(self.group.devices[other])
            memory.close()
            restore(path, self.group.path(name), overwrite=True)
            self.group.open(name)
            self.held[name] = held | (self.held[name] & elsewhere)

    @precondition(lambda self: len(self.live) > 1)
    @rule(number=DEVICES, other=DEVICES, syncs=st.booleans())
    def two_lives(self, number: int, other: int, syncs: bool) -> None:
        """A machine writes, is put back whole and writes again; another device has heard of its first life."""
        (name, memory), (heir, listener) = self.pick(number), self.pick(other)
        if name == heir or not {name, heir} <= self.members(listener) & self.members(memory):
            return
        memory.close()
        disk, held = disk_of(self.group.path(name)), set(self.held[name])
        self.remember_on(name, self.group.open(name))
        with contextlib.suppress(Forked, BrokenChain):
            listener.merge(self.group.devices[name])
        if syncs:
            self.sync_quietly(name)
        if name not in self.live or not self.held[name] <= values(listener):
            return  # what only the first life knew would be lost with its disk
        self.held[heir] |= self.held[name]
        self.held[name] = held
        self.group.devices[name].close()
        put_back(self.group.path(name), disk)
        self.group.pass_time()
        self.remember_on(name, self.group.open(name))

    @precondition(lambda self: len(self.held) < len(NAMES))
    @rule(number=DEVICES)
    def clone(self, number: int) -> None:
        name, _ = self.pick(number)
        copy = NAMES[len(self.held)]
        self.group.copy(name, copy)
        self.held[copy] = set()

    # -- the end ------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if self.held:
                self.heal()
        finally:
            self.group.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def heal(self) -> None:
        self.trouble.end()
        for _ in range(12):
            self.group.pass_time(timedelta(days=2))  # mailboxes that were left are visited once a day
            if not sum(self.sync_or_leave(name) for name in self.held):
                break
        else:
            raise AssertionError("the devices do not come to rest")
        names = self.live
        self.group.assert_in_sync(*names)
        for name in names:
            missing = self.held[name] - values(self.group.devices[names[0]])
            assert not missing, (name, missing)
        self.group.servers = list(self.trouble.servers.values())
        for name in names:
            self.assert_no_traces(self.group.devices[name])
        self.assert_same_episodes([self.group.devices[name] for name in names])

    def assert_same_episodes(self, memories: list[Memory]) -> None:
        """All list the same, and read all that one of them has whole; what was erased is on no shelf."""
        listed = [[one.id for one in memory.episodes()] for memory in memories]
        assert all(ids == listed[0] for ids in listed), listed
        whole = {id for id in listed[0] for m in memories if m.episode(id).chunks_here == m.episode(id).chunks}
        for _ in range(3):
            for memory in memories:
                for id in whole:
                    with contextlib.suppress(NotFound):
                        memory.read(id)
                memory.sync()
        for id in whole:
            assert len({memory.read(id, fetch=False) for memory in memories}) == 1
        boxes = [(id, box) for server in self.trouble.servers.values() for id, box in server.boxes.items()]
        for memory in [] if self.had_trouble else memories:
            current = [k for s in memory._syncer.vault.scopes if (k := memory._syncer.vault.current(s)) is not None]
            gone = {
                content_key(key, e).mailbox for key in current for e in memory._replica.fold.episodes.gone(key.scope)
            }
            assert not [id for id, box in boxes if id in gone and any(any(b.values()) for b in box.blobs.values())]

    def assert_no_traces(self, memory: Memory) -> None:
        """The mailboxes that are in use hold no payload of an event that was erased here."""
        vault, logs = memory._syncer.vault, memory._replica.logs
        current = [key for scope in vault.scopes if (key := vault.current(scope)) is not None]
        runs = [run for log in logs.held() for _, run in logs.runs(log.no)]
        held = {event.payload for run in runs for event in run if not isinstance(event, Erased)}
        for log, place, event in self.group.events_in_mailboxes(current):
            assert event.payload in held or b"secret" not in event.payload, (log, place)
        assert all(erasure.complete for erasure in memory.erasures())

    def sync_or_leave(self, name: str) -> bool:
        """Whether anything moved. A removal comes to nothing where its author was removed before anybody had heard."""
        device = self.group.devices[name]
        before = set(self.removed)
        try:
            moves = [(one.sent, one.received, one.chunks_sent, one.chunks_received) for one in device.sync().mailboxes]
            moved = any(map(any, moves))
            rosters = [self.group.devices[other]._syncer.vault.roster for other in self.live]
            if all(roster.is_live(device._syncer.vault.device) for roster in rosters):
                self.removed.discard(name)
        except Revoked:
            moved = False
            self.removed.add(name)
        return moved or before != self.removed


def values(memory: Memory) -> set[Any]:
    return {belief.value for belief in memory.beliefs("ana", "diary", valid_at="2100-01-01")}


TestSyncers = Syncers.TestCase
TestSyncers.settings = settings(max_examples=max(1, settings.default.max_examples // 6))  # many real files each
