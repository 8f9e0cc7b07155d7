"""A member of a vault on a phone's Python: the standard library, msgpack and cryptography, nothing of syncmem.

    python phone.py join CODE --name phone         # while 'syncmem invite folder:PATH' waits on another device
    python phone.py show [ENTITY]                  # what was said, by whom, and when
    python phone.py remember ana language Greek    # the other devices believe it with their next sync

What it does and what it does not stands in README.md beside it.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from unicodedata import normalize

import msgpack
from folder import Folder, Taken, write_whole
from logs import FIRST_HEAD, SCOPE, Event, Frame, log_id, read_frame, salt_of, write_frame
from roster import Roster
from sealed import EpochKey, Refused, check_signature, label, pack, public_key, seal, sign, unpack, unseal
from vault import Code, Vault, answered, ask

CLAIM, AFFIRM, END, DENY, FRONTIER, ERASE = 1, 2, 3, 4, 10, 11
SAYS = {CLAIM: "", AFFIRM: " (again)", END: " (no longer)", DENY: " (never)"}
FRAME, STATEMENT = 1, 2
USER_TRUST = 90
AHEAD_MAX = 300_000_000  # microseconds: clocks further ahead than this are not followed
JOIN_SECONDS = 60
TEXT = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"'
PATH = re.compile(rf"\[{TEXT}(?:,{TEXT})+\]")
HALF = re.compile("[\ud800-\udfff]")


@dataclass
class State:
    """All that the phone keeps: its key, its place in its log, the roster, and what waits to be sent."""

    seed: bytes
    path: str
    incarnation: bytes
    statements: list[bytes] = field(default_factory=list)
    place: int = 0
    head: bytes = FIRST_HEAD
    clock: int = 0
    salts: bytes = b""  # the seed of the block that is being written
    noted: dict[bytes, int] = field(default_factory=dict)
    counters: dict[bytes, int] = field(default_factory=dict)
    outbox: list[Any] = field(default_factory=list)  # [mailbox, stream, counter, blob]

    @classmethod
    def load(cls, file: Path) -> State:
        if not file.exists():
            raise Refused(f"there is no {file}; join first")
        return cls(**msgpack.unpackb(file.read_bytes(), raw=False, strict_map_key=False))

    def save(self, file: Path) -> None:
        write_whole(file, msgpack.packb(vars(self), use_bin_type=True))
        file.chmod(0o600)

    @property
    def key(self) -> list[Any]:
        return [public_key(self.seed), self.incarnation, SCOPE]


class Phone:
    """The client: reads all that lies in the mailboxes that it has keys of, each time anew."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.state = State.load(file)
        self.folder = Folder(self.state.path)
        self.vault = Vault()
        for wire in self.state.statements:
            self.vault.add(wire)
        self.logs: dict[bytes, list[Event]] = {}
        self.heads: dict[bytes, bytes] = {}
        self.writers: dict[bytes, bytes] = {}
        self._read()

    # -- reading ------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take in frames and statements of every mailbox, until nothing new shows."""
        frames: list[Frame] = []
        seen: set[bytes] = set()
        while fresh := [key for key, _ in self.keys if key.mailbox not in seen]:
            for key in fresh:
                seen.add(key.mailbox)
                for kind, body in self._items(key):
                    try:
                        if kind == FRAME:
                            frames.append(read_frame(body))
                        elif kind == STATEMENT:
                            self.vault.add(body)
                    except Refused:
                        continue  # others of the log are not held up by it
        for frame in sorted(frames, key=lambda each: each.first):
            self._take(frame)
        self.state.statements = list(self.vault.wires.values())

    def _items(self, key: EpochKey) -> Iterator[tuple[int, bytes]]:
        """What was said in the blobs of one mailbox by devices that were let in."""
        held: list[tuple[bytes, list[bytes]]] = []
        for found in self.folder.blobs(key.mailbox):
            try:
                device, incarnation, counter, items = read_blob(key, unseal(key, found.data))
            except Refused:
                continue
            if (found.stream, found.counter) == (key.stream(log_id(device, incarnation)), counter):
                held.append((device, items))
                for item in items:  # a blob may bring the statement that lets its writer in
                    if item[:1] == bytes([STATEMENT]):
                        yield STATEMENT, item[1:]
        for device, items in held:
            if self.roster.let_in(device):
                yield from ((item[0], item[1:]) for item in items if item[0] != STATEMENT)

    def _take(self, frame: Frame) -> None:
        """Append what a frame brings, if it continues what is here and its head follows."""
        if not self.roster.let_in(frame.device) and not self.roster.cut(frame.device, frame.log):
            return  # nobody let it in or adopted its log
        events = self.logs.setdefault(frame.log, [])
        last = frame.first + len(frame.events) - 1
        before = FIRST_HEAD if frame.first == 1 else self.heads.get(frame.log)
        if frame.first == len(events) + 1 and before is not None and frame.follows(before):
            events += frame.events
            self.heads[frame.log] = frame.head
            self.writers[frame.log] = frame.device
        elif frame.first <= len(events) < last:
            new = frame.events[len(events) - frame.first + 1 :]
            self._take(Frame(frame.device, frame.log, len(events) + 1, new, frame.head))

    @property
    def roster(self) -> Roster:
        return self.vault.roster

    @property
    def keys(self) -> list[tuple[EpochKey, bytes]]:
        return self.roster.keys(self.state.seed, SCOPE)

    def said(self) -> list[Event]:
        """The statements, without those of removed devices and those that an erasure names."""
        events = [
            event
            for log, listed in self.logs.items()
            for event in listed[: self.roster.cut(self.writers[log], log)]  # None: all of them
        ]
        erasures = [event for event in events if event.kind == ERASE and len(event.fields) >= 2]
        stated = [event for event in events if event.kind in SAYS and len(event.fields) >= 15]
        return [event for event in stated if not any(self._erased(event, each) for each in erasures)]

    def _erased(self, event: Event, erasure: Event) -> bool:
        """Whether an erasure names whom a statement is about, and the statement's author had not seen it."""
        names, salt = erasure.fields[:2]
        mentions = (event.fields[14] or {}).get("mentions") or []
        keys = [subject for _, subject in self.keys] if salt is None else [salt]
        entities = {name for entity in (event.fields[0], *mentions) for name in names_of(entity)}
        about = [subject_name(key, each) for key in keys for each in entities]
        earlier = self.logs[event.log][: event.place - 1]
        return not set(about).isdisjoint(names) and not any(saw(each, erasure) for each in earlier)

    # -- writing ------------------------------------------------------------------------------------

    def remember(self, entity: str, predicate: str, value: Any) -> None:
        """Say a claim as the user's word; it is on the disk before it is in the folder."""
        key = self._current_key()
        stream = key.stream(log_id(*self.state.key))
        if self.folder.end(key.mailbox, stream) > self.state.counters.get(key.mailbox, 0) or not self._continues():
            self._begin_anew()
            stream = key.stream(log_id(*self.state.key))
        notes = {log: len(events) for log, events in self.logs.items() if log != log_id(*self.state.key)}
        news = sorted(log for log, place in notes.items() if place > self.state.noted.get(log, 0))
        changed = [[log, notes[log], self.heads[log][:8]] for log in news]
        said: list[tuple[int, list[Any]]] = [(FRONTIER, [self.state.place + 1, 1, changed, None])] if changed else []
        said.append((CLAIM, claim(entity, predicate, value)))
        frames = [self._frame(kind, fields) for kind, fields in said]
        self.state.noted |= notes
        counter = self.state.counters.get(key.mailbox, 0) + 1
        self.state.counters[key.mailbox] = counter
        head = pack([1, *self.state.key[:2], counter, None])
        blob = write_blob(self.state.seed, key, [head, *(bytes([FRAME]) + frame for frame in frames)])
        self.state.outbox.append([key.mailbox, stream, counter, seal(key, blob)])
        self.state.save(self.file)
        self.send()

    def _current_key(self) -> EpochKey:
        """The key under which the vault is written now."""
        if not self.roster.is_live(public_key(self.state.seed)):
            raise Refused("this device was removed from its vault; join with another --state and a new code")
        current = self.roster.current(SCOPE)
        if current is None:
            raise Refused("who was removed has the vault's key; sync another device, which changes it, then try again")
        key = next((key for key, _ in self.keys if key.epoch == current), None)
        if key is None:
            raise Refused("this device was not given the vault's key; 'syncmem grant' it on another device, and sync")
        return key

    def _frame(self, kind: int, fields: list[Any]) -> bytes:
        """The next event of the own log, in a frame of its own."""
        state, place = self.state, self.state.place + 1
        if not state.salts or place % 256 == 0:
            state.salts = os.urandom(32)
        now = time.time_ns() // 1000
        clocks = (event.clock for events in self.logs.values() for event in events)
        seen = max([state.clock, *(clock for clock in clocks if clock <= now + AHEAD_MAX)])
        state.clock, state.place = max(now, seen + 1), place
        salt = salt_of({1: state.salts}, place)
        written = write_frame(state.seed, state.key, place, state.head, salt, kind, state.clock, fields)
        data, state.head = written
        return data

    def _continues(self) -> bool:
        """Whether the own log goes no further elsewhere than here: else this state was put back from a backup."""
        return len(self.logs.get(log_id(*self.state.key), [])) <= self.state.place

    def _begin_anew(self) -> None:
        """Another life: no place in a log and no counter is ever used twice."""
        state = self.state
        state.incarnation, state.place, state.head, state.salts = os.urandom(16), 0, FIRST_HEAD, b""
        state.noted, state.counters, state.outbox = {}, {}, []

    def send(self) -> None:
        """Put what waits into the folder; the same bytes again, if that was interrupted."""
        for mailbox, stream, counter, blob in self.state.outbox:
            self.folder.put(mailbox, stream, counter, blob)
        self.state.outbox = []
        self.state.save(self.file)


