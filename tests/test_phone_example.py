"""The phone-sized client: a member of a vault of syncmem's devices that shares no code with them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmem import Memory

PHONE = Path(__file__).parent.parent / "examples" / "phone"
ALLOWED = {"msgpack", "cryptography", "folder", "logs", "roster", "sealed", "vault", *sys.stdlib_module_names}


class Phone:
    """The client, run as its user runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "phone.state"

    def start(self, *command: str) -> subprocess.Popen[str]:
        line = [sys.executable, str(PHONE / "phone.py"), "--state", str(self.state), *command]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *command: str, code: int = 0) -> str:
        process = self.start(*command)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        return out if code == 0 else err


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "laptop.db", embedder=None) as memory:
        memory.create_vault("laptop")
        yield memory


@pytest.fixture
def phone(tmp_path: Path, shared: Path, laptop: Memory) -> Phone:
    laptop.define("home_city", cardinality="single")
    laptop.define("language", cardinality="many")
    laptop.remember("ana", "home_city", "Berlin", source="user")
    laptop.remember("ana", "language", "Português", source="user")
    invitation = laptop.invite(f"folder:{shared}")
    laptop.sync()
    phone = Phone(tmp_path)
    joining = phone.start("join", invitation.code, "--name", "ana's phone")
    assert invitation.wait(lambda name: name == "ana's phone", seconds=100) == "ana's phone"
    out, err = joining.communicate(timeout=120)
    assert out == "joined, with ana's phone, laptop\n", err
    laptop.sync()
    return phone


def test_the_client_shares_no_code_with_the_library() -> None:
    for path in PHONE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= ALLOWED, path.name


def test_the_phone_shows_what_was_said_and_what_it_says_is_believed(
    phone: Phone, laptop: Memory, tmp_path: Path, shared: Path
) -> None:
    shown = phone.run("show", "ana")
    assert 'ana home_city "Berlin"  [trust 90, user, on laptop' in shown
    assert 'ana language "Português"  [trust 90, user, on laptop' in shown

    phone.run("remember", "ana", "home_city", "Lisbon")
    phone.run("remember", "ana", "language", "Greek")
    assert laptop.sync().complete
    city = laptop.believe("ana", "home_city")
    assert city is not None and (city.value, city.trust, city.source.kind) == ("Lisbon", 90, "user")
    assert [belief.value for belief in laptop.timeline("ana", "home_city")] == ["Berlin", "Lisbon"]
    assert sorted(belief.value for belief in laptop.beliefs("ana", "language")) == ["Greek", "Português"]
    assert "on ana's phone" in phone.run("show")
    assert laptop.doctor(full=True).problems == ()

    invitation = laptop.invite(f"folder:{shared}")
    inviting = threading.Thread(target=invitation.wait, args=(lambda name: True,), kwargs={"seconds": 100})
    inviting.start()
    with Memory.join(tmp_path / "tablet.db", invitation.code, name="tablet") as tablet:
        inviting.join()
        tablet.sync()
        assert tablet.believe("ana", "home_city").value == "Lisbon"  # type: ignore[union-attr]
        tablet.remember("ana", "pet", "a cat", source="user")
        tablet.sync()
        assert 'ana pet "a cat"  [trust 90, user, on tablet' in phone.run("show")
    laptop.sync()
    laptop.revoke("tablet")  # and with it everything moves to a new key and another mailbox
    laptop.sync()
    phone.run("remember", "ana", "likes", "tea")
    laptop.sync()
    assert laptop.believe("ana", "likes").value == "tea"  # type: ignore[union-attr]


def test_hundreds_of_events_of_all_kinds_are_read(phone: Phone, laptop: Memory) -> None:
    with laptop.transaction():
        for number in range(300):
            laptop.remember("ana", "lucky", number, since="2024-05-01T00:00Z", mentions=["bob"])
        laptop.remember("ana", "home", {"rooms": [1, 2.5, None], "a": True}, reason="she said so")
        laptop.end("ana", "lucky", 7)
        laptop.deny("ana", "lucky", 8)
        laptop.same("ana", "anna")
    laptop.observe("x" * 3000, speaker="ana")
    laptop.sync()
    shown = phone.run("show").splitlines()
    assert len(shown) == 305
    assert [line.partition("  ")[0] for line in shown[-3:]] == [
        'ana home {"a": true, "rooms": [1, 2.5, null]}',
        "ana lucky 7 (no longer)",
        "ana lucky 8 (never)",
    ]


