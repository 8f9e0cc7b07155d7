"""From the caller's words to a statement: the choice of state, change, period or temporary, and all defaults.

Rules: every default is settled here, on the writing device, and stored in the event, so that a later
version or another time zone cannot read it differently; input that makes no sense is refused before
anything is written, and the message ends with the next step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final

from syncmem.codec import unpack
from syncmem.errors import InvalidInput, NotCanonical
from syncmem.model import instant
from syncmem.model.event import TRUST_MAX, Form, Ref, Statement, Then
from syncmem.model.evidence import CORROBORATED_BY, DERIVED_FROM
from syncmem.model.imported import IMPORTED
from syncmem.model.instant import FOREVER, LATEST, Moment, parse, parse_duration
from syncmem.model.predicate import Predicate
from syncmem.model.subjects import MENTIONS
from syncmem.model.text import normalized
from syncmem.model.value import encode
from syncmem.results import Source

When = datetime | date | str
NAME_BYTES_MAX: Final = 1024  # entity, predicate, scope, batch and source names: keys, not texts
REASON_BYTES_MAX: Final = 8 * 1024
TRUST_TIERS: Final = {"user": 90, "integration": 70, "document": 50, "inference": 30}
DURATION_MAX: Final = 1000 * 366 * 86_400_000_000  # microseconds; far beyond any use, far within the calendars
_NO_EXTRA: Final = (None, None, None, (), ())
NOBODY: Final = Source()  # where nothing is said of it
_AS_THEY_ARE: Final = frozenset({str, int, bool})  # types of values that are stored as what they are
_STATE, _CHANGE = int(Form.STATE), int(Form.CHANGE)  # as events hold them
UNDATED: Final = "undated"  # observed_at of a document whose date nobody knows


@dataclass(frozen=True, slots=True)
class Words:
    """What a verb was given about who speaks and when; the same for every verb."""

    scope: str
    trust: int
    source: Source
    observed_at: int | None
    batch: str | None
    reason: str | None
    zone: str | tzinfo | None
    mentions: tuple[str, ...] = ()
    derived_from: tuple[Ref, ...] = ()
    corroborated_by: int | None = None
    imported: bytes | None = None

    @property
    def extra(self) -> dict[str, Any]:
        """The optional fields of the event."""
        source = self.source
        span = source.span
        if (source.episode, span, self.reason, self.mentions, self.derived_from) == _NO_EXTRA and self.imported is None:
            return {} if self.corroborated_by is None else {CORROBORATED_BY: self.corroborated_by}
        found = {
            "episode": source.episode,
            "span": None if span is None else [span[0], span[1]],
            "reason": self.reason,
            MENTIONS: [*self.mentions] or None,
            DERIVED_FROM: [list(ref) for ref in self.derived_from] or None,
            CORROBORATED_BY: self.corroborated_by,
            IMPORTED: self.imported,
        }
        return {name: value for name, value in found.items() if value is not None}


def words(
    *,
    scope: str,
    trust: int | str | None,
    source: Source | str | None,
    observed_at: When | None,
    batch: str | None,
    reason: str | None,
    zone: str | tzinfo | None,
    mentions: Iterable[str] = (),
    trust_default: int = TRUST_TIERS["user"],
) -> Words:
    """Check and settle what all verbs have in common."""
    given = source_of(source)
    return Words(
        scope=name("scope", scope),
        trust=TRUST_TIERS.get(given.kind or "", trust_default) if trust is None else trust_of(trust),
        source=given,
        observed_at=_observed(observed_at, given, zone),
        batch=None if batch is None else name("batch", batch),
        reason=None if reason is None else text("reason", reason, REASON_BYTES_MAX),
        zone=zone,
        mentions=() if mentions == () else _mentions(mentions),
    )


def source_of(source: Source | str | None) -> Source:
    """A source as it is stored; text is its kind, or its kind and id.

    >>> source_of("document:letter")
    Source(kind='document', id='letter', episode=None, span=None)
    """
    if source is None:
        return NOBODY
    given = Source(kind=source) if isinstance(source, str) else source
    if not isinstance(given, Source):
        raise InvalidInput(
            f"source is a Source or its kind as text, not {type(source).__name__}; pass Source(kind=...)"
        )
    if isinstance(given.kind, str) and given.id is None:
        kind, _, id = given.kind.partition(":")
        given = replace(given, kind=kind, id=id or None)
    return Source(
        None if given.kind is None else name("source kind", given.kind),
        None if given.id is None else name("source id", given.id),
        None if given.episode is None else name("episode", given.episode),
        span_of(given.span),
    )


def _mentions(given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InvalidInput(f"mentions is a list of entities; pass [{given!r}]")
    return tuple(dict.fromkeys(name("mentioned entity", entity) for entity in given))


def _observed(observed_at: When | None, source: Source, zone: str | tzinfo | None) -> int | None:
    if observed_at == UNDATED:
        return instant.EARLIEST
    if observed_at is None:
        if source.kind == "document":
            raise InvalidInput("a document's statement needs the document's date; pass observed_at= (or 'undated')")
        return None
    return parse(observed_at, zone=zone).earliest


def name(what: str, value: str) -> str:
    """A key as it is stored: NFC, not empty, bounded."""
    if type(value) is str and value.isascii() and len(value) <= NAME_BYTES_MAX and value.strip():
        return value
    checked = text(what, value, NAME_BYTES_MAX)
    if not checked.strip():
        raise InvalidInput(f"{what} is empty; give it a name")
    return normalized(checked)


def text(what: str, value: str, bytes_max: int) -> str:
    """Text within a limit that can be written as UTF-8."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what} is text, not {type(value).__name__}; pass a str")
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} holds half of a surrogate pair; repair the text first") from error
    if size > bytes_max:
        raise InvalidInput(f"{what} takes {size} bytes, at most {bytes_max} fit; shorten it")
    return value


