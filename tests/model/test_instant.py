"""Dates become integers once, exactly, and only when their zone is known."""

from __future__ import annotations

import doctest
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem.errors import InvalidInput
from syncmem.model import instant
from syncmem.model.instant import (
    BEGINNING,
    EARLIEST,
    FOREVER,
    LATEST,
    Moment,
    from_datetime,
    iso,
    parse,
    parse_duration,
    to_datetime,
)

instants = st.integers(EARLIEST, LATEST)
offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
ordinary = ["UTC", "Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Africa/Monrovia", "Asia/Kathmandu"]
zones = st.sampled_from([*ordinary, "Pacific/Apia", "Pacific/Kiritimati", "Australia/Lord_Howe"])
dates = st.dates(date(1, 1, 3))
MINUTE = 60_000_000


def bounds(moment: Moment) -> tuple[str, str]:
    return iso(moment.earliest), "forever" if moment.latest == FOREVER else iso(moment.latest)


@pytest.mark.parametrize(
    ("text", "precision", "earliest", "latest"),
    [
        ("20XX", "century", "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"),
        ("201X", "decade", "2010-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2025", "year", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("0001", "year", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00Z"),
        ("2025-33", "quarter", "2025-01-01T00:00:00Z", "2025-04-01T00:00:00Z"),
        ("2025-34", "quarter", "2025-04-01T00:00:00Z", "2025-07-01T00:00:00Z"),
        ("2025-35", "quarter", "2025-07-01T00:00:00Z", "2025-10-01T00:00:00Z"),
        ("2025-36", "quarter", "2025-10-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2025-Q1", "quarter", "2025-01-01T00:00:00Z", "2025-04-01T00:00:00Z"),
        ("2025-Q4", "quarter", "2025-10-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2025-03", "month", "2025-03-01T00:00:00Z", "2025-04-01T00:00:00Z"),
        ("2025-12", "month", "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2025-W10", "week", "2025-03-03T00:00:00Z", "2025-03-10T00:00:00Z"),
        ("2026-W01", "week", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z"),
        ("2020-W53", "week", "2020-12-28T00:00:00Z", "2021-01-04T00:00:00Z"),
        ("2025-W10-5", "day", "2025-03-07T00:00:00Z", "2025-03-08T00:00:00Z"),
        ("2025-03-14", "day", "2025-03-14T00:00:00Z", "2025-03-15T00:00:00Z"),
        ("2024-02-29", "day", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"),
        ("1900-02-28", "day", "1900-02-28T00:00:00Z", "1900-03-01T00:00:00Z"),
        ("2025-03-14T10:15", "minute", "2025-03-14T10:15:00Z", "2025-03-14T10:16:00Z"),
        ("2025-03-14 10:15", "minute", "2025-03-14T10:15:00Z", "2025-03-14T10:16:00Z"),
        ("2025-03-14T10:15:30", "second", "2025-03-14T10:15:30Z", "2025-03-14T10:15:31Z"),
        ("2025-03-14T10:15:30Z", "second", "2025-03-14T10:15:30Z", "2025-03-14T10:15:31Z"),
        ("2025-03-14T10:15:30+01:00", "second", "2025-03-14T09:15:30Z", "2025-03-14T09:15:31Z"),
        ("2025-03-14 10:15:30-0530", "second", "2025-03-14T15:45:30Z", "2025-03-14T15:45:31Z"),
        ("2025-03-14T10:15+01", "minute", "2025-03-14T09:15:00Z", "2025-03-14T09:16:00Z"),
        ("2025-03-14T10:15:30-00:00", "second", "2025-03-14T10:15:30Z", "2025-03-14T10:15:31Z"),
        ("2025-03-14T10:15:30.5Z", "instant", "2025-03-14T10:15:30.500000Z", "2025-03-14T10:15:30.500000Z"),
        ("2025-03-14T10:15:30,25Z", "instant", "2025-03-14T10:15:30.250000Z", "2025-03-14T10:15:30.250000Z"),
        ("2025-03-14T10:15:30.000001Z", "instant", "2025-03-14T10:15:30.000001Z", "2025-03-14T10:15:30.000001Z"),
        ("2025-03-14T10:15:30.0Z", "instant", "2025-03-14T10:15:30Z", "2025-03-14T10:15:30Z"),
        ("9999", "year", "9999-01-01T00:00:00Z", "forever"),
        ("99XX", "century", "9900-01-01T00:00:00Z", "forever"),
        ("9999-36", "quarter", "9999-10-01T00:00:00Z", "forever"),
        ("9999-12-31", "day", "9999-12-31T00:00:00Z", "forever"),
        ("9999-12-31T23:59Z", "minute", "9999-12-31T23:59:00Z", "forever"),
        ("9999-12-31T23:59:59.999999Z", "instant", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_every_written_form_has_its_precision_and_its_two_bounds(
    text: str, precision: str, earliest: str, latest: str
) -> None:
    moment = parse(text, zone="UTC")
    assert (moment.precision, *bounds(moment), moment.qualifier) == (precision, earliest, latest, "")


@pytest.mark.parametrize("qualifier", ["~", "?", "%"])
@pytest.mark.parametrize("text", ["201X", "2025", "2025-33", "2025-03", "2025-W10", "2025-03-14"])
def test_a_qualifier_keeps_the_bounds_and_the_precision(text: str, qualifier: str) -> None:
    plain, qualified = parse(text, zone="Europe/Berlin"), parse(text + qualifier, zone="Europe/Berlin")
    assert qualified == Moment(plain.earliest, plain.latest, plain.precision, qualifier)


@pytest.mark.parametrize(
    ("zone", "text", "earliest", "latest"),
    [
        ("Europe/Berlin", "2025-03-30", "2025-03-29T23:00:00Z", "2025-03-30T22:00:00Z"),  # a day of 23 hours
        ("Europe/Berlin", "2025-10-26", "2025-10-25T22:00:00Z", "2025-10-26T23:00:00Z"),  # a day of 25 hours
        ("Europe/Berlin", "2025", "2024-12-31T23:00:00Z", "2025-12-31T23:00:00Z"),
        ("Asia/Kathmandu", "2025-03", "2025-02-28T18:15:00Z", "2025-03-31T18:15:00Z"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"),  # has no midnight
        ("America/Havana", "2024-11-03", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z"),  # has two midnights
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"),  # a day that never was
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"),
        ("America/New_York", "9999-12-31", "9999-12-31T05:00:00Z", "forever"),
    ],
)
def test_a_date_runs_from_local_midnight_to_local_midnight(zone: str, text: str, earliest: str, latest: str) -> None:
    assert bounds(parse(text, zone=zone)) == (earliest, latest)
    if text.count("-") == 2:
        assert parse(date.fromisoformat(text), zone=zone) == parse(text, zone=zone)


@pytest.mark.parametrize(
    ("local", "fold", "expected"),
    [
        ("2025-03-30T02:30:00", 0, "2025-03-30T01:30:00Z"),  # skipped: 02:30 is read as 03:30 summer time
        ("2025-10-26T02:30:00", 0, "2025-10-26T00:30:00Z"),  # twice: the first one, in summer time
        ("2025-10-26T02:30:00", 1, "2025-10-26T01:30:00Z"),  # a datetime may say that it means the second
    ],
)
def test_local_times_at_a_change_of_clocks_are_read_in_one_way(local: str, fold: int, expected: str) -> None:
    naive = datetime.fromisoformat(local).replace(fold=fold)
    assert iso(parse(naive, zone="Europe/Berlin").earliest) == expected
    if not fold:
        assert iso(parse(local, zone="Europe/Berlin").earliest) == expected


def test_an_offset_beats_the_zone_and_a_zone_may_be_a_tzinfo() -> None:
    stated = "2025-03-14T10:15:30.5+01:00"
    assert parse(stated, zone="Asia/Tokyo") == parse(stated, zone=None)
    assert parse("2025-02", zone=timezone(timedelta(hours=1))) == parse("2025-02", zone=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    "when", ["2025", "201X", "2025-03-14", "2025-03-14T10:15", date(2025, 3, 14), datetime(2025, 3, 14, 10)]
)
def test_what_has_no_offset_needs_a_zone_and_the_message_says_how(when: datetime | date | str) -> None:
    with pytest.raises(InvalidInput, match=r"has no zone; pass zone='Europe/Lisbon' or an aware datetime"):
        parse(when, zone=None)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime", "America", "a\0b", "\ud800"])
def test_an_unknown_zone_is_refused_with_the_package_that_may_help(zone: str) -> None:
    with pytest.raises(InvalidInput, match="IANA name such as Europe/Lisbon.*tzdata"):
        parse("2025-03-14", zone=zone)


@pytest.mark.parametrize("zone", [5, True, 1.5, b"UTC", ["UTC"], object()])
def test_a_zone_of_another_type_is_refused(zone: object) -> None:
    with pytest.raises(InvalidInput, match="IANA name"):
        parse("2025-03-14", zone=zone)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        *["", " ", "now", "yesterday", "..", "2025/2026"],
        *["2025-03-14/2025-03-15", "14-03-2025", "03/14/2025", "14.3.2025"],
        *["202", "20255", "-0044", "+2025", "Y2025", "2025-3", "2025-03-1"],
        *["20250314", "2025-073", "20X5", "XXXX", "201x"],
        *["2025-21", "2025-37", "2025-Q0", "2025-Q5", "2025-W1", "2025-w10"],
        *["2025-W10-", "2025-03~~", "~2025", "2025-03!"],
        *[" 2025", "2025 ", "2025\n", "2025-03-14\n", "2025-03-14T"],
        *["2025-03-14T10", "2025-03-14T10:1", "2025-03-14T1015"],
        *["2025-03-14T24:00", "2025-03-14T10:60", "2025-03-14T10:15:60Z", "2025-03-14T10:15:30.Z", "2025-03-14_10:15Z"],
        *["2025-03-14T10:15+1", "2025-03-14T10:15+24:00", "2025-03-14T10:15 UTC"],
        *["2025-03-14T10:15Z~", "2025-03-14T10:15z", "2025-03-14t10:15Z", "2025-03-14T10:15:30+01:00:30"],
        *["\u0662\u0660\u0662\u0665", "2025\u201303", "2025-03-14T10:15\u2212" + "01:00", "\ud800", "9" * 10_000],
    ],
)
def test_nonsense_is_refused_with_the_forms_that_can_be_read(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a date; write 2025, 2025-03, 2025-03-14 or 2025-03") as told:
        parse(text, zone="UTC")
    assert len(str(told.value)) < 250


@pytest.mark.parametrize(
    "text",
    [
        *["0000", "000X", "00XX", "2025-00", "2025-13", "2025-02-29", "1900-02-29", "2025-04-31", "2025-00-01"],
        *["2025-01-00", "2025-01-32", "2025-W00", "2025-W53", "2025-W10-0", "2025-W10-8", "0000-01-01T00:00Z"],
        *["2025-02-30T10:15Z", "2025-13-01T10:15:30"],
    ],
)
def test_what_is_not_in_the_calendar_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not in the calendar.*; pass a date of the years 1 to 9999"):
        parse(text, zone="UTC")


@pytest.mark.parametrize(
    ("when", "zone"),
    [
        ("0001", "Asia/Tokyo"),
        ("0001-01-01", "Europe/Berlin"),
        (date(1, 1, 1), "Asia/Kathmandu"),
        ("0001-01-01T00:00+00:01", None),
        ("9999-12-31T23:59-00:01", None),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), None),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), None),
    ],
)
def test_an_instant_outside_the_years_1_to_9999_in_utc_is_refused(
    when: datetime | date | str, zone: str | tzinfo | None
) -> None:
    with pytest.raises(InvalidInput, match="outside the years 1 to 9999 in UTC; leave the bound out"):
        parse(when, zone=zone)


@pytest.mark.parametrize("when", [True, False, 0, 2025, 1741910400, 1.5, None, b"2025", ["2025"], timedelta(days=1)])
def test_numbers_and_other_objects_are_not_dates(when: object) -> None:
    with pytest.raises(InvalidInput, match="is not a date; pass a datetime, a date or a text"):
        parse(when, zone="UTC")  # type: ignore[arg-type]


def test_a_naive_datetime_is_no_instant() -> None:
    with pytest.raises(InvalidInput, match="has no zone; pass an aware datetime"):
        from_datetime(datetime(2025, 3, 14))


def test_the_edges_of_the_legal_range_are_exact() -> None:
    assert from_datetime(datetime.min.replace(tzinfo=UTC)) == EARLIEST
    assert from_datetime(datetime.max.replace(tzinfo=UTC)) == LATEST
    assert (iso(EARLIEST), iso(LATEST)) == ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
    assert BEGINNING < EARLIEST < LATEST < FOREVER < 2**63


def test_the_unbounded_have_no_datetime_and_no_text() -> None:
    assert to_datetime(BEGINNING) is None
    assert to_datetime(FOREVER) is None
    for unbounded in (BEGINNING, FOREVER):
        with pytest.raises(InvalidInput, match="compare with BEGINNING and FOREVER"):
            iso(unbounded)


@pytest.mark.parametrize("number", [EARLIEST - 1, LATEST + 1, BEGINNING + 1, FOREVER + 1])
def test_numbers_between_the_legal_and_the_unbounded_are_refused(number: int) -> None:
    with pytest.raises(InvalidInput, match="no instant of the years 1 to 9999"):
        to_datetime(number)


@given(instants)
def test_an_instant_survives_datetime_and_text(number: int) -> None:
    when = to_datetime(number)
    assert when is not None
    assert when.tzinfo is UTC
    assert from_datetime(when) == number
    text = iso(number)
    assert parse(text, zone=None).earliest == number
    assert len(text) == (20 if number % 1_000_000 == 0 else 27)


@given(instants, instants)
def test_instants_are_ordered_as_their_datetimes(one: int, other: int) -> None:
    first, second = to_datetime(one), to_datetime(other)
    assert first is not None
    assert second is not None
    assert (first < second) == (one < other)


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 30)), offsets)
def test_an_offset_changes_the_text_and_not_the_instant(naive: datetime, offset: tzinfo) -> None:
    when = naive.replace(tzinfo=offset)
    assert from_datetime(when) == from_datetime(when.astimezone(UTC))
    assert parse(when.isoformat(), zone=None).earliest == from_datetime(when) == parse(when, zone=None).latest


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 30)), zones)
def test_a_local_time_reads_back_as_itself_or_as_later_where_it_was_skipped(naive: datetime, zone: str) -> None:
    read = to_datetime(parse(naive.replace(fold=0), zone=zone).earliest)
    assert read is not None
    local = read.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    assert local >= naive
    assert local - naive <= timedelta(days=1)


