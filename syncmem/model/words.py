"""Words: a text as the terms under which it is found, one and the same for what is stored and what is asked.

Rules: case, accents and simple endings make no difference ("Lives", "living" and "live" are one term); a number stays
whole; scripts that put no blanks between words become pairs of neighbouring characters.  The terms of stored texts are
in the file, so a change here needs a new :data:`ANALYSIS_VERSION`, upon which a replica indexes anew.

>>> terms("Where does Zoë's sister live?")
['wher', 'doe', 'zoe', 'sister', 'liv']
>>> terms("東京都に 2019-05-01, 12.5 km")
['東京', '京都', '都に', '2019', '05', '01', '12.5', 'km']
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final
from unicodedata import category, normalize

ANALYSIS_VERSION: Final = 1
TERMS_MAX: Final = 400  # of one text: a longer one is found by its beginning
_LETTERS_MAX: Final = 40  # of one term: what is longer is no word

_ACCENTS: Final = re.compile("[\u0300-\u036f\u200b-\u200d\u2060\ufeff]")
_UNSPACED: Final = (  # Thai, Lao, Khmer, Kana, Han, Hangul
    "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003134f"
)
_RUNS: Final = re.compile(f"[{_UNSPACED}]+|[^ {_UNSPACED}]+")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_OWN: Final = re.compile(r"(?<=[^\W\d_])['’]s\b")  # somebody's
_ENDINGS: Final = ("ing", "ed", "es", "en", "s", "e")

# Words that say how something is asked, not what: in English, German, Spanish, French and Portuguese.
_STOPS: Final = """
a about all also am an and any are as at be been being but by can could did do does doing for from get gets got had has
have having he her hers him his how i if in into is it its just may me might mine must my no not of off on or our ours
out shall she should so some than that the their theirs them then there these they this those to too us was we were what
when where which who whom whose why will with would you your yours tell know now currently current please still ever
aber als am an auch auf aus bei bin bist da damit das dass dein deine dem den der des die dies diese doch du ein eine
einem einen einer er es euer fuer für hat habe haben hatte ich ihm ihn ihr ihre im in ist ja jetzt kann mein meine mich
mir mit nach nicht noch nun nur ob oder sein seine sich sie sind so um und uns unser von vom vor war waren was wann
warum weiss wem wen wer wie wir wird wo woher wohin womit zu zum zur gerade welche welcher welches
al como con cual cuál cuales cuando cuándo de del donde dónde e el ella en era eres es esta está estan están este esto
ha han hay la las le les lo los me mi mis muy no nos o para pero por porque que qué quien quién se ser si sí sobre son
su sus te tiene tu tus un una unas unos y ya yo
au aux avec ce ces cet cette comment dans de des du elle elles en est et eu il ils je l la le les leur lui ma mais me
mes mon ne nous on ou où par pas pour quand que quel quelle quelles quels qui quoi sa sans ses son sont sur ta te tes
toi ton tu un une vos votre vous d j m n s t c qu
ao aos as com da das do dos ela ele em eu foi isso isto mais meu minha na nas nao não no nos num numa os ou pela pelo
qual quando onde quem se sem seu sua tem um uma voce você
"""


def terms(text: str) -> list[str]:
    """The different terms of a text in their order."""
    found: dict[str, None] = {}
    for word in _words(text):
        found.setdefault(stem(word))
        if len(found) >= TERMS_MAX:
            break
    return list(found)


def stem(word: str) -> str:
    """A word without its simple ending; what is short, or no Latin word, as it is.

    >>> [stem(word) for word in ("lives", "living", "bus", "1999")]
    ['liv', 'liv', 'bus', '1999']
    """
    if len(word) < 4 or not "a" <= word[0] <= "z":
        return word[:_LETTERS_MAX]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)][:_LETTERS_MAX]
    return word[:_LETTERS_MAX]


def texts_in(value: Any) -> Iterable[str]:
    """All that can be read in a value: of lists and maps what they hold, of True "yes", of NONE "none"."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool):
        yield "yes true" if value else "no false"
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
    else:
        yield "none" if not value and not isinstance(value, int | float) else str(value)


def name_text(name: str) -> str:
    """The words in the name of a predicate.

    >>> name_text("home_city"), name_text("shoeSize")
    ('home city', 'shoe Size')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", re.sub(r"[_\-./:]+", " ", name)).strip()


def _words(text: str) -> Iterable[str]:
    plain = text if text.isascii() else normalize("NFC", _ACCENTS.sub("", normalize("NFKD", text)))
    plain = (_OWN.sub("", plain) if "'" in plain or "’" in plain else plain).casefold()
    spaced = _spaced(plain)
    for run in spaced.split() if plain.isascii() else _RUNS.findall(spaced):
        if len(run) > 1 and run[0] > "\u0dff" and _unspaced(run[0]):
            yield from (run[index : index + 2] for index in range(len(run) - 1))
        elif "." in run or "," in run:
            numbers = _NUMBER.fullmatch(run.strip(".,"))
            yield from [numbers[0]] if numbers else [part for part in re.split("[.,]+", run) if part]
        else:
            yield run


def _unspaced(character: str) -> bool:
    return re.match(f"[{_UNSPACED}]", character) is not None


def _spaced(text: str) -> str:
    """Text with blanks for all that is neither letter, number, mark nor the point of a number."""
    if text.isascii():
        return re.sub(r"[^a-z0-9.,]+", " ", text)
    return "".join(c if c in ".," or category(c)[0] in "LNM" else " " for c in text)


@cache
def stops() -> frozenset[str]:
    """The terms that say how something is asked, not what."""
    return frozenset(stem(word) for stop in _STOPS.split() for word in _words(stop))
