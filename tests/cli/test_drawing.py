"""Drawing timelines: what is seen, and that it always fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from syncmem.cli.drawing import ASCII, Palette, Row, draw, lanes, plain, shares
from syncmem.results import Belief, Source

NOW = datetime(2025, 6, 20, 10, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def belief(value: Any, start: str | None, end: str | None, *, contested: bool = False) -> Belief:
    bounds = (None if start is None else day(start), None if end is None else day(end))
    return Belief("vault", "ana", "home_city", value, *bounds, 90, Source("user"), contested, "00-1-00")


def drawn(rows: list[Row], width: int = 72, **options: Any) -> list[str]:
    return [plain(line) for line in draw(rows, now=NOW, zone=UTC, width=width, **options)]


MOVES = [
    belief("Berlin", "2015-01-01", "2025-04-01"),
    belief("Lisbon", "2025-04-01", "2025-06-09"),
    belief("Paris", "2025-06-09", "2025-06-16"),
    belief("Lisbon", "2025-06-16", None),
]


def test_a_week_is_visible_beside_ten_years() -> None:
    axis, bars = drawn([Row("ana", MOVES)])
    assert axis.split() == ["2015", "Apr", "2025", "9", "Jun", "16", "Jun", "now"]
    assert [part.split()[0] for part in bars.split("▌")[1:]] == ["Berlin", "Lisbon", "Paris", "Lisbon"]
    assert bars.startswith("ana  ▌Berlin ━") and bars.endswith("━►")


def test_dates_stand_where_their_bars_begin() -> None:
    axis, bars = drawn([Row("", MOVES)])
    begins = [column for column, character in enumerate(bars) if character == "▌"]
    assert begins == [axis.index("2015"), axis.index("Apr"), axis.index("9 Jun"), axis.index("16 Jun")]


def test_rows_share_one_axis() -> None:
    _, phone, tablet = drawn([Row("phone", MOVES), Row("tablet", [belief("Berlin", "2015-01-01", None)])])
    assert phone.index("▌") == tablet.index("▌")
    assert len(phone) == len(tablet)


def test_what_is_not_known_stays_blank() -> None:
    _, bars = drawn([Row("", [belief("Acme", "2018-01-01", "2020-01-01"), belief("Stripe", "2021-01-01", None)])])
    assert "━   " in bars


def test_a_belief_without_beginning_or_end_says_so() -> None:
    _, bars = drawn([Row("", [belief("Berlin", None, "2020-01-01"), belief("Lisbon", "2020-01-01", None)])])
    assert bars.startswith("◄Berlin") and bars.endswith("►")


def test_a_contested_belief_is_dashed() -> None:
    _, bars = drawn([Row("", [belief("Lisbon", "2020-01-01", None, contested=True)])])
    assert "╍╍" in bars and "━" not in bars


def test_a_plan_lies_after_now() -> None:
    axis, bars = drawn([Row("", [belief("Lisbon", "2020-01-01", "2025-09-01"), belief("Oslo", "2025-09-01", None)])])
    assert axis.index("now") < axis.index("Sep 2025") == bars.index("▌Oslo")


def test_two_moments_of_one_day_are_told_apart_by_the_hour() -> None:
    axis, _ = drawn(
        [Row("", [belief("desk 1", "2025-06-02", "2025-06-02T09:30"), belief("2", "2025-06-02T09:30", None)])]
    )
    assert axis.split()[:4] == ["2", "Jun", "2025", "09:30"]


def test_moments_are_local_dates() -> None:
    from zoneinfo import ZoneInfo

    moved = [belief("Lisbon", "2025-03-31T22:00", None)]
    lines = draw([Row("", moved)], now=NOW, zone=ZoneInfo("Europe/Berlin"), width=60)
    assert plain(lines[0]).split() == ["Apr", "2025", "now"]


def test_values_that_hold_together_get_rows_of_their_own() -> None:
    spoken = [
        belief("German", "2000-01-01", "2020-01-01"),
        belief("Greek", "2010-01-01", None),
        belief("German", "2021-01-01", None),
    ]
    rows = lanes("speaks", spoken)
    assert [[b.value for b in row.beliefs] for row in rows] == [["German", "German"], ["Greek"]]
    assert [row.label for row in rows] == ["speaks", ""]


def test_without_unicode_the_bars_are_ascii() -> None:
    assert all(line.isascii() for line in drawn([Row("ana", MOVES)], glyphs=ASCII))


def test_a_value_keeps_its_colour_across_drawings() -> None:
    palette = Palette()
    first, later = (
        {
            piece.text[1:].split()[0]: piece.style
            for piece in draw([Row("", beliefs)], now=NOW, zone=UTC, width=72, palette=palette)[1]
            if piece.text.strip()
        }
        for beliefs in (MOVES, MOVES[1:])
    )
    assert later["Lisbon"] == first["Lisbon"] != first["Berlin"]


def test_a_value_cannot_move_the_cursor() -> None:
    _, bars = drawn([Row("a\x1b[2J", [belief("red\x1b[31m\r\n", "2020-01-01", None)])])
    assert "\x1b" not in bars and "\n" not in bars and "red\\x1b[31m" in bars


# -- it fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["東京都千代田区", "café", "👩‍💻 remote", "한국어", "x" * 500])
@pytest.mark.parametrize("width", [1, 7, 20, 41, 80])
def test_wide_characters_count_as_two_cells(value: str, width: int) -> None:
    beliefs = [belief(value, "2015-01-01", "2020-01-01"), belief("Lisbon", "2020-01-01", None)]
    assert all(cell_len(plain(line)) <= width for line in draw([Row("名前", beliefs)], now=NOW, zone=UTC, width=width))


days = st.integers(0, 20_000).map(lambda number: day("1990-01-01") + timedelta(hours=7 * number))
letters = st.sampled_from("aZ -東あ한é")


@given(
    points=st.lists(days, min_size=2, max_size=60, unique=True).map(sorted),
    names=st.lists(st.text(letters, max_size=12), min_size=1, max_size=4),
    width=st.integers(1, 160),
    label=st.text(letters, max_size=40),
)
def test_no_line_is_ever_wider_than_it_may_be(points: list[datetime], names: list[str], width: int, label: str) -> None:
    beliefs = [
        Belief("vault", "a", "p", names[number % len(names)], start, end, 90, Source(), number % 3 == 0, "e")
        for number, (start, end) in enumerate(zip(points, [*points[1:], None], strict=True))
    ]
    lines = draw([Row(label, beliefs)], now=NOW, zone=UTC, width=width)
    assert all(cell_len("".join(piece.text for piece in line)) <= width for line in lines)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 40), st.floats(0, 50)), min_size=1, max_size=30),
    total=st.integers(0, 200),
)
def test_shares_add_up_and_give_what_is_needed_where_they_can(pairs: list[tuple[int, float]], total: int) -> None:
    needed, weights = [need for need, _ in pairs], [weight for _, weight in pairs]
    given_out = shares(needed, weights, total)
    assert min(given_out) >= 0
    if sum(needed) >= total:
        assert sum(given_out) == total
    else:
        assert all(share >= need for share, need in zip(given_out, needed, strict=True))
        assert sum(given_out) == (total if sum(weights) else sum(needed))
