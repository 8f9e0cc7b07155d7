"""Histories in the form of the worked cases, as real logs: what several devices wrote, byte for byte.

A case is a list of events (dicts in the form that :mod:`tests.reference` reads).  Devices get log ids
that sort like their names, so ties break as in the case; a time ``t`` of a case is ``ORIGIN + t * UNIT``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from syncmem import labels
from syncmem.environment import Environment, ManualClock, seeded_randomness
from syncmem.model import salt
from syncmem.model.event import (
    CHAIN_START,
    Define,
    Event,
    Form,
    Kind,
    LogKey,
    Payload,
    Ref,
    Retract,
    Statement,
    Then,
    Undo,
    Withdraw,
    chained,
    encode,
    head_words,
    header,
    header_hash,
)
from syncmem.model.frame import Frame, fitting
from syncmem.model.instant import FOREVER
from syncmem.model.link import Link
from syncmem.replica.replica import Replica
from syncmem.seal.keys import public_key, sign

UNIT = 86_400_000_000  # a tick of the cases is a day
ORIGIN = 1_577_836_800_000_000  # 2020-01-01
ENTITY, PREDICATE = "person:ana", "home_city"
SEEDS: dict[bytes, bytes] = {}  # device public key -> its seed, of all devices made here


def instant(tick: int | None) -> int | None:
    return None if tick is None else ORIGIN + tick * UNIT


def sorted_keys(count: int, scope: str = "vault") -> list[LogKey]:
    """Log keys in the order of their ids."""
    keys = []
    for number in range(count):
        seed = sha256(b"device %d" % number).digest()
        SEEDS[public_key(seed)] = seed
        keys.append(LogKey(public_key(seed), sha256(b"born %d" % number).digest()[:16], scope))
    return sorted(keys, key=lambda key: key.id)


class Writer:
    """One device's log, written event by event with any clock."""

    def __init__(self, key: LogKey) -> None:
        self.key = key
        self.events: list[Event] = []
        self.heads: list[bytes] = [CHAIN_START]
        self._covers: dict[int, salt.Cover] = {}

    def cover(self, seq: int) -> salt.Cover:
        block = seq // salt.BLOCK_EVENTS
        return self._covers.setdefault(block, salt.whole(sha256(b"%d" % block + self.key.device).digest()))

    def write(self, kind: Kind, payload: Payload, hlc: int) -> Ref:
        return self.write_event(Event(int(kind), hlc, encode(payload)))

    def write_event(self, event: Event) -> Ref:
        """As :meth:`write`, whatever the payload is."""
        self.events.append(event)
        seq = len(self.events)
        value = salt.salt(self.cover(seq), seq % salt.BLOCK_EVENTS)
        assert value is not None
        hashed = header_hash(header(self.key.id, seq, event, value))
        self.heads.append(chained(self.heads[-1], hashed))
        return Ref(self.key.id, seq, hashed[:16])

    def frames(self, after: int = 0, until: int | None = None) -> list[Frame]:
        """Events after one place up to another, signed at the end of each frame."""
        until = len(self.events) if until is None else until
        made, first = [], after + 1
        for count in fitting(first, self.events[after:until]):
            made.append(self.frame(first, count))
            first += count
        return made

    def frame(self, first: int, count: int) -> Frame:
        last, part = first + count - 1, self.events[first - 1 : first + count - 1]
        words = head_words(self.key.id, last, self.heads[last])
        signature = sign(SEEDS[self.key.device], labels.HEAD, words)
        return Frame(self.key, first, part, self.cover(first), self.heads[last], signature)


def writers_of(events: Iterable[dict[str, Any]], *, many: bool = False, define: bool = True) -> dict[str, Writer]:
    """The logs of a case's events; each device's events in the order of their place in its log."""
    listed = sorted(events, key=lambda e: (e["device"], e["seq"]))
    names = sorted({e["device"] for e in listed})
    keys = sorted_keys(len(names) + 1)
    writers = dict(zip(names, keys[1:], strict=True))
    made = {name: Writer(key) for name, key in writers.items()}
    if define:
        registrar = made["(definitions)"] = Writer(keys[0])
        settings = {"cardinality": "many" if many else "single"}
        registrar.write(Kind.DEFINE, Define(PREDICATE, settings, 90, None, None, None, None), ORIGIN - UNIT)
    refs: dict[str, Ref] = {}
    pending = list(listed)
    while pending:  # a reference needs its target's bytes first
        ready = next(e for e in pending if _writable(e, pending, refs))
        pending.remove(ready)
        kind, payload = payload_of(ready, refs)
        refs[ready["id"]] = made[ready["device"]].write(kind, payload, instant(ready["hlc"]) or 0)
    return made


