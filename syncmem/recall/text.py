"""Proposing by text: slots and documents that share terms with a question.

Rules: what is proposed decides nothing, only what is looked at; how rare a term is is counted among what is (or, at a
known time, was) believed, so that the past is found as it was found then; a term that thousands have proposes nothing
where a rarer one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

from syncmem.recall.asked import Axes, Question
from syncmem.recall.lexicon import Match
from syncmem.replica.connection import Database
from syncmem.replica.index import mark

POSTINGS_MAX: Final = 4_000  # entries of one term that are looked at; a term with more is called frequent
SLOTS_MAX: Final = 60  # slots whose beliefs are read for a question
DOCUMENTS_MAX: Final = 1_000  # documents whose rectangles may be, until enough of them hold
SAID_MAX: Final = 200  # documents that lead to their slot, whether they hold or not
_SLOTS_OF_PREDICATE: Final = 200  # slots proposed because of their predicate alone
_PREDICATES_MAX: Final = 8  # predicates that propose slots: those that explain most of the question
_PREFIX_LETTERS: Final = 4  # a term of so many letters also finds words that begin with it ...
_FEW: Final = 100  # ... if no more entries have it as it is
_LEXICON_WEIGHT: Final = 10.0  # a predicate with a term makes it as common as so many entries
_STOP_WEIGHT: Final = 0.1  # of a word that only says how something is asked


@dataclass(frozen=True, slots=True)
class Proposed:
    """What is to be looked at, the most promising first.

    Attributes:
        weights: how much each term of the question tells.
        said: of slots, the terms that values have which were ever said of them.
    """

    slots: tuple[int, ...]
    documents: tuple[int, ...]
    weights: Mapping[str, float]
    said: Mapping[int, frozenset[str]]


class Texts:
    """Looks into the full-text tables of one replica."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def propose(self, question: Question, axes: Axes, matches: Mapping[str, Match], filters: str) -> Proposed:
        """Slots and documents for a question; ``filters`` as :func:`filters_of` gives them."""
        postings = {term: self._with(term, axes, filters) for term in question.content}
        gone = {term: self._gone(term, axes, filters) for term in question.content}
        counts = {term: len(postings[term] or gone[term]) for term in question.content}
        weights = _weights(question, counts, matches)
        sums: dict[int, float] = {}
        rare = {term: found for term, found in postings.items() if len(found) <= POSTINGS_MAX}
        for term, found in rare.items() if any(rare.values()) else postings.items():
            for entry in found[:POSTINGS_MAX]:
                sums[entry] = sums.get(entry, 0.0) + weights[term]
        named = [term for term, found in rare.items() if found]
        self._add_slots(sums, named, axes, matches, weights, filters)
        ranked = sorted(sums, key=lambda entry: (-sums[entry], entry))
        slots = [entry >> 1 for entry in ranked if entry & 1]
        documents = [entry >> 1 for entry in ranked if not entry & 1]
        said = self._said({term: [*postings[term], *gone[term]] for term in question.content}, weights)
        return Proposed(tuple(slots[:SLOTS_MAX]), tuple(documents[:DOCUMENTS_MAX]), weights, said)

    def _with(self, term: str, axes: Axes, filters: str) -> list[int]:
        """The entries with a term, in a value or an entity; if those are few, also ones that begin with it."""
        found = self._entries(f'("{term}" OR "@{term}"){filters}', axes.n)
        if len(found) <= _FEW and len(term) >= _PREFIX_LETTERS and not term[0].isdigit():
            return self._entries(f'("{term}"* OR "@{term}"*){filters}', axes.n)
        return found

    def _gone(self, term: str, axes: Axes, filters: str) -> list[int]:
        """The documents with a term that are (or at the known time were) no longer believed."""
        if axes.n is None:
            sql = "SELECT rowid FROM text_past WHERE text_past MATCH ? AND NOT rowid & 1 LIMIT ?"
            return [row[0] for row in self._db.execute(sql, (f'"{term}"{filters}', POSTINGS_MAX)).fetchall()]
        found = []
        for table in ("text_live", "text_past"):
            sql = f"SELECT rowid FROM {table} t WHERE {table} MATCH ?1 AND {_NO_LONGER} LIMIT ?3"
            found += [row[0] for row in self._db.execute(sql, (f'"{term}"{filters}', axes.n, POSTINGS_MAX)).fetchall()]
        return found

    def _said(self, found: Mapping[str, list[int]], weights: Mapping[str, float]) -> dict[int, frozenset[str]]:
        """The slots of the most promising documents, with the terms that led there: the most promising slots first."""
        held: dict[int, list[str]] = {}
        for term, entries in found.items():
            if len(entries) <= POSTINGS_MAX and term in weights:
                for entry in entries:
                    if not entry & 1:
                        held.setdefault(entry >> 1, []).append(term)
        told = {document: sum(weights[term] for term in terms) for document, terms in held.items()}
        best = sorted(told, key=lambda document: (-told[document], document))[:SAID_MAX]
        sql = f"SELECT id, slot FROM documents WHERE id IN ({','.join(map(str, best))})"
        slot_of = dict(self._db.execute(sql).fetchall())
        slots: dict[int, set[str]] = {}
        for document in best:
            slots.setdefault(slot_of[document], set()).update(held[document])
        return {slot: frozenset(terms) for slot, terms in slots.items()}

    def _add_slots(
        self,
        sums: dict[int, float],
        named: Sequence[str],
        axes: Axes,
        matches: Mapping[str, Match],
        weights: Mapping[str, float],
        filters: str,
    ) -> None:
        """Slots of predicates that explain the question: of entities that rarer terms of it name, then any."""
        strengths = {name: strength(match, weights) for name, match in matches.items()}
        best = sorted(strengths, key=lambda name: (-strengths[name], name))[:_PREDICATES_MAX]
        entities = _any_of([f"@{term}" for term in named])
        for name in best:
            predicate = f'"{mark("#", name)}"'
            found = self._entries(f"({entities}) AND {predicate}{filters}", axes.n) if named else []
            found += self._entries(predicate + filters, axes.n, _SLOTS_OF_PREDICATE)
            for entry in dict.fromkeys(found):
                sums[entry] = sums.get(entry, 0.0) + strengths[name]
        if axes.entity is not None:
            for entry in self._entries(f'"{mark("=", axes.entity)}"{filters}', axes.n, POSTINGS_MAX):
                sums.setdefault(entry, 0.0)

    def _entries(self, query: str, n: int | None, most: int = POSTINGS_MAX + 1) -> list[int]:
        """The entries that a full-text query finds, of those that are (or at ``n`` were) believed."""
        if n is None:
            sql = "SELECT rowid FROM text_live WHERE text_live MATCH ? LIMIT ?"
            return [row[0] for row in self._db.execute(sql, (query, most)).fetchall()]
        found = []
        for table in ("text_live", "text_past"):
            sql = f"SELECT rowid FROM {table} t WHERE {table} MATCH ?1 AND {_BELIEVED} LIMIT ?3"
            found += [row[0] for row in self._db.execute(sql, (query, n, most)).fetchall()]
        return sorted(found)[:most]


