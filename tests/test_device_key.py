"""Where a device's own key is: in the side file or in the system's keyring, and what happens when it cannot be read."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

keyring = pytest.importorskip("keyring", reason="needs the package keyring: pip install 'syncmem[keyring]'")

from keyring.backend import KeyringBackend  # noqa: E402
from keyring.backends import fail, null  # noqa: E402
from keyring.errors import KeyringLocked, PasswordDeleteError  # noqa: E402

from syncmem import Environment, FileError, KeyUnreadable, Memory, NoKeyring, Wiped, restore  # noqa: E402
from syncmem.environment import KEYRING_SERVICE, SystemDisk, SystemKeyring  # noqa: E402
from syncmem.replica.driver import driver  # noqa: E402


class Session(KeyringBackend):
    """The keyring of a session: it keeps what it is given, and can be locked."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False
        self.writes = 0

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("the keyring is locked")
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked("the keyring is locked")
        self.writes += 1
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


@pytest.fixture
def session() -> Iterator[Session]:
    """The system's keyring, for one test."""
    before = keyring.get_keyring()
    ours = Session()
    keyring.set_keyring(ours)
    yield ours
    keyring.set_keyring(before)


@pytest.fixture(params=["there is none", "it keeps nothing"])
def headless(request: pytest.FixtureRequest) -> Iterator[None]:
    """A machine whose keyring is none."""
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring() if request.param == "there is none" else null.Keyring())
    yield
    keyring.set_keyring(before)


def where(memory: Memory) -> object:
    return memory.doctor().facts["keys"]["device_key"]


def seed_of(memory: Memory) -> bytes:
    return memory._replica.identity.private


def begun(path: Path, **options: object) -> tuple[str, bytes]:
    """A memory with one claim; its device and seed."""
    with Memory(path, **options) as memory:  # type: ignore[arg-type]
        memory.remember("ana", "language", "English")
        return memory.device, seed_of(memory)


# -- the keyring ---------------------------------------------------------------------------------------


def test_a_key_in_the_keyring_is_in_no_file_and_is_found_again_without_being_asked_for(
    tmp_path: Path, session: Session
) -> None:
    device, seed = begun(tmp_path / "a.db", keyring=True)
    assert [service for service, _ in session.entries] == [KEYRING_SERVICE]
    assert not [path for path in tmp_path.iterdir() if seed in path.read_bytes()]
    with Memory(tmp_path / "a.db") as memory, Memory(tmp_path / "b.db") as other:
        assert (memory.device, seed_of(memory), where(memory)) == (device, seed, "keyring")
        for number in range(5):
            memory.remember("ana", "step", number)
            other.merge(memory)
    assert session.writes == 1, "the keyring is not troubled by what is only noted in the side file"


def test_a_key_in_a_file_moves_into_the_keyring_when_it_is_asked_for(tmp_path: Path, session: Session) -> None:
    device, seed = begun(tmp_path / "a.db")
    assert session.entries == {}
    with Memory(tmp_path / "a.db", keyring=True) as memory:
        assert (memory.device, seed_of(memory), where(memory)) == (device, seed, "keyring")
    assert not [path for path in tmp_path.iterdir() if seed in path.read_bytes()]
    with Memory(tmp_path / "a.db") as memory:
        assert (memory.device, seed_of(memory)) == (device, seed)


@pytest.mark.usefixtures("headless")
def test_without_a_keyring_the_key_stays_in_a_file_and_the_doctor_says_so(tmp_path: Path) -> None:
    device, seed = begun(tmp_path / "a.db", keyring=True)
    with Memory(tmp_path / "a.db", keyring=True) as memory:
        assert (memory.device, seed_of(memory), where(memory)) == (device, seed, "side file")
        assert [problem for problem in memory.doctor().problems if "a.db.device" in problem and "keyring" in problem]


def test_the_keyring_of_this_system_is_used_or_refused_in_words(session: Session) -> None:
    system = SystemKeyring()
    assert system.read("nobody") is None
    system.write("somebody", b"\0\xff")
    assert system.read("somebody") == b"\0\xff"
    system.delete("somebody")
    system.delete("somebody")
    assert system.read("somebody") is None
    keyring.set_keyring(fail.Keyring())
    with pytest.raises(NoKeyring, match="no system keyring here"):
        system.read("somebody")


