"""Wording: whether a candidate says what the words say that it was taken from.

Rules: words only raise a doubt, they never decide what was meant; what a candidate says itself (an end, a date, that
it is only quoted) needs no doubt; the cues are English, and words of another language raise none.

==================  ==========================================  ==================================================
words that speak    of which this is a cue                      are answered by a candidate that
==================  ==========================================  ==================================================
of a no or an end   not, never, no longer, sold, used to        ends, denies, corrects, is negated, or says "none"
of a guess          if, maybe, might, I wish, a question mark   is hypothetical, quoted or inferred
of somebody's word  she said, according to; "You live ..."          is hypothetical, quoted or inferred
of a time           until, this week, was, moved, in 2019       says since or until, or is an end or a denial
==================  ==========================================  ==================================================
"""

from __future__ import annotations

import re
from typing import Final

from syncmem.judging.candidate import WORDS_BYTES_MAX, Candidate, Manner, Verb
from syncmem.model.value import NONE

SENTENCE: Final = re.compile(r"[^.!?\n]+(?:[.](?=\S)[^.!?\n]+)*[.!?]*")  # a dot within "a@b.c" ends nothing
_ENDING: Final = frozenset({Verb.END, Verb.DENY})
_MEANT_OTHERWISE: Final = frozenset({Manner.HYPOTHETICAL, Manner.QUOTED, Manner.INFERRED})


def _cue(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_NO: Final = _cue(
    *("no", "not", "never", r"\w+n't", "cannot", "none", "nobody", "neither", "without", "instead", "wrong", "mistake"),
    *("any ?more", "any longer", "used to", "former", "formerly", "ex", "left", "quit", "sold", "lost", "gone", "over"),
    *("gave up", "given up", "forgot", "forgotten", "stopped", "ended", "finished", "died", "cancel+ed", "back"),
    *("i mean", "rather than"),
)
_GUESS: Final = _cue(
    *("if", "unless", "maybe", "perhaps", "probably", "possibly", "might", "may", "could", "would", "should", "let's"),
    *("imagine", "suppose", "supposing", "assuming", "wish", "hope", "hoping", "planning", "considering"),
    *("think of", "thinking of", "thinking about", "want to", "wants to", "as if", "hypothetically"),
)
_HEARSAY: Final = _cue(
    *(r"(?<!\bi )(?:said|told|thought|claimed|wrote)", "says", "tells", "thinks", "claims", "believes", "writes"),
    *("heard", "according to", "apparently", "allegedly", "reportedly", "rumou?r"),
)
_TO_THE_USER: Final = re.compile(r"\A\W*(?:you|your|you're|dear)\b", re.IGNORECASE)
_TIME: Final = _cue(
    *(
        "until",
        "till",
        "since",
        "today",
        "tonight",
        "tomorrow",
        "yesterday",
        "for now",
        "for the moment",
        "temporarily",
    ),
    *("for the time being", "right now", "just now", "at the moment", "during", "ago"),
    *(r"(?:this|next|last|all) (?:day|night|week|weekend|month|quarter|year|spring|summer|autumn|winter)", "of late"),
    *("will", "shall", r"\w+'ll", "going to", "was", "were", "had", "did", "been", "went", "came", "became", "got"),
    *("drove", r"(?<!am )(?<!is )(?<!are )(?<!'m )\w+[^\We]ed", r"(?:1[5-9]|20)\d\d(?:-\d\d)*", r"\d+(?:st|nd|rd|th)"),
    *(
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ),
    *(
        r"(?:in|of|since|until) may",
        "(?:mon|tues|wednes|thurs|fri|satur|sun)day",
        r"for \w+ (?:days|weeks|months|years)",
    ),
)


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
    sound = not any("\ud800" <= letter <= "\udfff" for letter in words)  # no half of a pair, which nothing can store
    return words if words and sound and len(words.encode()) <= WORDS_BYTES_MAX else None


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


def _looked_for(candidate: Candidate, words: str) -> tuple[tuple[str, bool], ...]:
    ends = candidate.verb in _ENDING
    negated = ends or candidate.verb == Verb.CORRECT or candidate.kind == Manner.NEGATED
    negated = negated or candidate.value is NONE or candidate.value is False
    dated = ends or candidate.since is not None or candidate.until is not None
    return (
        ("a no or an end", not negated and _NO.search(words) is not None),
        ("a guess", _GUESS.search(words) is not None or words.rstrip().endswith("?")),
        ("somebody's word", _HEARSAY.search(words) is not None or _TO_THE_USER.match(words) is not None),
        ("a time", not dated and _TIME.search(words) is not None),
    )
