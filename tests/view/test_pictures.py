"""The pictures: what the worked cases look like, and what holds of any picture."""

from __future__ import annotations

import itertools
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vectors.generate.fold import CASES
from syncmem import UNDATED, Memory, Timeline
from syncmem.model.instant import to_datetime
from syncmem.picture import rectangles, timeline
from syncmem.picture.bars import Bar, Row, gathered, rows_of
from syncmem.picture.legible import fitted, width_of
from syncmem.picture.rectangles import Held, Map
from syncmem.picture.shapes import Box, Drawing, Part
from syncmem.picture.svg import svg
from tests.scenarios import write_by_hand
from tests.world import ENTITY, PREDICATE, instant

SNAPSHOTS = Path(__file__).parent / "snapshots"
WRITE = "SYNCMEM_WRITE_SNAPSHOTS"  # set it to draw them anew, then look at them
WORKED = (2, 3, 5, 13, 34, 37, 45, 59, 61)
DAY = timedelta(days=1)
START = datetime(2020, 1, 1, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


# -- the worked cases ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", WORKED)
def test_a_worked_case_looks_as_it_did(number: int) -> None:
    lines = (CASES / "worked.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(each for each in map(json.loads, lines) if each["n"] == number)
    devices = write_by_hand([{**e, "seq": int("".join(filter(str.isdigit, e["id"])))} for e in case["events"]])
    one, *others = devices.values()
    for other in others:
        one.merge(other)
    now = to_datetime(instant(max(e["hlc"] for e in case["events"]) + 20) or 0)
    found = one.timeline(ENTITY, PREDICATE, presumed=True)
    for belief, since in zip(found, found.presumed, strict=True):
        assert since is None or (belief.valid_from or since) <= since < (belief.valid_to or now)
    drawn = found.to_svg(now=now).replace("><", ">\n<") + "\n"
    for device in devices.values():
        device.close()
    snapshot = SNAPSHOTS / f"case-{number}.svg"
    if os.environ.get(WRITE):
        snapshot.write_text(drawn, encoding="utf-8")
    assert drawn == snapshot.read_text(encoding="utf-8"), f"look at it, then set {WRITE}=1"


def test_what_nobody_vouched_for_is_hatched_and_what_is_contested_is_outlined() -> None:
    with Memory(":memory:", zone="UTC") as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Berlin", since="2015", observed_at="2020-01-01", source="user")
        seen = memory.timeline("ana", "home_city", presumed=True)
        assert [since and since.year for since in seen.presumed] == [2020]
        assert "hatched" in seen.to_svg() and "contested" not in without_style(seen)
        assert "hatched" not in without_style(memory.timeline("ana", "home_city"))
        memory.remember("ana", "home_city", "Porto", trust="inference", source="model")
        assert "contested outline" in without_style(memory.timeline("ana", "home_city"))


@pytest.mark.parametrize(
    ("said", "presumed"),
    [
        ({"since": "2021", "until": "2022"}, None),  # its end is stated
        ({"changed_on": "2021-01-01"}, "2021-01-01"),  # vouches for its own start
        ({"since": "2021", "observed_at": "2023-05-01"}, "2023-05-01"),  # ... for the day it was said
    ],
)
def test_a_claim_vouches_as_far_as_its_form_says(said: dict[str, str], presumed: str | None) -> None:
    with Memory(":memory:", zone="UTC") as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Rome", **said)
        (since,) = memory.timeline("ana", "home_city", presumed=True).presumed
    assert (since and f"{since:%Y-%m-%d}") == presumed


def test_what_nobody_dated_is_presumed_throughout() -> None:
    with Memory(":memory:", zone="America/New_York") as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Rome", observed_at=UNDATED, source="document", trust="document")
        found = memory.timeline("ana", "home_city", presumed=True)
        assert found.presumed == (datetime(1, 1, 1, tzinfo=UTC),)
        assert "only presumed throughout" in found.to_svg(zone="America/New_York")


def without_style(found: Timeline) -> str:
    before, _, rest = found.to_svg().partition("<style>")
    return before + rest.partition("</style>")[2]


def test_a_notebook_shows_the_picture_and_its_table() -> None:
    with Memory(":memory:", zone="UTC") as memory:
        memory.remember("ana", "note", "<b>&\u202e", since="2020")
        shown = memory.timeline("ana", "note")._repr_html_()
    assert "<svg" in shown and "<td>&lt;b&gt;&amp;\\u202e</td>" in shown and "<b>" not in shown


# -- any picture ---------------------------------------------------------------------------------------

moments = st.one_of(st.none(), st.integers(0, 4_000).map(lambda days: START + days * DAY))
texts = st.text(max_size=80)


@st.composite
def bars(draw: st.DrawFn) -> Bar:
    start, end = draw(moments), draw(moments)
    if start is not None and end is not None and start >= end:
        end = start + DAY
    presumed = start if start is not None and draw(st.booleans()) else None
    return Bar(draw(texts), start, end, draw(texts), draw(st.integers(0, 100)), draw(st.booleans()), presumed)


def ordered(found: list[Bar]) -> list[Bar]:
    return sorted(found, key=lambda bar: (bar.start is not None, bar.start or START))


def parts(drawing: Drawing) -> list[Part]:
    return [shape for shape in drawing.shapes if isinstance(shape, Part)]


@given(st.lists(bars(), max_size=12), st.sampled_from([timeline.WIDTH, timeline.NARROW]), st.integers(0, 4_000))
def test_bars_stay_inside_and_beside_each_other_and_any_text_makes_sound_markup(
    found: list[Bar], width: float, today: int
) -> None:
    now = START + today * DAY
    rows = rows_of("all", ordered(found))
    drawing = timeline.draw(rows, now=now, zone=UTC, name="a", title="b", width=width)
    for part in parts(drawing):
        assert part.x >= 0 and part.x + part.width <= width + 0.01 and part.y + part.height <= drawing.height
        assert all(shape.width > 0 or shape.kind == "hatched" for shape in part.shapes if isinstance(shape, Box))
    lines = itertools.groupby(sorted(parts(drawing), key=lambda p: (p.y, p.x)), key=lambda p: p.y)
    for _, line in lines:
        for left, right in itertools.pairwise(line):
            assert left.x + left.width <= right.x + 0.01
    tree = ElementTree.fromstring(svg(drawing, alone=True))
    assert {element.tag for element in tree.iter()} <= {
        SVG + tag for tag in ("svg", "title", "style", "defs", "pattern", "rect", "text", "line", "g")
    }


@given(st.lists(bars(), min_size=1, max_size=60), st.integers(2, 9))
def test_of_too_many_bars_groups_stand_for_all_of_them(found: list[Bar], most: int) -> None:
    row = rows_of("", ordered(found))[0]
    few = gathered(row.bars, most)
    assert len(few) <= max(most, 1) and sum(bar.count for bar in few) == len(row.bars)
    assert few[0].start == row.bars[0].start and few[-1].end == row.bars[-1].end
    assert any(each.contested for each in few) == any(each.contested for each in row.bars)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Held], list[tuple[int, datetime]]]:
    """Rectangles of a slot in which each transaction replaces a stretch of the line."""
    line: list[tuple[int, int, str, int]] = [(0, 400, "v", 1)]
    closed: list[Held] = []
    last = draw(st.integers(2, 40))
    for n in range(2, last):
        low = draw(st.integers(0, 398))
        high = draw(st.integers(low + 1, 400))
        kept = []
        for start, end, value, since in line:
            if end <= low or high <= start:
                kept.append((start, end, value, since))
                continue
            closed.append(Held(bar(start, end, value), since, n))
            kept += [(start, low, value, n)] * (start < low) + [(high, end, value, n)] * (high < end)
        line = sorted([*kept, (low, high, f"v{n}", n)])
    held = closed + [Held(bar(start, end, value), since, None) for start, end, value, since in line]
    return held, [(n, START + n * DAY) for n in range(1, last)]


