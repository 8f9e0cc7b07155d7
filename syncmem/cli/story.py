"""The demo's story: three devices that hear different things while offline, and meet.

Rules: the devices are real files and everything goes through :class:`syncmem.Memory`; only the clock
is set by hand, so that the story is the same each time.  Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from syncmem.environment import Environment, ManualClock
from syncmem.errors import FileError
from syncmem.model.instant import from_datetime

if TYPE_CHECKING:
    from syncmem.memory import Memory
    from syncmem.results import Belief, Explanation, HistoryEntry, Receipt, Timeline

CUSTOMER: Final = "customer:17"
CITY: Final = "home_city"
DEVICES: Final = ("phone", "laptop", "tablet")
ZONE: Final = "UTC"


def on(month: int, day: int, hour: int = 9) -> datetime:
    """A moment of the story, which plays in 2025."""
    return datetime(2025, month, day, hour, tzinfo=UTC)


PARTING: Final = on(3, 3, 12)
LAST_TUESDAY: Final = "2025-06-17"
TODAY: Final = on(6, 20, 10)  # a Friday


@dataclass(frozen=True, slots=True)
class Scene:
    """Something that one device hears, and what it writes then."""

    device: str
    when: datetime
    words: str
    remark: str
    write: Callable[[Memory, Sequence[Receipt]], Receipt]  # given the receipts of the scenes before it


SCENES: Final = (
    Scene(
        "laptop",
        on(3, 3, 9),
        '"I have lived in Berlin since 2015."',
        "",
        lambda memory, _: memory.remember(CUSTOMER, CITY, "Berlin", since="2015", source="user"),
    ),
    Scene(
        "laptop",
        on(3, 3, 10),
        "A note is filed: Porto since 2023.",
        "the wrong customer's",
        lambda memory, _: memory.remember(CUSTOMER, CITY, "Porto", since="2023", source="user"),
    ),
    Scene(
        "tablet",
        on(3, 20),
        '"I live in Berlin."',
        "then three months in a drawer",
        lambda memory, _: memory.remember(CUSTOMER, CITY, "Berlin", source="user"),
    ),
    Scene(
        "phone",
        on(6, 2),
        '"I moved to Lisbon in April."',
        "",
        lambda memory, _: memory.remember(CUSTOMER, CITY, "Lisbon", changed_on="2025-04", source="user"),
    ),
    Scene(
        "phone",
        on(6, 9),
        '"I am in Paris this week."',
        "ends by itself",
        lambda memory, _: memory.remember(
            CUSTOMER, CITY, "Paris", since="2025-06-09", until="2025-06-15", source="user"
        ),
    ),
    Scene(
        "laptop",
        on(6, 17),
        "A model guesses from an invoice: Madrid.",
        "trust 30, not 90",
        lambda memory, _: memory.remember(CUSTOMER, CITY, "Madrid", source="model", trust="inference"),
    ),
    Scene(
        "laptop",
        on(6, 18),
        "The note about Porto is retracted.",
        "it was customer:71's",
        lambda memory, earlier: memory.retract(earlier[1].event, reason="the note is about customer:71", source="user"),
    ),
)
MEETINGS: Final = (  # who takes in whose events; each device meets the others in another order
    ("phone", "laptop"),
    ("laptop", "tablet"),
    ("tablet", "phone"),
    ("phone", "tablet"),
    ("laptop", "phone"),
    ("tablet", "laptop"),
)


@dataclass(frozen=True, slots=True)
class Told:
    """All that the demo prints."""

    ids: Mapping[str, str]  # device -> its id
    decisions: tuple[str, ...]  # of the scenes
    before: Mapping[str, Timeline]
    digests_before: Mapping[str, str]
    meetings: tuple[tuple[str, str, int], ...]  # device, whose events it took in, how many were new
    after: Mapping[str, Timeline]
    digests_after: Mapping[str, str]
    now: Belief | None
    believed_on_tuesday: Belief | None  # by the tablet, about that day, on that day
    believed_about_tuesday: Belief | None  # by the tablet, about that day, today
    why: Explanation
    contested: tuple[Belief, ...]
    history: tuple[HistoryEntry, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        heard = zip(SCENES, self.decisions, strict=True)
        return {
            "devices": dict(self.ids),
            "heard": [
                {"device": scene.device, "when": scene.when.isoformat(), "words": scene.words, "decision": decision}
                for scene, decision in heard
            ],
            "before": _timelines(self.before),
            "digests_before": dict(self.digests_before),
            "meetings": [{"device": device, "from": other, "events": new} for device, other, new in self.meetings],
            "after": _timelines(self.after),
            "digests_after": dict(self.digests_after),
            "now": self.now and self.now.to_dict(),
            "tablet_on_tuesday": self.believed_on_tuesday and self.believed_on_tuesday.to_dict(),
            "tablet_about_tuesday": self.believed_about_tuesday and self.believed_about_tuesday.to_dict(),
            "why": self.why.to_dict(),
            "contested": [belief.to_dict() for belief in self.contested],
            "history": [entry.to_dict() for entry in self.history],
        }


def _timelines(timelines: Mapping[str, Timeline]) -> dict[str, Any]:
    return {device: [belief.to_dict() for belief in timeline] for device, timeline in timelines.items()}


def paths(folder: Path) -> dict[str, Path]:
    """Where each device's file is; refused where one is there already."""
    found = {device: folder / f"{device}.db" for device in DEVICES}
    for path in found.values():
        if path.exists():
            raise FileError(f"{path} exists already and was not touched; name an empty folder")
    return found


