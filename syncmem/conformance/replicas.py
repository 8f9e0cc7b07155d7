"""Words about what a replica holds and believes: receive, fold, digest.

Each line gets a replica of its own, in memory, which forgets everything afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from syncmem.conformance.asking import Ask
from syncmem.conformance.notation import tagged
from syncmem.conformance.outcomes import Outcome, outcome_of
from syncmem.environment import Environment, ManualClock, seeded_randomness
from syncmem.errors import PeerError
from syncmem.model.event import Erased, LogKey
from syncmem.model.instant import FOREVER
from syncmem.replica.digests import Digests, event_digest
from syncmem.replica.replica import Replica
from syncmem.replica.said import Said
from syncmem.seal.keys import public_key
from syncmem.wire.frames import read_frame

Answer = dict[str, Any]
NOW = 4_102_444_800_000_000  # 2100-01-01: the harness's replicas have a clock, and nothing may depend on it


def receive_word(ask: Ask) -> Answer:
    """Take frames in one after the other; the outcome is that of the last one."""
    with _replica(ask) as replica:
        outcomes = [_taken_in(replica, data) for data in ask.each_data("frames")]
        last = outcomes[-1] if outcomes else Outcome.ACCEPTED
        return {"outcome": last, "outcomes": outcomes, "logs": _logs(replica)}


def _taken_in(replica: Replica, data: bytes) -> Outcome:
    try:
        written = replica.receive_batch([read_frame(data)])
    except PeerError as error:
        return outcome_of(error)
    return Outcome.KNOWN if written is None else Outcome.ACCEPTED


def _logs(replica: Replica) -> list[list[Any]]:
    """``[log, last place, head, [erased place ...]]`` of each log that others wrote."""
    told = []
    for log in replica.logs.held():
        if not log.own:
            events = [event for _, run in replica.logs.runs(log.no) for event in run]
            erased = [place for place, event in enumerate(events, 1) if isinstance(event, Erased)]
            told.append([log.id.hex(), log.seq, log.head.hex(), erased])
    return told


def fold_word(ask: Ask) -> Answer:
    """What is believed once all frames are taken in, in whatever order they are listed."""
    with _replica(ask) as replica:
        written = replica.take_in([read_frame(data) for data in ask.each_data("frames")])
        if written is not None and written.refused:
            raise next(iter(written.refused.values()))
        beliefs = _beliefs(replica)
        return {"beliefs": beliefs, "digests": _digests(replica, sorted({row[0] for row in beliefs}))}


def _beliefs(replica: Replica) -> list[list[Any]]:
    """``[scope, entity, predicate, lane, from, to or nil, value, trust, contested]`` of each current rectangle."""
    sql = (
        "SELECT scope, entity, predicate, lane, valid_from, valid_to, value, trust, contested "
        "FROM beliefs JOIN slots ON slots.id = slot WHERE known_to = ? ORDER BY 1, 2, 3, 4, 5"
    )
    rows = replica.db.execute(sql, (FOREVER,)).fetchall()
    return [_belief(*row) for row in rows]


def _belief(
    scope: str, entity: str, predicate: str, lane: bytes, start: int, end: int, value: str, trust: int, contested: int
) -> list[Any]:
    until = None if end == FOREVER else end
    return [scope, entity, predicate, lane.hex(), start, until, tagged(json.loads(value)), trust, bool(contested)]


def _digests(replica: Replica, scopes: list[str]) -> dict[str, str]:
    """The belief digest of each scope."""
    with replica.transaction():
        digests = Digests(replica.db, replica.logs)
        return {scope: digests.of(scope).beliefs.hex() for scope in scopes}


def digest_word(ask: Ask) -> Answer:
    """The event digest of a scope, of a replica that holds these frames, and statements."""
    with _replica(ask) as replica:
        replica.take_in([read_frame(data) for data in ask.each_data("frames")])
        with replica.transaction():  # its own notes of arrival are no part of the question
            ends = [end for end in Said(replica.db, replica.logs).all() if not end.log.own]
            found = event_digest(ask.text("scope"), ends, ask.each_data("statements"))
    return {"events": found.value.hex(), "held": found.held}


@contextmanager
def _replica(ask: Ask) -> Iterator[Replica]:
    """An empty replica that knows the cuts and the subject keys of the line."""
    cuts, subject_keys = dict(ask.pairs("cuts")), ask.keyed("subject_keys")
    environment = Environment(clock=ManualClock(NOW), randomness=seeded_randomness(0))
    replica = Replica(":memory:", environment, public_key)
    try:

        def cut_of(key: LogKey) -> int | None:
            return cuts.get(key.id)

        replica.govern(cut_of)
        replica.subjects_named_by(subject_keys.get)
        yield replica
    finally:
        replica.close()