def claim(entity: str, predicate: str, value: Any) -> list[Any]:
    """The fields of a state that the user said just now."""
    return [entity, predicate, value, 0, None, None, None, None, 0, USER_TRUST, "user", None, None, None, None]


def names_of(entity: str) -> list[str]:
    """By which names an erasure means an entity: its own and, of a path (JSON of two texts or more), each text."""
    path = json.loads(entity) if PATH.fullmatch(entity) else []
    if re.fullmatch("(?:/[^/]+){2,}", entity, re.DOTALL):  # of a file: also without its ending
        path = [*entity.split("/")[1:], entity.rpartition("/")[2].rpartition(".")[0] or entity]
    return [entity, *(normalize("NFC", each) for each in path if not HALF.search(each))]


def subject_name(key: bytes, entity: str) -> bytes:
    """What an erasure calls an entity."""
    return hmac.digest(key, label("subject") + entity.encode(), "sha256")[:16]


def saw(event: Event, erasure: Event) -> bool:
    """Whether who wrote an event had seen an erasure by then: it is that, or a note that goes as far."""
    if event.kind != FRONTIER or len(event.fields) < 3:
        return event == erasure
    return any(log == erasure.log and place >= erasure.place for log, place, _head in event.fields[2])


def write_blob(seed: bytes, key: EpochKey, pieces: list[bytes]) -> bytes:
    body = b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)
    signature = sign(seed, label("blob") + key.vault + key.mailbox + sha256(body).digest())
    return body + len(signature).to_bytes(4, "big") + signature


