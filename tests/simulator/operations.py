"""What devices do when nothing goes wrong: each operation says how its choices are drawn, and does them.

Rules: a drawn step is complete, so that it can be done again without the drawing; one that names what is not there
(because another step was left out) does nothing and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any, NamedTuple

from syncmem import InvalidInput, NotFound, Revoked, Wiped
from syncmem.codec import pack
from syncmem.errors import FileError, MailboxError
from syncmem.model.instant import to_datetime
from tests.simulator import laws
from tests.simulator.device import Device
from tests.simulator.ledger import held
from tests.simulator.world import NOON, World
from tests.sync.test_versions import write_as_later_version
from tests.test_replicas_machine import names_in, state

ENTITIES = ("ana", "bob", "eve", "secret")
PREDICATES = ("city", "language", "job")
VALUES = ("A", "B", "C")
BATCHES = ("import 1", "import 2")
DAY = timedelta(days=1)
SKIPPED = "skipped"
Draw = Callable[[Random, World, str], dict[str, Any] | None]
Run = Callable[[World, Device, dict[str, Any]], str]


class Operation(NamedTuple):
    """``fault``: whether it is one; ``weight``: how often, where a seed does not say otherwise (0: see drawing)."""

    name: str
    weight: float
    fault: bool
    draw: Draw
    run: Run


TABLE: dict[str, Operation] = {}


def operation(weight: float, draw: Draw, *, fault: bool = False) -> Callable[[Run], Run]:
    """Put an operation into the table, under its function's name."""

    def put(run: Run) -> Run:
        name = run.__name__.rstrip("_").replace("_", " ")
        TABLE[name] = Operation(name, weight, fault, draw, run)
        return run

    return put


def nothing(random: Random, world: World, name: str) -> dict[str, Any]:
    """No choices beside the device."""
    return {}


# -- saying ---------------------------------------------------------------------------------------------


def _said(random: Random, world: World) -> dict[str, Any]:
    """Who says something, when, where."""
    said: dict[str, Any] = {"trust": random.choice((90, 90, 90, 50, 30))}
    if random.random() < 0.2:
        said["source"] = random.choice(("mail", "chat"))
    if random.random() < 0.2:
        said["batch"] = random.choice(BATCHES)
    if random.random() < 0.3:
        said["observed"] = random.randint(-9, 9)
    scopes = world.drawn.get("scopes", ())
    if scopes and random.random() < 0.3:
        said["scope"] = random.choice(scopes)
    return said


def _stated(step: dict[str, Any]) -> dict[str, Any]:
    """The same as arguments."""
    result: dict[str, Any] = {name: step[name] for name in ("trust", "source", "batch", "scope") if name in step}
    if "observed" in step:
        result["observed_at"] = _day(step["observed"])
    return result


def _day(number: int) -> Any:
    return to_datetime(NOON) + number * DAY


def _about(random: Random) -> dict[str, Any]:
    return {"entity": random.choice(ENTITIES), "predicate": random.choice(PREDICATES)}


def _claim(random: Random, world: World, name: str) -> dict[str, Any]:
    value = random.choice(VALUES) if random.random() < 0.5 else f"canary{world.step:06d}of{name}"
    step = _about(random) | {"value": value} | _said(random, world)
    form = random.choice(("state", "since", "change", "until", "period", "age", "fade", "mention"))
    if form in ("since", "change", "period"):
        step["start"] = random.randint(-9, 9)
    if form in ("until", "period"):
        step |= {"stop": random.randint(0, 9) + step.get("start", 0), "then": random.choice((None, "resume", "vacate"))}
    if form == "mention":
        step["mentions"] = [random.choice(ENTITIES)]
    return step | {"form": form}


@operation(12, _claim)
def remember(world: World, device: Device, step: dict[str, Any]) -> str:
    """Say that something is so, in one of the forms."""
    form, bounds = step["form"], dict[str, Any]()
    if "start" in step:
        bounds["changed_on" if form == "change" else "since"] = _day(step["start"])
    if "stop" in step:
        bounds |= {"until": _day(step["stop"]), "then": step["then"]}
    if form == "age":
        bounds["ttl"] = "3d"
    if form == "fade":
        bounds |= {"stale_after": "2d", "stale_trust": "inference"}
    if "mentions" in step:
        bounds["mentions"] = step["mentions"]
    about = step["entity"], step["predicate"], step["value"]
    return write(world, device, lambda: device.memory.remember(*about, **bounds, **_stated(step)))


