"""An archive that is given to the wrong importer is refused, and told by what it looks like."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncmem import InvalidInput, Memory, NotCanonical
from syncmem.importers.recognising import LOOKS, TABLES
from tests.importers import archives
from tests.importers.archives import write
from tests.importers.conftest import MAKERS, Sample, fresh, sample


@pytest.fixture(scope="module")
def untouched() -> Iterator[Memory]:
    """A memory that stays empty: everything that it is given is refused."""
    with fresh() as memory:
        yield memory
        assert memory.last_known() == 0


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sample]:
    return {kind: sample(kind, tmp_path_factory.mktemp(kind)) for kind in MAKERS}


PAIRS = [(called, is_of) for called in MAKERS for is_of in MAKERS if called != is_of]


@pytest.mark.parametrize(("called", "is_of"), PAIRS)
def test_an_archive_given_to_another_importer_is_refused_with_what_it_looks_like(
    untouched: Memory, samples: dict[str, Sample], called: str, is_of: str
) -> None:
    path, words = samples[is_of].path, samples[called].words
    with pytest.raises(InvalidInput, match=f"looks like {LOOKS[is_of]}.*'syncmem import-from {is_of} "):
        untouched.import_archive(path, called, dry_run=is_of < called, **words)


def test_the_kind_of_each_archive_is_told_by_how_it_begins(each: Sample) -> None:
    with fresh() as one, fresh() as other:
        assert one.import_archive(each.path, **each.words).kind == each.kind
        each.into(other)
        assert one.event_digest() != "" and one.belief_digest() == other.belief_digest()


def test_a_zip_file_or_a_folder_is_known_by_what_is_in_it(untouched: Memory, tmp_path: Path) -> None:
    for kind, chats in (("chatgpt", archives.chatgpt()), ("claude", archives.claude())):
        write(tmp_path / kind / "conversations.json", chats)
        with zipfile.ZipFile(tmp_path / f"{kind}.zip", "w") as zipped:
            zipped.write(tmp_path / kind / "conversations.json", f"{kind}/conversations.json")
        for path in (tmp_path / kind, tmp_path / f"{kind}.zip"):
            assert untouched.import_archive(path, dry_run=True).kind == kind
            other = "claude" if kind == "chatgpt" else "chatgpt"
            with pytest.raises(InvalidInput, match=f"import-from {kind} "):
                untouched.import_archive(path, other)
    write(tmp_path / "chatgpt" / "note.md", archives.NOTE)
    with pytest.raises(InvalidInput, match="holds an export of ChatGPT and Markdown notes; name the kind"):
        untouched.import_archive(tmp_path / "chatgpt")
    assert untouched.import_archive(tmp_path / "chatgpt", "basic-memory", dry_run=True).claims == 4


def test_what_this_library_wrote_itself_is_led_to_its_own_command(untouched: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "own.db") as own:
        own.remember("ana", "language", "Greek")
        own.export_bundle(tmp_path / "own.bundle")
        own.export_bundle(tmp_path / "own.ndjson", legible=True)
    for name, verb in (("own.db", "merge"), ("own.bundle", "import"), ("own.ndjson", "import")):
        for kind in ("auto", "chatgpt", "mcp", "mem0", "basic-memory"):
            with pytest.raises(InvalidInput, match=f"use 'syncmem {verb} .*{name}'"):
                untouched.import_archive(tmp_path / name, kind)


@pytest.mark.parametrize("kind", [*sorted(MAKERS.keys() - {"jsonl"}), "auto"])  # a table of no rows is an empty file
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty|name each column"),
        (b" \r\n\n", "is empty|name each column"),
        ('{"type": "entity"}'.encode("utf-16"), "is UTF-16"),
    ],
)
def test_an_empty_file_or_one_in_another_encoding_is_refused(
    untouched: Memory, samples: dict[str, Sample], tmp_path: Path, kind: str, content: bytes, said: str
) -> None:
    (tmp_path / "x.json").write_bytes(content)
    words = samples[kind].words if kind in TABLES else {}
    with pytest.raises(InvalidInput, match=said):
        untouched.import_archive(tmp_path / "x.json", kind, **words)


def test_what_nobody_can_tell_is_refused_by_its_importer_or_the_kind_is_asked_for(
    untouched: Memory, tmp_path: Path
) -> None:
    unknown = write(tmp_path / "x.json", [{"hello": 1}, 7])
    with pytest.raises(InvalidInput, match=r"cannot be told of which kind .*; name it: one of basic-memory, chatgpt"):
        untouched.import_archive(unknown)
    for kind in ("chatgpt", "claude", "mem0", "graphiti"):
        with pytest.raises(InvalidInput, match=f"nothing in .* can be taken in as {kind} "):
            untouched.import_archive(unknown, kind)
    lines = archives.lines(tmp_path / "x.jsonl", [{"type": "note", "text": "a"}])
    with pytest.raises(InvalidInput, match="can be taken in as mcp .*type 'note'"):
        untouched.import_archive(lines, "mcp")


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "mem0", "graphiti", "mcp", "vcard", "csv", "jsonl"])
def test_a_byte_order_mark_changes_nothing(samples: dict[str, Sample], tmp_path: Path, kind: str) -> None:
    given = samples[kind]
    if kind == "mem0":
        memories = [{"id": "1", "memory": "Likes tea", "created_at": "2024-01-01T00:00:00Z"}]
        given = Sample(kind, write(tmp_path / "all.json", {"results": memories}), given.words)
    marked = tmp_path / f"marked{given.path.suffix}"
    marked.write_bytes(b"\xef\xbb\xbf" + given.path.read_bytes())
    with fresh() as plain, fresh() as other:
        report = given.into(plain)
        assert other.import_archive(marked, kind, **given.words).to_dict() == report.to_dict()
        assert plain.belief_digest() == other.belief_digest()


def test_events_whose_line_ends_an_editor_changed_are_told_as_such(untouched: Memory, tmp_path: Path) -> None:
    with Memory(":memory:") as own:
        own.remember("ana", "language", "Greek")
        own.export_bundle(tmp_path / "own.ndjson", legible=True)
    whole = (tmp_path / "own.ndjson").read_bytes()
    for changed in (whole.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + whole):
        (tmp_path / "own.ndjson").write_bytes(changed)
        with pytest.raises(NotCanonical, match="line ends or its beginning were changed .*; ask for a new copy"):
            untouched.import_bundle(tmp_path / "own.ndjson")
        with pytest.raises(InvalidInput, match="use 'syncmem import "):
            untouched.import_archive(tmp_path / "own.ndjson")


BROKEN = {
    'cardinality = "single"': ("predicates.employer.cardinality", ""),
    'colour = "red"\ncardinality = "single"': ("predicates.employer.colour", 'cardinality = "single"'),
    'entity = "{person"': ("has a brace without its other", 'entity = "{person}"'),
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_a_mapping_that_cannot_be_meant_is_refused_before_anything_is_read(
    untouched: Memory, samples: dict[str, Sample], tmp_path: Path, wrong: str
) -> None:
    said, right = BROKEN[wrong]
    changed = archives.JOBS_MAPPING.replace(right, wrong) if right else archives.JOBS_MAPPING.replace(wrong, "")
    with pytest.raises(InvalidInput, match=f"the mapping is not right: .*{said}.*;|{said}"):
        untouched.import_archive(samples["csv"].path, "csv", mapping=write(tmp_path / "m.toml", changed))


def test_a_mapping_of_columns_that_are_not_there_is_refused(untouched: Memory, tmp_path: Path) -> None:
    claim: dict[str, Any] = {"entity": "{person}", "predicate": "employer", "value": "{company}", "since": "{form}"}
    write(tmp_path / "jobs.csv", "person,company,from\nana,Acme,2021\n")
    with pytest.raises(InvalidInput, match="no column form, only person, company, from"):
        untouched.import_archive(tmp_path / "jobs.csv", "csv", mapping={"claim": [claim]})
    rows = archives.lines(tmp_path / "jobs.jsonl", [{"who": "ana", "company": "Acme"}, {"who": "bob"}])
    with pytest.raises(InvalidInput, match="no row has form, person, which the mapping names"):
        untouched.import_archive(rows, "jsonl", mapping={"claim": [claim]})
