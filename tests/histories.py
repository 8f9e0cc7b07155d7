"""Real edit histories with known answers: ``python -m tests.histories FOLDER --devices 3 --mode shuffle --seed 7``

A folder holds ``NAME.jsonl.gz`` (edits), ``schema.json``, ``NAME.queries.jsonl.gz`` (what was believed on a
day about a day), ``NAME.final.jsonl.gz`` (what holds in the end) and perhaps ``NAME.badbatch.json``.
The edits are written by devices whose clocks stand at the time of each edit; their events then reach
as many fresh devices in the order of the mode.  Every question is asked on every device.  Prints what
is wrong and the figures, last a line ``N of M right``, and exits 1 unless all are right and all digests equal.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from syncmem import Environment, ManualClock, Memory, labels
from syncmem.environment import seeded_randomness
from syncmem.model import salt
from syncmem.model.event import CHAIN_START, chained, head_words, header, header_hash
from syncmem.model.frame import Frame
from syncmem.model.instant import from_datetime, parse, to_datetime
from syncmem.seal.keys import sign

Row = dict[str, Any]
MODES = ("in-order", "shuffle", "reverse", "offline", "dup")
SHOWN_WRONG = 10  # wrong answers that are printed
SECOND = 1_000_000
LATE = "2100-01-01T00:00:00Z"  # when open facts are asked for their last value


@dataclass
class History:
    """A folder, read."""

    name: str
    schema: dict[str, list[str]]
    edits: list[Row]
    queries: list[Row]
    final: list[Row]
    badbatches: list[Row]

    @classmethod
    def read(cls, folder: Path) -> History:
        found = sorted(p for p in folder.glob("*.jsonl.gz") if p.name.count(".") == 2)
        if len(found) != 1:
            raise SystemExit(f"{folder} holds {len(found)} files named NAME.jsonl.gz; name a folder with one history")
        name = found[0].name.removesuffix(".jsonl.gz")
        bad = folder / f"{name}.badbatch.json"
        return cls(
            name=folder.name,
            schema=json.loads((folder / "schema.json").read_text()),
            edits=_rows(found[0]),
            queries=_rows(folder / f"{name}.queries.jsonl.gz"),
            final=_rows(folder / f"{name}.final.jsonl.gz"),
            badbatches=json.loads(bad.read_text()) if bad.exists() else [],
        )

    def one_in(self, parts: int) -> History:
        """The same history of some of its entities alone: about one in so many, always the same ones."""

        def stays(row: Row) -> bool:
            return crc32(row["entity"].encode()) % parts == 0

        return History(
            self.name,
            self.schema,
            *([row for row in rows if stays(row)] for rows in (self.edits, self.queries, self.final)),
            [bad | {"slots": [slot for slot in bad["slots"] if stays(slot)]} for bad in self.badbatches],
        )

    def cardinality(self, predicate: str) -> str:
        known = self.schema.get(predicate) or self.schema.get(predicate.split(":")[0] + ":*")
        return "many" if known is None or known[0] == "multi" else "single"


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@dataclass
class Result:
    """What a run found."""

    right: int = 0
    total: int = 0
    wrong: list[str] = field(default_factory=list)

    def check(self, what: str, expected: Any, found: Any) -> None:
        self.total += 1
        if expected == found:
            self.right += 1
        else:
            self.wrong.append(f"{what}: expected {expected}, found {found}")


# -- writing -------------------------------------------------------------------------------------------


def author(history: History, devices: int, edits: Sequence[Row], folder: Path) -> list[Memory]:
    """Write the edits on ``devices`` devices, each with its clock at the time of the edit."""
    authors = [_device(folder / f"author{number}.db", number) for number in range(devices)]
    _set_clock(authors[0], _micros(edits[0]["recorded_at"]) - 3600 * SECOND)
    with authors[0].transaction():
        for predicate in sorted({edit["predicate"] for edit in edits}):
            authors[0].define(predicate, cardinality=history.cardinality(predicate))
    ids: dict[str, str] = {}
    home: dict[str, int] = {}
    for batch in _stretches(edits, lambda edit: (crc32(edit["device"].encode()) % devices, edit["recorded_at"])):
        number = crc32(batch[0]["device"].encode()) % devices
        writer = authors[number]
        _set_clock(writer, _micros(batch[0]["recorded_at"]) - SECOND // 2)
        for other in {home[e["target"]] for e in batch if e.get("target") in home} - {number}:
            writer.merge(authors[other])
        _set_clock(writer, _micros(batch[0]["recorded_at"]))
        with writer.transaction():
            for edit in batch:
                ids[edit["id"]], home[edit["id"]] = _write(writer, edit, ids), number
    return authors


def _stretches(rows: Sequence[Row], key: Callable[[Row], Any]) -> Iterator[list[Row]]:
    """Neighbours with the same key."""
    stretch: list[Row] = []
    for row in rows:
        if stretch and key(stretch[0]) != key(row):
            yield stretch
            stretch = []
        stretch.append(row)
    if stretch:
        yield stretch


def _write(memory: Memory, edit: Row, ids: dict[str, str]) -> str:
    said = {"trust": edit["trust"], "source": edit["source"], "batch": edit["batch"]}
    if edit["op"] == "retract":
        return memory.retract(ids[edit["target"]], reason=edit.get("why"), **said).event
    about = edit["entity"], edit["predicate"], edit["value"]
    if edit["op"] == "end":
        end = _when(edit["valid_to"])
        return memory.end(*about, at=end, changed=True, event=ids.get(edit.get("target", "")), **said).event
    if edit["valid_to"] is None:
        return memory.remember(*about, changed_on=_when(edit["valid_from"]), **said).event
    bounds = {"since": _when(edit["valid_from"]), "valid_to": _when(edit["valid_to"]), "then": "vacate"}
    return memory.remember(*about, **bounds, **said).event


def _when(text: str) -> Any:
    """A time of the data; a date means midnight UTC."""
    return to_datetime(parse(text, zone="UTC").earliest)


def _micros(text: str) -> int:
    return parse(text, zone="UTC").earliest


def _device(path: Path, number: int) -> Memory:
    environment = Environment(clock=ManualClock(0), randomness=seeded_randomness(number))
    return Memory(path, environment=environment)


def _set_clock(memory: Memory, now: int) -> None:
    clock = memory._environment.clock
    assert isinstance(clock, ManualClock)
    clock.time = now


# -- delivering ----------------------------------------------------------------------------------------


def deliver(authors: list[Memory], readers: list[Memory], mode: str, order: random.Random) -> int:
    """Bring all events to fresh devices in the order of a mode; how many events were taken in."""
    taken = 0
    walk = {"in-order": _in_order, "reverse": _reverse, "offline": _offline}.get(mode, _shuffled)
    logs = _logs(authors, 8 if mode == "in-order" else 64, order)
    for reader in readers:
        seen: list[Frame] = []
        for frames in walk(logs, order):
            taken += sum(len(written.positions) for written in reader._replica.receive(frames))
            seen += frames
            if mode == "dup" and order.random() < 0.5:
                list(reader._replica.receive(order.choices(seen, k=3)))
    if mode in ("offline", "dup"):
        for reader in readers:
            for other in order.sample(readers, len(readers)):
                reader.merge(other)
    return taken


def _logs(authors: list[Memory], events_max: int, order: random.Random) -> list[list[Frame]]:
    """The authors' own logs, cut into pieces of random size."""
    logs = []
    for memory in authors:
        author = memory._replica.identity
        own = [frame for frame in memory._replica.frames({}) if frame.key.device == author.device]
        logs.append(list(_cut(own, author.private, events_max, order)))
    return [log for log in logs if log]


