"""Instants and durations: the one place where dates become integers.

An instant is an ``int``: microseconds since 1970-01-01T00:00:00Z, UTC, proleptic Gregorian.  Legal are the
instants of the years 1 to 9999; :data:`BEGINNING` and :data:`FOREVER` lie outside and mean "unbounded".

Rules:

* Whole numbers only: no float, no wall clock, no system time zone.  What cannot be used is :class:`InvalidInput`.
* A date is a local date: it runs from local midnight to the next one, each converted once, here.
* A local time that a zone has twice (clocks go back) is the first of the two; one that it skips (clocks go
  forward) moves forward by what was skipped.  A ``datetime`` that says ``fold=1`` itself is taken at its word.
  A day that a zone skipped as a whole (Pacific/Apia, 2011-12-30) is empty.
* What has neither an offset nor a zone is refused: a guess would be re-read differently elsewhere.
* A precision that ends with the year 9999 ends at :data:`FOREVER`.

| written                                              | precision             |
|------------------------------------------------------|-----------------------|
| ``20XX``, ``201X``, ``2025``                         | century, decade, year |
| ``2025-33`` to ``2025-36``, ``2025-Q1``, ``2025-03`` | quarter, month        |
| ``2025-W10``, ``2025-W10-5``, ``2025-03-14``         | week, day, day        |
| ``2025-03-14T10:15Z``, ``2025-03-14 10:15:30+01:00`` | minute, second        |
| ``2025-03-14T10:15:30.25Z``, a ``datetime``          | instant               |

A date may end in ``~`` (approximate), ``?`` (uncertain) or ``%`` (both), as in EDTF.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from syncmem.errors import InvalidInput

BEGINNING: Final = -(2**62)  # valid since ever; before every legal instant
FOREVER: Final = 2**62  # valid without end; after every legal instant
EARLIEST: Final = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
LATEST: Final = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_MICROSECOND: Final = timedelta(microseconds=1)
_SECOND: Final = 1_000_000
_UNITS: Final = {"w": 604_800 * _SECOND, "d": 86_400 * _SECOND, "h": 3_600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND}
_DAYS: Final = {"day": 1, "week": 7}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}

_DATES: Final[tuple[tuple[str, re.Pattern[str], Callable[..., date]], ...]] = (
    ("day", re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII), date),
    ("month", re.compile(r"(\d{4})-([01]\d)", re.ASCII), lambda year, month: date(year, month, 1)),
    ("year", re.compile(r"(\d{4})", re.ASCII), lambda year: date(year, 1, 1)),
    ("quarter", re.compile(r"(\d{4})-3([3-6])", re.ASCII), lambda year, code: date(year, 3 * code - 8, 1)),
    ("quarter", re.compile(r"(\d{4})-Q([1-4])", re.ASCII), lambda year, quarter: date(year, 3 * quarter - 2, 1)),
    ("week", re.compile(r"(\d{4})-W(\d\d)", re.ASCII), lambda year, week: date.fromisocalendar(year, week, 1)),
    ("day", re.compile(r"(\d{4})-W(\d\d)-(\d)", re.ASCII), date.fromisocalendar),
    ("decade", re.compile(r"(\d{3})X", re.ASCII), lambda decade: date(10 * decade, 1, 1)),
    ("century", re.compile(r"(\d\d)XX", re.ASCII), lambda century: date(100 * century, 1, 1)),
)
_HOUR: Final = r"(?:[01]\d|2[0-3])"  # 24:00 is refused, as in RFC 3339
_TIME: Final = re.compile(
    rf"\d{{4}}-\d\d-\d\d[T ]{_HOUR}:[0-5]\d(?P<second>:[0-5]\d(?P<fraction>[.,]\d{{1,30}})?)?"
    rf"(?:Z|[+-]{_HOUR}(?::?[0-5]\d)?)?",
    re.ASCII,
)
_SHORT: Final = re.compile(r"(\d{1,12})([wdhms])", re.ASCII)
_ISO_DURATION: Final = re.compile(
    r"P(?=.)(?:(\d{1,12})W)?(?:(\d{1,12})D)?"
    r"(?:T(?=\d)(?:(\d{1,12})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:[.,](\d{1,30}))?S)?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A stated time and how precisely it was stated."""

    earliest: int  # its first instant
    latest: int  # the first instant after it; for an exact instant the same as earliest
    precision: str  # a word of the table above
    qualifier: str = ""  # "~" approximate, "?" uncertain, "%" both

    def __post_init__(self) -> None:
        assert self.earliest <= self.latest, self


