"""Other packages provide embedders, extractors, importers and mailboxes: with a real, tiny package beside ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmem import InvalidInput, Memory, Unreachable
from syncmem.importers.kinds import importer, kinds
from syncmem.recall.embedding import chosen
from syncmem.sync import open_mailbox

ROOT = Path(__file__).parent.parent
MODULE = "tiny_for_syncmem"
CODE = '''
"""A package that adds one of each to syncmem."""
from pathlib import Path

from syncmem import Candidate, Unreachable
from syncmem.importers.records import Fact, Plain
from syncmem.sync.folder import Folder


class Letters:
    id, dimension = "letters-1", 26

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        counts = [1.0 + text.lower().count(chr(97 + n)) for n in range(26)]
        return [count / sum(c * c for c in counts) ** 0.5 for count in counts]


def dutch(said):
    start = said.text.index("Lissabon")
    return [Candidate(said.speaker, "home_city", "Lisbon", source=said.passage(start, start + 8))]


class Diary(Plain):
    kind = "diary"

    def read(self, archive):
        for _, text in archive.lines():
            day, _, mood = text.strip().partition(" ")
            yield Fact((day,), archive.user, "mood", mood, observed_at=day, changed_on=day)

    def predicates(self, archive):
        return {"mood": {"cardinality": "single"}}


def drawer(address):
    place = Path(address.removeprefix("drawer:"))
    if not place.exists():
        raise Unreachable(f"the drawer {place} is locked; open it")
    return Folder(f"folder:{place}")


def breaks():
    raise RuntimeError("no model here")


class Half:
    id = "half"
'''
ENTRIES = f"""
[syncmem.embedders]
letters = {MODULE}:Letters
half = {MODULE}:Half
breaks = {MODULE}:breaks
missing = {MODULE}_gone:Letters
hashing = {MODULE}:Letters

[syncmem.extractors]
dutch = {MODULE}:dutch
wrong = {MODULE}:nothing

[syncmem.importers]
diary = {MODULE}:Diary
mem0 = {MODULE}:Diary