def _cut(frames: list[Frame], seed: bytes, events_max: int, order: random.Random) -> Iterator[Frame]:
    """The same events in smaller frames, each with the chain value and the signature that prove it."""
    head = CHAIN_START
    for frame in frames:
        log = frame.key.id
        salts = salt.salts(frame.cover, frame.first % salt.BLOCK_EVENTS, len(frame.events))
        start, size = 0, order.randint(1, events_max)
        for index, (event, value) in enumerate(zip(frame.events, salts, strict=True)):
            assert value is not None
            head = chained(head, header_hash(header(log, frame.first + index, event, value)))
            if index + 1 - start == size or index + 1 == len(frame.events):
                first, part = frame.first + start, frame.events[start : index + 1]
                signature = sign(seed, labels.HEAD, head_words(log, frame.first + index, head))
                yield Frame(frame.key, first, part, frame.cover, head, signature)
                start, size = index + 1, order.randint(1, events_max)


def _in_order(logs: list[list[Frame]], order: random.Random) -> Iterator[list[Frame]]:
    """By the clock of each frame's first event."""
    for frame in sorted((f for log in logs for f in log), key=lambda f: (f.events[0].hlc, f.first)):
        yield [frame]


def _reverse(logs: list[list[Frame]], order: random.Random) -> Iterator[list[Frame]]:
    """Whole logs, the one with the newest beginning first."""
    for log in sorted(logs, key=lambda log: log[0].events[0].hlc, reverse=True):
        yield from ([frame] for frame in log)