_THEN: Final = "b.known_from <= ?2 AND b.known_to > ?2"
_BELIEVED: Final = (
    f"CASE t.rowid & 1 WHEN 1 THEN EXISTS (SELECT 1 FROM beliefs b WHERE b.slot = t.rowid >> 1 AND {_THEN}) "
    "ELSE EXISTS (SELECT 1 FROM documents d JOIN beliefs b ON b.slot = d.slot AND b.lane = d.lane "
    f"AND b.value = d.value WHERE d.id = t.rowid >> 1 AND {_THEN}) END"
)
_NO_LONGER: Final = (
    f"NOT t.rowid & 1 AND NOT {_BELIEVED} AND EXISTS (SELECT 1 FROM documents d JOIN beliefs b ON b.slot = d.slot "
    "AND b.lane = d.lane AND b.value = d.value WHERE d.id = t.rowid >> 1 AND b.known_from <= ?2)"
)


def filters_of(axes: Axes, several_scopes: bool) -> str:
    """What every entry must have beside the terms, as the end of a full-text query."""
    wanted = []
    if axes.entity is not None:
        wanted.append([mark("=", axes.entity)])
    if axes.predicates is not None:
        wanted.append([mark("#", name) for name in sorted(axes.predicates)] or ["#"])
    if axes.scope is not None and several_scopes:
        wanted.append([mark("%", axes.scope)])
    return "".join(f" AND ({_any_of([*marks, *(m[0] + m for m in marks)])})" for marks in wanted)


def _any_of(found: Sequence[str]) -> str:
    return " OR ".join(f'"{term}"' for term in found)


def _weights(question: Question, counts: Mapping[str, int], matches: Mapping[str, Match]) -> dict[str, float]:
    """How much each term tells: the rarer, the more; nothing, if it is found nowhere."""
    weights = {}
    for term in question.terms:
        named = sum(match.explains.get(term, 0.0) for match in matches.values())
        common = counts.get(term, 0) + _LEXICON_WEIGHT * named
        if common:
            asking = term not in question.content
            weights[term] = log1p(POSTINGS_MAX / common) * (_STOP_WEIGHT if asking else 1.0)
    return weights


def strength(match: Match, weights: Mapping[str, float]) -> float:
    """How much of a question a predicate explains."""
    return sum(best * weights.get(term, 0.0) for term, best in match.explains.items())
