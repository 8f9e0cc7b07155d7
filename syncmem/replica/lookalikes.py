"""Lookalikes: names that may mean the same predicate or the same entity, because they are spelled alike or say alike.

Rules: names are alike that have the same letters and digits once case, separators and the plural of the last word
are taken away; predicates, too, of which one says what the other says, of many entities.  Nothing is joined here:
whether they are the same is for the user to say.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from syncmem.model.instant import FOREVER
from syncmem.replica.replica import Replica

SAME_VALUES_MIN: Final = 10  # entities of which two predicates say the same, before that is more than chance
SAME_VALUES_DISTINCT_MIN: Final = 5  # values among those: many things are "yes"
SAME_VALUES_SHARE: Final = 0.9  # of what the rarer predicate says
_PREDICATES_OF_A_VALUE_MAX: Final = 8  # a value that more predicates of one entity share says nothing of any two
_GROUP_MAX: Final = 20  # names of one group: more tell nothing more, and pairs of them are looked at
_WORD: Final = re.compile(r"[^\W_]+")
_SIBILANTS: Final = ("ses", "xes", "zes", "ches", "shes")
_SINGULAR_IN_S: Final = ("ss", "us", "is")


def spelled(name: str) -> str:
    """What names that are spelled alike share.

    >>> spelled("home_city") == spelled("HomeCity") == spelled("home-cities")
    True
    >>> spelled("room 1-2") == spelled("room 12"), spelled("address"), spelled("bus")
    (False, 'address', 'bus')
    """
    words: list[str] = _WORD.findall(unicodedata.normalize("NFKC", name).casefold())
    if not words:
        return name
    words[-1] = _singular(words[-1])
    result = words[0]
    for word in words[1:]:
        result += ("-" if result[-1].isdigit() and word[0].isdigit() else "") + word
    return result


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(_SINGULAR_IN_S):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_SIBILANTS) else word[:-1]


def alike_predicates(replica: Replica, most: int) -> list[dict[str, Any]]:
    """Predicates that may be one: with how many entities have several of them, and how many the same value."""
    names = [row[0] for row in replica.db.execute("SELECT DISTINCT predicate FROM slots ORDER BY predicate")]
    found = [("spelling", group) for group in _alike(names)]
    together = {pair for _, group in found for pair in _pairs(group)}
    found += [("values", pair) for pair in _saying_alike(replica) if tuple(pair) not in together]
    rows: list[dict[str, Any]] = [
        {"names": group, "alike": why, **_shared_by_predicates(replica, group)} for why, group in found[: 5 * most]
    ]
    return sorted(rows, key=lambda row: (-row["shared_values"], -row["shared_entities"], row["names"]))[:most]


def alike_entities(replica: Replica, most: int) -> list[dict[str, Any]]:
    """Entities of one scope that are spelled alike: with how many predicates they share, and how many values.

    Of those that somebody has linked, as the same or as different, it is not for a diagnosis to speak.
    """
    rows: list[dict[str, Any]] = []
    by_scope: dict[str, list[str]] = defaultdict(list)
    for scope, entity in replica.db.execute("SELECT DISTINCT scope, entity FROM slots ORDER BY entity, scope"):
        by_scope[scope].append(entity)
    for scope, entities in by_scope.items():
        groups = [group for group in _alike(entities) if not _all_linked(replica, scope, group)][: 5 * most]
        rows += [{"scope": scope, "names": group, **_shared_by_entities(replica, scope, group)} for group in groups]
    return sorted(rows, key=lambda row: (-row["shared_values"], -row["shared_predicates"], row["names"]))[:most]


def _all_linked(replica: Replica, scope: str, names: Sequence[str]) -> bool:
    linked, _ = replica.aliases.region(scope, names[0])
    return linked.issuperset(names)


def _alike(names: Iterable[str]) -> list[list[str]]:
    """Groups of several names that are spelled alike."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[spelled(name)].append(name)
    return [group[:_GROUP_MAX] for group in groups.values() if len(group) > 1]