@given(dates, zones)
def test_a_year_contains_its_month_which_contains_its_day(day: date, zone: str) -> None:
    texts = [f"{day:%Y}".zfill(4), f"{day:%Y}".zfill(4) + f"-{day:%m}", day.isoformat()]
    if day.year == 1:
        return  # its local start may lie before the first legal instant
    year, month, single = (parse(text, zone=zone) for text in texts)
    assert year.earliest <= month.earliest <= single.earliest <= single.latest <= month.latest <= year.latest


@given(st.dates(date(1, 1, 3), date(9999, 12, 29)), zones)
def test_days_follow_one_another_without_gap_or_overlap(day: date, zone: str) -> None:
    assert parse(day, zone=zone).latest == parse(day + timedelta(days=1), zone=zone).earliest


@given(dates)
def test_a_week_date_is_the_calendar_date(day: date) -> None:
    year, week, weekday = day.isocalendar()
    if year <= 9999:
        assert parse(f"{year:04}-W{week:02}-{weekday}", zone="UTC") == parse(day, zone="UTC")


@given(st.text(alphabet="0123456789-:TZWXQ+.~? P", max_size=30))
def test_any_text_is_a_moment_or_is_refused(text: str) -> None:
    try:
        moment = parse(text, zone="America/Sao_Paulo")
    except InvalidInput:
        return
    assert EARLIEST <= moment.earliest <= moment.latest


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        *[("7d", 7 * 1440), ("12h", 720), ("90m", 90), ("120s", 2), ("2w", 20160), ("0s", 0), ("007d", 7 * 1440)],
        *[("P7D", 7 * 1440), ("PT12H", 720), ("P2W", 20160), ("PT90M", 90), ("P1DT12H30M60S", 2191), ("P1W1D", 11520)],
        ("P0D", 0),
    ],
)
def test_durations_are_read_in_both_spellings(text: str, minutes: int) -> None:
    assert parse_duration(text) == minutes * MINUTE


