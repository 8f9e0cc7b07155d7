"""What holds for imports of every kind: once is enough, nothing by halves, nothing that cannot be taken back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from syncmem import FileError, InvalidInput, Memory, english
from syncmem.importers.archive import Archive
from syncmem.importers.records import Fact, Plain, Record
from tests.field_reports.orders import current, line, values
from tests.importers import archives
from tests.importers.archives import chatgpt_conversation, chatgpt_node, write
from tests.importers.conftest import Sample, fresh

Make = Callable[[str], Sample]


def conversations(count: int, turns: int = 2, first: int = 0) -> list[dict[str, Any]]:
    return [
        chatgpt_conversation(
            f"c{n}",
            *(chatgpt_node(f"{n}-{t}", f"{n}-{t - 1}", "user", f"{n} {t}", 1.7e9 + 60 * n + t) for t in range(turns)),
        )
        for n in range(first, first + count)
    ]


def chats(folder: Path, content: object, name: str = "conversations.json") -> Path:
    return write(folder / name, content)


# -- once is enough ------------------------------------------------------------------------------------


def test_what_is_imported_twice_is_imported_once_whatever_the_zone(memory: Memory, each: Sample) -> None:
    first = each.into(memory)
    assert first.turns + first.claims > 0
    events, beliefs = memory.event_digest(), memory.belief_digest()
    for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
        again = each.into(memory, zone=zone)
        assert (again.turns, again.claims, again.ends, again.lacking) == (0, 0, 0, 0)
        assert again.known == first.turns + first.claims + first.ends
        assert memory.event_digest() == events
    memory.rebuild()
    assert memory.belief_digest() == beliefs and each.into(memory).known == again.known


def test_two_devices_that_import_the_same_archive_have_it_once(each: Sample, tmp_path: Path) -> None:
    with fresh() as one, fresh() as two:
        empty = one.belief_digest()
        batch = each.into(one).batch
        assert each.into(two, zone="Asia/Tokyo" if each.kind not in ("csv", "jsonl") else None).batch == batch
        before = one.belief_digest(), len(one.episodes())
        two.merge(one)
        one.merge(two)
        assert (one.belief_digest(), len(one.episodes())) == before
        assert one.belief_digest() == two.belief_digest()
        assert each.into(two).turns + each.into(one).claims == 0
        two.retract(batch=batch)
        one.merge(two)
        assert (one.belief_digest(), one.episodes()) == (empty, [])


def test_another_device_that_got_the_import_knows_it(each: Sample) -> None:
    with fresh() as one, fresh() as two:
        report = each.into(one)
        two.merge(one)
        before = two.event_digest()
        assert each.into(two).known == report.turns + report.claims + report.ends
        assert two.event_digest() == before


def test_a_newer_export_adds_only_what_is_new(memory: Memory, tmp_path: Path) -> None:
    memory.import_archive(chats(tmp_path, conversations(3)), "chatgpt")
    newer = conversations(4)
    newer[1] = conversations(1, turns=4, first=1)[0]  # it went on
    report = memory.import_archive(chats(tmp_path, newer, "conversations-2.json"), "chatgpt")
    assert (report.turns, report.known) == (4, 6)
    assert [memory.episode_text(e.id) for e in memory.episodes(conversation="c1")] == ["1 0", "1 1", "1 2", "1 3"]
    memory.retract(batch=report.batch)
    assert [memory.episode_text(e.id) for e in memory.episodes(conversation="c1")] == ["1 0", "1 1"]


# -- taken back ----------------------------------------------------------------------------------------


def test_an_import_is_withdrawn_as_a_whole_and_may_come_again(memory: Memory, each: Sample) -> None:
    memory.remember("ana", "city", "Lisbon")
    before, first = memory.belief_digest(), each.into(memory)
    told = [(e.at, e.kind, memory.episode_text(e.id)) for e in memory.episodes()]
    held = memory.belief_digest()
    gone = memory.retract(batch=first.batch)
    assert (memory.belief_digest(), memory.episodes()) == (before, [])
    assert [(i.batch, i.withdrawn) for i in memory.imports()] == [(first.batch, True)]
    again = each.into(memory)
    assert (again.turns, again.claims, again.known) == (first.turns, first.claims, 0)
    assert again.batch == f"{first.batch}/2"
    assert memory.belief_digest() == held
    assert sorted(map(str, told)) == sorted(str((e.at, e.kind, memory.episode_text(e.id))) for e in memory.episodes())
    memory.undo(gone.event)
    assert memory.belief_digest() == held


def test_what_was_extracted_goes_with_the_import(memory: Memory, make: Make) -> None:
    memory.define("home_city", cardinality="single")
    memory.remember("ana", "home_city", "Athens", observed_at="2020-01-01T00:00Z")
    report = make("chatgpt").into(memory, extractor=english)
    assert report.derived == 2  # Berlin and Lisbon: Porto was said on a branch that was given up
    cities = ["Athens", "Berlin", "Lisbon"]
    assert [b.value for b in memory.timeline("ana", "home_city")] == cities
    assert make("chatgpt").into(memory, extractor=english).derived == 0
    receipt = memory.retract(batch=report.batch)
    assert [change.value for change in receipt.opened] == ["Athens"]
    assert [b.value for b in memory.timeline("ana", "home_city")] == ["Athens"]
    assert make("chatgpt").into(memory, extractor=english).derived == 2
    assert [b.value for b in memory.timeline("ana", "home_city")] == cities


def test_an_extractor_may_read_what_was_imported_before(memory: Memory, make: Make) -> None:
    make("chatgpt").into(memory)
    assert make("chatgpt").into(memory, extractor=english).derived == 2


def test_what_was_taken_back_by_itself_does_not_come_again(memory: Memory, make: Make) -> None:
    make("graphiti").into(memory)
    belief = next(b for b in memory.beliefs("ana", "WORKS_AT") if b.value == "Initech")
    memory.retract(belief.event)
    assert make("graphiti").into(memory).claims == 0
    assert values(memory, "ana", "WORKS_AT") == []


def test_who_was_erased_is_left_out_of_later_imports(memory: Memory, make: Make) -> None:
    make("graphiti").into(memory)
    memory.erase("Acme")
    report = make("graphiti").into(memory, force=True)
    assert (report.erased, report.claims, report.ends) == (4, 0, 0)
    assert make("graphiti").into(memory, include_erased=True, force=True).claims == 3
    assert line(memory, "ana", "LIKED") == [("Acme", None, "2023-01-01")]


def test_what_less_trust_withdraws_stays(memory: Memory, make: Make) -> None:
    """A model does not take away what the user said elsewhere, and it does not come in twice for that."""
    for kind in ("chatgpt", "vcard"):
        sample = make(kind)
        batch = sample.into(memory).batch
        beliefs, turns = memory.belief_digest(), len(memory.episodes())
        low = memory.retract(batch=batch, trust="inference")
        assert (len(memory.episodes()), sample.into(memory).known > 0) == (turns, True)
        memory.undo(low.event)
        assert memory.belief_digest() == beliefs


def test_episodes_that_were_observed_in_a_batch_are_withdrawn_with_it(memory: Memory) -> None:
    memory.define("home_city", cardinality="single")
    turn = memory.observe("I live in Lisbon.", speaker="ana", at="2024-01-01", batch="run 7")
    memory.extract(turn.episode, english, version=1)
    gone = memory.retract(batch="run 7")
    assert (memory.episodes(), current(memory, "ana", "home_city")) == ([], None)
    assert memory.episode_text(turn.episode) == "I live in Lisbon."  # kept, for who asks for it by name
    memory.undo(gone.event)
    assert [each.id for each in memory.episodes()] == [turn.episode]


def test_an_erasure_takes_the_marks_along_and_a_rebuild_finds_the_same(memory: Memory, make: Make) -> None:
    make("chatgpt").into(memory, extractor=english)
    make("csv").into(memory)
    memory.erase("ana")
    found = memory.imports(), memory.belief_digest(), [e.id for e in memory.episodes()]
    assert [each.events for each in memory.imports()] == [4]  # the assistant's turns
    count = "SELECT count(*) FROM imported"
    assert memory._replica.db.execute(count).fetchone() == (4,)
    memory.rebuild()
    assert (memory.imports(), memory.belief_digest(), [e.id for e in memory.episodes()]) == found


# -- the past and the present --------------------------------------------------------------------------


def test_nothing_old_outranks_what_was_said_since(memory: Memory, make: Make) -> None:
    """Of the same trust: what was said last holds, however late the archive comes in."""
    memory.define("employer", cardinality="single")
    memory.define("birthday", cardinality="single")
    memory.remember("ana", "employer", "Hooli", trust="document", observed_at="2024-05-01T00:00Z")
    memory.remember("Ana Sousa", "birthday", "1990-02-01", trust="integration", observed_at="2024-05-01T00:00Z")
    make("csv").into(memory)
    make("vcard").into(memory)
    assert current(memory, "ana", "employer") == "Hooli"
    assert current(memory, "ana", "employer", valid_at="2024-04-01T00:00Z") == "Initech"
    assert current(memory, "Ana Sousa", "birthday") == "1990-02-01"


# -- shrunken, broken, stopped -------------------------------------------------------------------------


def test_an_export_that_lacks_much_of_an_earlier_one_is_refused_unless_forced(memory: Memory, tmp_path: Path) -> None:
    memory.import_archive(chats(tmp_path, conversations(30)), "chatgpt")
    before = memory.event_digest()
    shrunken = chats(tmp_path, conversations(25) + conversations(1, first=99), "conversations-2.json")
    with pytest.raises(InvalidInput, match=r"lacks 10 of the 60 records.*force=True"):
        memory.import_archive(shrunken, "chatgpt")
    dry = memory.import_archive(shrunken, "chatgpt", dry_run=True)
    assert (dry.lacking, dry.turns, bool(dry.refused)) == (10, 2, True)
    with pytest.raises(InvalidInput, match="lacks 60 of the 60"):
        memory.import_archive(chats(tmp_path, [], "conversations-3.json"), "chatgpt")
    assert memory.event_digest() == before
    assert memory.import_archive(shrunken, "chatgpt", name="of bob").turns == 52  # another account
    assert memory.import_archive(shrunken, "chatgpt", force=True).turns == 2
    assert memory.import_archive(chats(tmp_path, conversations(29), "conversations-4.json"), "chatgpt").lacking == 2


def test_archives_of_one_kind_that_share_nothing_may_come_again_in_any_order(memory: Memory, tmp_path: Path) -> None:
    large = chats(tmp_path, conversations(30))
    small = chats(tmp_path, conversations(2, first=50), "conversations-2.json")
    for path, turns in ((large, 60), (small, 4), (small, 0), (large, 0)):
        report = memory.import_archive(path, "chatgpt")
        assert (report.turns, report.lacking) == (turns, 0)
    grown = chats(tmp_path, conversations(3, first=50), "conversations-3.json")
    assert memory.import_archive(grown, "chatgpt").turns == 2
    with pytest.raises(InvalidInput, match="lacks 59 of the 60 records"):
        memory.import_archive(chats(tmp_path, conversations(1, turns=1), "conversations-4.json"), "chatgpt")


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "mcp", "graphiti", "vcard", "jsonl", "mem0"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_file_that_is_cut_off_is_refused_before_anything_is_written(
    memory: Memory, make: Make, kind: str, share: float
) -> None:
    sample = make(kind)
    whole = sample.path.read_bytes()
    sample.path.write_bytes(whole[: int(len(whole) * share)].rstrip(b"\n"))
    before = memory.event_digest()
    with pytest.raises(InvalidInput, match=r"nothing (of it )?was imported|expected"):
        sample.into(memory)
    assert (memory.event_digest(), memory.imports()) == (before, ())
    sample.path.write_bytes(whole)
    assert sample.into(memory).lacking == 0


def test_a_zip_file_that_is_cut_off_is_refused(memory: Memory, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("conversations.json", json.dumps(archives.chatgpt()))
    whole = (tmp_path / "a.zip").read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 3] ^= 0xFF
    (tmp_path / "a.zip").write_bytes(changed)
    with pytest.raises(InvalidInput, match="no whole zip file|is broken"):
        memory.import_archive(tmp_path / "a.zip", "chatgpt")
    (tmp_path / "a.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="no whole zip file"):
        memory.import_archive(tmp_path / "a.zip", "chatgpt")


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "mem0", "mcp", "graphiti", "vcard", "jsonl", "csv"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"%PDF-1.7 binary", b"[1, 2", b'{"a": 1}\n', b"[]", b"{}"])
def test_a_file_of_something_else_leaves_nothing_behind(memory: Memory, make: Make, kind: str, content: bytes) -> None:
    sample = make(kind)
    sample.path.write_bytes(content)
    before = memory.event_digest()
    try:
        report = sample.into(memory)
    except InvalidInput:
        pass
    else:
        assert (report.turns, report.claims, report.ends) == (0, 0, 0)
    assert memory.event_digest() == before


def test_a_dry_run_tells_what_would_come_and_writes_nothing(memory: Memory, each: Sample) -> None:
    before = memory.event_digest()
    dry = each.into(memory, dry_run=True)
    assert memory.event_digest() == before and dry.dry_run
    done = each.into(memory)
    assert {**dry.to_dict(), "dry_run": False} == done.to_dict()


class Stopping(Plain):
    """Facts that stop coming in the middle of being written."""

    kind: ClassVar[str] = "stopping"
    stop_at: int | None = 1_200

    def read(self, archive: Archive) -> Iterator[Record]:
        self.times = getattr(self, "times", 0) + 1
        for n in range(2_000):
            if self.times == 2 and n == self.stop_at:
                raise KeyboardInterrupt
            yield Fact((str(n),), "ana", "number", n, observed_at="2024-01-01T00:00Z")


def test_an_import_that_was_stopped_goes_on(memory: Memory, tmp_path: Path) -> None:
    importer, path = Stopping(), write(tmp_path / "x", "x")
    with pytest.raises(KeyboardInterrupt):
        memory.import_archive(path, importer)
    assert len(memory.beliefs("ana", "number")) == 1_000  # whole portions
    told: list[int] = []
    report = memory.import_archive(path, importer, progress=told.append)
    assert (report.claims, report.known) == (1_000, 1_000)
    assert told == [500, 1_000, 1_500, 2_000] * 2
    assert [(each.events, each.batch) for each in memory.imports()] == [(2_000, report.batch)]


def test_an_import_whose_process_is_killed_goes_on(tmp_path: Path) -> None:
    path = chats(tmp_path, conversations(3_000, turns=2))
    code = "import sys; from syncmem import Memory; Memory(sys.argv[1]).import_archive(sys.argv[2], 'chatgpt')"
    file = tmp_path / "a.db"
    child = subprocess.Popen([sys.executable, "-c", code, str(file), str(path)], cwd=Path(__file__).parents[2])
    until = time.monotonic() + 120
    while time.monotonic() < until and child.poll() is None:
        if file.exists():
            with Memory(file) as looking:
                if looking.imports():
                    break
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    with Memory(file) as memory:
        (begun,) = memory.imports()
        assert begun.events % 500 == 0
        report = memory.import_archive(path, "chatgpt")
        assert (report.turns, report.known, report.batch) == (6_000 - begun.events, begun.events, begun.batch)
        assert memory.doctor(full=True).problems == ()


def test_what_cannot_be_stored_is_told_and_the_rest_comes_in(memory: Memory, tmp_path: Path) -> None:
    rows = [
        {"name": "ana", "city": "Lisbon", "on": "2024-13-45"},
        {"name": "x" * 2_000, "city": "Lisbon", "on": "2024-01-01"},
        {"name": "bob", "city": "half \ud83d", "on": "2024-01-01"},
    ]
    mapping = {"claim": [{"entity": "{name}", "predicate": "city", "value": "{city}", "since": "{on}"}]}
    report = memory.import_archive(archives.lines(tmp_path / "a.jsonl", rows), "jsonl", mapping=mapping)
    assert (report.claims, report.skipped) == (1, 2)
    assert "2024-13-45" in report.problems[0] and "2000 bytes" in report.problems[1]
    assert values(memory, "bob", "city") == ["half \ufffd"]


# -- kinds of one's own --------------------------------------------------------------------------------


def test_an_unknown_kind_or_a_missing_file_is_refused(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="basic-memory, chatgpt, claude"):
        memory.import_archive(tmp_path, "notion")
    with pytest.raises(FileError, match="no such file"):
        memory.import_archive(tmp_path / "none", "chatgpt")
    with pytest.raises(InvalidInput, match=r"conversations\*.json"):
        memory.import_archive(tmp_path, "chatgpt")


@pytest.mark.parametrize("kind", ["graphiti", "mem0", "chatgpt", "claude"])
@pytest.mark.parametrize("text", ['{"hello": {"x": 1}}', "{}", "7", '{"type": "entity", "name": "x"}\n'])
def test_a_file_of_another_kind_is_refused_and_an_empty_export_is_not(
    memory: Memory, tmp_path: Path, kind: str, text: str
) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=r"of another kind; pass the kind that it is of$"):
        memory.import_archive(file, kind)
    file.write_text("[]")
    assert memory.import_archive(file, kind).claims == 0