def parse(when: datetime | date | str | Moment, *, zone: str | tzinfo | None) -> Moment:
    """The moment that ``when`` states; ``zone`` (an IANA name or a tzinfo) is for what has no offset.

    A moment that was read before is returned as it is.

    >>> parse("2025-03-14", zone="Europe/Berlin") == Moment(1741906800000000, 1741993200000000, "day")
    True
    >>> iso(parse("2025-03~", zone="UTC").latest), parse("2025-03~", zone="UTC").qualifier
    ('2025-04-01T00:00:00Z', '~')
    >>> parse("2025-03-14T10:15:30.5+01:00", zone=None)
    Moment(earliest=1741943730500000, latest=1741943730500000, precision='instant', qualifier='')

    Raises:
        InvalidInput: no such date or form, outside the years 1 to 9999 in UTC, or no zone is known.
    """
    if isinstance(when, Moment):
        return when
    if isinstance(when, datetime):
        stated = when if when.utcoffset() is not None else when.replace(tzinfo=_zone(zone, when))
        return _clock_moment(stated, "instant")
    if isinstance(when, date):
        return _date_moment(when, "day", zone, when)
    if isinstance(when, str):
        return _parse_text(when, zone)
    raise InvalidInput(f"a {type(when).__name__} is not a date; pass a datetime, a date or a text such as 2025-03-14")


def _parse_text(text: str, zone: str | tzinfo | None) -> Moment:
    try:
        if clock := _TIME.fullmatch(text):
            stated = datetime.fromisoformat(text)
            if stated.tzinfo is None:
                stated = stated.replace(tzinfo=_zone(zone, text))
            return _clock_moment(stated, "instant" if clock["fraction"] else "second" if clock["second"] else "minute")
        bare = text[:-1] if text.endswith(("~", "?", "%")) else text
        for precision, pattern, first_day in _DATES:
            if form := pattern.fullmatch(bare):
                return _date_moment(first_day(*map(int, form.groups())), precision, zone, text, text[len(bare) :])
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not in the calendar ({error}); pass a date of the years 1 to 9999") from error
    raise InvalidInput(f"{text!r:.60} is not a date; write 2025, 2025-03, 2025-03-14 or 2025-03-14T10:15:30+01:00")


def _clock_moment(stated: datetime, precision: str) -> Moment:
    earliest = from_datetime(stated)
    latest = earliest + {"minute": _UNITS["m"], "second": _SECOND}.get(precision, 0)
    return Moment(earliest, latest if latest <= LATEST else FOREVER, precision)


def _date_moment(first: date, precision: str, zone: str | tzinfo | None, stated: object, qualifier: str = "") -> Moment:
    place = _zone(zone, stated)
    after = _first_day_after(first, precision)
    return Moment(_midnight(first, place), FOREVER if after is None else _midnight(after, place), precision, qualifier)


def _first_day_after(first: date, precision: str) -> date | None:
    """The day after the period that starts with ``first``; None when it lies beyond the year 9999."""
    if precision in _DAYS:
        ordinal = first.toordinal() + _DAYS[precision]
        return date.fromordinal(ordinal) if ordinal <= date.max.toordinal() else None
    year, month = divmod(first.year * 12 + first.month - 1 + _MONTHS[precision], 12)
    return date(year, month + 1, 1) if year <= date.max.year else None


def _midnight(day: date, place: tzinfo) -> int:
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=place))


def _zone(zone: str | tzinfo | None, stated: object) -> tzinfo:
    if zone is None:
        raise InvalidInput(f"{stated!s} has no zone; pass zone='Europe/Lisbon' or an aware datetime (with an offset)")
    return find_zone(zone)


def find_zone(zone: str | tzinfo) -> tzinfo:
    """The time zone of an IANA name; a tzinfo is returned as it is.

    >>> find_zone("Asia/Kathmandu")
    zoneinfo.ZoneInfo(key='Asia/Kathmandu')
    """
    if isinstance(zone, tzinfo):
        return zone
    if zone == "UTC":
        return UTC  # needs no time zone database
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError, TypeError, AttributeError) as error:
        hint = "pass an IANA name such as Europe/Lisbon; if the system has no time zones, install the package tzdata"
        raise InvalidInput(f"the time zone {zone!r:.60} is not known here; {hint}") from error


