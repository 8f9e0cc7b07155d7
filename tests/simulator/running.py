"""One run: the world is made, the steps are done, everything is healed, and the laws are asked."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from syncmem.errors import FileError
from tests.simulator.audit import audit, heal
from tests.simulator.device import Device
from tests.simulator.drawing import drawn_steps, drawn_world
from tests.simulator.fuse import Died
from tests.simulator.laws import Violation, after_a_step
from tests.simulator.operations import SKIPPED, TABLE
from tests.simulator.trace import Digest, Step, Trace
from tests.simulator.world import World

MEMORY = Path("/dev/shm")


@dataclass
class Outcome:
    """What came of a run. ``failure``: None, or the law and what broke it."""

    trace: Trace
    hash: str = ""
    failure: str | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def law(self) -> str:
        """What was broken, without the particulars: what a shorter trace has to break as well."""
        return "" if self.failure is None else self.failure.partition(":")[0]


def run_seed(seed: int, size: str = "small") -> Outcome:
    return run(Trace(drawn_world(seed, size)), drawn=True)


def run(trace: Trace, *, drawn: bool = False) -> Outcome:
    """Make the run of a trace; ``drawn``: its steps are drawn on the way and are in the outcome's trace."""
    folder = Path(tempfile.mkdtemp(prefix="syncmem-simulator-", dir=MEMORY if MEMORY.is_dir() else None))
    world = World(trace.world, folder)
    outcome = Outcome(Trace(trace.world, [] if drawn else trace.steps))
    digest = Digest()
    try:
        world.found()
        _do_all(world, drawn_steps(world) if drawn else trace.steps, outcome, digest, keep=drawn)
        names = heal(world)
        audit(world, names)
        digest.add("end", names, [_state(world.devices[name]) for name in names])
    except Exception as error:
        outcome.failure = str(error) if isinstance(error, Violation) else _described(error)
        if os.environ.get("SIMULATOR_RAISES"):
            raise
    finally:
        outcome.hash = digest.value
        try:
            world.close()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _do_all(world: World, steps: Iterable[Step], outcome: Outcome, digest: Digest, *, keep: bool) -> None:
    for step in steps:
        if keep:
            outcome.trace.steps.append(step)
        told = do(world, step)
        outcome.counts[f"{step['do']}{' in bad weather' if 'net' in step else ''}"] += told != SKIPPED
        outcome.counts["deaths"] += told == "died"
        device = world.devices.get(step["on"])
        digest.add(step, told, _state(device) if device else None)


def do(world: World, step: Step) -> str:
    """One step: what came of it."""
    world.step = step["n"]
    world.time += step.get("wait", 0)
    device = world.devices.get(step["on"])
    if device is None:
        return SKIPPED
    try:
        told = _or_die(world, device, step)
    except FileError:
        if not any(each.disk.full for each in world.devices.values()):
            raise
        told = "no room"
    after_a_step(world, device)
    return told


def _or_die(world: World, device: Device, step: Step) -> str:
    """Do what the step says; if the process dies on the way, another one opens what it left."""
    run = TABLE[step["do"]].run
    if "dies" not in step:
        return run(world, device, step)
    device.burn_after(step["dies"])
    try:
        told = run(world, device, step)
        if not device.fuse.burnt:
            return told
    except Died:
        pass
    finally:
        burnt = device.fuse.burnt
        device.fuse.clear()
    if not burnt:
        return told
    device.bury()
    device.burn_after(1 + step["dies"] % 7)  # the one that opens it dies, too, if it touches so much
    try:
        device.open()
    except Died:
        device.bury()
        device.open()
    finally:
        device.fuse.clear()
    return "died"


def _state(device: Device) -> list[object]:
    memory = device.memory
    return [device.name, memory.event_digest(), memory.belief_digest(), memory._replica.last_transaction]


def _described(error: Exception) -> str:
    """An exception that nobody expected, and where it came from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name} {trace.tb_frame.f_code.co_name}" if trace else ""
    return f"{type(error).__name__} in {where}: {error}"