def play(folder: Path) -> Told:
    """Play the story in a folder; leaves one file for each device there."""
    from syncmem.memory import Memory

    clock = ManualClock(from_datetime(on(3, 3, 8)))
    with ExitStack() as open_memories:
        devices = {
            device: open_memories.enter_context(Memory(path, zone=ZONE, environment=Environment(clock=clock)))
            for device, path in paths(folder).items()
        }
        decisions = _hear(devices, clock)
        clock.time = from_datetime(TODAY)
        before = {device: memory.timeline(CUSTOMER, CITY) for device, memory in devices.items()}
        digests_before = {device: memory.belief_digest() for device, memory in devices.items()}
        meetings = tuple((name, other, devices[name].merge(devices[other]).events) for name, other in MEETINGS)
        tablet = devices["tablet"]
        return Told(
            ids={device: memory.device for device, memory in devices.items()},
            decisions=decisions,
            before=before,
            digests_before=digests_before,
            meetings=meetings,
            after={device: memory.timeline(CUSTOMER, CITY) for device, memory in devices.items()},
            digests_after={device: memory.belief_digest() for device, memory in devices.items()},
            now=tablet.believe(CUSTOMER, CITY),
            believed_on_tuesday=tablet.believe(CUSTOMER, CITY, valid_at=LAST_TUESDAY, known_at=LAST_TUESDAY),
            believed_about_tuesday=tablet.believe(CUSTOMER, CITY, valid_at=LAST_TUESDAY),
            why=tablet.why(CUSTOMER, CITY),
            contested=tuple(tablet.contested()),
            history=tuple(tablet.history(CUSTOMER, CITY)),
        )


def _hear(devices: Mapping[str, Memory], clock: ManualClock) -> tuple[str, ...]:
    """Each scene on its device; at the parting all devices hold what the laptop heard."""
    devices["laptop"].define(CITY, cardinality="single")
    receipts: list[Receipt] = []
    for scene in SCENES:
        if scene.when > PARTING and from_datetime(PARTING) > clock.time:
            clock.time = from_datetime(PARTING)
            for device in ("phone", "tablet"):
                devices[device].merge(devices["laptop"])
        clock.time = from_datetime(scene.when)
        receipts.append(scene.write(devices[scene.device], receipts))
    return tuple(str(receipt.decision) for receipt in receipts)