def _pairs(group: Sequence[str]) -> list[tuple[str, str]]:
    return [(one, other) for one in group for other in group if one < other]


# -- what they share ----------------------------------------------------------------------------------


def _shared_by_predicates(replica: Replica, names: Sequence[str]) -> dict[str, int]:
    slots = "SELECT id, scope, entity AS subject, predicate AS name FROM slots WHERE predicate IN ({})"
    entities, values = _shared(replica, slots, [json.dumps(names)])
    return {"shared_entities": entities, "shared_values": values}


def _shared_by_entities(replica: Replica, scope: str, names: Sequence[str]) -> dict[str, int]:
    slots = "SELECT id, scope, predicate AS subject, entity AS name FROM slots WHERE entity IN ({}) AND scope = ?2"
    predicates, values = _shared(replica, slots, [json.dumps(names), scope])
    return {"shared_predicates": predicates, "shared_values": values}


def _shared(replica: Replica, slots: str, parameters: Sequence[str]) -> tuple[int, int]:
    """Of how many subjects several of the names speak, and of how many they believe the same value."""
    chosen = f"WITH chosen AS ({slots.format('SELECT value FROM json_each(?1)')}) SELECT count(*) FROM ("
    subjects = f"{chosen} SELECT 1 FROM chosen GROUP BY scope, subject HAVING count(*) > 1)"
    values = (
        f"{chosen} SELECT 1 FROM (SELECT c.scope, c.subject, count(DISTINCT c.name) AS names FROM chosen c "
        f"JOIN beliefs b ON b.slot = c.id AND b.known_to = {FOREVER} GROUP BY c.scope, c.subject, b.value) "
        "WHERE names > 1 GROUP BY scope, subject)"
    )
    counts = [int(replica.db.execute(sql, tuple(parameters)).fetchone()[0]) for sql in (subjects, values)]
    return counts[0], counts[1]


def _saying_alike(replica: Replica) -> list[list[str]]:
    """Pairs of predicates of which one says, of nearly all its entities, what the other says of them."""
    sql = f"""
        SELECT b.value, json_group_array(DISTINCT s.predicate) FROM beliefs b JOIN slots s ON s.id = b.slot
        WHERE b.known_to = {FOREVER} AND b.valid_to = {FOREVER} AND b.value <> 'null'
        GROUP BY s.scope, s.entity, b.value HAVING count(DISTINCT s.predicate) BETWEEN 2 AND ?"""
    shared: Counter[tuple[str, str]] = Counter()
    values: dict[tuple[str, str], set[str]] = defaultdict(set)
    for value, names in replica.db.execute(sql, (_PREDICATES_OF_A_VALUE_MAX,)):
        for pair in _pairs(sorted(json.loads(names))):
            shared[pair] += 1
            if len(values[pair]) < SAME_VALUES_DISTINCT_MIN:
                values[pair].add(value)
    able = [p for p, n in shared.items() if n >= SAME_VALUES_MIN and len(values[p]) >= SAME_VALUES_DISTINCT_MIN]
    said = _values_now(replica, {name for pair in able for name in pair})
    return sorted([*pair] for pair in able if shared[pair] >= SAME_VALUES_SHARE * min(said[name] for name in pair))


def _values_now(replica: Replica, names: set[str]) -> dict[str, int]:
    """How many values predicates believe for good, of all entities."""
    sql = (
        f"SELECT s.predicate, count(*) FROM slots s JOIN beliefs b ON b.slot = s.id AND b.known_to = {FOREVER} "
        f"WHERE s.predicate IN (SELECT value FROM json_each(?)) AND b.valid_to = {FOREVER} AND b.value <> 'null' "
        "GROUP BY s.predicate"
    )
    return dict(replica.db.execute(sql, (json.dumps(sorted(names)),)).fetchall())
