"""A long run of everything that goes wrong with relays, and an audit at its end.

    python -m tests.mailbox.chaos --minutes 10 --seed 1 [--store sqlite|postgres]

Real relay processes (one on SQLite, two on PostgreSQL); writers that put blobs all the time and note what was
acknowledged; devices that remember, erase and sync while relays are killed, stopped, find the disk full, are put back
from old backups, and clocks jump: the devices' and the relays'. After each sync: who says "in sync" has everything in
the mailbox. At the end: what was acknowledged is what is stored, blob by blob; the devices agree, and one that joins
then gets everything.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest

from syncmem import Environment, ManualClock, Memory
from syncmem.errors import MailboxError
from syncmem.replica.said import last_said
from syncmem.seal.envelope import EpochKey
from syncmem.sync import open_mailbox
from syncmem.sync.http import Http
from syncmem.wire.blob import ItemKind
from syncmem.wire.frames import read_frame
from syncmem.wire.mailbox import Answer, BlobName, Mailbox, Outcome, Put, digest
from tests.mailbox.blows import OnPostgres, OnSqlite, Suffering
from tests.mailbox.serving import ask, new_key
from tests.sync.group import Group, items_of

SIDES: dict[str, Callable[[Path, Random], Suffering]] = {"sqlite": OnSqlite, "postgres": OnPostgres}
WRITERS = 3
DAY = 24 * 3600 * 1_000_000
STREAM = b"stream 1"


class Writer:
    """Puts blob after blob, each until it is acknowledged; fills what a mailbox lacks that is another one now."""

    def __init__(self, address: Callable[[], str], seed: int) -> None:
        self.key = new_key()
        self.acknowledged: dict[int, bytes] = {}
        self.filled = 0
        self._address = address
        self._random = Random(seed)
        self._epoch: bytes | None = None
        self._stop = threading.Event()
        self._given_up = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Come to an end with everything acknowledged by the mailbox that is there then."""
        self._stop.set()
        self._thread.join()
        self._until_done(lambda box: self._fill(box, ask(box, self.key)))

    def give_up(self) -> None:
        """The run has failed."""
        self._given_up = True
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            counter = len(self.acknowledged) + 1
            blob = self._random.randbytes(self._random.choice([300, 1000, 1000, 20_000]))
            self._until_done(partial(self._put, put=Put(STREAM, counter, blob)))
            time.sleep(0.01)

    def _put(self, box: Mailbox, put: Put) -> bool:
        answer = ask(box, self.key, put)
        if answer.results[0].outcome not in (Outcome.STORED, Outcome.KNOWN):
            assert answer.results[0].outcome == Outcome.OVER_QUOTA, answer.results
            return False
        self.acknowledged[put.counter] = put.blob
        return self._fill(box, answer)

    def _fill(self, box: Mailbox, answer: Answer) -> bool:
        """Whether the mailbox has everything; one with another epoch is given everything again."""
        if answer.epoch == self._epoch:
            return True
        puts = [Put(STREAM, counter, blob) for counter, blob in self.acknowledged.items()]
        results = [
            r for at in range(0, len(puts), 64) for r in ask(box, self.key, *puts[at : at + 64], cursors={}).results
        ]
        outcomes = Counter(result.outcome for result in results)
        assert outcomes.keys() <= {Outcome.STORED, Outcome.KNOWN, Outcome.OVER_QUOTA}, outcomes
        self.filled += outcomes[Outcome.STORED]
        if not outcomes[Outcome.OVER_QUOTA] and ask(box, self.key).epoch == answer.epoch:
            self._epoch = answer.epoch
        return self._epoch == answer.epoch

    def _until_done(self, attempt: Callable[[Mailbox], bool]) -> None:
        while not self._given_up:
            with contextlib.suppress(MailboxError), contextlib.closing(open_mailbox(self._address())) as box:
                if attempt(box):
                    return
            time.sleep(0.05)

    def audit(self, address: str) -> None:
        """What was acknowledged is what is stored."""
        stored = {name for name, _ in contents(address, self.key)}
        expected = {BlobName(STREAM, counter, digest(blob)) for counter, blob in self.acknowledged.items()}
        assert stored == expected, (
            f"{len(expected - stored)} acknowledged blobs are gone, {len(stored - expected)} more"
        )


def contents(address: str, key: EpochKey) -> list[tuple[BlobName, bytes]]:
    """All blobs of a mailbox, as somebody else reads them."""
    found: list[tuple[BlobName, bytes]] = []
    cursors: dict[bytes, int] = {}
    with contextlib.closing(open_mailbox(address)) as box:
        while True:
            answer = ask(box, key, cursors=cursors, inline_bytes_max=0)
            names = [entry.name for entry in answer.listed]
            found += [(name, blob) for name, blob in box.get(key.write_key, key.write_seed, names) if blob is not None]
            cursors |= {name.stream: name.counter for name in names}
            if not answer.more:
                return found