def bar(start: int, end: int, value: str) -> Bar:
    return Bar(value, START + start * DAY, START + end * DAY, "user", 90)


@given(histories())
def test_rectangles_of_a_map_never_overlap_however_many_there_are(
    history: tuple[list[Held], list[tuple[int, datetime]]],
) -> None:
    held, times = history
    drawing = rectangles.draw(
        Map.of(held, times), now=START + 500 * DAY, zone=UTC, name="a", title="b", width=timeline.NARROW
    )
    drawn = parts(drawing)
    assert drawn, "something is seen"
    for one, other in itertools.combinations(drawn, 2):
        apart = one.x + one.width <= other.x + 0.01 or other.x + other.width <= one.x + 0.01
        above = one.y + one.height <= other.y + 0.01 or other.y + other.height <= one.y + 0.01
        assert apart or above, (one.title, other.title)
    assert all(p.x >= 0 and p.x + p.width <= timeline.NARROW + 0.01 and p.y >= 0 for p in drawn)


def test_ten_thousand_beliefs_are_drawn_as_a_few_shapes() -> None:
    many = tuple(bar(day, day + 1, f"value {day}") for day in range(10_000))
    drawing = timeline.draw([Row("", many)], now=START, zone=UTC, name="a", title="b")
    assert len(parts(drawing)) <= timeline.BARS_MAX
    held = [Held(each, 1 + number // 100, None) for number, each in enumerate(many)]
    times = [(n, START + n * DAY) for n in range(1, 101)]
    drawn = rectangles.draw(Map.of(held, times), now=START, zone=UTC, name="a", title="b")
    assert len(parts(drawn)) <= rectangles.COLUMNS_MAX * rectangles.LINES_MAX
    assert len(svg(drawing)) + len(svg(drawn)) < 400_000


@given(texts, st.floats(0, 200))
def test_a_text_is_cut_to_its_room(text: str, room: float) -> None:
    assert width_of(fitted(text, room, 13.0), 13.0) <= room + 0.01
