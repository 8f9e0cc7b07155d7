"""Drawing a world and its steps from a seed: each seed turns operations off and weights them anew (swarm)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tests.simulator import faults as faults
from tests.simulator.network import KINDS, LIES
from tests.simulator.operations import TABLE
from tests.simulator.servers import KINDS as SERVERS
from tests.simulator.trace import Step
from tests.simulator.world import SECOND, World

SIZES = {"small": (3, 60), "large": (6, 200)}  # devices at most, steps
WAITS = (0, 0, 0, 1, 1, 60, 3600, 3600, 86_400, 40 * 86_400)  # seconds before a step
TOUCHES_MAX = 60  # of the world, before a process dies
BUCKETS = 0.15  # share of the worlds that meet in object storage
LIARS = 0.25  # share of the worlds whose mailboxes lie
RARE = ("rotate", "adopt", "recover", "wipe")  # what is drawn apart, in a share of the worlds
RARE_WORLDS, RARE_STEPS = 0.25, 0.15
BACK = 0.2  # chance of each step that a device without its key comes back
OF_TWO = ("pair", "revoke")  # nobody dies in them
ALWAYS = ("remember", "sync", "look")


def drawn_world(seed: int, size: str) -> dict[str, Any]:
    """What is fixed before the first step."""
    random = Random(f"world/{size}/{seed}")
    devices, steps = SIZES[size]
    addresses = [f"{random.choice(SERVERS)}:{number}" for number in range(random.choice((1, 1, 1, 2)))]
    if Random(f"bucket/{size}/{seed}").random() < BUCKETS:
        addresses[0] = "bucket:0"  # drawn apart: other worlds stay what they are
    drawn = {
        "seed": f"{size}/{seed}",
        "devices": random.randint(2, devices),
        "steps": random.randint(steps // 2, steps),
        "addresses": addresses,
        "scopes": ["work"] if random.random() < 0.3 else [],
        "keyrings": random.random() < 0.2,
        "definitions": {"city": "single"} if random.random() < 0.7 else {},
        "weights": _weights(random),
        "weather": _climate(random),
        "deaths": random.choice((0, 0.1, 0.3)),
    }
    return drawn | _drawn_apart(Random(f"besides/{size}/{seed}"), drawn)


def _drawn_apart(random: Random, drawn: dict[str, Any]) -> dict[str, Any]:
    """What came later, so that other worlds stay what they are."""
    apart: dict[str, Any] = {}
    if random.random() < RARE_WORLDS:
        apart |= {"rare": True, "devices": drawn["devices"] + 2}
    if random.random() < LIARS:
        kinds = [*drawn["weather"]["kinds"], *(kind for kind in LIES if random.random() < 0.7)]
        apart["weather"] = drawn["weather"] | {"kinds": kinds, "often": drawn["weather"]["often"] or 0.3}
    return apart


def _weights(random: Random) -> dict[str, float]:
    """How often each operation is done; the share that is off differs from seed to seed, and a few come often."""
    off, calm = random.choice((0.0, 0.2, 0.5)), random.random() < 0.1
    drawn = {name: operation for name, operation in TABLE.items() if operation.weight}
    weights, stormy = {}, random.sample(list(drawn), 4)
    for name, operation in drawn.items():
        if name not in ALWAYS and (random.random() < off or (operation.fault and calm)):
            continue
        weights[name] = round(operation.weight * random.choice((0.3, 1, 1, 3)) * (5 if name in stormy else 1), 2)
    return weights


def _climate(random: Random) -> dict[str, Any]:
    """How often the weather is bad, and what then goes wrong."""
    kinds = [kind for kind in KINDS if random.random() < 0.4]
    return {"often": random.choice((0, 0.3, 0.8)) if kinds else 0, "kinds": kinds, "chance": random.choice((0.05, 0.3))}


def drawn_steps(world: World) -> Iterator[Step]:
    """The steps, each drawn when it is its turn."""
    random = Random(f"steps/{world.seed}")
    yield from (
        {"n": number, "do": "pair", "on": "d0", "name": f"d{number}", "scopes": world.scopes[1:]} for number in (1,)
    )
    for number in range(2, world.drawn["steps"] + 2):
        yield drawn_step(world, random, number)


def drawn_step(world: World, random: Random, number: int) -> Step:
    world.step = number
    weights = world.drawn["weights"]
    if world.drawn.get("rare") and (rare := _rare(world, number)):
        return rare
    if world.keyless and (back := _come_back(world, number)):
        return back
    while True:
        name = random.choices(list(weights), list(weights.values()))[0]
        device = random.choice(list(world.devices))
        choices = TABLE[name].draw(random, world, device)
        if choices is not None:
            break
    step: Step = {"n": number, "do": name, "on": device} | choices
    if wait := random.choice(WAITS):
        step["wait"] = wait * SECOND
    climate = world.drawn["weather"]
    if name in ("sync", "read episodes") and random.random() < climate["often"]:
        step["net"] = dict.fromkeys(climate["kinds"], climate["chance"])
    if random.random() < world.drawn["deaths"] and not TABLE[name].fault and name not in OF_TWO:
        step["dies"] = random.randint(1, TOUCHES_MAX)
    return step


def _rare(world: World, number: int) -> Step | None:
    random = world.random("rare")
    if random.random() >= RARE_STEPS:
        return None
    name, device = random.choice(RARE), random.choice(list(world.devices))
    if name == "wipe" and world.keyrings:
        return None  # who dies in the middle of that has a side file whose key is gone, and is told to move it away
    choices = TABLE[name].draw(random, world, device)
    return None if choices is None else {"n": number, "do": name, "on": device, **choices}


def _come_back(world: World, number: int) -> Step | None:
    """A device that lost its key may be let in anew; drawn apart, so that worlds where none did stay what they are."""
    random = world.random("come back")
    device = random.choice(list(world.devices))
    choices = TABLE["come back"].draw(random, world, device) if random.random() < BACK else None
    return None if choices is None else {"n": number, "do": "come back", "on": device, **choices}