def write(world: World, device: Device, verb: Callable[[], Any]) -> str:
    """Do a write: what is refused leaves no trace, what is acknowledged is noted."""
    before = state(device.memory)
    try:
        with world.noting(device):
            verb()
    except (InvalidInput, NotFound, FileError) as error:
        if isinstance(error, FileError) and not device.disk.full:
            raise
        assert ";" in str(error), f"an error without its next step: {error}"
        assert state(device.memory) == before, f"what was refused ({error}) has changed something"
        return type(error).__name__
    return "done"


@operation(2, lambda random, world, name: {"count": random.randint(2, 40)} | _about(random))
def remember_much(world: World, device: Device, step: dict[str, Any]) -> str:
    """Many claims at once, over the ends of pages and, where it is repeated, of blocks."""

    def verb() -> None:
        with device.memory.transaction():
            for number in range(step["count"]):
                value = f"canary{world.step:06d}-{number}"
                device.memory.remember(step["entity"], step["predicate"], value, changed_on=_day(number - 20))

    return write(world, device, verb)


@operation(1.5, lambda random, world, name: _about(random) | {"value": random.choice(VALUES)} | _said(random, world))
def deny(world: World, device: Device, step: dict[str, Any]) -> str:
    about = step["entity"], step["predicate"], step["value"]
    return write(world, device, lambda: device.memory.deny(*about, **_stated(step)))


@operation(
    2,
    lambda random, world, name: (
        _about(random)
        | {"value": random.choice(VALUES), "at": random.choice((None, random.randint(-9, 9)))}
        | {"changed": random.random() < 0.5}
        | _said(random, world)
    ),
)
def end(world: World, device: Device, step: dict[str, Any]) -> str:
    at = None if step["at"] is None else _day(step["at"])
    about = step["entity"], step["predicate"], step["value"]
    return write(world, device, lambda: device.memory.end(*about, at=at, changed=step["changed"], **_stated(step)))


def _earlier(random: Random, world: World, name: str) -> dict[str, Any] | None:
    """The number of a step that wrote something."""
    found = [number for number, words in world.by_step.items() if words and number]
    if not found:
        return None
    trust = {"trust": random.choice((90, 90, 50))}
    return {"about": random.choice(found), "value": f"canary{world.step:06d}of{name}"} | trust


def _event(world: World, device: Device, step: dict[str, Any]) -> str | None:
    """The event that another step wrote, by the name that it has here."""
    words = world.by_step.get(step["about"])
    return names_in(device.memory).get(words[0]) if words else None


@operation(1.5, _earlier)
def retract(world: World, device: Device, step: dict[str, Any]) -> str:
    event = _event(world, device, step)
    return SKIPPED if event is None else write(world, device, lambda: device.memory.retract(event, trust=step["trust"]))


@operation(1.5, _earlier)
def undo(world: World, device: Device, step: dict[str, Any]) -> str:
    event = _event(world, device, step)
    return SKIPPED if event is None else write(world, device, lambda: device.memory.undo(event, trust=step["trust"]))


@operation(1.5, _earlier)
def correct(world: World, device: Device, step: dict[str, Any]) -> str:
    event, value = _event(world, device, step), step["value"]
    if event is None:
        return SKIPPED
    return write(world, device, lambda: device.memory.correct(event, value, trust=step["trust"]))


@operation(0.5, lambda random, world, name: {"batch": random.choice(BATCHES), "trust": random.choice((90, 50))})
def withdraw_batch(world: World, device: Device, step: dict[str, Any]) -> str:
    return write(world, device, lambda: device.memory.retract(batch=step["batch"], trust=step["trust"]))


@operation(0.7, _earlier)
def derive(world: World, device: Device, step: dict[str, Any]) -> str:
    event = _event(world, device, step)
    if event is None:
        return SKIPPED
    return write(world, device, lambda: device.memory.remember("eve", "job", step["value"], derived_from=[event]))


