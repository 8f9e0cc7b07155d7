"""One run: a write path is gone once, then the power is lost at each of its moments, or one of its operations fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from syncmem.errors import FileError, SyncmemError
from tests.power.audit import Violation, audit, state
from tests.power.disk import Faults, Op, states
from tests.power.library import settings
from tests.power.paths import PATHS, Lying, State, World, WritePath

MISREAD = (TypeError, ValueError, LookupError, AttributeError)  # what rows that are not as they were lead to
AGAIN = 0.15  # how often the power is lost a second time, while the memory recovers
FAULTS_OF_A_RUN = 6


@dataclass(frozen=True)
class Recorded:
    """A write path that was gone: what lay there before, and each operation since."""

    image: dict[str, bytes]
    lying: dict[str, bytes]
    peer: bytes | None
    log: list[Op]


def run(seed: int, folder: Path, *, only: str | None = None, every: int = 1) -> Counter[str]:
    """One seed: a path, the power lost at each ``every``-th moment, some faults, a disk that lies; counted."""
    random = Random(f"power/{seed}")
    path = PATHS[seed % len(PATHS)] if only is None else next(path for path in PATHS if path.name == only)
    settings.wal = random.random() < 0.6
    settings.checkpoint_pages = random.choice((None, 5, 40))
    settings.synchronous = None
    world = World(folder, random)
    told: Counter[str] = Counter({"runs": 1, "recorded operations": 0})
    recorded = record(world, path)
    told["recorded operations"] += len(recorded.log)
    for number in range(random.randrange(every), len(recorded.log) + 1, every):
        lose(world, path, recorded, number, random, told)
    for _ in range(FAULTS_OF_A_RUN):
        fail(world, path, recorded, random, told)
    lie(world, path, recorded, random, told)
    return told


def record(world: World, path: WritePath, faults: Faults | None = None, of: Recorded | None = None) -> Recorded:
    """Go the path once, from its own beginning or from another's."""
    if of is None:
        world.disk.begin()
        path.begins(world)
        base = None
        if world.path.exists():
            with world.open() as memory:
                base = state(memory)
        of = Recorded(world.disk.image(), world.lying(), _peer(world), [Op("note", data=base)] if base else [])
    else:
        lay(world, of)
    world.restart()
    world.disk.begin(faults)
    world.disk.log += [op for op in of.log[:1] if op.kind == "note"]
    with world.open():
        path.does(world)
    return Recorded(of.image, of.lying, of.peer, world.disk.log)


def lay(world: World, recorded: Recorded) -> None:
    world.disk.put(recorded.image)
    world.lay(recorded.lying) if recorded.lying else None
    if recorded.peer is not None:
        world.peer_path.write_bytes(recorded.peer)


def _peer(world: World) -> bytes | None:
    return world.peer_path.read_bytes() if world.peer_path.exists() else None


# -- the power goes -------------------------------------------------------------------------------------


def lose(world: World, path: WritePath, of: Recorded, moment: int, random: Random, told: Counter[str]) -> None:
    """The power is lost after so many operations; perhaps again while the memory is opened and looked at."""
    left = next(left for n, left in enumerate(states(of.image, of.log, powersafe=world.disk.powersafe)) if n == moment)
    before, after = _around(of.log, moment)
    files = left.drawn(random)
    told["losses of power"] += 1
    lay(world, of)
    world.disk.put(files)
    world.lay(_lying(of, moment)) if of.lying else None
    world.disk.begin()
    try:
        if random.random() < AGAIN:
            again(world, random)
            told["losses of power"] += 1
            told["of them while recovering"] += 1
        audit(world, before, after, whole=path.whole, random=random)
    except Exception as error:
        raise Violation(f"{path.name}, operation {moment} of {len(of.log)}: {type(error).__name__}: {error}") from error


def again(world: World, random: Random) -> None:
    image, lying = world.disk.image(), world.lying()
    world.open().close()
    log = world.disk.log
    moment = random.randrange(len(log) + 1)
    left = next(left for n, left in enumerate(states(image, log, powersafe=world.disk.powersafe)) if n == moment)
    world.disk.put(left.drawn(random))
    world.lay(lying) if lying else None
    world.disk.begin()