def _writable(event: dict[str, Any], pending: Sequence[dict[str, Any]], refs: dict[str, Ref]) -> bool:
    named = [*event.get("corrects", ()), *(event.get("derived_from") or ())]
    named += [event["target"]] if event.get("target") else []
    known = {e["id"] for e in pending}
    first = next(e for e in pending if e["device"] == event["device"])
    return first is event and all(name in refs or name not in known for name in named)


_ABSENT = Ref(bytes(16), 1, bytes(16))


def payload_of(e: dict[str, Any], refs: dict[str, Ref]) -> tuple[Kind, Payload]:
    trust, batch = e.get("trust", 2), e.get("batch")
    kind_id = (e["source"], e["source"]) if e.get("source") else (None, None)
    target = refs.get(e.get("target", ""), _ABSENT)
    if e["op"] == "retract":
        return Kind.RETRACT, Retract([target], trust, *kind_id, batch, None)
    if e["op"] == "retract_batch":
        return Kind.WITHDRAW, Withdraw(e["batch"], trust, *kind_id, None)
    if e["op"] in ("same", "different"):
        return Kind[e["op"].upper()], Link(e["one"], e["other"], trust, *kind_id, batch, None)
    if e["op"] == "undo":
        return Kind.UNDO, Undo([target], trust, *kind_id, None)
    kind = {"assert": Kind.CLAIM, "affirm": Kind.AFFIRM, "end": Kind.END, "deny": Kind.DENY}[e["op"]]
    stop = min((t for t in (e.get("valid_to"), e.get("expires_at")) if t is not None), default=None)
    named = [refs.get(name, _ABSENT) for name in e.get("corrects", ())]
    named += [target] if e["op"] == "end" and e.get("target") else []
    return kind, Statement(
        entity=ENTITY,
        predicate=PREDICATE,
        value=None if e["value"] == "(none)" else e["value"],
        form=Form.CHANGE if e.get("mode") == "change" else Form.STATE,
        observed_at=instant(e.get("observed_at")),
        start=instant(e.get("at") if e["op"] == "end" else e.get("valid_from")),
        start_latest=None,
        stop=instant(stop),
        then=_then(e, stop),
        trust=trust,
        source_kind=kind_id[0],
        source_id=kind_id[1],
        batch=batch,
        refs=named or None,
        extra=_extra(e, refs),
    )


def _then(e: dict[str, Any], stop: int | None) -> Then:
    if stop is None:
        return Then.OPEN
    seen = min(e["observed_at"], e["hlc"]) if e.get("observed_at") is not None else e["hlc"]
    return Then.RESUME if (e.get("on_end") or ("resume" if stop > seen else "vacate")) == "resume" else Then.VACATE


def _extra(e: dict[str, Any], refs: dict[str, Ref]) -> dict[str, Any] | None:
    extra = {name: e[name] * UNIT for name in ("ttl", "stale_after") if e.get(name) is not None}
    stated = ("stale_trust", "episode", "span", "corroborated_by")
    extra |= {name: e[name] for name in stated if e.get(name) is not None}
    if e.get("derived_from") is not None:
        extra["derived_from"] = [list(refs.get(name, _ABSENT)) for name in e["derived_from"]]
    return extra or None


def fresh_replica(seed: int = 0, now: int = ORIGIN + 10_000 * UNIT) -> Replica:
    environment = Environment(clock=ManualClock(now), randomness=seeded_randomness(seed))
    return Replica(":memory:", environment, public_key)


def believed(replica: Replica, *, with_contest: bool = False) -> list[list[Any]]:
    """A replica's current timeline of the case's slot, in ticks, coalesced by value, as the cases write it."""
    import json

    slot = replica.catalog.find("vault", ENTITY, PREDICATE)
    if slot is None:
        return []
    sql = (
        "SELECT valid_from, valid_to, value, contested, lane FROM beliefs WHERE slot = ? AND known_to = ? "
        "ORDER BY lane, valid_from"
    )
    result: list[list[Any]] = []
    for start, end, value, contested, lane in replica.db.execute(sql, (slot.id, FOREVER)).fetchall():
        plain = json.loads(value)
        row = [ticks(start), ticks(end), "(none)" if plain is None else plain, *([bool(contested)] * with_contest)]
        if result and result[-1][1] == row[0] and result[-1][2:] == [*row[2:], lane]:
            result[-1][1] = row[1]
        else:
            result.append([*row, lane])
    return sorted((row[:-1] for row in result), key=lambda row: (row[0], str(row[2])))


def ticks(moment: int) -> int | float | None:
    if moment == FOREVER:
        return None
    whole, rest = divmod(moment - ORIGIN, UNIT)
    return whole if rest == 0 else (moment - ORIGIN) / UNIT