def test_what_is_erased_is_shown_no_more_and_can_be_spoken_of_anew(phone: Phone, laptop: Memory) -> None:
    phone.run("remember", "bob", "phone", "12345")
    laptop.sync()
    laptop.erase("bob")
    laptop.sync()
    assert "12345" not in phone.run("show")
    assert b"12345" not in phone.state.read_bytes()
    phone.run("remember", "bob", "phone", "67890")  # its author has seen the erasure, and says so
    laptop.sync()
    assert laptop.believe("bob", "phone").value == "67890"  # type: ignore[union-attr]
    assert [line.partition("  ")[0] for line in phone.run("show", "bob").splitlines()] == ['bob phone "67890"']


def test_a_state_that_was_put_back_uses_no_place_twice(phone: Phone, laptop: Memory) -> None:
    before = phone.state.read_bytes()
    phone.run("remember", "ana", "likes", "tea")
    phone.state.write_bytes(before)
    phone.run("remember", "ana", "likes", "rain")
    assert laptop.sync().complete
    assert sorted(belief.value for belief in laptop.beliefs("ana", "likes")) == ["rain", "tea"]


def test_what_does_not_open_or_is_cut_off_holds_nothing_up(phone: Phone, shared: Path) -> None:
    for path in sorted(shared.glob("*/*/*/*.blob"))[:1]:
        (path.parent / f"{9:012}-{'0' * 32}.blob").write_bytes(path.read_bytes())
        (path.parent / "a copy of somebody.blob").write_bytes(b"?")
    assert 'home_city "Berlin"' in phone.run("show")


def test_a_removed_phone_says_nothing_that_counts(phone: Phone, laptop: Memory) -> None:
    phone.run("remember", "ana", "likes", "tea")
    laptop.sync()
    laptop.revoke("ana's phone")
    laptop.sync()
    assert "was removed from its vault" in phone.run("remember", "ana", "likes", "rain", code=1)
    assert 'ana likes "tea"' in phone.run("show")
    assert b"rain" not in phone.state.read_bytes()
    laptop.sync()
    assert [belief.value for belief in laptop.beliefs("ana", "likes")] == ["tea"]


def test_without_its_folder_or_a_vault_it_says_what_to_do(phone: Phone, shared: Path, tmp_path: Path) -> None:
    shared.rename(tmp_path / "away")
    assert "mount it" in phone.run("show", code=1)
    assert "join first" in Phone(tmp_path / "away").run("show", code=1)
    assert "belongs to a vault already" in phone.run("join", "SYNCMEM-X", code=1)


def test_who_was_never_let_in_has_no_say_in_the_roster(phone: Phone, laptop: Memory, shared: Path) -> None:
    laptop.remember("ana", "likes", "tea")
    laptop.sync()
    script = (
        f"import sys; sys.path.insert(0, {str(PHONE)!r})\n"
        "import msgpack, os, roster as rules, vault, sealed\n"
        "from pathlib import Path\n"
        f"state = Path({str(phone.state)!r})\n"
        "held = msgpack.unpackb(state.read_bytes(), raw=False, strict_map_key=False)\n"
        "known = vault.Vault()\n"
        "for wire in held['statements']: known.add(wire)\n"
        "stranger = os.urandom(32)\n"
        "laptop = next(device for device, name in known.roster.names.items() if name == 'laptop')\n"
        "def said(kind, body, parents, vault_id):\n"
        "    content = sealed.pack([kind, vault_id, parents, sealed.public_key(stranger), 0, body])\n"
        "    wire = sealed.pack([content, sealed.sign(stranger, sealed.label('statement') + content)])\n"
        "    known.add(wire)\n"
        "    return rules.read_statement(wire).id\n"
        "public = sealed.transport_key(stranger).public_key().public_bytes_raw()\n"
        "proof = sealed.sign(stranger, sealed.label('member') + sealed.pack([public, None]))\n"
        "member = [sealed.public_key(stranger), public, 'stranger', proof]\n"
        "added = said(rules.ADD, [member, []], sorted(known.statements)[:1], known.id)\n"
        "said(rules.REVOKE, [laptop, [], False, None], [added], known.id)\n"
        "said(rules.GENESIS, [1, bytes(16), member, None, None], [], bytes(16))\n"
        "held['statements'] = list(known.wires.values())\n"
        "state.write_bytes(msgpack.packb(held))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": ""})
    shown = phone.run("show", "ana")
    assert 'ana likes "tea"  [trust 90, no source, on laptop' in shown  # it was not removed
    phone.run("remember", "ana", "likes", "chess")
    assert laptop.sync().complete
    assert "chess" in [belief.value for belief in laptop.beliefs("ana", "likes")]


