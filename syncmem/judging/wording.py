"""Wording: whether a candidate says what the words say that it was taken from.

Rules: words only raise a doubt, they never decide what was meant; what a candidate says itself (an end, a date, that
it is only quoted) needs no doubt; the cues are English, and words of another language raise none; a cue is a form of
the language (all past tenses, all verbs of saying), not what one sentence happened to say.

==================  ==========================================  ==================================================
words that speak    of which this is a cue                      are answered by a candidate that
==================  ==========================================  ==================================================
of a no or an end   not, never, no longer, sold, off, used to   ends, denies, corrects, is negated, or says "none"
of a guess          if, maybe, tempted, I think, a question     is hypothetical, quoted or inferred
of a wish           order ..., remind me, please                is hypothetical, quoted or inferred
of somebody's word  she said, according to; "You live ..."      is hypothetical, quoted or inferred
of a time           until, this week, moved, taken, in 2019     says since or until, or is an end or a denial
==================  ==========================================  ==================================================

Of the user's own word, where no passage is named in which it could be looked up, the words must bear it out: a line
of a paper ("Dentist: Ms Doyle") or words that do not name the value were not said by the user.
"""

from __future__ import annotations

import re
from typing import Final

from syncmem.judging.candidate import WORDS_BYTES_MAX, Candidate, Manner, Verb
from syncmem.judging.cues import GUESS, HEARSAY, LABEL, NO, REQUEST, TIME, TO_THE_USER
from syncmem.model.text import is_writable
from syncmem.model.value import NONE

SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.](?=\S)[^.!?\n]+)*[.!?]*")  # a dot within "a@b.c" ends nothing
STEM_LETTERS: Final = 3  # "veggie" names "vegetarian"
_ENDING: Final = frozenset({Verb.END, Verb.DENY})
_MEANT_OTHERWISE: Final = frozenset({Manner.HYPOTHETICAL, Manner.QUOTED, Manner.INFERRED})


def spoken(text: str, span: tuple[int, int] | None, value: object) -> str | None:
    """The whole sentences of a text that a span touches; without a span those that name the value, if any does.

    >>> spoken("Hello. I no longer work at Stripe. Bye.", (27, 33), "Stripe")
    'I no longer work at Stripe.'
    >>> spoken("Hello. I no longer work at Stripe. Bye.", None, "Stripe")
    'I no longer work at Stripe.'
    """
    parts = [(match.start(), match.end()) for match in SENTENCE.finditer(text)]
    if span is not None:
        held = [(start, end) for start, end in parts if start < span[1] and span[0] < end]
    else:
        named = str(value).casefold()
        held = [(start, end) for start, end in parts if named in text[start:end].casefold()]
    words = " ".join(text[start:end].strip() for start, end in held)
    return words if words and is_writable(words) and len(words.encode()) <= WORDS_BYTES_MAX else None


def unsaid(candidate: Candidate) -> str | None:
    """What the words of a candidate speak of and the candidate does not; None where they agree or are not given.

    >>> unsaid(Candidate("ana", "employer", "Stripe", words="I no longer work at Stripe."))
    'its words speak of a no or an end, and it does not'
    >>> unsaid(Candidate("ana", "employer", "Stripe", verb="end", words="I no longer work at Stripe."))
    >>> unsaid(Candidate("ana", "home_city", "Lisbon", words="I live in Lisbon."))
    """
    words = candidate.words
    if words is None or candidate.kind in _MEANT_OTHERWISE:
        return None
    found = next((what for what, missing in _looked_for(candidate, words) if missing), None)
    return None if found is None else f"its words speak of {found}, and it does not"


def names_whole(words: str, value: object) -> bool:
    """Whether words name a value as it is, but for case.

    >>> names_whole("Not dutch but Danish.", "Dutch"), names_whole("I am Dutchman.", "Dutch")
    (True, False)
    """
    named = re.escape(str(value).casefold())
    return re.search(rf"(?<!\w){named}(?!\w)", words.casefold()) is not None


def _looked_for(candidate: Candidate, words: str) -> tuple[tuple[str, bool], ...]:
    ends = candidate.verb in _ENDING
    negated = ends or candidate.verb == Verb.CORRECT or candidate.kind == Manner.NEGATED
    negated = negated or candidate.value is NONE or candidate.value is False
    dated = ends or candidate.since is not None or candidate.until is not None
    unproven = candidate.source.kind == "user" and candidate.source.episode is None
    return (
        ("a no or an end", not negated and NO.search(words) is not None),
        ("a guess", GUESS.search(words) is not None or words.rstrip().endswith("?")),
        ("a wish", REQUEST.search(words) is not None),
        ("somebody's word", HEARSAY.search(words) is not None or TO_THE_USER.match(words) is not None),
        ("a time", not dated and TIME.search(words) is not None),
        ("a line of a paper", unproven and LABEL.match(words) is not None),
        ("something else", unproven and not _names(words, candidate.value)),
    )


def _names(words: str, value: object) -> bool:
    """Whether words name a value, roughly: they hold the beginning of one of its words, in the letters of it."""
    if not isinstance(value, str):
        return True
    heard = words.casefold()
    stems = {part[:STEM_LETTERS] for part in re.findall(r"[^\W\d_]+", value.casefold()) if len(part) >= STEM_LETTERS}
    return not stems or not heard.isascii() or any(stem in heard for stem in stems)