class Run:
    """One run; everything in it follows from the seed but for when processes get their turns."""

    def __init__(self, side: Suffering, folder: Path, seed: int, others: Sequence[str], trouble: float) -> None:
        self.side = side
        self.trouble = trouble  # how often something happens
        self.failure: BaseException | None = None
        self.random = Random(seed)
        self.counts: Counter[str] = Counter()
        self.writers = [Writer(self._address, seed + n) for n in range(WRITERS)]
        self.group = Group(folder, "https://relay", lambda _: self._opened())
        self.group.found()
        for name in others:
            self.group.pair(name)

    def _address(self) -> str:
        return self.side.address()

    def _opened(self) -> Mailbox:
        return Http(self._address(), environment=Environment(clock=ManualClock()))

    def step(self) -> None:
        """Somebody writes, somebody syncs, and perhaps something happens meanwhile."""
        name = self.random.choice([*self.group.devices])
        self._write(name, self.group.devices[name])
        happening = self._begin() if self.random.random() < self.trouble else None
        syncing = self.random.choice([*self.group.devices])
        all_of_them = self.random.random() < 0.3  # so that they may come to agree
        for report in self.group.sync(*([*self.group.devices] * 2 if all_of_them else []), syncing):
            self.counts["syncs"] += 1
            self.counts["syncs that failed"] += any(one.error is not None for one in report.mailboxes)
        if happening is not None:
            happening.join()
            self.side.recover()
        elif self.group.devices[syncing].status().in_sync:
            self.counts["said to be in sync"] += 1
            self.check_claim(syncing)
        if self.random.random() < 0.3:
            self.side.calm()

    def _write(self, name: str, memory: Memory) -> None:
        what = self.random.random()
        entity = self.random.choice(["ana", "bob", "eve"])
        if what < 0.1:
            jump = self.random.randint(-40, 40) * DAY // 2
            clock = self.group.clocks[name]
            clock.time = max(DAY, clock.time + jump)
            self.counts["clock of a device jumps"] += 1
        elif what < 0.15:
            memory.erase(entity)
            self.counts["erasures"] += 1
        else:
            memory.remember(entity, f"fact {self.random.randrange(20)}", self.random.randbytes(40).hex())

    def _begin(self) -> threading.Thread:
        blows = self.side.blows()
        name = self.random.choice([*blows])
        self.counts[name] += 1
        after = self.random.choice([0.0, 0.005, 0.02, 0.05, 0.2])
        thread = threading.Timer(after, self._happen, [blows[name]])
        thread.start()
        return thread

    def _happen(self, blow: Callable[[], object]) -> None:
        try:
            blow()
        except BaseException as error:
            self.failure = error

    def check_claim(self, name: str) -> None:
        """Who is in sync has all its events in the mailbox; nothing was put back since it asked."""
        memory = self.group.devices[name]
        there = {
            (key.id, place)
            for key, places in self._events()
            for place in places
        }  # fmt: skip
        for log in memory._syncer.replica.logs.held(scope="vault"):
            said = last_said(memory._syncer.replica.logs, log)
            lacking = [place for place in range(1, said + 1) if (log.id, place) not in there]
            assert not lacking, f"{name} says that it is in sync, and the mailbox lacks {lacking} of a log"

    def _events(self) -> list[tuple[object, range]]:
        found: list[tuple[object, range]] = []
        for key in self.group.keys_ever():
            for _, sealed in contents(self._address(), key):
                items = items_of(key, sealed)
                for frame in (read_frame(item.body) for item in items if item.kind == ItemKind.FRAME):
                    found.append((frame.key, range(frame.first, frame.last + 1)))
        return found

    def end(self) -> None:
        """Calm, and the audit."""
        self.side.calm()
        latest = max(clock.time for clock in self.group.clocks.values())
        for clock in self.group.clocks.values():
            clock.time = latest + DAY
        for writer in self.writers:
            writer.end()
        self.group.settle()
        self.group.pass_time()
        self.group.settle()
        self.group.assert_in_sync()
        for name in self.group.devices:
            self.check_claim(name)
        self.group.pair("newcomer")
        self.group.settle()
        self.group.assert_in_sync()
        for writer in self.writers:
            writer.audit(self._address())
        found = self.side.verify()
        assert found["problems"] == [], found
        self.counts["blobs acknowledged"] = sum(len(writer.acknowledged) for writer in self.writers)
        self.counts["blobs sent again after a backup"] = sum(writer.filled for writer in self.writers)

    def close(self) -> None:
        for writer in self.writers:
            writer.give_up()
        self.group.close()


def run(
    kind: str, folder: Path, seed: int, going_on: Callable[[int], bool], *,
    others: Sequence[str] = ("phone", "tablet"), trouble: float = 0.4,
) -> Counter[str]:  # fmt: skip
    """Steps while ``going_on`` says so of their number, then the audit; what happened how often."""
    with (
        contextlib.closing(SIDES[kind](folder, Random(seed))) as side,
        contextlib.closing(Run(side, folder, seed, others, trouble)) as made,
    ):
        steps = 0
        while going_on(steps):
            made.step()
            if made.failure is not None:
                raise made.failure
            steps += 1
        made.end()
        made.counts["steps"] = steps
        return made.counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=SIDES, action="append", help="both, if unsaid")
    asked = parser.parse_args()
    for kind in asked.store or SIDES:
        until = time.monotonic() + asked.minutes * 60
        with tempfile.TemporaryDirectory(prefix="syncmem-chaos-") as folder:
            try:
                counts = run(kind, Path(folder), asked.seed, lambda _, until=until: time.monotonic() < until)  # type: ignore[misc]
            except pytest.skip.Exception as skipped:
                print(f"{kind}: skipped, {skipped}")
                continue
        print(f"{kind}, seed {asked.seed}: nothing was lost.")
        print("\n".join(f"  {count:>8}  {what}" for what, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