RESOLVE = """
import json, sys
from roster import EPOCH, GENESIS, REVOKE, Roster, read_statement

for line in sys.stdin:
    asked = json.loads(line)
    said = {each.id: each for each in (read_statement(bytes.fromhex(wire)) for wire in asked["statements"])}
    roster = Roster(said, next(each.id for each in said.values() if each.kind == GENESIS))
    scopes = sorted({each.body[0] for _, each in roster.of(EPOCH)})
    current = {scope: roster.current(scope) for scope in scopes}
    keys = [each for scope in scopes for each in roster.keys(bytes.fromhex(asked.get("device_seed", "00" * 32)), scope)]
    print(json.dumps({
        "vault": roster.vault.hex(),
        "live": sorted(device.hex() for device in roster.names if roster.is_live(device)),
        "revoked": sorted({each.body[0].hex() for _, each in roster.of(REVOKE)}),
        "names": {device.hex(): name for device, name in roster.names.items()},
        "epochs": {scope: id and id.hex() for scope, id in current.items()},
        "cuts": [roster.cut(*map(bytes.fromhex, each)) for each in asked.get("logs", [])],
        "keys": {key.epoch.hex(): [key.secret.hex(), subject.hex()] for key, subject in keys},
    }))
"""


def test_the_phone_says_who_belongs_to_a_vault_as_the_vectors_do() -> None:
    folder = Path(__file__).parent.parent / "protocol" / "vectors" / "roster"
    vectors = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    accepted = [each for each in vectors if each["answer"]["outcome"] == "accepted"]
    asked = "".join(json.dumps(each["ask"]) + "\n" for each in accepted)
    line = [sys.executable, "-c", RESOLVE]
    environment = {**os.environ, "PYTHONPATH": str(PHONE)}
    done = subprocess.run(line, input=asked, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(told) for told in done.stdout.splitlines()]
    assert len(answers) == len(accepted) > 80
    for vector, answer in zip(accepted, answers, strict=True):
        for name in answer.keys() & vector["answer"].keys():
            told, wanted = answer[name], vector["answer"][name]
            if name in ("live", "revoked"):  # which the vectors list by seniority
                told, wanted = sorted(told), sorted(wanted)
            assert told == wanted, (vector["says"], name)


def test_what_a_member_took_in_by_hand_is_shown_and_a_removed_devices_words_stop_at_the_cut(
    phone: Phone, laptop: Memory, shared: Path, tmp_path: Path
) -> None:
    with Memory(tmp_path / "old.db", embedder=None) as old:
        old.remember("ana", "pet", "a dog", source="user")
        laptop.merge(old)
    invitation = laptop.invite(f"folder:{shared}")
    inviting = threading.Thread(target=invitation.wait, args=(lambda name: True,), kwargs={"seconds": 100})
    inviting.start()
    with Memory.join(tmp_path / "tablet.db", invitation.code, name="tablet") as tablet:
        inviting.join()
        laptop.rename_device("tablet", "ana's tablet")
        tablet.remember("ana", "likes", "tea", source="user")
        for one in (tablet, laptop, tablet, laptop):
            one.sync()
        laptop.revoke("ana's tablet")
        tablet.remember("ana", "likes", "coffee", source="user")  # it has not heard of it
        tablet.revoke("laptop")
        tablet.sync()
        laptop.sync()
    shown = phone.run("show", "ana")
    assert 'ana pet "a dog"  [trust 90, user, on a device that is no member' in shown
    assert 'ana likes "tea"  [trust 90, user, on ana\'s tablet' in shown
    assert "coffee" not in shown
    phone.run("remember", "ana", "likes", "chess")
    laptop.sync()
    assert "chess" in [belief.value for belief in laptop.beliefs("ana", "likes")]
