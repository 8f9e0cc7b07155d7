"""What holds now, as JSON: ``{"as_of": ..., "entities": {entity: {predicate: [belief ...]}}}``.

Rules: written entity by entity, so that memory stays bounded; a belief is as :meth:`syncmem.results.Belief.to_dict`
gives it, and ``value`` is null, with ``none`` true, where it is known that there is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, tzinfo
from itertools import groupby
from typing import IO, Any

from syncmem.results import Belief, Timeline


def write_current(file: IO[str], timelines: Iterable[Timeline], now: datetime, zone: tzinfo) -> int:
    """Write what holds at ``now``; how many beliefs."""
    file.write('{"as_of": ' + json.dumps(now.astimezone(zone).isoformat()) + ', "entities": {')
    beliefs, separator = 0, "\n"
    for entity, theirs in groupby(timelines, key=lambda timeline: timeline.entity):
        held = {timeline.predicate: [_told(belief) for belief in timeline.at(now)] for timeline in theirs}
        holding = {predicate: told for predicate, told in held.items() if told}
        if holding:
            file.write(f"{separator}{_json(entity)}: {_json(holding)}")
            separator = ",\n"
            beliefs += sum(map(len, holding.values()))
    file.write("}}\n")
    return beliefs


def _told(belief: Belief) -> dict[str, Any]:
    told = belief.to_dict()
    return told | {"none": True} if belief.is_none else told


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