@operation(
    1,
    lambda random, world, name: {
        "predicate": random.choice(PREDICATES),
        "cardinality": random.choice(("single", "many")),
        "equality": random.choice((None, "casefold")),
    },
)
def define(world: World, device: Device, step: dict[str, Any]) -> str:
    said = {"cardinality": step["cardinality"], "equality": step["equality"]}
    return write(world, device, lambda: device.memory.define(step["predicate"], **said))


@operation(1, lambda random, world, name: {"names": random.sample(ENTITIES, 2), "same": random.random() < 0.7})
def link(world: World, device: Device, step: dict[str, Any]) -> str:
    verb = device.memory.same if step["same"] else device.memory.different
    return write(world, device, lambda: verb(*step["names"]))


def _spoken(random: Random, world: World, name: str) -> dict[str, Any]:
    speaker = random.choice(("ana", "secret"))
    return {"speaker": speaker, "text": f"canary{random.randrange(4):06d}said", "times": random.choice((1, 1, 9000))}


@operation(1, _spoken)
def observe(world: World, device: Device, step: dict[str, Any]) -> str:
    """An episode, which several devices may observe apart; a long one lies beside the logs."""
    content = f"{step['text']}-{step['speaker']}-{step['times']} " * step["times"]
    return write(world, device, lambda: device.memory.observe(content, speaker=step["speaker"], at="2026-06-15"))


@operation(1, lambda random, world, name: {"text": f"later {world.step}"})
def write_of_a_later_version(world: World, device: Device, step: dict[str, Any]) -> str:
    """An event of a kind that nobody here knows; a new log begins with what its writer has seen, as ever."""
    if not device.memory._replica.author.own_log("vault").seq:
        return SKIPPED
    return write(world, device, lambda: write_as_later_version(device.memory, 4711, pack([step["text"]])))


@operation(1.2, lambda random, world, name: {"entity": random.choice(ENTITIES), "aliases": random.random() < 0.7})
def erase(world: World, device: Device, step: dict[str, Any]) -> str:
    written = len(world.ledger.writes)
    with world.noting(device):
        report = device.memory.erase(step["entity"], aliases=step["aliases"])
    world.ledger.note_erasure([write.words for write in world.ledger.writes[written:]], report.entities)
    if not report.scrubbed:
        raise AssertionError("nobody else reads the file, and traces are left in it")
    return f"erased {sum(report.events.values())}"


@operation(0.4, _earlier)
def correct_a_clock(world: World, device: Device, step: dict[str, Any]) -> str:
    event = _event(world, device, step)
    if event is None:
        return SKIPPED
    hours = timedelta(hours=step["about"] * 37 % 900 - 450)
    return write(world, device, lambda: device.memory.correct_clock(event, hours))


# -- looking --------------------------------------------------------------------------------------------


@operation(2, nothing)
def look(world: World, device: Device, step: dict[str, Any]) -> str:
    """What is answered now is as the reference has it, and will be answered again when it is asked of this time."""
    laws.look(world, device)
    return "seen"


@operation(0.5, nothing)
def rebuild(world: World, device: Device, step: dict[str, Any]) -> str:
    before = state(device.memory)
    device.memory.rebuild()
    laws.must("I2", state(device.memory) == before, "a rebuild changed what is believed")
    return "rebuilt"


@operation(0.5, nothing)
def read_episodes(world: World, device: Device, step: dict[str, Any]) -> str:
    with world.weather(step.get("net")):
        for one in device.memory.episodes()[:2]:
            try:
                device.memory.read(one.id)
            except (NotFound, MailboxError):
                pass
    return "read"


# -- meeting --------------------------------------------------------------------------------------------


@operation(12, nothing)
def sync(world: World, device: Device, step: dict[str, Any]) -> str:
    """Whatever a mailbox does, a sync raises nothing."""
    with world.weather(step.get("net")):
        told = synced(world, device)
    if told != "removed" and (step["n"] % 3 == 0 or "refuse" in step.get("net", ())):
        laws.who_says_published_has(world, device)
    return told