@pytest.mark.parametrize("digits", ["123456", "123456789", "1234569999999999999"])
def test_a_fraction_finer_than_a_microsecond_is_cut_off(digits: str) -> None:
    for mark in ".,":
        found = parse(f"2026-01-01T10:00:00{mark}{digits}Z", zone=None)
        assert found == parse("2026-01-01T10:00:00.123456Z", zone=None)
        assert parse_duration(f"PT1{mark}{digits}S") == 1_123_456


def test_a_duration_is_exact_to_the_microsecond() -> None:
    assert parse_duration("PT0.000001S") == parse_duration(timedelta(microseconds=1)) == 1
    assert parse_duration("PT1,5S") == 1_500_000
    assert parse_duration(timedelta(days=3_000_000, microseconds=1)) == 3_000_000 * 1440 * MINUTE + 1


@given(st.timedeltas(timedelta(0), timedelta(days=3_000_000)))
def test_a_timedelta_survives(length: timedelta) -> None:
    assert timedelta(microseconds=parse_duration(length)) == length


@pytest.mark.parametrize("text", ["P1M", "P1Y", "P1Y2M3D", "P1MT1H", "P0.5Y"])
def test_months_and_years_are_refused_because_their_length_varies(text: str) -> None:
    with pytest.raises(InvalidInput, match="whose length varies; write days or weeks"):
        parse_duration(text)