def _around(log: Sequence[Op], moment: int) -> tuple[State | None, State | None]:
    """What was acknowledged last by then, and what next."""
    before = [op.data for op in log[:moment] if op.kind == "note" and isinstance(op.data, State)]
    after = (op.data for op in log[moment:] if op.kind == "note" and isinstance(op.data, State))
    return before[-1] if before else None, next(after, None)


def _lying(of: Recorded, moment: int) -> dict[str, bytes]:
    noted = [op.data.files for op in of.log[:moment] if op.kind == "note" and isinstance(op.data, Lying)]
    return noted[-1] if noted else of.lying


# -- operations fail, syncs lie -------------------------------------------------------------------------


def fail(world: World, path: WritePath, of: Recorded, random: Random, told: Counter[str]) -> None:
    """One operation fails, or all from it on; the error is one of the library's, and nothing is lost or half."""
    kind, lasting = random.choice(("full", "ioerr")), random.random() < 0.5
    faults = Faults(kind, 1 + random.randrange(len(of.log)), lasting)
    told[f"operations that failed: {kind}"] += 1
    try:
        try:
            log = record(world, path, faults, of).log
            told["survived without an error"] += 1
        except SyncmemError as error:
            told[f"told as {type(error).__name__}"] += 1
            log = world.disk.log
        world.disk.faults = Faults()
        before, _ = _around(log, len(log))
        after = next((each for each in _states(of.log) if before is None or each.step == before.step + 1), None)
        if random.random() < 0.5:
            *_, left = states(of.image, log, powersafe=world.disk.powersafe)
            world.disk.put(left.drawn(random))
            told["losses of power"] += 1
        world.disk.begin()
        audit(world, before, after, whole=path.whole and before is not None, random=random)
    except Exception as error:
        where = f"{path.name}, {faults.kind} at {faults.at}{' and on' if lasting else ''}"
        raise Violation(f"{where}: {type(error).__name__}: {error}") from error


def _states(log: Sequence[Op]) -> Iterator[State]:
    return (op.data for op in log if op.kind == "note" and isinstance(op.data, State))


def lie(world: World, path: WritePath, of: Recorded, random: Random, told: Counter[str]) -> None:
    """Some syncs did nothing. Much may be lost then; it is told, and what was published is never contradicted."""
    lied = record(world, path, Faults(lies=random.choice((0.1, 0.5, 1.0)), random=random), of)
    for moment in sorted(random.sample(range(len(lied.log)), min(8, len(lied.log)))):
        try:
            lose(world, path, lied, moment, random, told)
            told["after lying syncs: nothing lost"] += 1
        except Violation as found:
            told["after lying syncs: " + _kind_of(found)] += 1


def _kind_of(found: Violation) -> str:
    cause = found.__cause__
    if isinstance(cause, FileError):
        return "refused with an error of the library"
    if isinstance(cause, MISREAD):
        return "met as damage while it was read"
    text = str(cause)
    for begin in ("lost", "the file is damaged", "the doctor says", "what stands is neither"):
        if text.startswith(begin):
            return begin
    raise found


def calibrate(seed: int, folder: Path, synchronous: str) -> Counter[str]:
    """How many losses cost something where the library's synchronisation is overruled: the disk must bite."""
    random = Random(f"calibration/{seed}")
    settings.wal, settings.checkpoint_pages, settings.synchronous = True, random.choice((5, 40)), synchronous
    told: Counter[str] = Counter()
    try:
        world = World(folder, random)
        path = next(path for path in PATHS if path.name == "remember")
        recorded = record(world, path)
        for moment in range(0, len(recorded.log) + 1, 3):
            told["losses of power"] += 1
            try:
                lose(world, path, recorded, moment, random, Counter())
            except Violation as found:
                told["that cost something"] += 1
                told[f"of them: {str(found.__cause__).partition(':')[0]}"] += 1
    finally:
        settings.synchronous = None
    return told
