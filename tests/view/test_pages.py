"""What the pages tell, and what their forms write, asked as a browser asks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, UNDATED, Answer, Environment, ManualClock, Memory
from syncmem.cli.story import CITY, CUSTOMER, TODAY, play
from syncmem.model.instant import from_datetime
from syncmem.view.app import PAGES, WRITES
from tests.view.visiting import Visitor

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}{% raw %}",
    "\u202eabc\u2066def",
    "‏שלום‎ עולם",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "x" * 5_000,
    "]]></title></svg><svg onload=alert(1)>",
    "&lt;b&gt; &amp;amp;",
    "a\tb\nc\r\x1b[31m",
    "javascript:alert(1)",
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC", embedder=None) as memory:
        memory.define("home_city", cardinality="single")
        yield memory


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Memory]]:
    """The three devices of the demo after they met; nobody writes to them."""
    folder = tmp_path_factory.mktemp("story")
    play(folder)
    environment = Environment(clock=ManualClock(from_datetime(TODAY) + 60_000_000))
    opened = {
        name: Memory(folder / f"{name}.db", zone="UTC", environment=environment, embedder=None)
        for name in ("tablet", "laptop", "phone")
    }
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture
def tablet(story: dict[str, Memory]) -> Visitor:
    others = {name: each for name, each in story.items() if name != "tablet"}
    return Visitor.of(story["tablet"], others, story["tablet"]._environment)


# -- one slot ------------------------------------------------------------------------------------------


def test_the_page_of_a_slot_tells_what_is_believed_as_picture_and_as_table(tablet: Visitor) -> None:
    page = tablet.slot(CUSTOMER, CITY)
    assert page.status == 200
    titles = re.findall(r'aria-label="([^"]*)"><title>', page.text)
    assert titles[0] == "Berlin; from 2015-01-01 to 2025-04-01; user, trust 90; only presumed since 2025-03-20 09:00"
    assert "Lisbon; from 2025-06-16; user, trust 90; contested; only presumed since 2025-06-16" in titles
    assert "Madrid; from 2025-06-17 09:00; model, trust 30" in page.text, "what is said and not believed"
    assert "Paris 2025-06-09 2025-06-16 user 90" in page.words
    assert "'Madrid' does not hold: its trust 30 is less than 90" in page.words
    assert "the note is about customer:71" in page.words


def test_the_slider_shows_the_timeline_as_it_was_believed_then(tablet: Visitor) -> None:
    steps = int(re.findall(r'name="step" type="range" min="0" max="(\d+)"', tablet.slot(CUSTOMER, CITY).text)[0])
    first = tablet.slot(CUSTOMER, CITY, step=0)
    assert "As believed 2025-03-03 12:00: Porto" in first.words and "Paris" not in part(first.text, "timeline")
    second = tablet.slot(CUSTOMER, CITY, step=1)
    assert "As believed 2025-03-20 09:00: Berlin" in second.words
    last = tablet.slot(CUSTOMER, CITY, step=steps)
    assert "As believed" not in last.words.replace("As believed on", "") and "Paris" in part(last.text, "timeline")


def test_the_map_has_each_rectangle_with_both_its_times(tablet: Visitor, story: dict[str, Memory]) -> None:
    drawn = part(tablet.slot(CUSTOMER, CITY).text, "map")
    held = story["tablet"].belief_map(CUSTOMER, CITY).held
    titles = set(re.findall(r"<title>([^<]*)</title>", drawn))
    assert len(titles) == len(held) == 9
    seen = "Porto; from 2023-01-01 to 2025-03-20 09:00; user, trust 90; believed since 2025-03-20 09:00"
    assert f"{seen}, until 2025-06-20 10:00" in titles


def test_each_device_stands_beside_the_others_before_and_after_they_met(tablet: Visitor) -> None:
    devices = part(tablet.slot(CUSTOMER, CITY).text, "devices")
    before, after = devices.split("<h3>After</h3>")
    rows = lambda text: re.findall(r'"Device">([^<]*)</td><td data-label="Value"><span><bdi>([^<]*)</bdi>', text)  # noqa: E731
    assert rows(before) == [
        *(("this device", value) for value in ("Berlin", "Porto", "Berlin")),
        ("laptop", "Berlin"),
        *(("phone", value) for value in ("Berlin", "Lisbon", "Paris", "Lisbon")),
    ]
    same = ("Berlin", "Lisbon", "Paris", "Lisbon")
    assert rows(after) == [(name, value) for name in ("this device", "laptop", "phone") for value in same]


def test_without_the_others_files_their_own_notes_tell_what_they_believed(story: dict[str, Memory]) -> None:
    devices = part(Visitor.of(story["tablet"]).slot(CUSTOMER, CITY).text, "devices")
    assert devices.count('"Device">device ') >= 6 and "told by the notes that it wrote" in devices


def test_a_moment_is_explained_when_its_bar_is_followed(tablet: Visitor) -> None:
    page = tablet.slot(CUSTOMER, CITY)
    link = next(found for found in re.findall(r'<a href="(/slot[^"]*)" aria-label="Paris;', page.text))
    why = part(tablet.get(link.replace("&amp;", "&").partition("#")[0]).text, "why")
    assert "&#39;Paris&#39; holds because user said so" in why and "Why at 2025-06-09" in why


def part(text: str, id: str) -> str:
    """One section of a page."""
    return text[text.index(f'<section id="{id}"') :].partition("</section>")[0]


# -- all pages -----------------------------------------------------------------------------------------


def test_names_come_a_page_at_a_time_in_both_directions_and_by_a_part_of_them(memory: Memory) -> None:
    with memory.transaction():
        for number in range(95):
            memory.remember(f"person {number:03}", "home_city", f"City {number}")
    visitor = Visitor.of(memory)
    seen, address, pages = [], "/", []
    while True:
        page = visitor.get(address)
        pages.append(re.findall(r"<bdi>(person \d+)</bdi></a></h2>", page.text))
        seen += pages[-1]
        later = re.search(r'href="([^"]*)">Later', page.text)
        if later is None:
            break
        address = later[1].replace("&amp;", "&")
    assert seen == [f"person {number:03}" for number in range(95)] and [len(p) for p in pages] == [40, 40, 15]
    earlier = re.search(r'href="([^"]*)">← Earlier', page.text)
    assert earlier is not None
    back = visitor.get(earlier[1].replace("&amp;", "&"))
    assert re.findall(r"<bdi>(person \d+)</bdi></a></h2>", back.text) == pages[1]
    assert re.findall(r"<bdi>(person \d+)</bdi></a></h2>", visitor.get("/", text="PERSON 04").text) == seen[40:50]
    assert "No name contains" in visitor.get("/", text="zebra").words


def test_many_predicates_of_one_name_come_a_page_at_a_time(memory: Memory) -> None:
    with memory.transaction():
        for number in range(120):
            memory.remember("ana", f"fact_{number:03}", number)
    visitor = Visitor.of(memory)
    first, second = visitor.get("/thing", entity="ana"), visitor.get("/thing", entity="ana", skip=100)
    assert first.text.count('<section class="card">') == 100 and first.text.count('class="figure"') == 12
    assert second.text.count('<section class="card">') == 20 and "fact 119" in second.words
    assert "Later" in first.words and "Earlier" in second.words


def test_names_of_another_scope_are_listed_when_it_is_chosen(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Lisbon")
    assert 'name="scope"' not in Visitor.of(memory).get("/").text
    memory.remember("secret", "diary", "dear diary", scope="device")
    visitor = Visitor.of(memory)
    assert "secret" not in visitor.get("/").words and '<option value="device">' in visitor.get("/").text
    listed = visitor.get("/", scope="device")
    assert "secret" in listed.words and "Lisbon" not in listed.words
    link = next(iter(re.findall(r'href="(/slot[^"]*)"', listed.text))).replace("&amp;", "&")
    page = visitor.get(link)
    assert "dear diary" in page.words
    fields = page.fields("/say")
    assert visitor.post("/say", {**fields, "say": "holds", "value": "more", "since": ""}).status == 303
    assert {belief.value for belief in memory.beliefs("secret", "diary", scope="device")} == {"dear diary", "more"}


def test_an_empty_memory_and_unknown_things_have_pages_too(memory: Memory) -> None:
    visitor = Visitor.of(memory)
    assert "Nothing was remembered yet" in visitor.get("/").words
    assert "Nothing to ask" in visitor.get("/questions").words
    assert "Nothing was recalled yet" in visitor.get("/reads").words
    assert "belongs to no vault yet" in visitor.get("/devices").words
    assert "Nothing was said about nobody" in visitor.get("/thing", entity="nobody").words
    page = visitor.slot("nobody", "home_city")
    assert page.status == 200 and "Nothing was ever believed here" in page.words
    assert visitor.get("/nowhere").status == 404
    assert visitor.get("/read", receipt="recall-0000000000000000").status == 409


@pytest.mark.parametrize(
    "query",
    ["", "entity=a", *(f"entity=a&predicate=b&{more}" for more in ("skip=-1", "at=soon", "at=2025-01-01", "known=x"))],
)
def test_an_address_that_says_nothing_gets_a_page_that_says_so(memory: Memory, query: str) -> None:
    answer = Visitor.of(memory).get(f"/slot?{query}")
    assert answer.status == 400 and "That did not work" in answer.words


def test_the_read_log_tells_what_the_model_had_in_front_of_it(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Lisbon", changed_on="2024-03-01", source="user")
    found = memory.recall("Where does Ana live?")
    memory.remember("ana", "home_city", "Porto", changed_on="2025-03-01", source="user")
    visitor = Visitor.of(memory)
    assert "Where does Ana live? 1 belief" in visitor.get("/reads").words
    said = visitor.get("/read", receipt=found.receipt)
    assert "Lisbon yes no longer holds" in said.words and "home city: Porto" in said.words


def test_search_finds_values_of_any_time(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Berlin", changed_on="2019", source="user")
    memory.remember("ana", "home_city", "Lisbon", changed_on="2024", source="user")
    visitor = Visitor.of(memory)
    assert "ana home city Berlin 2019-01-01 2024-01-01 user 90" in visitor.get("/search", text="berlin").words
    assert "Nothing that is or was believed" in visitor.get("/search", text="zebra").words
    assert visitor.get("/search", text="!?").status == 200


def test_devices_and_mailboxes_and_the_frontier_are_told(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    with Memory(tmp_path / "a.db", zone="UTC", embedder=None) as memory:
        memory.create_vault("laptop")
        memory.add_mailbox(f"folder:{tmp_path / 'shared'}")
        memory.remember("ana", "home_city", "Lisbon")
        visitor = Visitor.of(memory)
        assert "Not in sync" in visitor.get("/devices").words
        memory.sync()
        page = visitor.get("/devices").words
        assert "laptop (this one)" in page and "folder:" in page and memory.status().frontier["vault"] in page


def test_a_long_history_comes_a_page_at_a_time(memory: Memory) -> None:
    with memory.transaction():
        for month in range(1, 13):
            for year in range(2010, 2016):
                memory.remember("ana", "home_city", f"City {year}-{month}", changed_on=f"{year}-{month:02}-01")
    visitor = Visitor.of(memory)
    first = visitor.get("/history", entity="ana", predicate="home_city")
    second = visitor.get("/history", entity="ana", predicate="home_city", skip=50)
    told = [re.findall(r"<bdi>(City [^<]*)</bdi>", page.text) for page in (first, second)]
    assert [len(each) for each in told] == [50, 22] and len({*told[0], *told[1]}) == 72


# -- writing -------------------------------------------------------------------------------------------


def test_what_is_said_on_the_page_is_the_users_word(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Madrid", trust="inference", source="model")
    visitor = Visitor.of(memory)
    fields = visitor.slot("ana", "home_city").fields("/say")
    done = visitor.post("/say", {**fields, "say": "changed", "value": "Lisbon", "since": "2025-04"})
    assert done.status == 303
    belief = memory.believe("ana", "home_city")
    assert belief is not None and (belief.value, belief.trust, belief.source.kind) == ("Lisbon", 90, "user")
    assert f"{belief.valid_from:%Y-%m-%d}" == "2025-04-01"
    page = visitor.get(done.headers["location"])
    assert "Written: remember Lisbon" in page.words
    taken = visitor.post("/undo", page.fields("/undo"))
    assert taken.status == 303 and memory.believe("ana", "home_city").value == "Madrid"  # type: ignore[union-attr]


def test_none_and_mistakes_can_be_said(memory: Memory) -> None:
    wrong = memory.remember("ana", "home_city", "Porto", source="user")
    visitor = Visitor.of(memory)
    fields = visitor.slot("ana", "home_city").fields("/retract")
    assert fields["event"] == wrong.event
    assert visitor.post("/retract", fields).status == 303 and memory.believe("ana", "home_city") is None
    fields = visitor.slot("ana", "home_city").fields("/say")
    assert visitor.post("/say", {**fields, "say": "none", "value": "", "since": ""}).status == 303
    assert memory.believe("ana", "home_city").value is NONE  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "said",
    [
        {"say": "holds", "value": " "},
        {"say": "changed", "value": "x"},
        {"say": "holds", "value": "x", "since": "soon"},
        {"say": "?", "value": "x"},
    ],
)
def test_what_cannot_be_said_is_refused_with_the_next_step(memory: Memory, said: dict[str, str]) -> None:
    memory.remember("ana", "home_city", "Porto")
    visitor = Visitor.of(memory)
    before = memory.last_known()
    answer = visitor.post("/say", {**visitor.slot("ana", "home_city").fields("/say"), **said})
    assert answer.status == 400 and "That did not work" in answer.words and memory.last_known() == before


def contest(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Lisbon", changed_on="2024-03-01", source="user")
    memory.remember("ana", "home_city", "Porto", trust="inference", source="model")


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("option-0", ["Lisbon"]),
        ("option-1", ["Porto"]),
        ("both", ["Lisbon", "Porto"]),
        ("neither", []),
        ("other", ["Rome"]),
    ],
)
def test_a_question_is_answered_by_a_button(memory: Memory, answer: str, holds: list[str]) -> None:
    contest(memory)
    visitor = Visitor.of(memory)
    page = visitor.get("/questions")
    assert all(f">{name}<" in page.text for name in ("Both", "Neither")) and "<bdi>Porto</bdi></button>" in page.text
    done = visitor.post("/answer", {**page.fields("/answer"), "answer": answer, "value": "Rome"})
    assert done.status == 303 and memory.questions() == ()
    assert sorted(str(belief.value) for belief in memory.beliefs("ana", "home_city")) == holds
    assert {e.source.kind for e in memory.history("ana", "home_city") if e.reason == "the user was asked"} <= {"user"}
    assert "Your word is written" in visitor.get(done.headers["location"]).words


@pytest.mark.parametrize("answer", ["option-7", "option-x", "maybe", ""])
def test_what_is_no_answer_is_refused(memory: Memory, answer: str) -> None:
    contest(memory)
    visitor = Visitor.of(memory)
    fields = visitor.get("/questions").fields("/answer")
    assert visitor.post("/answer", {**fields, "answer": answer}).status == 400 and len(memory.questions()) == 1


def test_a_question_that_was_answered_meanwhile_is_not_answered_again(memory: Memory) -> None:
    contest(memory)
    visitor = Visitor.of(memory)
    fields = visitor.get("/questions").fields("/answer")
    memory.answer(memory.questions()[0], Answer.KEEP)
    known = memory.last_known()
    late = visitor.post("/answer", {**fields, "answer": "option-1"})
    assert late.status == 409 and "no longer open" in late.words and memory.last_known() == known


PARAMETERS = ("entity", "predicate", "scope", "known", "step", "at", "since", "until", "skip", "meeting", "text")
PARAMETERS += ("after", "before", "receipt", "said")
odd = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["ana", "home_city", "vault", "device", "0", "1", "-1", "9" * 12, "9" * 30, "٣", "\x00", "0001-01-01"]
    ),
    st.sampled_from(["2025-06-09T00:00:00+00:00", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "nan"]),
)


@pytest.fixture(scope="module")
def full() -> Iterator[Memory]:
    """A memory with something on each page."""
    with Memory(":memory:", zone="America/New_York", embedder=None) as memory:
        memory.define("home_city", cardinality="single")
        contest(memory)
        memory.remember("ana", "home_city", "Rome", observed_at=UNDATED, source="document", trust="document")
        memory.recall("Where does Ana live?")
        yield memory


@given(path=st.sampled_from(sorted(PAGES)), asked=st.dictionaries(st.sampled_from(PARAMETERS), odd, max_size=6))
def test_whatever_an_address_says_a_page_comes_back(full: Memory, path: str, asked: dict[str, str]) -> None:
    known = full.last_known()
    if path in ("/slot", "/history", "/thing"):
        asked = {"entity": "ana", "predicate": "home_city", **asked}
    answer = Visitor.of(full).get(path, **asked)
    assert answer.status in (200, 400, 409) and answer.text.startswith("<!doctype html>")
    assert full.last_known() == known, "looking never writes"


@given(
    path=st.sampled_from(sorted(WRITES)),
    asked=st.dictionaries(
        st.sampled_from(["entity", "predicate", "scope", "value", "since", "say", "event", "question", "answer"]), odd
    ),
)
def test_whatever_a_form_says_it_is_written_or_refused(full: Memory, path: str, asked: dict[str, str]) -> None:
    visitor = Visitor.of(full)
    secret = visitor.slot("ana", "home_city").fields("/say")["secret"]
    assert visitor.post(path, {**asked, "secret": secret}).status in (303, 400, 409)


# -- hostile text --------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_text_from_memory_is_never_markup_on_any_page(memory: Memory) -> None:
    for number, text in enumerate(HOSTILE):
        entity = text[:200] if number % 2 else f"entity {number}"
        memory.remember(entity, f"note{number}", text, since="2020", source="user")
        memory.remember(entity, f"note{number}", [text], since="2021", source="user")
        memory.remember("ana", "home_city", text, changed_on=f"20{number + 10}", source="user")
    memory.remember("ana", "home_city", HOSTILE[0] + "?", trust="inference", source="model")
    memory.retract(memory.remember("ana", "home_city", "a").event, reason=HOSTILE[1])
    receipt = memory.recall(HOSTILE[1]).receipt
    visitor = Visitor.of(memory)
    paths = ["/", "/?text=%3Cscript%3E", "/questions", "/reads", f"/read?receipt={receipt}", "/devices"]
    paths += [
        "/slot?entity=ana&predicate=home_city",
        "/thing?entity=ana",
        "/search?text=alert",
        "/search?text=%22%3E%3Cb%3E",
    ]
    paths += ["/%3Cb%3E"]
    pages = [visitor.get(path) for path in paths]
    pages += [visitor.get("/thing", entity=text[:200]) for text in HOSTILE]
    pages += [visitor.slot(HOSTILE[1], "note1"), visitor.slot("<i>", "<b>"), visitor.get("/slot", entity="<i>")]
    for page in pages:
        scripts = [attributes for tag, attributes in Tags(page.text).found if tag == "script"]
        assert [each["src"] for each in scripts] == ["/static/panzoom-4.6.2.min.js", "/static/view.js"]
        for tag, attributes in Tags(page.text).found:
            assert tag not in ("b", "i", "iframe", "object", "style"), page.text[:200]
            assert not any(name.startswith("on") or name in ("style", "srcdoc") for name in attributes)
            for name in ("href", "src", "action"):
                assert (attributes.get(name) or "/").startswith(("/", "#")) or attributes[name] == ""
        assert "\u202e" not in page.text and "\x1b" not in page.text and "49" not in page.words.split()


def test_what_is_vendored_is_what_its_note_says() -> None:
    folder = files("syncmem.view").joinpath("static")
    digest = hashlib.sha256(folder.joinpath("panzoom-4.6.2.min.js").read_bytes()).hexdigest()
    note = folder.joinpath("VENDORED.txt").read_text(encoding="utf-8")
    assert digest in note and "MIT" in note and "4.6.2" in note


# -- more than a page can tell -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long() -> Iterator[Memory]:
    """A slot of 700 cities, one of which a model doubts, and of which another device has said one."""
    with (
        Memory(":memory:", zone="UTC", embedder=None) as memory,
        Memory(":memory:", zone="UTC", embedder=None) as other,
    ):
        memory.define("home_city", cardinality="single")
        with memory.transaction():
            for number in range(700):
                day = LONG_BEGUN + number * timedelta(days=1)
                memory.remember("ana", "home_city", f"City {number}", changed_on=day, observed_at=day, source="user")
        other.remember("ana", "home_city", "Faro", changed_on=LONG_BEGUN + timedelta(days=600, hours=12), source="user")
        observed = LONG_BEGUN + timedelta(days=605, hours=3)
        memory.remember(
            "ana", "home_city", "Madrid", since=LONG_BEGUN + timedelta(days=605), observed_at=observed,
            trust="inference", source="model",
        )  # fmt: skip
        memory.merge(other)
        yield memory


LONG_BEGUN = datetime(2020, 1, 1, tzinfo=UTC)


def test_a_slot_of_more_beliefs_than_a_page_tells_is_told_in_groups_that_hold_all_of_them(long: Memory) -> None:
    page = Visitor.of(long).slot("ana", "home_city")
    shown = part(page.text, "timeline")
    assert "701 beliefs in all are too many to tell one by one" in page.words
    counts = [int(found.replace(",", "")) for found in re.findall(r'data-label="Beliefs">([\d,]+)<', shown)]
    assert len(counts) <= 40 and sum(counts) == 701
    assert re.findall(r">(\d{4})</a>", shown)[:2] == ["2020", "2021"], "years to look at alone"
    counted = re.findall(r"<title>(\S+) beliefs? beginning", part(page.text, "map").partition('class="slim"')[0])
    assert sum(int(found.replace(",", "")) for found in counted) == long.outline("ana", "home_city").rectangles
    assert "holds because user said so" in part(page.text, "why").replace("&#39;", "'")
    assert len(page.text) < 500_000


def test_a_block_leads_to_a_stretch_that_is_told_as_a_short_slot_is(long: Memory) -> None:
    visitor = Visitor.of(long)
    groups = long.outline("ana", "home_city").groups
    group = next(g for g in groups if g.contested)
    shown = part(visitor.slot("ana", "home_city").text, "timeline")
    links = [
        link.replace("&amp;", "&").partition("#")[0]
        for link in re.findall(r'<a href="([^"]*)" aria-label="Look', shown)
    ]
    page = visitor.get(links[groups.index(group)])
    seen = part(page.text, "timeline")
    assert page.status == 200 and 'class="hatched"' in seen and "contested outline" in seen
    assert "<bdi>Faro</bdi>" in seen and "Said, and not believed" in seen and "Madrid" in seen
    assert "Only 2021-" in page.words and all(
        way in page.words for way in ("Before it", "After it", "Wider", "All of it")
    )
    devices = part(page.text, "devices")
    assert "Faro" in devices.partition("After</h3>")[2] and "Faro" not in devices.partition("After</h3>")[0]
    assert "Madrid" in part(page.text, "history") and "Retract" in part(page.text, "history")
    why = next(link for link in re.findall(r'<a href="(/slot[^"]*)" aria-label="Why City 605', seen))
    reasons = part(visitor.get(why.replace("&amp;", "&").partition("#")[0]).text, "why")
    assert "City 605" in reasons and "Madrid" in reasons and "trust 30 is less than 90" in reasons


@pytest.mark.parametrize(
    ("since", "until", "told"),
    [("2021-03", "2021-03", 31), ("2021-03-05", "2021-03-05", 1), ("2020", "2020-02", 60), ("2021-11-30", "", 1)],
)
def test_a_stretch_is_named_by_dates_as_somebody_writes_them(long: Memory, since: str, until: str, told: int) -> None:
    page = Visitor.of(long).slot("ana", "home_city", since=since, until=until)
    assert f"As a table ({told} belief" in page.words


def test_a_stretch_that_ends_before_it_begins_is_refused(long: Memory) -> None:
    answer = Visitor.of(long).slot("ana", "home_city", since="2022", until="2021")
    assert answer.status == 400 and "ends before it begins" in answer.words


def test_the_slider_works_in_a_stretch_and_on_the_whole(long: Memory) -> None:
    visitor = Visitor.of(long)
    around = {"since": "2021-08-23T00:00:00+00:00", "until": "2021-08-24T00:00:00+00:00"}
    assert "Faro" in part(visitor.slot("ana", "home_city", **around).text, "timeline")
    before = visitor.slot("ana", "home_city", step=0, **around)
    assert "As believed" in before.words and "Faro" not in part(before.text, "timeline")
    last = len(long.outline("ana", "home_city").changes) - 1
    assert "701 beliefs in all" in visitor.slot("ana", "home_city", step=last).words
    assert "700 beliefs in all" in visitor.slot("ana", "home_city", step=last - 1).words