def _offline(logs: list[list[Frame]], order: random.Random) -> Iterator[list[Frame]]:
    """Long stretches of one log at a time, as devices that were offline for long bring them."""
    waiting = [list(log) for log in logs]
    while waiting:
        log = order.choice(waiting)
        count = order.randint(1, max(1, len(log)))
        yield log[:count]
        del log[:count]
        waiting = [rest for rest in waiting if rest]


def _shuffled(logs: list[list[Frame]], order: random.Random) -> Iterator[list[Frame]]:
    """Small pieces of all logs in a random interleaving."""
    waiting = [list(log) for log in logs]
    while waiting:
        log = order.choice(waiting)
        yield [log.pop(0)]
        waiting = [rest for rest in waiting if rest]


# -- asking --------------------------------------------------------------------------------------------


def ask(history: History, memory: Memory, result: Result, device: str) -> None:
    """Every question and every final slot, on one device."""
    for query in history.queries:
        found = memory.beliefs(
            query["entity"],
            query["predicate"],
            valid_at=query["as_of_valid"],
            asserted_by=query["as_of_recorded"],
        )
        what = f"{device} {query['entity']} {query['predicate']} at {query['as_of_valid']} by {query['as_of_recorded']}"
        result.check(what, sorted(query["expected"]), sorted(str(b.value) for b in found))
    for slot in history.final:
        check_final(slot, memory, result, device)


def check_final(slot: Row, memory: Memory, result: Result, device: str) -> None:
    what = f"{device} final {slot['entity']} {slot['predicate']}"
    if slot.get("current") is not None:
        found = memory.beliefs(slot["entity"], slot["predicate"], valid_at=LATE)
        result.check(what, sorted(slot["current"]), sorted(str(b.value) for b in found))
        return
    found = [
        (str(belief.value), _micros_or_none(belief.valid_from), _micros_or_none(belief.valid_to))
        for belief in memory.timeline(slot["entity"], slot["predicate"])
    ]
    rows = [(value, _micros(start), None if end is None else _micros(end)) for value, start, end in slot["rows"]]
    many = memory.predicates()[slot["predicate"]].many
    result.check(what, sorted(as_timeline(rows, many), key=str), sorted(found, key=str))


Span = tuple[str, int | None, int | None]


def as_timeline(rows: Sequence[Span], many: bool) -> list[Span]:
    """A source's rows as one timeline: equal neighbours are one, and where rows overlap the later start holds."""
    if many:
        values = sorted({value for value, _, _ in rows})
        return [span for v in values for span in as_timeline([row for row in rows if row[0] == v], False)]
    far = float("inf")
    marks = sorted({t for _, start, end in rows for t in (start or 0, far if end is None else end)})
    result: list[Span] = []
    for start, end in itertools.pairwise(marks):
        holding = [row for row in rows if (row[1] or 0) <= start < (far if row[2] is None else row[2])]
        if holding:
            value, until = max(holding, key=lambda row: row[1] or 0)[0], None if end == far else int(end)
            if result and result[-1][0] == value and result[-1][2] == start:
                result[-1] = (value, result[-1][1], until)
            else:
                result.append((value, int(start), until))
    return result


