"""What is believed, as a SQLite file of plain tables for sqlite-utils, Datasette and spreadsheets.

==============  ===================================================================
``beliefs``     what is believed of all times: one row a value and its time
``current``     the view of ``beliefs`` that holds now, by the clock of who reads
``predicates``  what the predicates are like
==============  ===================================================================

Rule: values are JSON, as in the memory's own file, and times RFC 3339 text; ``none`` is 1 where it is known that there
is none, because the value is null then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from syncmem.model.predicate import Predicate
from syncmem.model.value import NONE
from syncmem.replica.driver import dbapi
from syncmem.results import Belief, Timeline

_ROWS_AT_ONCE: Final = 1_000
_CURRENT: Final = (
    "SELECT * FROM beliefs WHERE coalesce(valid_from, '') <= strftime('%Y-%m-%dT%H:%M:%SZ', 'now') "
    "AND coalesce(valid_to, '9999') > strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
)
_COLUMNS: Final = {
    "scope": str,
    "entity": str,
    "predicate": str,
    "value": str,
    "none": int,
    "valid_from": str,
    "valid_to": str,
    "trust": int,
    "source_kind": str,
    "source_id": str,
    "contested": int,
    "event": str,
}


def write_tables(path: Path, timelines: Iterable[Timeline], predicates: Mapping[str, Predicate]) -> int:
    """Fill a new database; how many beliefs it holds."""
    from sqlite_utils import Database  # slow to import

    connection = dbapi.connect(str(path))
    try:
        database = Database(connection)
        beliefs = database.table("beliefs").create(_COLUMNS, pk=None)
        rows = (_row(belief) for timeline in timelines for belief in timeline)
        beliefs.insert_all(rows, batch_size=_ROWS_AT_ONCE)
        beliefs.create_index(["entity", "predicate"])
        beliefs.enable_fts(["entity", "predicate", "value"], create_triggers=True)
        database.table("predicates").insert_all(_definitions(predicates), pk="name")
        database.create_view("current", _CURRENT)
        connection.commit()
        return int(beliefs.count)
    finally:
        connection.close()


def _row(belief: Belief) -> dict[str, Any]:
    told = belief.to_dict()
    value = None if belief.value is NONE else json.dumps(told["value"], ensure_ascii=False)
    return {
        "scope": belief.scope,
        "entity": belief.entity,
        "predicate": belief.predicate,
        "value": value,
        "none": int(belief.value is NONE),
        "valid_from": told["valid_from"],
        "valid_to": told["valid_to"],
        "trust": belief.trust,
        "source_kind": belief.source.kind,
        "source_id": belief.source.id,
        "contested": int(belief.contested),
        "event": belief.event,
    }


def _definitions(predicates: Mapping[str, Predicate]) -> Iterator[dict[str, Any]]:
    for name, predicate in predicates.items():
        yield {
            "name": name,
            "declared": int(predicate.declared),
            "cardinality": "many" if predicate.many else "single",
            "equality": str(predicate.equality),
            "description": predicate.description,
        }