def at_least(what: str, count: int, least: int = 1) -> int:
    """A count that asks for something."""
    if count < least:
        raise InvalidInput(f"{what}={count} asks for nothing; pass {least} or more")
    return count


def trust_of(trust: int | str) -> int:
    """A trust from 0 to 100, or that of a named tier."""
    if isinstance(trust, str):
        if trust not in TRUST_TIERS:
            raise InvalidInput(f"there is no trust tier {trust!r}; use {', '.join(TRUST_TIERS)} or 0 to 100")
        return TRUST_TIERS[trust]
    if isinstance(trust, bool) or not isinstance(trust, int) or not 0 <= trust <= TRUST_MAX:
        raise InvalidInput(f"trust is 0 to {TRUST_MAX}, not {trust!r}; use {', '.join(TRUST_TIERS)} or a number")
    return trust


def span_of(span: tuple[int, int] | None) -> tuple[int, int] | None:
    """A place in an episode: (start, end) in characters."""
    if span is None:
        return None
    try:
        start, end = span
        sound = 0 <= start <= end < 2**40 and type(start) is int and type(end) is int
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise InvalidInput(f"span is (start, end) in characters, not {span!r}; pass two ordered numbers")
    return (start, end)


def value_of(value: object) -> Any:
    """A claim's value as plain data for the event; refuses what a claim cannot hold."""
    try:
        data = encode(value)
        return value if type(value) in _AS_THEY_ARE else unpack(data)
    except NotCanonical as error:
        raise InvalidInput(f"the value cannot be stored: {error}") from error


def duration_of(duration: timedelta | str | None) -> int | None:
    if duration is None:
        return None
    microseconds = parse_duration(duration)
    if not 0 < microseconds <= DURATION_MAX:
        raise InvalidInput(f"the duration {duration!r} is not between a microsecond and 1,000 years; pass another")
    return microseconds


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a claim holds, as the caller said it."""

    since: When | Moment | None = None
    changed_on: When | Moment | None = None
    until: When | None = None
    valid_to: When | None = None
    then: str | None = None
    expires_at: When | None = None
    ttl: timedelta | str | None = None
    stale_after: timedelta | str | None = None
    stale_trust: int | str | None = None
    precision: dict[str, Any] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether neither start nor end is given."""
        return self.since is self.changed_on is self.until is self.valid_to is self.expires_at is None


def claim(
    entity: str,
    predicate: str,
    value: object,
    said: Words,
    bounds: Bounds,
    definition: Predicate,
    now: int,
    corrects: list[Ref] | None = None,
) -> Statement:
    """The statement of a claim. ``now``: the writer's clock, for what depends on it."""
    start, latest, stop = (None, None, None) if bounds.plain else (*_start(bounds, said.zone), _stop(bounds, said.zone))
    seen = now if said.observed_at is None else min(said.observed_at, now)
    then = _then(bounds, definition, stop, seen)
    if then == Then.VACATE and start is None:
        raise InvalidInput(
            "a period needs its start; pass since= beside until=, or then='resume' for a temporary state"
        )
    if stop is not None and stop <= (seen if start is None else start):
        raise InvalidInput("the claim would end before it starts; check since=, until= and observed_at=")
    extra = said.extra | _with_zone(bounds.precision, said.zone) | (_ageing(bounds, definition) if stop is None else {})
    return Statement(
        entity=name("entity", entity),
        predicate=name("predicate", predicate),
        value=value_of(value),
        form=_STATE if bounds.changed_on is None else _CHANGE,
        observed_at=said.observed_at,
        start=start,
        start_latest=latest,
        stop=stop,
        then=int(then),
        trust=said.trust,
        source_kind=said.source.kind,
        source_id=said.source.id,
        batch=said.batch,
        refs=corrects,
        extra=extra or None,
    )