[syncmem.mailboxes]
drawer = {MODULE}:drawer
"""


def installed(folder: Path, name: str = "tiny-plugin", entries: str = ENTRIES) -> Path:
    """A package as an installer leaves it: its module, and what it says of itself."""
    (folder / f"{MODULE}.py").write_text(CODE)
    about = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(entries)
    return folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(installed(folder)))
    yield folder
    sys.modules.pop(MODULE, None)


def test_nothing_is_loaded_or_looked_up_before_it_is_asked_for(package: Path) -> None:
    asked = "import syncmem, syncmem.sync, syncmem.importers.kinds, syncmem.recall.embedding, sys; "
    asked += "m = syncmem.Memory(':memory:', embedder='hashing'); m.remember('ana', 'likes', 'tea'); m.recall('tea'); "
    asked += f"print('{MODULE}' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{package}"}
    done = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False"], done.stderr


def test_an_embedder_of_another_package_is_used_by_its_name(package: Path) -> None:
    with Memory(":memory:", embedder="letters") as memory:
        memory.remember("ana", "likes", "zzz")
        memory.index()
        assert "vector" in memory.recall("zzzz").hits[0].why


def test_an_extractor_of_another_package_is_used_by_its_name(package: Path) -> None:
    with Memory(":memory:") as memory:
        memory.define("home_city", cardinality="single")
        turn = memory.observe("Ik woon in Lissabon.", speaker="ana")
        memory.extract(turn.episode, "dutch", version=1)
        assert memory.history("ana", "home_city")[-1].quote == "Lissabon"
        turn = memory.observe("I live in Porto.", speaker="ana")
        assert "/english/1" in memory.extract(turn.episode, "english", version=1).batch


def test_an_importer_of_another_package_is_used_by_its_name(package: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary.txt"
    diary.write_text("2024-01-02 fine\n2024-01-01 tired\n")
    with Memory(":memory:", zone="UTC") as memory:
        assert "diary" in kinds()
        report = memory.import_archive(diary, "diary", user="ana")
        assert [belief.value for belief in memory.timeline("ana", "mood")] == ["tired", "fine"]
        memory.retract(batch=report.batch)
        assert "mood" not in {name for name, each in memory.predicates().items() if each.declared}


def test_two_devices_sync_through_a_mailbox_of_another_package(package: Path, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="is locked; open it"):
        open_mailbox(f"drawer:{tmp_path / 'drawer'}")
    (tmp_path / "drawer").mkdir()
    address = f"drawer:{tmp_path / 'drawer'}"
    with Memory(tmp_path / "laptop.db") as laptop:
        phrase = laptop.create_vault("laptop")
        laptop.add_mailbox(address)
        laptop.remember("ana", "likes", "tea")
        laptop.sync()
    with Memory.recover(tmp_path / "phone.db", phrase, address, name="phone") as phone:
        phone.sync()
        assert phone.believe("ana", "likes").value == "tea"  # type: ignore[union-attr]


def test_the_command_line_knows_them_too(package: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary.txt"
    diary.write_text("2024-01-01 tired\n")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{package}", "SYNCMEM_DB": str(tmp_path / "m.db")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "syncmem", "--zone", "UTC", *command]
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=60)

    done = run("import-from", "diary", str(diary), "--user", "ana", "--extract", "dutch")
    assert "Imported: 1 claim" in done.stdout, done.stderr
    refused = run("import-from", "diary", str(diary), "--extract", "latin")
    assert refused.returncode != 0 and "there is no extractor 'latin'; use one of dutch, english" in refused.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "missing",
            f"'missing' of tiny-plugin 1.2 cannot be loaded (ModuleNotFoundError: No module named '{MODULE}_gone'",
        ),
        ("breaks", "'breaks' of tiny-plugin 1.2 cannot be loaded (RuntimeError: no model here)"),
        ("half", "'half' of tiny-plugin 1.2 has no dimension, embed_documents, embed_query; update that package"),
        ("gpt", "there is no embedder 'gpt'; use auto, none, breaks, e5, half, hashing, letters"),
    ],
)
def test_a_broken_package_is_named_and_breaks_nothing_else(package: Path, name: str, said: str) -> None:
    with Memory(":memory:", embedder=name) as memory:
        memory.remember("ana", "likes", "tea")
        with pytest.raises(InvalidInput) as refused:
            memory.recall("tea")
        assert said in str(refused.value)
        assert memory.believe("ana", "likes").value == "tea"  # type: ignore[union-attr]
    with Memory(":memory:", embedder="letters") as memory:
        memory.remember("ana", "likes", "tea")
        assert memory.recall("tea").hits


def test_an_extractor_that_is_not_there_is_named(package: Path) -> None:
    with Memory(":memory:") as memory:
        turn = memory.observe("Ik woon in Lissabon.", speaker="ana")
        before = memory.event_digest()
        with pytest.raises(InvalidInput, match="'wrong' of tiny-plugin 1.2 cannot be loaded"):
            memory.extract(turn.episode, "wrong", version=1)
        assert memory.event_digest() == before


def test_nobody_takes_the_place_of_what_is_here_already(package: Path) -> None:
    assert importer("mem0").kind == "mem0"
    assert chosen("hashing").id.startswith("hashing")  # type: ignore[union-attr]


def test_two_packages_with_one_name_are_both_named(package: Path) -> None:
    installed(package, "other-plugin", f"[syncmem.importers]\ndiary = {MODULE}:Half\n")
    with pytest.raises(InvalidInput, match="plugin 1.2 and .*plugin 1.2 both provide the importer 'diary'; uninstall"):
        importer("diary")


def test_an_address_that_nobody_knows_says_what_can_be_done() -> None:
    with pytest.raises(InvalidInput, match="install the package that provides"):
        open_mailbox("imap:somewhere")
    with pytest.raises(InvalidInput, match="use folder:PATH"):
        open_mailbox("somewhere")