# -- copies and restores, with the key in the keyring ----------------------------------------------------


def test_a_restored_backup_goes_on_as_the_same_device_in_a_new_life(tmp_path: Path, session: Session) -> None:
    with Memory(tmp_path / "a.db", keyring=True) as memory:
        memory.remember("ana", "language", "English")
        device = memory.device
        memory.backup(tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "a.db", overwrite=True)
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "language", "German")
        assert (memory.device, memory.devices()[0].incarnations, where(memory)) == (device, 2, "keyring")
    assert len(session.entries) == 1


def test_a_copy_on_the_same_machine_is_another_device_with_an_entry_of_its_own(
    tmp_path: Path, session: Session
) -> None:
    device, seed = begun(tmp_path / "a.db", keyring=True)
    for suffix in ("", ".device"):
        shutil.copyfile(tmp_path / f"a.db{suffix}", tmp_path / f"b.db{suffix}")
    with Memory(tmp_path / "b.db") as copy:
        copy.remember("ana", "language", "German")
        assert copy.device != device
        assert copy._replica.identity.introducers == (seed,)
        assert where(copy) == "keyring"
    assert len(session.entries) == 2
    with Memory(tmp_path / "a.db") as memory:
        assert (memory.device, seed_of(memory)) == (device, seed)


def test_a_copy_where_the_keyring_has_no_such_entry_says_so_and_is_a_new_device_once_the_side_file_is_away(
    tmp_path: Path, session: Session
) -> None:
    device, _ = begun(tmp_path / "a.db", keyring=True)
    session.entries.clear()
    with pytest.raises(KeyUnreadable, match=r"has no entry .* or move it away"):
        Memory(tmp_path / "a.db")
    assert session.entries == {}
    (tmp_path / "a.db.device").rename(tmp_path / "kept")
    assert begun(tmp_path / "a.db")[0] != device


@pytest.mark.skipif(driver().cipher is None, reason="needs SQLCipher: pip install 'syncmem[cipher]'")
def test_a_key_in_the_keyring_stays_there_when_the_memory_is_encrypted(tmp_path: Path, session: Session) -> None:
    with Memory(tmp_path / "a.db", keyring=True) as memory:
        memory.remember("ana", "language", "English")
        device, seed = memory.device, seed_of(memory)
        memory.backup(tmp_path / "copy.db", key="secret")
    restore(tmp_path / "copy.db", tmp_path / "a.db", overwrite=True, key="secret")
    with Memory(tmp_path / "a.db", key="secret") as memory:
        memory.remember("ana", "language", "German")
        assert (memory.device, seed_of(memory), where(memory)) == (device, seed, "keyring")


# -- a failed read is never an absence -------------------------------------------------------------------


def locked(path: Path, session: Session) -> None:
    session.locked = True


def unreadable(path: Path, session: Session) -> None:
    Path(f"{path}.device").unlink()
    Path(f"{path}.device").mkdir()  # a folder cannot be read as a file, whoever asks


def truncated(path: Path, session: Session) -> None:
    side = Path(f"{path}.device")
    side.write_bytes(side.read_bytes()[:-1])


def emptied(path: Path, session: Session) -> None:
    Path(f"{path}.device").write_bytes(b"")


def overwritten(path: Path, session: Session) -> None:
    side = Path(f"{path}.device")
    side.write_bytes(bytes(len(side.read_bytes())))


def of_a_newer_version(path: Path, session: Session) -> None:
    side = Path(f"{path}.device")
    data = side.read_bytes()
    side.write_bytes(data[:1] + b"\x09" + data[2:])


def damaged_in_the_keyring(path: Path, session: Session) -> None:
    session.entries = dict.fromkeys(session.entries, "00ff")


def no_hexadecimal_in_the_keyring(path: Path, session: Session) -> None:
    session.entries = dict.fromkeys(session.entries, "what?")