def ending(
    entity: str, predicate: str, value: object, said: Words, at: When | None, change: bool, named: list[Ref] | None
) -> Statement:
    """The statement that a value no longer holds ("state") or stopped holding at a known time ("change")."""
    if change and at is None:
        raise InvalidInput("an end by a change needs its date; pass at=, or leave out changed= for 'no longer'")
    moment = None if at is None else parse(at, zone=said.zone)
    return _bare(entity, predicate, value, said)._replace(
        form=_CHANGE if change else _STATE,
        start=None if moment is None else moment.earliest,
        refs=named,
        extra=(said.extra | _with_zone(_precision("start", moment), said.zone)) or None,
    )


def denial(entity: str, predicate: str, value: object, said: Words) -> Statement:
    """The statement that a value was never true."""
    return _bare(entity, predicate, value, said)


def _bare(entity: str, predicate: str, value: object, said: Words) -> Statement:
    return Statement(
        entity=name("entity", entity),
        predicate=name("predicate", predicate),
        value=value_of(value),
        form=_STATE,
        observed_at=said.observed_at,
        start=None,
        start_latest=None,
        stop=None,
        then=int(Then.OPEN),
        trust=said.trust,
        source_kind=said.source.kind,
        source_id=said.source.id,
        batch=said.batch,
        refs=None,
        extra=said.extra or None,
    )


def _start(bounds: Bounds, zone: str | tzinfo | None) -> tuple[int | None, int | None]:
    """The earliest instant of the start, and the latest one it may mean."""
    if bounds.since is not None and bounds.changed_on is not None:
        raise InvalidInput("since= is for a state, changed_on= for a change; pass one of them")
    when = bounds.since if bounds.changed_on is None else bounds.changed_on
    if when is None:
        return None, None
    moment = parse(when, zone=zone)
    bounds.precision.update(_precision("start", moment))
    return moment.earliest, min(moment.latest - 1, LATEST) if moment.latest > moment.earliest else None


def _stop(bounds: Bounds, zone: str | tzinfo | None) -> int | None:
    """The first instant at which the claim no longer holds; None where it is not bounded, or until the end of 9999."""
    if bounds.until is not None and bounds.valid_to is not None:
        raise InvalidInput("until= is inclusive, valid_to= exclusive; pass one of them")
    stops = []
    if bounds.until is not None:
        moment = parse(bounds.until, zone=zone)
        if moment.latest < FOREVER:
            bounds.precision.update(_precision("stop", moment))
            stops.append(moment.latest)
    stops += [parse(when, zone=zone).earliest for when in (bounds.valid_to, bounds.expires_at) if when is not None]
    return min(stops, default=None)


def _then(bounds: Bounds, definition: Predicate, stop: int | None, seen: int) -> Then:
    if bounds.then not in (None, "resume", "vacate"):
        raise InvalidInput(f"then cannot be {bounds.then!r}; use 'resume' (the older value returns) or 'vacate'")
    if stop is None:
        if bounds.then is not None and bounds.until is None:
            raise InvalidInput("then= says what follows the end; pass until= or expires_at= with it")
        return Then.OPEN
    chosen = bounds.then or ("resume" if bounds.expires_at is not None else definition.then)
    if chosen is None:
        chosen = "resume" if stop > seen else "vacate"
    return Then.RESUME if chosen == "resume" else Then.VACATE


def _ageing(bounds: Bounds, definition: Predicate) -> dict[str, Any]:
    """How an open claim lapses or ages: as said here, else as its predicate is defined."""
    if bounds.stale_trust is not None and bounds.stale_after is None:
        raise InvalidInput("stale_trust= says what counts after stale_after=; pass both")
    ttl = duration_of(bounds.ttl) or definition.ttl
    stale_after = duration_of(bounds.stale_after) or definition.stale_after
    result: dict[str, Any] = {} if ttl is None else {"ttl": ttl}
    if stale_after is not None:
        given = definition.stale_trust if bounds.stale_trust is None else trust_of(bounds.stale_trust)
        result |= {"stale_after": stale_after, "stale_trust": given}
    return result


def _with_zone(precision: dict[str, Any], zone: str | tzinfo | None) -> dict[str, Any]:
    """The precision of dates, with the zone that they were read in."""
    return {"zone": zone} | precision if precision and isinstance(zone, str) else precision


def _precision(which: str, moment: Moment | None) -> dict[str, Any]:
    """How precisely a date was stated, kept for showing it as it was said."""
    if moment is None or moment.latest == moment.earliest:
        return {}
    return {f"{which}_precision": moment.precision + moment.qualifier}
