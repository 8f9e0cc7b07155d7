"""A rule-based extractor for English: what a first person says plainly about common predicates.

It is for examples, for tests and for where no model is at hand; it knows a few dozen phrases and passes over the
rest.  Rules: one sentence at a time; a question says nothing; "if", "maybe" and their like make a sentence
hypothetical, "she said that" makes it quoted; a date is kept as precisely as it was said, and what has a date that
is none, or a time that is not understood ("until Friday"), says nothing; a month without its year is read only where
it is known when it was said.

>>> [c.value for c in english(Utterance("I speak English, German and Greek.", "ana"))]
['English', 'German', 'Greek']
>>> moved, = english(Utterance("I moved to Lisbon in March 2025.", "ana"))
>>> moved.predicate, str(moved.verb), moved.since
('home_city', 'change', '2025-03')
>>> [str(c.kind) for c in english(Utterance("If I moved to Rome, I would learn Italian.", "ana"))]
['hypothetical']
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from typing import Any, Final

from syncmem.arguments import guarded
from syncmem.errors import InvalidInput
from syncmem.judging.candidate import Candidate, Manner, Verb
from syncmem.judging.cues import GUESS
from syncmem.judging.extracting import Utterance
from syncmem.judging.wording import SENTENCE
from syncmem.model.instant import parse
from syncmem.model.value import NONE

CLAUSE_LETTERS_MAX: Final = 300  # nobody says a fact plainly in more
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTH: Final = rf"(?:{'|'.join(_MONTHS)})"
_DATE: Final = rf"(?:\d{{4}}(?:-\d\d){{0,2}}|(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}},)?(?: \d{{4}})?)"
_IN: Final = rf"(?: (?:in|on|since|as of|from) (?P<since>{_DATE}))?"
_SPAN: Final = rf" from (?P<since>{_DATE}) (?:to|until|till) (?P<until>{_DATE})"
_UNTIL: Final = rf" (?:until|till) (?P<until>{_DATE})"
_X: Final = r"(?P<value>[^,;]+?)"
_TIMES: Final = re.compile(  # at the end of a value: a time that the phrase could not read
    rf" (?:(?:until|till|since|as of) .+|(?:last|next|this) (?:{_MONTH}|\w+day|week(?:end)?|month|year|spring|summer"
    r"|autumn|fall|winter)|(?:\w+ )?\w+ ago|for (?:now|(?:an?|the|one|two|three|\d+) .+)|yesterday|today|tonight"
    r"|tomorrow|right now|at the moment|these days|currently|temporarily)\Z",
    re.IGNORECASE,
)
_AGAIN: Final = r"(?: any ?more| any longer)?"
_LIVE: Final = r"(?:live|am living|'m living|reside)"
_WORK: Final = r"(?:work|am working|'m working)"

# What is looked for at the start of a clause, the first that fits: predicate, verb, kind, pattern.
_STATED, _NEGATED = Manner.STATED, Manner.NEGATED
_PHRASES: Final = tuple(
    (predicate, verb, kind, re.compile(rf"{pattern}\Z", re.IGNORECASE))
    for predicate, verb, kind, pattern in (
        ("home_city", Verb.CORRECT, _STATED, rf"I {_LIVE} in {_X}, not (?:in )?(?P<old>.+?)"),
        ("home_city", Verb.DENY, _NEGATED, rf"I(?: have|'ve)? never lived in {_X}"),
        ("home_city", Verb.END, _STATED, rf"I (?:no longer|don't|do not) {_LIVE} in {_X}{_AGAIN}"),
        ("home_city", Verb.PERIOD, _STATED, rf"I lived in {_X}{_SPAN}"),
        ("home_city", Verb.STATE, _STATED, rf"I(?: now| still)? ?{_LIVE} in {_X}{_IN}"),
        ("home_city", Verb.CHANGE, _STATED, rf"I(?: have|'ve)? moved to {_X}{_IN}"),
        ("location", Verb.TEMPORARY, _STATED, rf"I(?: am|'m|'ll be| will be)(?: staying)? in {_X}{_UNTIL}"),
        ("employer", Verb.DENY, _NEGATED, rf"I(?: have|'ve)? never worked (?:at|for) {_X}"),
        ("employer", Verb.END, _STATED, rf"I (?:no longer|don't|do not) {_WORK} (?:at|for) {_X}{_AGAIN}"),
        ("employer", Verb.END, _STATED, rf"I(?: have|'ve)? (?:left|quit) {_X}{_IN}"),
        ("employer", Verb.PERIOD, _STATED, rf"I worked (?:at|for) {_X}{_SPAN}"),
        ("job_title", Verb.STATE, _STATED, rf"I {_WORK} as (?:an? )?{_X}{_IN}"),
        ("employer", Verb.STATE, _STATED, rf"I(?: now| still)? ?{_WORK} (?:at|for) {_X}{_IN}"),
        ("employer", Verb.CHANGE, _STATED, rf"I(?: have|'ve)? (?:joined|started(?: working)? (?:at|for)) {_X}{_IN}"),
        ("language", Verb.END, _NEGATED, rf"I (?:no longer|don't|do not) speak (?P<values>.+?){_AGAIN}"),
        ("language", Verb.STATE, _STATED, r"I(?: also)? speak (?P<values>.+?)"),
        ("allergy", Verb.END, _NEGATED, rf"I(?: am|'m) (?:not|no longer) allergic to (?P<values>.+?){_AGAIN}"),
        ("allergy", Verb.STATE, _STATED, r"I(?: am|'m) allergic to (?P<values>.+?)"),
        ("diet", Verb.STATE, _STATED, rf"I(?: am|'m)(?: now)? (?:an? )?(?P<value>vegetarian|vegan|pescatarian){_IN}"),
        ("likes", Verb.END, _NEGATED, rf"I (?:no longer|don't|do not) (?:like|love|enjoy) (?P<values>.+?){_AGAIN}"),
        ("likes", Verb.STATE, _STATED, r"I(?: really| also)? ?(?:like|love|enjoy) (?P<values>.+?)"),
        ("dislikes", Verb.STATE, _STATED, r"I(?: really)? ?(?:hate|dislike|can't stand) (?P<values>.+?)"),
        ("", Verb.STATE, _NEGATED, r"I (?:have no|don't have an?|do not have an?) (?P<name>\w+(?: \w+)?)"),
        ("", Verb.CORRECT, _STATED, rf"my (?P<name>[\w-]+(?: \w+)?) is not (?P<old>.+?),? but {_X}"),
        ("", Verb.CORRECT, _STATED, rf"my (?P<name>[\w-]+(?: \w+)?) is {_X}, not (?P<old>.+?)"),
        ("", Verb.END, _NEGATED, rf"my (?P<name>[\w-]+(?: \w+)?) is (?:no longer|not) {_X}{_AGAIN}"),
        ("", Verb.STATE, _STATED, rf"my (?P<name>[\w-]+(?: \w+)?) is(?: now)? {_X}{_IN}"),
    )
)
_QUOTED: Final = re.compile(
    r"\A(?!I\b)(?:my )?\w+(?: \w+)? (?:said|says|told \w+|thinks|claims|believes|wrote)\b(?: that)?[ ,:]*", re.I
)
_OPENING: Final = re.compile(
    r"\A(?:actually|well|so|and|but|no|yes|oh|hi|hello|also|by the way|now|i mean|that's wrong)[ ,:]+", re.I
)
_CLAUSES: Final = re.compile(r",? (?:and|but)(?= (?:I|my)\b)|,(?= (?:I|my)\b)", re.I)
_LIST: Final = re.compile(r",? and |,? or |, ")


@guarded
def english(said: Utterance) -> list[Candidate]:
    """The candidates in an English text; an :class:`~syncmem.judging.extracting.Extractor`."""
    found: list[Candidate] = []
    for match in SENTENCE.finditer(said.text):
        if not match[0].rstrip().endswith("?"):
            found += _sentence(said, match[0], match.start())
    return found


def _sentence(said: Utterance, text: str, start: int) -> Iterator[Candidate]:
    words = text.strip().rstrip(".!").replace("\u2019", "'")
    quoted = _QUOTED.match(words)
    kind = Manner.QUOTED if quoted else Manner.HYPOTHETICAL if GUESS.search(words) else None
    words = words[quoted.end() :] if quoted else words
    source = said.passage(start + len(text) - len(text.lstrip()), start + len(text))
    for clause in _clauses(words):
        for given in _clause(clause, said.observed_at):
            meant: dict[str, Any] = {} if kind is None else {"kind": kind}
            about: dict[str, Any] = {
                "observed_at": said.observed_at,
                "scope": said.scope,
                "zone": said.zone,
                "source": source,
            }
            yield Candidate(entity=said.speaker, **{**given, **meant, **about})


def _clauses(words: str) -> Iterator[str]:
    """The parts of a sentence that have a subject of their own, without what opens them."""
    for part in _CLAUSES.split(words):
        clause = part.strip(" ,\"'")
        while opening := _OPENING.match(clause) or re.match(r"(?:if|maybe|perhaps|suppose|imagine)[ ,]+", clause, re.I):
            clause = clause[opening.end() :]
        if len(clause) <= CLAUSE_LETTERS_MAX and clause.isprintable():
            yield clause


def _clause(clause: str, heard: str | None) -> Iterator[dict[str, Any]]:
    for predicate, verb, kind, pattern in _PHRASES:
        match = pattern.match(clause)
        if match is None:
            continue
        said = match.groupdict()
        dates = {name: _date(said[name], heard) for name in ("since", "until") if said.get(name)}
        given: dict[str, Any] = {"predicate": predicate or said["name"], "verb": verb, "kind": kind, **dates}
        if said.get("old"):
            given["instead_of"] = said["old"].strip()
        values: list[Any] = [said["value"].strip()] if said.get("value") else [NONE]
        values = _LIST.split(said["values"].strip()) if said.get("values") else values
        timed = said.get("value") and _TIMES.search(said["value"])
        if None not in dates.values() and not timed:
            yield from ({**given, "value": value} for value in values)
        return


def _date(text: str, heard: str | None) -> str | None:
    """A date as text, None if it is none; a month without a year is the last one before it was said."""
    stated = _spelled(text, heard)
    try:
        return stated if stated is None or parse(stated, zone=UTC) else None
    except InvalidInput:
        return None


def _spelled(text: str, heard: str | None) -> str | None:
    """A date as the library writes it; None for a month of nobody knows which year."""
    if re.fullmatch(r"\d{4}(-\d\d){0,2}", text):
        return text
    month = next(number for number, name in enumerate(_MONTHS, 1) if name in text.lower())
    year, day = re.search(r"\d{4}", text), re.search(r"\b\d{1,2}\b", text)
    known = re.match(r"(\d{4})-(\d\d)", heard or "")
    if year is None and known is None:
        return None
    stated = int(year[0]) if year else int(known[1]) - (month > int(known[2])) if known else 0
    return f"{stated}-{month:02}" + (f"-{int(day[0]):02}" if day else "")