def synced(world: World, device: Device) -> str:
    """Sync; what came of it. A device writes during it, too: clock notes, notes of what it knew."""
    known = device.id
    try:
        with world.noting(device):
            report = device.memory.sync()
    except Wiped:
        laws.must("I7", not device.path.exists(), f"{device.name} was told to wipe its memory, and has it still")
        world.orphans.add(known)  # also where who told it so was none to do that, as turns out
        device.answers.clear()
        device.saved.clear()
        device.disk.files.clear()
        device.open()  # a new memory in its place
        return "removed"
    except Revoked:
        return "removed"
    except InvalidInput:
        laws.must("I13", device.name in world.removed, f"{device.name} belongs to no vault")
        return "removed"  # and wiped
    moved = any(m.sent or m.received or m.chunks_sent or m.chunks_received for m in report.mailboxes)
    troubles = sorted({str(one.error)[:40] for one in report.mailboxes if one.error})
    return f"{'moved' if moved or not report.complete else 'still'} {report.events} {troubles}"


@operation(1.5, lambda random, world, name: _other(random, world, name))
def merge(world: World, device: Device, step: dict[str, Any]) -> str:
    """Two devices of one person meet by hand."""
    from syncmem import BrokenChain, Forked

    other = world.devices.get(step["other"])
    if other is None or {device.name, other.name} & world.removed:
        return SKIPPED
    try:
        with world.noting(device):
            return f"merged {device.memory.merge(other.memory).events}"
    except (Forked, BrokenChain) as error:
        return type(error).__name__


def _other(random: Random, world: World, name: str) -> dict[str, Any] | None:
    others = [each for each in world.live if each != name]
    return {"other": random.choice(others)} if others else None


def _newcomer(random: Random, world: World, name: str) -> dict[str, Any] | None:
    if len(world.devices) >= world.drawn["devices"]:
        return None
    scopes = world.drawn.get("scopes", ())
    return {"name": f"d{world.step}", "scopes": [scope for scope in scopes if random.random() < 0.7]}


@operation(4, _newcomer)
def pair(world: World, device: Device, step: dict[str, Any]) -> str:
    """A new device is let in."""
    if device.name in world.removed or step["name"] in world.devices:
        return SKIPPED
    if synced(world, device) == "removed" or device.memory._syncer.vault.current("vault") is None:
        return SKIPPED
    shared = [scope for scope in step["scopes"] if scope in device.memory._syncer.vault.scopes]
    new = Device(step["name"], world)
    _let_in(world, device, new, shared)
    world.devices[new.name] = new
    return "paired"


def _let_in(world: World, device: Device, new: Device, scopes: list[str]) -> None:
    """A code of one device lets another one in."""
    from syncmem import Memory

    options: dict[str, Any] = {"zone": "UTC", "embedder": None, "keyring": world.keyrings}
    invitation = device.memory.invite(scopes=scopes)
    _carry_all(world)
    for _ in range(2):
        try:
            joining = {"name": new.name, "wait_seconds": 0, "environment": new.environment()} | options
            new.memory = Memory.join(new.path, invitation.code, **joining)
            break
        except NotFound:
            _carry_all(world, new.name)
            with world.noting(device):
                invitation.accept(lambda asking: asking == new.name)
            _carry_all(world)
    else:
        raise AssertionError("a device that was let in does not get in")


def _keyless(random: Random, world: World, name: str) -> dict[str, Any] | None:
    found = sorted(world.keyless)
    return {"who": random.choice(found), "scopes": world.scopes[1:]} if found and name in world.live else None


@operation(0, _keyless)
def come_back(world: World, device: Device, step: dict[str, Any]) -> str:
    """A device that lost its key is told to be let in anew, and what only it held comes back with it."""
    who = world.devices.get(step["who"])
    if who is None or who.name not in world.keyless or device.name in world.removed:
        return SKIPPED
    if synced(world, device) == "removed" or device.memory._syncer.vault.current("vault") is None:
        return SKIPPED
    if who.memory._syncer.vault.roster.member(who.public or b"") is not None:
        return SKIPPED  # its key was put back
    told = who.memory.status().outside
    laws.must("I13", told is not None and "syncmem join" in told, f"{who.name} is not told how to come back")
    shared = [scope for scope in step["scopes"] if scope in device.memory._syncer.vault.scopes]
    del world.devices[who.name]  # nobody looks at it meanwhile
    who.memory.close()
    _let_in(world, device, who, shared)
    world.devices[who.name] = who
    world.keyless.discard(who.name)
    world.removed.discard(who.name)
    world.ledger.lost -= held(who.memory)
    return "back"


