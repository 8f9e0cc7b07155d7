"""Which events were visible: by a clock value, or to another device at a time, as its frontier notes tell.

Rules: what was asserted by then is decided by corrected clocks alone; what another device held is graded by how
sure that is.
"""

from __future__ import annotations

from collections.abc import Iterator

from syncmem.model.event import Event, Frontier, Kind, readable
from syncmem.model.frontier import LOG_START_BYTES, Noted
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.catalog import VAULT
from syncmem.replica.chain import Log
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.replica import Replica
from syncmem.replica.told import Told
from syncmem.replica.visible import Visible
from syncmem.results import Grade


def asserted_by(replica: Replica, clock: int) -> Visible:
    """Visible: events whose corrected clock is at most ``clock``."""
    logs, clocks = replica.logs, replica.clocks

    def admits(position: int) -> bool:
        event = logs.event(position) if logs.holds(position) else None
        return isinstance(event, Event) and clocks.corrected(position, event.hlc) <= clock

    return Visible(admits, clock=clock)


def held_by(replica: Replica, device: bytes, scope: str, time: int) -> tuple[Visible, Grade]:
    """Visible: what another device held at ``time``, by its frontier notes; and how sure that is."""
    held, grade = _frontier(replica, device, scope, time)
    admits = Visible(lambda p: 0 < p & SEQ_MASK <= held.get(p >> LOG_SHIFT, 0), with_its_clocks=True)
    return admits, grade


def _frontier(replica: Replica, device: bytes, scope: str, time: int) -> tuple[dict[int, int], Grade]:
    logs, clocks = replica.logs, replica.clocks
    held: dict[int, int] = {}
    later = False
    for log in logs.by_no.values():
        if log.key is None or log.key.device != device or log.key.scope not in (scope, VAULT):
            continue  # definitions and links in "vault" count in every scope
        written = _written(replica, log)
        times = [clocks.corrected(log.position(seq), clock) for seq, clock, _ in written]
        count = max((index for index, moment in enumerate(times, 1) if moment <= time), default=0)
        later = later or (count < len(written) and log.key.scope == scope)
        until = written[count][0] - 1 if count < len(written) else log.seq
        held[log.no] = max(held.get(log.no, 0), min(until, log.seq))
        for _, _, said in written[:count]:
            for number, last in _seen(replica, said):
                held[number] = max(held.get(number, 0), last)
    if _redacted(replica, held, scope):
        return held, Grade.REDACTED
    if any(number < 0 or logs.by_no[number].seq < last for number, last in held.items()):
        return held, Grade.PARTIAL
    return held, Grade.EXACT if later else Grade.PROVISIONAL


def _written(replica: Replica, log: Log) -> list[tuple[int, int, Event | Noted]]:
    """Place, clock and words of what a device wrote into a log, and of notes that it told of, which are to come."""
    placed = (each for first, run in replica.logs.runs(log.no) for each in enumerate(run, first))
    events = [(seq, event.hlc, event) for seq, event in placed if isinstance(event, Event)]  # else no clock is left
    told = Told(replica.db, replica.logs).behind(log)
    return [*events, *((note.place, note.clock, note) for note in told)]


def _seen(replica: Replica, said: Event | Noted) -> Iterator[tuple[int, int]]:
    """What a note says that its writer holds: number of a log (-1: it is none that is known here), last place."""
    logs = replica.logs
    if isinstance(said, Noted):
        starts = {log.id[:LOG_START_BYTES]: log.no for log in logs.by_no.values()}
        yield from ((starts.get(start, -1), last) for start, last in said.changed)
        return
    note = readable(said) if said.kind == Kind.FRONTIER else None
    for entry in note.changed if isinstance(note, Frontier) else ():
        for log_id, last, _ in replica.moves.seen(*entry):
            yield logs.by_id[log_id].no if log_id in logs.by_id else -1, last


def _redacted(replica: Replica, held: dict[int, int], scope: str) -> bool:
    """Whether what was held may have had in it what was erased since: where an erasure had not been seen yet."""
    logs = replica.logs
    erasures = replica.erasures.all_in(scope)
    if erasures and all(p & SEQ_MASK <= held.get(p >> LOG_SHIFT, 0) for p in erasures):
        return False
    return any(logs.any_erased(number, last) for number, last in held.items() if number in logs.by_no)
