"""What goes wrong with devices, disks, clocks and mailboxes; the network's troubles come with the steps themselves."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from syncmem.errors import MailboxError
from tests.simulator.device import Device
from tests.simulator.disk import Image
from tests.simulator.operations import SKIPPED, Draw, nothing, operation
from tests.simulator.servers import FolderServer, RelayServer
from tests.simulator.world import SECOND, World

YEAR = 365 * 86_400 * SECOND
SKEWS = (
    -50 * YEAR,
    -YEAR,
    -86_400 * SECOND,
    -180 * SECOND,
    0,
    0,
    240 * SECOND,
    7 * 3600 * SECOND,
    10 * YEAR,
    50 * YEAR,
)


# -- processes and disks --------------------------------------------------------------------------------


@operation(2, nothing, fault=True)
def crash(world: World, device: Device, step: dict[str, Any]) -> str:
    """The process dies between two operations; another one opens what it left."""
    image = device.disk.image()
    device.memory.close()
    device.disk.put_back(image)
    device.open()
    return "opened again"


@operation(1, nothing, fault=True)
def close_and_open(world: World, device: Device, step: dict[str, Any]) -> str:
    device.memory.close()
    device.open()
    return "opened again"


@operation(1.5, nothing, fault=True)
def back_up(world: World, device: Device, step: dict[str, Any]) -> str:
    """A backup as the product makes it: the database alone."""
    path = world.folder / f"{device.name}-{world.step}.backup"
    device.memory.backup(path)
    device.saved["backup"] = Image({"": path.read_bytes()}, {}, None)
    path.unlink()
    return "saved"


def _saved(kind: str) -> Draw:
    """A device of which something is kept that it can be made again."""

    def draw(random: Random, world: World, name: str) -> dict[str, Any] | None:
        found = [each for each, device in world.devices.items() if kind in device.saved]
        return {"on": random.choice(found), "over": random.random() < 0.5} if found else None

    return draw


@operation(3, _saved("backup"), fault=True)
def restore_backup(world: World, device: Device, step: dict[str, Any]) -> str:
    """The disk dies, and what a backup holds is put in its place, or written over it; the side file is as it was."""
    if "backup" not in device.saved:
        return SKIPPED
    with world.losing(device.name):
        device.memory.close()
        device.disk.put_back(replace(device.saved["backup"], number=device.disk.number), same=step["over"], side=False)
        device.open()
    return "restored"


@operation(1, nothing, fault=True)
def image_the_machine(world: World, device: Device, step: dict[str, Any]) -> str:
    device.memory.close()
    device.saved["machine"] = device.disk.image()
    device.open()
    return "saved"


@operation(2, _saved("machine"), fault=True)
def put_the_machine_back(world: World, device: Device, step: dict[str, Any]) -> str:
    """A snapshot of the whole machine resumes, and nothing shows it: two lives of it write to one log."""
    if "machine" not in device.saved:
        return SKIPPED
    world.forks = True
    with world.losing(device.name):
        device.memory.close()
        device.disk.put_back(device.saved["machine"])
        device.open()
    return "put back"


@operation(0.5, nothing, fault=True)
def lose_the_side_file(world: World, device: Device, step: dict[str, Any]) -> str:
    """What lies beside the database is gone: the memory writes on as a new device, which nobody let in."""
    if len(world.live) < 3 or device.name in world.removed:
        return SKIPPED
    world.removed.add(device.name)
    world.keyless.add(device.name)
    world.orphans.add(device.id)
    with world.losing(device.name):
        device.memory.close()
        device.disk.files.clear()
        device.open()
    return "lost"


def _copy(random: Random, world: World, name: str) -> dict[str, Any] | None:
    if len(world.devices) >= world.drawn["devices"]:
        return None
    return {"name": f"d{world.step}", "frozen": random.random() < 0.5}


@operation(1.2, _copy, fault=True)
def clone(world: World, device: Device, step: dict[str, Any]) -> str:
    """The files are copied to another machine, perhaps with the state of its source of randomness."""
    if step["name"] in world.devices:
        return SKIPPED
    device.memory.close()
    copy = Device(step["name"], world)
    image = device.disk.image()
    copy.disk.put_back(image, same=False)
    copy.keyring.secrets = dict(device.keyring.secrets)
    copy.clock.skew = device.clock.skew
    copy.answers = dict(device.answers)
    world.devices[copy.name] = copy
    if device.name in world.removed:
        world.removed.add(copy.name)
    seed = f"{world.seed}/frozen/{world.step}" if step["frozen"] else None
    world.forks |= step["frozen"]
    device.open(seed)
    copy.open(seed)
    return "cloned"


@operation(1, lambda random, world, name: {"full": random.random() < 0.5}, fault=True)
def disk_fills(world: World, device: Device, step: dict[str, Any]) -> str:
    """There is no room for what lies beside the database, or there is again."""
    device.disk.full = step["full"]
    return str(step["full"])


# -- time -----------------------------------------------------------------------------------------------


@operation(1.5, lambda random, world, name: {"skew": random.choice(SKEWS)}, fault=True)
def set_a_clock(world: World, device: Device, step: dict[str, Any]) -> str:
    device.clock.skew = step["skew"]
    return "set"


# -- mailboxes ------------------------------------------------------------------------------------------


def _somewhere(random: Random, world: World, name: str) -> dict[str, Any]:
    return {"at": random.choice(world.drawn["addresses"])}


@operation(0.7, _somewhere, fault=True)
def reset_a_mailbox(world: World, device: Device, step: dict[str, Any]) -> str:
    world.losses = True
    world.server(step["at"]).reset()
    return "reset"


@operation(1, _somewhere, fault=True)
def back_up_a_mailbox(world: World, device: Device, step: dict[str, Any]) -> str:
    world.server(step["at"]).back_up()
    return "saved"


@operation(1, _somewhere, fault=True)
def put_a_mailbox_back(world: World, device: Device, step: dict[str, Any]) -> str:
    """It is what it was at the backup, and nobody says so."""
    world.losses = True
    return "put back" if world.server(step["at"]).put_back() else SKIPPED


@operation(1, _somewhere, fault=True)
def lose_a_blob(world: World, device: Device, step: dict[str, Any]) -> str:
    world.losses = True
    return "lost" if world.server(step["at"]).lose(world.random("blob")) else SKIPPED


@operation(0.5, _somewhere, fault=True)
def restart_a_relay(world: World, device: Device, step: dict[str, Any]) -> str:
    server = world.server(step["at"])
    if not isinstance(server, RelayServer):
        return SKIPPED
    server.restart()
    return "restarted"


@operation(1.5, lambda random, world, name: {"from": random.randrange(8)} if world.network.late else None, fault=True)
def late_question_arrives(world: World, device: Device, step: dict[str, Any]) -> str:
    """After what was asked since; the answer goes nowhere."""
    if not world.network.late:
        return SKIPPED
    address, request, seed = world.network.late.pop(step["from"] % len(world.network.late))
    try:
        world.server(address).mailbox(device.name).exchange(request, seed)
    except MailboxError as error:
        return type(error).__name__
    return "arrived"


def _carried(random: Random, world: World, name: str) -> dict[str, Any] | None:
    others = [each for each in world.devices if each != name]
    folders = [address for address in world.drawn["addresses"] if address.startswith("folder")]
    if not others or not folders:
        return None
    share = random.choice((0.3, 0.7, 1.0, 1.0))
    return {"to": random.choice(others), "at": random.choice(folders), "share": share, "partly": random.random() < 0.3}


@operation(10, _carried)
def carry_files(world: World, device: Device, step: dict[str, Any]) -> str:
    """A sync service carries files of the shared folder to another machine: some, in any order, perhaps partly."""
    server = world.server(step["at"])
    if not isinstance(server, FolderServer) or step["to"] not in world.devices:
        return SKIPPED
    random = world.random("carry")
    return str(server.carry(device.name, step["to"], random, step["share"], partly=step["partly"]))
