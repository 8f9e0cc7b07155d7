"""Arguments: what a public method is passed is what its signature says, or it is refused before anything happens.

Rules: the annotation is the only list of what a parameter takes, and this is the only place where kinds are looked at;
what a kind may hold (an empty name, a date that is none) is for whoever reads it; a value is never shown, for it may
be a secret; a kind that is not known here is a class, and goes by its name, so that nothing is imported for it.

>>> from syncmem import Memory
>>> Memory(":memory:").believe("ana", 7)
Traceback (most recent call last):
    ...
syncmem.errors.InvalidInput: predicate= takes text, not int; pass text
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final, NamedTuple, TypeVar

from syncmem.errors import InvalidInput

C = TypeVar("C", bound=type)
M = TypeVar("M", bound=Callable[..., Any])

WHOLE_BITS: Final = 63  # what the file can hold, beside a sign
_VAR_POSITIONAL: Final = 0x04  # of co_flags, as the module inspect has it


class _Kind(NamedTuple):
    """One kind that a parameter takes: what it is called, whether a value is of it, and what is wrong with one.

    Of some types (``plain``) every value is of it, and nothing is wrong with any.
    """

    called: str
    has: Callable[[Any], bool]
    wrong: Callable[[Any], str | None] = lambda given: None
    plain: tuple[type, ...] = ()


def checked(kind: C) -> C:
    """Let a class check what its public methods, its constructor included, are passed."""
    for name in dir(kind):
        if name.startswith("_") and name != "__init__":
            continue
        member = next(each.__dict__[name] for each in kind.__mro__ if name in each.__dict__)
        if isinstance(member, classmethod):
            setattr(kind, name, classmethod(guarded(member.__func__)))
        elif callable(member):
            setattr(kind, name, guarded(member))
    return kind


def keywords_of(like: Callable[..., Any], taken: Collection[str]) -> Callable[[Mapping[str, object]], None]:
    """What checks keywords that are handed on: those that are taken mean what they do for another method."""
    expected = _expected(inspect.unwrap(like))

    def check(given: Mapping[str, object]) -> None:
        for name, value in given.items():
            if name not in taken:
                raise InvalidInput(f"{name}= is not taken here; pass one of {', '.join(sorted(taken))}")
            expected[name].look_at(name, value)

    return check


def guarded(method: M) -> M:
    """Let one method check what it is passed."""
    said = inspect.unwrap(method)  # behind what makes it a context
    code, annotations = said.__code__, said.__annotations__
    places = code.co_varnames[: code.co_argcount]
    named = code.co_argcount + code.co_kwonlyargcount
    expected = _expected(said)
    rest = code.co_varnames[named] if code.co_flags & _VAR_POSITIONAL else ""
    each_of_rest = _kinds(annotations[rest]) if rest else ()
    all_texts = all(name in expected and expected[name].text for name in places[1:])  # the first is the object itself

    def check(names: Iterable[str], given: Iterable[object]) -> None:
        for name, value in zip(names, given):  # noqa: B905  fewer may be given
            if name in expected:
                expected[name].look_at(name, value)

    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not (all_texts and _are_plain_texts(args[1:])):  # the quick way of every reading
            check(places, args)
        if kwargs:
            check(kwargs.keys(), kwargs.values())
        for given in args[len(places) :] if rest else ():
            _check(rest, given, each_of_rest)
        return method(*args, **kwargs)

    return run  # type: ignore[return-value]  # it is called as the method is


def _are_plain_texts(given: Iterable[object]) -> bool:
    for each in given:  # noqa: SIM110  a generator takes twice as long
        if type(each) is not str or not each.isascii():
            return False
    return True


def _check(name: str, given: object, kinds: Sequence[_Kind]) -> None:
    for kind in kinds:
        if kind.has(given):
            wrong = kind.wrong(given)
            if wrong is not None:
                raise InvalidInput(f"{name}= {wrong}")
            return
    called = " or ".join(kind.called for kind in kinds)
    shown = "None" if given is None else type(given).__name__
    raise InvalidInput(f"{name}= takes {called}, not {shown}; pass {called.removesuffix(' or None')}")


# -- kinds ---------------------------------------------------------------------------------------------------


class _Expected(NamedTuple):
    """What a parameter takes: the kinds, the types of which nothing can be wrong, and whether text is among them."""

    kinds: tuple[_Kind, ...]
    plain: frozenset[type]
    text: bool

    def look_at(self, name: str, given: object) -> None:
        kind = type(given)
        if kind not in self.plain and not (kind is str and self.text and given.isascii()):  # type: ignore[attr-defined]
            _check(name, given, self.kinds)


@functools.cache
def _expected(said: Callable[..., Any]) -> dict[str, _Expected]:
    """What a method takes, by the names of its parameters."""
    code, found = said.__code__, dict[str, _Expected]()
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        if name in said.__annotations__:
            kinds = _kinds(said.__annotations__[name])
            found[name] = _Expected(kinds, frozenset(t for kind in kinds for t in kind.plain), _KINDS["str"] in kinds)
    return found


def _kinds(annotation: str) -> tuple[_Kind, ...]:
    """The kinds that an annotation speaks of; what is a path may be text as well, and None comes last."""
    names = [part for name in annotation.split(" | ") for part in _ALIASES.get(name, (name,))]
    names = [name for name in names if not (name == "str" and _PATH in names)]
    found = [_KINDS.get(name.partition("[[")[0]) or _by_name(name) for name in names if name != "None"]
    return (*found, *([_NONE] if "None" in names else []))


def _by_name(name: str) -> _Kind:
    if not name.isidentifier():
        raise TypeError(f"nobody has said what the annotation {name} takes; name it in _KINDS")
    called = {"Meeting": "another Memory"}.get(name, f"a {name}")
    return _Kind(called, lambda given: any(each.__name__ == name for each in type(given).__mro__))


def _wrong_text(given: str) -> str | None:
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            return "holds half of a surrogate pair; repair the text first"
    return None


def _wrong_path(given: object) -> str | None:
    try:
        path = os.fsencode(os.fspath(given))  # type: ignore[call-overload]
    except (UnicodeEncodeError, TypeError):
        return "is no path that the system can write down; pass another one"
    return "holds a NUL character, which no path can; pass another one" if b"\0" in path else None


def _wrong_whole(given: int) -> str | None:
    return None if given.bit_length() <= WHOLE_BITS else "is beyond 64 bits; pass a smaller number"


def _wrong_number(given: float) -> str | None:
    return None if math.isfinite(given) else f"is {given}; pass a finite number"


def _wrong_list(given: Iterable[object]) -> str | None:
    for each in given if isinstance(given, (list, tuple, set, frozenset)) else ():
        if not isinstance(each, str):
            return f"takes a list of texts, and one of them is {type(each).__name__}; pass texts alone"
        wrong = _wrong_text(each)
        if wrong is not None:
            return wrong
    return None


def _is_list(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray))


_PATH: Final = "os.PathLike[str]"
_NONE: Final = _Kind("None", lambda given: given is None, plain=(type(None),))
_ANY: Final = _Kind("anything", lambda given: True, plain=(str, int, float, bool, list, dict))
_CALLABLE: Final = _Kind("a function", callable)
_ALIASES: Final = {
    "When": ("str", "date"),
    "Trust": ("int", "str", "None"),
    "AnyPath": (_PATH,),
}
_KINDS: Final = {
    "str": _Kind("text", lambda given: isinstance(given, str), _wrong_text),
    "bytes": _Kind("bytes", lambda given: isinstance(given, bytes), plain=(bytes,)),
    "bool": _Kind("True or False", lambda given: isinstance(given, bool), plain=(bool,)),
    "int": _Kind("a whole number", lambda given: isinstance(given, int) and not isinstance(given, bool), _wrong_whole),
    "float": _Kind("a number", lambda given: isinstance(given, (int, float)), _wrong_number),
    "date": _Kind("a date", lambda given: isinstance(given, date), plain=(date, datetime)),
    "timedelta": _Kind("a timedelta", lambda given: isinstance(given, timedelta)),
    "tzinfo": _Kind("a time zone", lambda given: isinstance(given, tzinfo)),
    _PATH: _Kind("a path", lambda given: isinstance(given, (str, os.PathLike)), _wrong_path),
    **dict.fromkeys(("Iterable[str]", "tuple[str, ...]"), _Kind("a list of texts", _is_list, _wrong_list)),
    **dict.fromkeys(("Iterable[Candidate]", "Sequence[Any]"), _Kind("a list of them", _is_list)),
    "Iterable[Mapping[str, Any]]": _Kind("a list of dicts", _is_list),
    "Sequence[int]": _Kind("a list of whole numbers", _is_list),
    **dict.fromkeys(
        ("Mapping[str, Any]", "Index", "TTLConfig"), _Kind("a dict", lambda given: isinstance(given, Mapping))
    ),
    **dict.fromkeys(("object", "Any", "Embedder", "Importer", "MappingFile", "tuple[int, int]"), _ANY),
    **dict.fromkeys(("Callable", "Counter", "Extractor", "Listener", "Matcher", "Progress"), _CALLABLE),
}