SIDE_FILE_TROUBLE = [unreadable, truncated, emptied, overwritten, of_a_newer_version]
KEYRING_TROUBLE = [locked, damaged_in_the_keyring, no_hexadecimal_in_the_keyring]
TROUBLE = [(trouble, False) for trouble in SIDE_FILE_TROUBLE]
TROUBLE += [(trouble, True) for trouble in SIDE_FILE_TROUBLE + KEYRING_TROUBLE]


@pytest.mark.parametrize(("trouble", "in_keyring"), TROUBLE)
def test_a_key_that_cannot_be_read_stops_everything_and_nothing_is_made_in_its_place(
    tmp_path: Path, session: Session, trouble: Callable[[Path, Session], None], in_keyring: bool
) -> None:
    path, aside = tmp_path / "a.db", tmp_path / "aside"
    device, seed = begun(path, keyring=in_keyring)
    aside.mkdir()
    shutil.copy(f"{path}.device", aside)
    kept = dict(session.entries)
    trouble(path, session)
    before, entries = path.read_bytes(), dict(session.entries)
    for options in ({}, {"keyring": True}):
        with pytest.raises(KeyUnreadable, match="move it away|unlock"):
            Memory(path, **options)  # type: ignore[arg-type]
    assert (path.read_bytes(), session.entries) == (before, entries)
    session.locked, session.entries = False, kept
    put_back(path, aside)
    with Memory(path) as memory:
        memory.remember("ana", "language", "German")
        assert (memory.device, seed_of(memory), memory.devices()[0].incarnations) == (device, seed, 1)


def put_back(path: Path, aside: Path) -> None:
    side = Path(f"{path}.device")
    if side.is_dir():
        side.rmdir()
    shutil.copy(aside / side.name, side)


def test_a_keyring_that_fails_while_a_key_is_made_makes_no_device(tmp_path: Path, session: Session) -> None:
    session.locked = True
    with Memory(tmp_path / "a.db", keyring=True) as memory:
        with pytest.raises(KeyUnreadable, match="unlock"):
            memory.remember("ana", "language", "English")
        assert not (tmp_path / "a.db.device").exists()
        session.locked = False
        memory.remember("ana", "language", "English")
        assert where(memory) == "keyring"
        assert len(memory.devices()) == 1


class FullDisk(SystemDisk):
    """A disk on which the side file can no longer be written."""

    full = False

    def write(self, path: str, data: bytes) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().write(path, data)


def test_a_disk_that_is_full_leaves_the_key_where_it_was(tmp_path: Path, session: Session) -> None:
    disk = FullDisk()
    device, seed = begun(tmp_path / "a.db", environment=Environment(disk=disk))
    disk.full = True
    with pytest.raises(FileError, match="space"):
        Memory(tmp_path / "a.db", keyring=True, environment=Environment(disk=disk))
    with Memory(tmp_path / "a.db") as memory:
        assert (memory.device, seed_of(memory), where(memory)) == (device, seed, "side file")


# -- a wipe ----------------------------------------------------------------------------------------------


def lost(tmp_path: Path) -> Memory:
    """A device with its key in the keyring that has been told to wipe, but has not heard of it yet."""
    (tmp_path / "box").mkdir()
    address = f"folder:{tmp_path / 'box'}"
    with Memory(tmp_path / "laptop.db") as laptop:
        phrase = laptop.create_vault("laptop")
        laptop.add_mailbox(address)
        laptop.sync()
        phone = Memory.recover(tmp_path / "phone.db", phrase, address, name="phone", keyring=True)
        phone.sync()
        laptop.sync()
        laptop.revoke("phone", wipe=True)
        laptop.sync()
    return phone


def test_a_wipe_deletes_the_entry_in_the_keyring(tmp_path: Path, session: Session) -> None:
    phone = lost(tmp_path)
    assert len(session.entries) == 1
    with pytest.raises(Wiped, match="the keyring's entry 'device "):
        phone.sync()
    assert session.entries == {}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("phone")]


def test_a_wipe_with_a_locked_keyring_deletes_the_rest_and_says_what_is_left(tmp_path: Path, session: Session) -> None:
    phone = lost(tmp_path)
    session.locked = True
    with pytest.raises(Wiped, match="could not be: the keyring's entry .*; delete them by hand"):
        phone.sync()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("phone")]