def read_blob(key: EpochKey, data: bytes) -> tuple[bytes, bytes, int, list[bytes]]:
    """Who wrote a blob, its counter, and its items."""
    pieces, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        pieces.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    if at != len(data) or len(pieces) < 2 or not all(pieces):
        raise Refused("a blob is cut off")
    version, device, incarnation, counter = unpack(pieces[0])[:4]
    signed = label("blob") + key.vault + key.mailbox + sha256(data[: -4 - len(pieces[-1])]).digest()
    check_signature(device, signed, pieces[-1])
    if version != 1:
        raise Refused("a blob is of a later version")
    return device, incarnation, counter, pieces[1:-1]


# -- commands --------------------------------------------------------------------------------------------------


def join(file: Path, text: str, name: str, path: str | None) -> None:
    """Ask to be let in, wait until somebody does, and keep the roster."""
    if file.exists():
        raise Refused(f"{file} belongs to a vault already; join with another --state")
    code = Code.read(text)
    state = State(os.urandom(32), path or code.address.removeprefix("folder:"), os.urandom(16))
    folder = Folder(state.path)
    ask(code, folder, state.seed, name)
    for _ in range(JOIN_SECONDS * 5):
        vault = answered(code, folder, state.seed)
        if vault is not None and vault.roster.keys(state.seed, SCOPE):
            state.statements = list(vault.wires.values())
            state.save(file)
            names = [name for device, name in vault.roster.names.items() if device != vault.roster.phrase]
            print(f"joined, with {', '.join(sorted(names))}")
            return
        time.sleep(0.2)
    raise Refused("nobody has let this device in; accept it there, and join with a new code")


def show(phone: Phone, entity: str | None) -> None:
    """What was said, the latest last."""
    for event in sorted(phone.said(), key=lambda each: (each.clock, each.id)):
        about, predicate, value, trust, source = *event.fields[:3], *event.fields[9:11]
        if entity in (None, about):
            when = datetime.fromtimestamp(event.clock / 1e6, UTC)
            by = phone.roster.names.get(phone.writers[event.log], "a device that is no member")
            told = f"{about} {predicate} {json.dumps(value, ensure_ascii=False)}{SAYS[event.kind]}"
            print(f"{told}  [trust {trust}, {source or 'no source'}, on {by}, {when:%Y-%m-%d %H:%M}]")


def main() -> int:
    parser = argparse.ArgumentParser(description="A member of a syncmem vault, without syncmem.")
    parser.add_argument("--state", default="phone.state", type=Path, metavar="FILE")
    verbs = parser.add_subparsers(dest="verb", required=True)
    joining = verbs.add_parser("join")
    joining.add_argument("code")
    joining.add_argument("--name", default="phone")
    joining.add_argument("--folder", help="where the shared folder lies here")
    verbs.add_parser("show").add_argument("entity", nargs="?")
    saying = verbs.add_parser("remember")
    for name in ("entity", "predicate", "value"):
        saying.add_argument(name)
    given = parser.parse_args()
    try:
        if given.verb == "join":
            join(given.state, given.code, given.name, given.folder)
            return 0
        phone = Phone(given.state)
        phone.send()
        if given.verb == "show":
            show(phone, given.entity)
        else:
            phone.remember(given.entity, given.predicate, given.value)
            print(f"said: {given.entity} {given.predicate} {json.dumps(given.value, ensure_ascii=False)}")
        return 0
    except (Refused, Taken, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