def from_datetime(when: datetime) -> int:
    """The instant of an aware datetime.

    >>> from_datetime(datetime(1970, 1, 1, 1, tzinfo=UTC))
    3600000000
    """
    offset = when.utcoffset()
    if offset is None:
        raise InvalidInput(f"{when} has no zone; pass an aware datetime (tzinfo=UTC, or an offset)")
    seconds = (when.toordinal() - _EPOCH_DAY) * 86_400 + when.hour * 3_600 + when.minute * 60 + when.second
    instant = seconds * _SECOND + when.microsecond - offset // _MICROSECOND
    if not EARLIEST <= instant <= LATEST:
        raise InvalidInput(f"{when} is outside the years 1 to 9999 in UTC; leave the bound out to mean unbounded")
    return instant


def to_datetime(instant: int) -> datetime | None:
    """The UTC datetime of an instant; None for :data:`BEGINNING` and :data:`FOREVER`.

    >>> to_datetime(3600000000)
    datetime.datetime(1970, 1, 1, 1, 0, tzinfo=datetime.timezone.utc)
    """
    if EARLIEST <= instant <= LATEST:
        return _EPOCH + timedelta(0, 0, instant)
    if instant in (BEGINNING, FOREVER):
        return None
    raise InvalidInput(f"{instant} is no instant of the years 1 to 9999; pass microseconds since 1970 in UTC")


def shown(instant: int) -> datetime | None:
    """As :func:`to_datetime`; None also for what lies outside all calendars (a clock that was very wrong)."""
    return to_datetime(instant) if EARLIEST <= instant <= LATEST else None


def dated(instant: int) -> datetime | None:
    """As :func:`to_datetime`; None also for :data:`EARLIEST`, which stands for a date that nobody knows."""
    return None if instant == EARLIEST else to_datetime(instant)


def local_text(when: datetime | None, zone: tzinfo) -> str:
    """A local date, with the time unless it is midnight; nothing for None."""
    if when is None:
        return ""
    local = when.astimezone(zone)
    return f"{local:%Y-%m-%d}" if local.time() == time() else f"{local:%Y-%m-%d %H:%M}"


def iso(instant: int) -> str:
    """RFC 3339 in UTC, with seconds, and with six digits of a second when they are not zero.

    >>> iso(0), iso(1500000)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500000Z')
    """
    when = to_datetime(instant)
    if when is None:
        raise InvalidInput("an unbounded instant has no date; compare with BEGINNING and FOREVER before you print it")
    return when.isoformat()[:-6] + "Z"


def parse_duration(duration: timedelta | str) -> int:
    """Microseconds of a timedelta, of an ISO 8601 duration, or of a number with w, d, h, m (minutes) or s.

    >>> parse_duration("P7D") == parse_duration("7d") == parse_duration(timedelta(days=7)) == 604800000000
    True

    Raises:
        InvalidInput: not a duration, negative, longer than 9,999 years, or with months or years.
    """
    if isinstance(duration, timedelta):
        length = duration // _MICROSECOND
    elif isinstance(duration, str):
        length = _parse_duration_text(duration)
    else:
        raise InvalidInput(f"a {type(duration).__name__} is not a duration; pass a timedelta or a text such as 7d")
    if not 0 <= length <= LATEST - EARLIEST:
        raise InvalidInput(f"{duration!r:.60} is not between 0 and 9,999 years; pass a shorter, positive duration")
    return length


def _parse_duration_text(text: str) -> int:
    if short := _SHORT.fullmatch(text):
        return int(short[1]) * _UNITS[short[2]]
    if long := _ISO_DURATION.fullmatch(text):
        whole = sum(int(count or 0) * unit for count, unit in zip(long.groups()[:5], _UNITS.values(), strict=True))
        return whole + int((long[6] or "")[:6].ljust(6, "0"))  # of a finer fraction the rest is cut off
    if re.fullmatch(r"P[^T]*[YM].*", text):
        raise InvalidInput(f"{text!r:.60} has months or years, whose length varies; write days or weeks, as in P30D")
    raise InvalidInput(f"{text!r:.60} is not a duration that can be read; write 7d, 12h, 90m, 30s, 2w, P7D or PT12H")
