"""Repair: a damaged memory becomes a sound one, and what was damaged is kept beside it for a person to look at.

Rules: what can be folded again is folded again in place.  Where more is damaged a new file is made of what the old one
still tells, and takes its name in one step: whenever that dies, the old file or the new one is there, and repairing
again goes on.  What is missing then is asked of the mailboxes.  Nothing is believed because a damaged file says it but
what is as it was written, and this device never writes twice at one place: the new file is a new life of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, Unpack

from syncmem import files
from syncmem.arguments import guarded
from syncmem.environment import Environment
from syncmem.errors import Busy, Damaged, FileError, NotAReplica, PeerError, SyncmemError, Wiped, WrongKey
from syncmem.memory import Memory
from syncmem.opened import Opening
from syncmem.private import FILE_MODE
from syncmem.replica import inspecting, mending, soundness
from syncmem.replica.cipher import file_key
from syncmem.replica.mending import Mended
from syncmem.replica.resaying import Resaying
from syncmem.replica.salvage import Salvage
from syncmem.replica.scrubbing import CHORE as SCRUB
from syncmem.replica.scrubbing import DAMAGED_SUFFIX
from syncmem.replica.side import SUFFIX, SideFile, refuse_emptied, way_back

_MEANT: Final = (Damaged, PeerError, *soundness.ODD)  # what opening or reading a damaged file comes to


@dataclass(frozen=True, slots=True)
class LackingEvents:
    """Events of one log that were held and are nowhere now; ``device``: the start of its key."""

    log: str
    device: str
    own: bool
    events: int


@dataclass(slots=True)
class RepairReport:
    """What was damaged, and what became of it.

    Attributes:
        found: what was not as it was written, as sentences; none: all is well, and nothing was done.
        kept_as: where the damaged file is now; None: it was mended in place.
        events: how many events were kept; ``said_again``: of this device's own those that were written anew behind
            what was lost; ``returned``: those that came back from mailboxes.
        lacking: what is nowhere; ``rows``: what else could not be read, by table.
        vault_lost: what says to which vault this device belongs, if to any, could not be read.
        troubles: why mailboxes could not be asked; then ``finished`` is False, and repairing again goes on.
    """

    found: tuple[str, ...] = ()
    kept_as: str | None = None
    events: int = 0
    said_again: int = 0
    returned: int = 0
    lacking: tuple[LackingEvents, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    vault_lost: bool = False
    troubles: tuple[str, ...] = ()
    finished: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "next_steps": list(self.next_steps)}

    @property
    def next_steps(self) -> Iterator[str]:
        """What a person has to do now."""
        if self.troubles:
            yield "Run 'syncmem repair' again once the mailboxes can be reached."
        if self.vault_lost:
            yield "If it was shared with other devices, 'syncmem join CODE' brings back what they hold."
        if any(not each.own for each in self.lacking):
            yield "Merge or sync with a device that has what is lacking."
        if any(each.own for each in self.lacking):
            yield "Say again what this device alone had heard, and erase again what was erased on it last."
        if self.kept_as is not None:
            yield f"Look into {self.kept_as} if you miss something, and delete it."


@guarded
def repair(path: str | os.PathLike[str], **opening: Unpack[Opening]) -> RepairReport:
    """Make a damaged memory sound again, as far as it can be; no process may have it open.

    Events that the disk changed are set aside with the whole damaged file (``<path>.damaged``), what is missing then is
    fetched from the mailboxes, and everything that is derived is folded again.  A device that lost part of its own log
    writes on in a new one.  It can be repeated, and go on after it was interrupted.  The file that was set aside is
    deleted once something is erased: nobody can tell what it holds.

    Raises:
        Damaged: nothing of the file can be read; it was not changed.
        Busy: another process is writing or syncing. KeyUnreadable, WrongKey, FileError: it cannot be opened.
    """
    target = Path(os.path.realpath(path))
    _give_name_back(target)
    refuse_emptied(str(target))
    found, mended, rows = _look(target, opening), None, dict[str, int]()
    if found is None:
        return RepairReport()
    report = RepairReport(tuple(found))
    if found and not _fold_again(target, opening):
        mended, rows = _replace(target, opening)
    report.rows = rows
    with Memory(target, **opening) as memory:
        if mended is not None and mended.nameless:
            report.rows["runs of unknown logs"] = mended.nameless
        _finish(memory, report)
    return report


def _give_name_back(target: Path) -> None:
    """Where an earlier try died while no file had the name, the damaged one gets it back."""
    kept = Path(f"{target}{DAMAGED_SUFFIX}")
    if not target.exists() and kept.exists():
        os.replace(kept, target)
    if not target.exists():
        raise FileError(f"there is no memory at {target}; check the path")


def _look(target: Path, opening: Opening) -> list[str] | None:
    """What is damaged; nothing, where an earlier repair is only to be finished; None: there is nothing to do."""
    try:
        with Memory(target, **opening) as memory:
            found = _damage(memory)
            under_way = mending.unfinished(memory._replica.db) is not None
            return found if found or under_way else None
    except (NotAReplica, WrongKey) as error:
        if not Path(f"{target}{SUFFIX}").exists():
            raise
        said = f"{error}. If it was a memory, nothing of it can be read: {way_back(str(target))}"
        raise Damaged(said) from error
    except _MEANT as error:
        return [soundness.told(error)]


def _damage(memory: Memory) -> list[str]:
    with memory._lock:
        return inspecting.all_damage(memory._replica)


def _fold_again(target: Path, opening: Opening) -> bool:
    """Whether it was enough to make anew what is derived."""
    try:
        with Memory(target, **opening) as memory:
            with memory.transaction():
                memory._replica.db.execute("REINDEX")
                memory._replica.rebuild()
                inspecting.forget(memory._replica.db)
            return not _damage(memory)
    except _MEANT:
        return False


def _replace(target: Path, opening: Opening) -> tuple[Mended, dict[str, int]]:
    """Put a new file in the place of the damaged one."""
    from filelock import FileLock, Timeout

    environment = opening.get("environment") or Environment()
    key = file_key(opening.get("key"))
    side = SideFile(str(target), environment, key, keyring=False).read()
    temporary, kept = files.temporary_for(target), _name_for(target)
    try:
        with FileLock(f"{target}{files.LOCK_SUFFIX}", mode=FILE_MODE).acquire(timeout=0):
            files.remove(temporary)
            salvage = Salvage(str(target), key)
            try:
                seed = None if side is None else side.private
                mended = mending.mend(salvage, str(temporary), kept.name, key, environment, seed)
            finally:
                salvage.close()
            files.settle(target, (key,))
            files.put_in_place(temporary, target, kept)
            return mended, salvage.lost
    except Timeout as error:
        raise Busy("another process of this device is syncing; try again when it is done") from error
    finally:
        files.remove(temporary)


def _name_for(target: Path) -> Path:
    """A name that nothing has but the file itself, where an earlier try died."""
    numbers = ("" if number == 1 else f".{number}" for number in count(1))
    names = (Path(f"{target}{DAMAGED_SUFFIX}{number}") for number in numbers)
    return next(name for name in names if not name.exists() or os.path.samefile(name, target))


# -- what is missing then -----------------------------------------------------------------------------------


def _finish(memory: Memory, report: RepairReport) -> None:
    """Say again what is left of own logs, and ask the mailboxes for the rest."""
    replica = memory._replica
    with memory._looking():
        under_way = mending.unfinished(replica.db)
    if under_way is not None:
        kept = Path(memory.path).with_name(under_way.file)
        held = _held(memory, under_way.cuts)
        resaying, traces, vault_read = _resaying(memory, kept, under_way)
        report.kept_as = str(kept) if kept.exists() else None
        with memory._lock:
            report.said_again = resaying.say() if resaying else 0
        report.troubles = tuple(_ask(memory))
        report.vault_lost = not vault_read and not memory._syncer.vault.exists
        with memory._lock, memory.transaction():
            report.said_again += resaying.say() if resaying else 0
            if not report.troubles:
                mending.finished(replica.db)
            if traces:
                replica.scrubber.mark(replica.last_transaction, erased=True)
        report.returned = _held(memory, under_way.cuts) - held
        report.lacking = tuple(
            LackingEvents(one.log.hex()[:12], one.device.hex()[:12], one.own, one.events)
            for one in (resaying.lacking() if resaying else ())
        )
        report.finished = not report.troubles
        memory.scrub()
    with memory._looking():
        report.events = sum(log.seq for log in replica.logs.held())


def _held(memory: Memory, cuts: list[mending.Cut]) -> int:
    with memory._looking():
        return sum(memory._replica.logs.by_id[cut.log].seq for cut in cuts)


def _resaying(memory: Memory, kept: Path, under_way: mending.Unfinished) -> tuple[Resaying | None, bool, bool]:
    """What the damaged file tells, if it is still there; whether it may hold traces of what was erased, and whether
    what it tells of a vault could be read."""
    if not kept.exists():
        return None, False, True
    salvage = Salvage(str(kept), memory._replica.db.key)
    try:
        traces = any(row[0] == SCRUB for row in salvage.rows("chores", "name", "name"))
        salvage.rows("statements", "id", "id")
        with memory._looking():
            return Resaying(memory._replica, salvage, under_way.cuts), traces, salvage.is_whole("statements")
    finally:
        salvage.close()


def _ask(memory: Memory) -> Iterator[str]:
    """Sync with every mailbox; why some could not be asked."""
    with memory._looking():
        addresses = memory._syncer.vault.addresses
        belongs = memory._syncer.vault.exists
    if not addresses:
        return
    if not belongs:
        yield "what says which devices belong to the vault is lost: come back by 'syncmem join CODE'"
        return
    try:
        asked = memory.sync().mailboxes
        yield from (f"{one.address}: {one.error}" for one in asked if one.error is not None)
        if not asked:
            yield "this device has no key of the vault: come back by 'syncmem join CODE'"
    except Wiped:
        raise
    except SyncmemError as error:
        yield str(error)
