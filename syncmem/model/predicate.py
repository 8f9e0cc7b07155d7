"""What a predicate is like: how many values it holds and how they age and compare.

Rule: a definition is an event like any other; the greatest ``(trust, clock, log, place)`` of the live
ones stands.  Without one a predicate is many-valued, because treating everything as single-valued
deletes four of a user's five languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from syncmem.errors import InvalidInput
from syncmem.model.evidence import CORROBORATION_MIN
from syncmem.model.value import Equality

SETTINGS: Final = (
    *("cardinality", "equality", "ttl", "stale_after", "stale_trust", "then", "sensitive", "description"),
    *("aliases", "corroborated_by"),
)
ALIASES_MAX: Final = 64  # names of one predicate: a list to be read by people
SOURCES_MAX: Final = 100  # that corroborate a claim: more than anybody will wait for
CARDINALITIES: Final = ("single", "many")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate as defined. Durations are microseconds.

    Attributes:
        many: several values may hold at once.
        equality: when two values are the same value.
        ttl: an open claim lapses this long after its anchor, unless affirmed.
        stale_after: from then on an open claim counts with ``stale_trust`` only.
        then: what follows a bounded claim that does not say ("resume" or "vacate").
        sensitive: changes are to be confirmed by the user.
        aliases: other names and phrases by which people and models call it.
        corroborated_by: so many independent sources of one tier give a value a tier more of trust; None: no number.
        declared: False for a predicate that nobody defined.
    """

    many: bool = True
    equality: Equality = Equality.EXACT
    ttl: int | None = None
    stale_after: int | None = None
    stale_trust: int = 0
    then: str | None = None
    sensitive: bool = False
    description: str = ""
    aliases: tuple[str, ...] = ()
    corroborated_by: int | None = None
    declared: bool = True


UNDECLARED: Final = Predicate(declared=False)


def read(settings: Mapping[str, Any]) -> Predicate:
    """The predicate of stored settings; unknown names and values of later versions are passed over."""
    equality = settings.get("equality", "exact")
    return Predicate(
        many=settings.get("cardinality") != "single",
        equality=Equality(equality) if equality in list(Equality) else Equality.EXACT,
        ttl=_duration(settings.get("ttl")),
        stale_after=_duration(settings.get("stale_after")),
        stale_trust=_duration(settings.get("stale_trust")) or 0,
        then=settings["then"] if settings.get("then") in ("resume", "vacate") else None,
        sensitive=settings.get("sensitive") is True,
        description=str(settings.get("description", "")),
        aliases=_texts(settings.get("aliases")),
        corroborated_by=_count(settings.get("corroborated_by")),
    )


def stored(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Of settings in an event those that can be read: a later version may have written anything beside them."""
    plain = {name: settings[name] for name in SETTINGS if type(settings.get(name)) in (str, int, bool)}
    aliases = _texts(settings.get("aliases"))
    return {**plain, "aliases": list(aliases)} if aliases else plain


def checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are written into an event.

    Raises:
        InvalidInput: an unknown setting or a value that it cannot have.
    """
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise InvalidInput(f"a predicate has no setting {unknown[0]!r}; use one of {', '.join(SETTINGS)}")
    result = {name: value for name, value in settings.items() if value is not None}
    _one_of(result, "cardinality", CARDINALITIES)
    _one_of(result, "equality", tuple(Equality))
    _one_of(result, "then", ("resume", "vacate"))
    for name in ("ttl", "stale_after"):
        if name in result and (type(result[name]) is not int or result[name] <= 0):
            raise InvalidInput(f"{name} is a positive duration; pass a timedelta or text such as '30d'")
    if ("stale_after" in result) != ("stale_trust" in result):
        raise InvalidInput("stale_after and stale_trust belong together; pass both or neither")
    if type(result.get("sensitive", False)) is not bool:
        raise InvalidInput("sensitive is True or False; pass one of them")
    if "corroborated_by" in result and _count(result["corroborated_by"]) is None:
        raise InvalidInput(f"corroborated_by is a number of sources, 2 to {SOURCES_MAX}; pass one, or leave it out")
    if "aliases" in result:
        result["aliases"] = list(result["aliases"])
        if len(result["aliases"]) > ALIASES_MAX or _texts(result["aliases"]) != tuple(result["aliases"]):
            raise InvalidInput(f"aliases are up to {ALIASES_MAX} different texts; pass fewer, each with a letter")
    if not 0 <= result.get("stale_trust", 0) <= 100:
        raise InvalidInput("stale_trust is a trust from 0 to 100; pass a tier such as 'inference'")
    return result


def _one_of(settings: dict[str, Any], name: str, allowed: tuple[str, ...]) -> None:
    if name in settings:
        if settings[name] not in allowed:
            raise InvalidInput(f"{name} cannot be {settings[name]!r}; use one of {', '.join(allowed)}")
        settings[name] = str(settings[name])


def _duration(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < 2**62 else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and CORROBORATION_MIN <= value <= SOURCES_MAX else None


def _texts(value: Any) -> tuple[str, ...]:
    """The different texts of a list that say something."""
    given = value if isinstance(value, list) else []
    return tuple(dict.fromkeys(item for item in given if isinstance(item, str) and item.strip()))
