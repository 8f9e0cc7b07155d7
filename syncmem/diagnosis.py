"""Diagnosis: what looks wrong in what is believed, as facts, and where something is to be done as a sentence.

Rules: it reads derived tables only, in a few passes, so its cost grows with what is held and with nothing else;
each sentence ends with the next step; nothing is changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from syncmem.model.instant import FOREVER
from syncmem.replica.lookalikes import alike_entities, alike_predicates
from syncmem.replica.oscillation import oscillating
from syncmem.replica.replica import Replica
from syncmem.replica.tallies import OUTCOMES, Tally, ranked, tallies
from syncmem.replica.telling import Telling

LIKELY_SINGLE_ENTITIES: Final = 10  # many-valued, and this many entities never had two values at once
JUDGED_CLAIMS_MIN: Final = 20  # fewer say nothing about who made them
ERROR_RATE_MAX: Final = 0.2  # of claims that were taken back or lost, before who made them is spoken of
_LISTED_MAX: Final = 20


def diagnose(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Add what is to be told of the beliefs."""
    for look in (_beliefs, _oscillation, _quality, _lookalikes, _cardinality):
        look(replica, facts, problems)


def _beliefs(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    count = replica.db.execute(f"SELECT count(*) FROM beliefs WHERE known_to = {FOREVER}").fetchone()[0]
    contested = replica.db.execute(
        f"SELECT count(DISTINCT slot) FROM beliefs WHERE contested = 1 AND known_to = {FOREVER}"
    ).fetchone()[0]
    facts["beliefs"] = {"current": count, "contested_slots": contested}


# -- slots that swing ---------------------------------------------------------------------------------


def _oscillation(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    facts["oscillation"] = oscillating(replica, _LISTED_MAX)
    for slot in facts["oscillation"]:
        by = ", ".join(f"{_source(who)} on {who['device']} ({who['swings']})" for who in slot["by"])
        problems.append(
            f"{slot['entity']} {slot['predicate']} went back {slot['times']} times to a value it had left, by {by}; "
            "look at its history: the matcher or the cardinality may be wrong"
        )


# -- who is often wrong -------------------------------------------------------------------------------


def _quality(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """How much of what each source, device and extractor said was taken back, or won nowhere."""
    found = tallies(replica)
    named = [(replica.catalog.source(number), tally) for number, tally in found.sources.items()]
    sources = [({"source_kind": s.kind, "source_id": s.id}, tally) for s, tally in named]
    devices = [({"device": Telling.device_id(key)}, tally) for key, tally in found.devices.items()]
    extractors = [({"extractor": by.name, "version": by.version}, tally) for by, tally in found.extractors.items()]
    facts["quality"] = {
        "sources": [who | tally.facts() for who, tally in ranked(sources, _LISTED_MAX)],
        "devices": [who | tally.facts() for who, tally in ranked(devices, _LISTED_MAX)],
        "extractors": [who | tally.facts() for who, tally in ranked(extractors, _LISTED_MAX)],
    }
    for who, tally in ranked(sources, _LISTED_MAX):
        if _often_wrong(tally):
            problems.append(f"{_source(who)}: {_wrong(tally)}; give it less trust, or take it back with withdraw()")
    for who, tally in ranked(devices, _LISTED_MAX) if len(devices) > 1 else ():
        if _often_wrong(tally):
            problems.append(f"device {who['device']}: {_wrong(tally)}; look at its clock and at what writes on it")
    for who, tally in ranked(extractors, _LISTED_MAX):
        if _often_wrong(tally):
            by = f"extractor {who['extractor']}, version {who['version']}"
            problems.append(f"{by}: {_wrong(tally)}; mend it, and reextract() with a later version")


def _often_wrong(tally: Tally) -> bool:
    return tally.made >= JUDGED_CLAIMS_MIN and tally.error_rate > ERROR_RATE_MAX


def _wrong(tally: Tally) -> str:
    parts = [f"{count} {outcome}" for outcome in OUTCOMES if (count := getattr(tally, outcome))]
    return f"{tally.wrong} of {tally.made} claims were wrong ({', '.join(parts)})"


def _source(who: dict[str, Any]) -> str:
    return ":".join(part for part in (who["source_kind"], who["source_id"]) if part) or "no stated source"


# -- names that may be one ----------------------------------------------------------------------------


def _lookalikes(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    predicates, entities = alike_predicates(replica, _LISTED_MAX), alike_entities(replica, _LISTED_MAX)
    facts["lookalikes"] = {"predicates": predicates, "entities": entities}
    for row in predicates:
        problems.append(
            f"predicates {_names(row['names'])} may be one ({row['shared_entities']} entities have several of them, "
            f"{row['shared_values']} the same value); write one from now on, and mend the others with correct()"
        )
    for row in entities:
        problems.append(
            f"entities {_names(row['names'])} may be one ({row['shared_predicates']} predicates speak of several of "
            f"them, {row['shared_values']} with the same value); say which they are: same() or different()"
        )


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_LISTED_MAX]))


# -- predicates ---------------------------------------------------------------------------------------


def _cardinality(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    undeclared, single = _undeclared(replica), _likely_single(replica)
    facts["cardinality"] = {"undeclared": undeclared, "likely_single": single}
    for predicate in undeclared:
        problems.append(
            f"predicate {predicate!r} is not defined and counts as many-valued; say what it is with define()"
        )
    for predicate in single:
        problems.append(
            f"predicate {predicate!r} is many-valued, but never has two values; define() can make it single"
        )


def _undeclared(replica: Replica) -> list[str]:
    rows = replica.db.execute("SELECT DISTINCT predicate, scope FROM slots ORDER BY predicate").fetchall()
    names = dict.fromkeys(name for name, scope in rows if not replica.catalog.predicate(scope, name).declared)
    return list(names)[:_LISTED_MAX]


def _likely_single(replica: Replica) -> list[str]:
    """Predicates defined as many-valued of which no entity ever has two values at once."""
    sql = f"""
        SELECT s.predicate FROM slots s WHERE s.predicate IN (SELECT value FROM json_each(?)) AND EXISTS (
            SELECT 1 FROM beliefs b WHERE b.slot = s.id AND b.known_to = {FOREVER})
        GROUP BY s.predicate HAVING count(*) >= ? AND NOT EXISTS (
            SELECT 1 FROM slots t JOIN beliefs a ON a.slot = t.id AND a.known_to = {FOREVER}
            JOIN beliefs b ON b.slot = t.id AND b.known_to = {FOREVER} AND b.lane > a.lane
                AND b.valid_from < a.valid_to AND a.valid_from < b.valid_to
            WHERE t.predicate = s.predicate)"""
    many = [name for name, _, definition in replica.catalog.defined() if definition.many]
    rows = replica.db.execute(sql, (json.dumps(many), LIKELY_SINGLE_ENTITIES)).fetchall()
    return [row[0] for row in rows][:_LISTED_MAX]
