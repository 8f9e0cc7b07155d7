"""The laws: what holds after every step, and what holds once everything works again and all have met.

=====  ==================================================================================================
I1     all live devices hold the same events and believe the same
I2     what is believed follows from the set of events: any order of arrival, a rebuild, a snapshot and its tail
I3     no acknowledged write is lost
I4     every log is whole, chained and signed
I5     no honest device uses a place of its log twice
I6     what was believed at a time stays what was believed then, erasure aside
I7     of what was erased nothing is left: disks, mailboxes, side files
I8     no key seals two messages
I9     what a removed device wrote after its removal is not believed, and it has no key of a later epoch
I10    what lies in mailboxes shows no plaintext, and has one of few sizes
I11    the number of questions of a sync is bounded
I12    events of kinds that nobody knows are passed on byte for byte
I13    once faults end, all come to rest in a bounded number of rounds
I14    nobody says "in sync" who is not
I15    a process that dies at any moment, also while another's death is repaired, leaves a memory that opens
I16    every answer is the one of the plain reference
=====  ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

from syncmem import Memory
from syncmem.codec import pack
from syncmem.errors import BrokenChain, Unreadable
from syncmem.model.event import Erased, Kind
from syncmem.model.frame import Frame
from syncmem.model.instant import FOREVER, to_datetime
from syncmem.replica.catalog import VAULT
from syncmem.replica.chain import Log
from syncmem.results import Belief
from syncmem.seal.envelope import HINT_BYTES, MAGIC, SALT_BYTES, EpochKey, padded_length, unseal
from syncmem.sync.contents import Contents
from syncmem.wire.blob import ItemKind, read_blob
from syncmem.wire.frames import read_frame
from syncmem.wire.mailbox import Put
from tests.test_replicas_machine import assert_as_the_reference

if TYPE_CHECKING:
    from tests.simulator.device import Device
    from tests.simulator.world import World

ANSWERS_MAX = 30
QUESTIONS_MAX = 600  # of one step: a sync of a few scopes and epochs at a few mailboxes
CANARY = b"canary"  # every value that is said once begins so
_SALT = slice(len(MAGIC) + 1 + HINT_BYTES, len(MAGIC) + 1 + HINT_BYTES + SALT_BYTES)
_DAYS = (-7, -1, 0, 2, 8)  # of the moments that are asked about, from the first one of the world
_LATE = "2999-01-01"


class Violation(AssertionError):
    """A law was broken; the message begins with its number."""


def must(law: str, holds: bool, what: object) -> None:
    if not holds:
        raise Violation(f"{law}: {what}")


# -- while things happen --------------------------------------------------------------------------------


def on_the_wire(world: World, mailbox: bytes, blob: bytes) -> None:
    """I8, I10: of every blob that leaves a device."""
    must("I10", CANARY not in blob, "a blob shows what it holds")
    must("I10", len(blob) == padded_length(len(blob)), f"a blob of {len(blob)} bytes")
    must("I8", world.salts.setdefault((mailbox, blob[_SALT]), blob) == blob, "two messages under one salt")


def after_a_step(world: World, device: Device) -> None:
    """I11, of the device that did something, and what is kept for other laws."""
    questions, world.network.questions = world.network.questions, 0
    must("I11", questions <= QUESTIONS_MAX, f"{questions} questions in one step")
    keep_standing(world, device)
    keep_answer(device)


def places_are_used_once(world: World, device: Device, puts: Sequence[Put]) -> None:
    """I5: of the own logs, when events leave this device: what was not sent may be written anew after a restore."""
    logs, db = device.memory._replica.logs, device.memory._replica.db
    sent: dict[bytes, int] = {}
    for put in puts if not world.forks else ():
        sql = "SELECT contents FROM blobs WHERE stream = ? AND counter = ? AND blob IS NOT NULL"
        for (contents,) in db.execute(sql, (put.stream, put.counter)).fetchall():
            for stretch in Contents.read(contents).logs:
                sent[stretch.log] = max(sent.get(stretch.log, 0), stretch.last)
    for log in logs.held():
        if log.own and log.id in sent:
            for seq in range(device.checked.get(log.id, 0) + 1, min(sent[log.id], log.seq) + 1):
                hashed = logs.header_hash(log.position(seq))
                known = world.places.setdefault((log.id, seq), hashed)
                must("I5", known == hashed, f"place {seq} of log {log.name} was used twice")
            device.checked[log.id] = max(device.checked.get(log.id, 0), min(sent[log.id], log.seq))


def keep_answer(device: Device) -> None:
    """What is believed now is kept, to be asked again (I6): what was believed then."""
    n = device.memory._replica.last_transaction
    if n not in device.answers:
        device.answers[n] = believed_then(device.memory, n), _held_since(device.memory, n)
    while len(device.answers) > ANSWERS_MAX:
        del device.answers[next(iter(device.answers))]


def keep_standing(world: World, device: Device) -> None:
    """What a device holds and believes now is kept for I14."""
    world.stood.setdefault(device.name, set()).update(standing(device.memory, scope) for scope in world.scopes)


def standing(memory: Memory, scope: str, *, notes: bool = False) -> bytes:
    """What is held and believed of a scope; only with ``notes`` also the frontier notes at the ends of logs."""
    logs = [log for log in memory._replica.logs.held() if log.key and log.key.scope in (scope, VAULT)]
    ends = [(log, log.seq if notes else _said(memory, log)) for log in logs]
    sql = (
        "SELECT s.entity, s.predicate, b.lane, b.valid_from, b.valid_to, b.value, b.trust, b.contested "
        f"FROM beliefs b JOIN slots s ON s.id = b.slot WHERE b.known_to = {FOREVER} AND s.scope = ? ORDER BY 1, 2, 3, 4"
    )
    rows = [list(row) for row in memory._replica.db.execute(sql, (scope,)).fetchall()]
    held = sorted([log.id, place, memory._replica.logs.head_at(log, place)] for log, place in ends if place)
    return scope.encode() + sha256(b"".join(map(pack, [*held, *rows]))).digest()


def _said(memory: Memory, log: Log) -> int:
    """The last place of a log that holds no frontier note."""
    placed = [each for first, run in memory._replica.logs.runs(log.no) for each in enumerate(run, first)]
    return max((seq for seq, e in placed if isinstance(e, Erased) or e.kind != Kind.FRONTIER), default=0)


# -- when somebody looks --------------------------------------------------------------------------------


def look(world: World, device: Device) -> None:
    """I6, I14, I16: what is answered now is right, and is kept to be asked again."""
    memory = device.memory
    try:
        assert_as_the_reference(memory)
    except AssertionError as error:
        raise Violation(f"I16: on {device.name}: {error}") from error
    for slot in _slots(memory):
        questions_agree(memory, *slot)
    who_says_in_sync_is(world, device)


def _slots(memory: Memory) -> list[tuple[str, str, str]]:
    return list(memory._replica.db.execute("SELECT scope, entity, predicate FROM slots ORDER BY 1, 2, 3").fetchall())


def questions_agree(memory: Memory, scope: str, entity: str, predicate: str) -> None:
    """I16: all the ways to ask about a slot give one answer; the timeline was compared with the reference."""
    about: dict[str, Any] = {"entity": entity, "predicate": predicate, "scope": scope}
    timeline = memory.timeline(**about)
    if timeline.entity != entity:
        return  # it stands under another name, and is asked for there
    n = memory._replica.last_transaction
    must("I16", memory.timeline(**about, known_at=n) == timeline, f"{about} as known now")
    said = [_plain(belief) for belief in timeline]
    must("I16", [_plain(b) for b in memory.timeline(**about, asserted_by=_LATE)] == said, f"{about} as asserted by now")
    for number in _DAYS:
        moment = to_datetime(world_day(number))
        covering = [b for b in timeline if _covers(b, moment)]
        asked = memory.beliefs(**about, valid_at=moment)
        must("I16", sorted(map(_span, asked)) == sorted(map(_span, covering)), f"{about} at {moment}")
        contested = [_plain(b) for b in memory.contested(valid_at=moment, scope=scope) if _of(b) == (entity, predicate)]
        must("I16", {b[2:] for b in contested} == {_plain(b)[2:] for b in asked if b.contested}, f"{about} contested")
        if number == _DAYS[1]:  # reasons cost more than answers
            reasons_agree(memory, about, moment, asked[:2])
    known = {entry.event for entry in memory.history(**about)} if said else set()
    must("I16", {belief.event for belief in timeline} <= known, f"the history of {about} lacks what is believed")


def reasons_agree(memory: Memory, about: dict[str, Any], moment: Any, asked: list[Belief]) -> None:
    """I16: what wins by the reasons is what is believed, nothing that lost or was taken back."""
    for belief in asked:
        why = memory.why(belief)
        ends = why.winner is not None and why.winner.value == belief.value and why.belief is not None
        must("I16", ends, f"{about}: the reasons for {belief.value!r} end at {why.winner}")
        live = [entry.event for entry in (why.winner, *why.supports) if entry is not None]
        gone = {entry.event for entry, _ in (*why.lost, *why.taken_back)}
        must("I16", not gone.intersection(live), f"{about}: {gone.intersection(live)} both counts and does not")
    if not asked:
        why = memory.why(about["entity"], about["predicate"], scope=about["scope"], valid_at=moment)
        must("I16", why.belief is None and why.winner is None, f"{about} at {moment}: {why.text}")


def world_day(number: int) -> int:
    from tests.simulator.world import NOON

    return NOON + number * (timedelta(days=1) // timedelta(microseconds=1)) + 1


def _of(belief: Belief) -> tuple[str, str]:
    return belief.entity, belief.predicate


def _covers(belief: Belief, moment: Any) -> bool:
    begun = belief.valid_from is None or belief.valid_from <= moment
    return begun and (belief.valid_to is None or moment < belief.valid_to)


def _span(belief: Belief) -> tuple[str, ...]:
    """A timeline joins what has one value, whoever says it."""
    return str(belief.valid_from), str(belief.valid_to), str(belief.value)


def _plain(belief: Belief) -> tuple[str, ...]:
    return *_span(belief), str(belief.trust), str(belief.contested)


def asked_again(device: Device) -> None:
    """I6: what was believed at a time is still what was believed then; where something was erased, it is less."""
    for n, (answer, held) in sorted(device.answers.items()):
        if held <= _held_since(device.memory, n):
            must(
                "I6", believed_then(device.memory, n) == answer, f"{device.name} now says otherwise of transaction {n}"
            )


def believed_then(memory: Memory, n: int) -> dict[str, Any]:
    """The rectangles that stood after a transaction, by slot."""
    sql = (
        "SELECT s.scope, s.entity, s.predicate, lane, valid_from, valid_to, value, trust, contested FROM beliefs "
        "JOIN slots s ON s.id = slot WHERE known_from <= ?1 AND known_to > ?1 ORDER BY 1, 2, 3, 4, 5"
    )
    rows = memory._replica.db.execute(sql, (n,)).fetchall()
    return {str(slot): [tuple(row[3:]) for row in group] for slot, group in groupby(rows, key=lambda row: row[:3])}


def _held_since(memory: Memory, n: int) -> int:
    """How many legible events are held since that transaction; one that was erased and returns is held less long."""
    rows = memory._replica.db.execute("SELECT position, count FROM runs WHERE tx <= ?", (n,)).fetchall()
    erased = {row[0] for row in memory._replica.db.execute("SELECT position FROM erased")}
    return sum(count - sum(first + i in erased for i in range(count)) for first, count in rows)


def who_says_published_has(world: World, device: Device) -> None:
    """I14: all that is here lies at the mailboxes, where that is said and none has lost anything."""
    if not world.losses and device.memory.status().published:
        must("I14", _is_published(world, device), f"{device.name} says that all is at the mailboxes")


def _is_published(world: World, device: Device) -> bool:
    """Whether all that a device holds of scopes that it shares lies in some mailbox."""
    vault, logs = device.memory._syncer.vault, device.memory._replica.logs
    keys = [key for scope in vault.scopes if (key := vault.current(scope)) is not None]
    there = {
        (frame.key.id, place)
        for frame in frames_in_mailboxes(world, keys)
        for place in range(frame.first, frame.last + 1)
    }
    ours = [log for log in logs.held() if log.key is not None and log.key.scope in {key.scope for key in keys}]
    return all((log.id, seq) in there for log in ours for seq in range(1, _said(device.memory, log) + 1))


def frames_in_mailboxes(world: World, keys: list[EpochKey]) -> Iterator[Frame]:
    """All frames that lie in mailboxes under these keys."""
    by_mailbox = {key.mailbox: key for key in keys}
    for server in world.servers.values():
        for mailbox, sealed in server.blobs():
            key = by_mailbox.get(mailbox)
            if key is not None:
                with suppress(Unreadable, BrokenChain):  # a report that does not say whose it is holds no frames
                    items = read_blob(unseal(key, sealed), key.vault, mailbox).items
                    yield from (read_frame(item.body) for item in items if item.kind == ItemKind.FRAME)


def who_says_in_sync_is(world: World, device: Device) -> None:
    """I14: who says so holds and believes, of each scope that both have, what each other device did at some time."""
    status = device.memory.status()
    if not status.in_sync:
        return
    spoken = (each for each in status.devices if each.live and not each.own and each.name not in status.unseen)
    shared = {each.id: each.scopes for each in spoken}
    for other in world.devices.values():
        public = other.memory._replica.device
        scopes = shared.get("" if public is None else device.memory._telling.device_id(public), ())
        for scope in scopes if other is not device else ():
            if scope in device.memory._syncer.vault.scopes:
                stood = standing(device.memory, scope) in world.stood.get(other.name, set())
                must("I14", stood, f"{device.name} says that it is in sync with {other.name} in {scope}")