def _carry_all(world: World, *names: str) -> None:
    """Who pairs waits for the folder to be carried."""
    for server in world.servers.values():
        server.settle()


@operation(1, lambda random, world, name: _other(random, world, name))
def revoke(world: World, device: Device, step: dict[str, Any]) -> str:
    """Remove a device."""
    gone = world.devices.get(step["other"])
    if gone is None or {device.name, gone.name} & world.removed or len(world.live) < 3:
        return SKIPPED
    roster = device.memory._syncer.vault.roster
    own, other = device.public, gone.public
    if own is None or other is None or not (roster.is_live(own) and roster.is_live(other)):
        return SKIPPED
    world.removed.add(gone.name)
    with world.losing(gone.name), world.noting(device):
        device.memory.revoke(other.hex(), wipe=step.get("wipe", False))
    return "revoked"


@operation(0, nothing)
def rotate(world: World, device: Device, step: dict[str, Any]) -> str:
    """New keys, and nobody is removed."""
    syncer = device.memory._syncer
    if device.name in world.removed or syncer.vault.current("vault") is None:
        return SKIPPED
    with world.noting(device), syncer._writing():
        syncer._rotate("vault")
    return "rotated"


def _gone(random: Random, world: World, name: str) -> dict[str, Any] | None:
    gone = sorted(world.removed - world.keyless)
    return {"other": random.choice(gone)} if gone and name in world.live else None


@operation(0, _gone)
def adopt(world: World, device: Device, step: dict[str, Any]) -> str:
    """What a removed device wrote counts, as far as it has arrived here."""
    gone = world.devices.get(step["other"])
    if gone is None or device.name in world.removed or gone.public is None:
        return SKIPPED
    roster = device.memory._syncer.vault.roster
    standing = roster.member(gone.public)
    if standing is None or standing.live or not roster.is_live(device.public or b""):
        return SKIPPED
    with world.noting(device):
        device.memory.adopt(gone.public.hex())
    return "adopted"


@operation(0, _newcomer)
def recover(world: World, device: Device, step: dict[str, Any]) -> str:
    """A new device that has nothing but the phrase."""
    from syncmem import Memory

    if step["name"] in world.devices:
        return SKIPPED
    new = Device(step["name"], world)
    options: dict[str, Any] = {"zone": "UTC", "embedder": None, "keyring": world.keyrings}
    _carry_all(world)
    try:
        where = world.drawn["addresses"][0]
        environment = new.environment()
        new.memory = Memory.recover(new.path, world.phrase, where, name=new.name, environment=environment, **options)
    except NotFound:
        return SKIPPED  # nobody has left anything for the phrase there
    world.devices[new.name] = new
    return "recovered"


@operation(0, lambda random, world, name: _other(random, world, name))
def wipe(world: World, device: Device, step: dict[str, Any]) -> str:
    """Remove a device, and tell it to delete its memory."""
    return revoke(world, device, step | {"wipe": True})


@operation(0.7, nothing)
def snapshot(world: World, device: Device, step: dict[str, Any]) -> str:
    """A bundle of all that is held, which another device takes in later."""
    device.memory.export_bundle(world.folder / f"bundle-{world.step}")
    return "written"


def _bundle(random: Random, world: World, name: str) -> dict[str, Any] | None:
    written = sorted(int(path.name.partition("-")[2]) for path in world.folder.glob("bundle-*"))
    return {"bundle": random.choice(written)} if written else None


@operation(0.7, _bundle)
def take_in(world: World, device: Device, step: dict[str, Any]) -> str:
    from syncmem import BrokenChain, Forked

    bundle = world.folder / f"bundle-{step['bundle']}"
    if not bundle.exists() or device.name in world.removed:
        return SKIPPED
    try:
        with world.noting(device):
            report = device.memory.import_bundle(bundle)
    except (Forked, BrokenChain) as error:
        return type(error).__name__
    return f"took {report.events}"