def _micros_or_none(moment: Any) -> int | None:
    return None if moment is None else from_datetime(moment)


def check_badbatches(history: History, devices: int, folder: Path, order: random.Random, result: Result) -> None:
    """A reverted batch, withdrawn, gives what was believed before it; also when it arrives after its withdrawal."""
    for number, bad in enumerate(history.badbatches):
        until = _micros(bad["recorded_at"])
        edits = [edit for edit in history.edits if _micros(edit["recorded_at"]) <= until]
        place = folder / f"bad{number}"
        place.mkdir()
        with ExitStack() as stack:
            authors = [stack.enter_context(a) for a in author(history, devices, edits, place)]
            late = stack.enter_context(_device(place / "late.db", 90))
            withdrawer = stack.enter_context(_device(place / "withdrawer.db", 91))
            _set_clock(withdrawer, until + 60 * SECOND)
            withdrawer.retract(batch=bad["bad_batch"], scope="vault", trust=edits[-1]["trust"])
            late.merge(withdrawer)
            for one in order.sample(authors, len(authors)):
                late.merge(one)
                withdrawer.merge(one)
            for memory, name in ((late, "late"), (withdrawer, "withdrawer")):
                for slot in bad["slots"]:
                    found = memory.beliefs(slot["entity"], slot["predicate"], valid_at=bad["recorded_at"])
                    what = f"{name} without batch {bad['bad_batch']} {slot['entity']} {slot['predicate']}"
                    result.check(what, sorted(slot["before"]), sorted(str(b.value) for b in found))


# -- the run -------------------------------------------------------------------------------------------


def run(folder: Path, devices: int, mode: str, seed: int, *, one_in: int = 1) -> tuple[Result, bool]:
    """Replay one folder; the result, and whether all digests are equal. ``one_in``: see :meth:`History.one_in`."""
    history = History.read(folder).one_in(one_in)
    order = random.Random(seed)
    result = Result()
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        authors = [stack.enter_context(a) for a in author(history, devices, history.edits, Path(place))]
        readers = [stack.enter_context(_device(Path(place) / f"reader{n}.db", 50 + n)) for n in range(devices)]
        started = time.perf_counter()
        taken = deliver(authors, readers, mode, order)
        seconds = time.perf_counter() - started
        for number, reader in enumerate(readers):
            ask(history, reader, result, f"device {number}")
        asked = len(history.queries) * devices
        finals = len(history.final) * devices
        check_badbatches(history, devices, Path(place), order, result)
        equal = len({reader.belief_digest() for reader in readers}) == 1
    _print(history, mode, result, equal, asked, finals, taken / seconds)
    return result, equal


def _print(history: History, mode: str, result: Result, equal: bool, asked: int, finals: int, rate: float) -> None:
    for wrong in result.wrong[:SHOWN_WRONG]:
        print(wrong)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    final_wrong = sum(" final " in wrong for wrong in result.wrong)
    batch_wrong = sum(" without batch " in wrong for wrong in result.wrong)
    asked_wrong = len(result.wrong) - final_wrong - batch_wrong
    withdrawn = result.total - asked - finals
    print(f"{history.name} {mode}: questions right {asked - asked_wrong} of {asked}")
    print(f"final slots right {finals - final_wrong} of {finals}")
    print(f"withdrawn batches right {withdrawn - batch_wrong} of {withdrawn}")
    print(f"digests equal {'yes' if equal else 'NO'}")
    print(f"{rate:.0f} claims/s, peak memory {peak} MiB")
    print(f"{result.right} of {result.total} right")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Replay a real edit history on several devices.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--devices", type=int, default=3, choices=range(1, 9))
    parser.add_argument("--mode", choices=MODES, default="shuffle")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    result, equal = run(given.folder, given.devices, given.mode, given.seed)
    return 0 if equal and result.total and result.right == result.total else 1


if __name__ == "__main__":
    sys.exit(main())