@pytest.mark.parametrize(
    "text",
    [
        *["", "P", "PT", "P1DT", "7", "d", "7 d", "7D", "-7d", "+7d", "1.5h"],
        *["7days", "1h30m", "P-7D", "-P7D", "P7d", "PT1D"],
        *["PT1.5H", "P1.5D", "PT1S1M", "P7D\n", "\u0667d"],
        *["9" * 5000 + "d", "P" + "9" * 5000 + "D", "\ud800"],
    ],
)
def test_other_texts_are_not_durations(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a duration that can be read; write 7d") as told:
        parse_duration(text)
    assert len(str(told.value)) < 250


@pytest.mark.parametrize("length", [timedelta(microseconds=-1), timedelta(days=4_000_000), "999999999w", timedelta.max])
def test_negative_and_endless_durations_are_refused(length: timedelta | str) -> None:
    with pytest.raises(InvalidInput, match="pass a shorter, positive duration"):
        parse_duration(length)


@pytest.mark.parametrize("length", [7, 7.5, True, None, b"7d"])
def test_numbers_are_not_durations(length: object) -> None:
    with pytest.raises(InvalidInput, match="is not a duration; pass a timedelta or a text such as 7d"):
        parse_duration(length)  # type: ignore[arg-type]


def test_the_examples_run() -> None:
    failed, attempted = doctest.testmod(instant)
    assert attempted > 5
    assert failed == 0
