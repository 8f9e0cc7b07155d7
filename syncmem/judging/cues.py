"""Cues: the forms of English by which words speak of an end, a guess, a wish, a time, or somebody else's word.

Rules: each list is a class of the language as whole as may be, for a cue too many costs a question and one too few
an error in silence; nothing is decided here.
"""

from __future__ import annotations

import re
from typing import Final


def _cue(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


NO: Final = _cue(
    *("no", "not", "never", r"\w+n't", "cannot", "none", "nobody", "neither", "without", "instead", "wrong", "mistake"),
    *("any ?more", "any longer", "used to", "former", "formerly", "ex", "left", "quit", "sold", "lost", "gone", "over"),
    *("gave up", "given up", "forgot", "forgotten", "stopped", "ended", "finished", "died", "cancel+ed", "back"),
    *("off", "rid of", "done with", "last (?:day|shift|week)"),
    *(r"rather (?:\w+ ){0,4}?than", "as opposed to", "in place of", "(?:any|no)thing but", "unlike"),
    *(r"(?:replac|exchang|chang)(?:es?|ed|ing)", "trad(?:ed|ing)", r"swap(?:s|ped|ping)?", r"switch(?:es|ed|ing)?"),
    *("(?:go|goes|going|went|moves?|moving|moved) from", "nope", "nah", "sorry", "oops", "correction", "typo"),
    *("i mean", "i meant", "misspoke", "slip of the tongue", "scratch", "strike", "forget", "make (?:it|that)"),
    *("hardly", "barely", "scarcely", "rarely", "seldom", "nor", r"in favou?r of"),
    r"(?:ditch|drop)(?:e?s|p?ed|p?ing)?",
)
GUESS: Final = _cue(
    *("if", "unless", "maybe", "perhaps", "probably", "possibly", "might", "(?-i:may)", "could", "would", "should"),
    *("let's", "not sure", "unsure", "uncertain"),
    *("imagine", "suppose", "supposing", "supposedly", "presumably", "assuming", "pretend", "what if", "as though"),
    *(
        "wish",
        "hope",
        "hopes",
        "hoping",
        r"planning|plans? (?:on|to)",
        "considering",
        "tempted",
        "toying",
        "fanc(?:y|ies)",
    ),
    *("think of", "thinking of", "thinking about", "want to", "wants to", "as if", "hypothetically", "dream(?:s|ing)?"),
    *("off to", "about to", "looking (?:at|to)", r"i(?: do)? (?:think|guess|reckon|suppose|believe)"),
    *("one day", "some ?day", "dunno", "who knows", r"\w+'d"),
)
_ASKED: Final = r"(?:is|are|am|was|were|do|does|did|has|have|can|could|will|would|shall|should)"
_ASKING: Final = r"(?:what|how|why|who|whose|which|where|when)"
REQUEST: Final = re.compile(
    rf"\bplease\b|\A\W*(?:{_ASKING}(?:'s|'re|(?: \w+){{0,2}}? {_ASKED})|{_ASKED} (?:i|you|he|she|it|we|they|there))\b"
    r"|\A\W*(?:(?:can|could) you|(?:help|give|get|show|tell|send|remind|teach|find|call|text) me)\b"
    r"|\A\W*(?:order|book|buy|play|find|show|remind|send|write|reply|translate|search|look up|summari[sz]e|draft)\b",
    re.IGNORECASE,
)
HEARSAY: Final = _cue(
    *(r"(?<!\bi )(?:said|told|thought|claimed|wrote|reckon(?:s|ed)?)", "says", "tells", "thinks", "claims", "believes"),
    *("writes", "saying", "telling", "claiming", "insist(?:s|ed|ing)?", "swears", "swore", "word (?:is|has it)"),
    *("heard", "according to", "apparently", "allegedly", "reportedly", "rumou?r", "gossip"),
)
TO_THE_USER: Final = re.compile(r"\A\W*(?:you|your|you're|dear)\b", re.IGNORECASE)
LABEL: Final = re.compile(r"\A\W*[^\W\d_][\w' /-]{0,40}:\s+\S")

# The past of verbs that do not form it by -ed, where it differs from the present; of the others, the perfect.
_PAST: Final = (
    *("became", "become", "began", "begun", "bought", "broke", "broken", "brought", "built", "came", "caught", "chose"),
    *("chosen", "did", "drew", "drove", "fell", "fallen", "found", "gave", "given", "got", "gotten", "grew", "grown"),
    *("had", "kept", "knew", "known", "laid", "made", "met", "paid", "ran", "rode", "sent", "shook", "spent", "stood"),
    *("stuck", "taken", "taught", "took", "threw", "thrown", "went", "won", "wore", "worn", "woke", "was", "were"),
)
_UNCHANGED: Final = "(?:shut|cut|put|let|set|hit|split|quit|come|run)"
_MONTHS: Final = (
    *("january", "february", "march", "april", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
TIME: Final = _cue(
    *("until", "till", "since", "today", "tonight", "tomorrow", "yesterday", "for now", "for the moment"),
    *("temporarily", "for the time being", "right now", "just now", "at the moment", "during", "ago", "of late"),
    r"(?:this|next|last|all) (?:day|night|week|weekend|month|quarter|year|spring|summer|autumn|winter)",
    *("will", "shall", r"\w+'ll", "going to", "been", *_PAST, rf"(?:have|has|had|'ve|'s) (?:\w+ )?{_UNCHANGED}"),
    *(r"(?<!am )(?<!is )(?<!are )(?<!'m )\w+[^\We]ed", r"(?:1[5-9]|20)\d\d(?:-\d\d)*", r"\d+(?:st|nd|rd|th)"),
    *(*_MONTHS, r"(?:in|of|since|until) may", "(?:mon|tues|wednes|thurs|fri|satur|sun)day"),
    r"for \w+ (?:days|weeks|months|years)",
)
