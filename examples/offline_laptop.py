"""An agent on a laptop works without any network, and syncs when it has one: nothing it learned is lost, or clobbers.

The folder stands for what a service shares between the devices; while it is not there, the laptop is offline.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from syncmem import Memory


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        shared, away = Path(place) / "shared", Path(place) / "away"
        shared.mkdir()
        address = f"folder:{shared}"
        with Memory(Path(place) / "laptop.db") as laptop:
            phrase = laptop.create_vault("laptop")
            laptop.add_mailbox(address)
            laptop.define("flight", cardinality="single")
            laptop.remember("trip", "flight", "TP 532", changed_on="2025-05-01T08:00Z", source="user")
            laptop.sync()
            with Memory.recover(Path(place) / "desktop.db", phrase, address, name="desktop") as desktop:
                desktop.sync()
                laptop.sync()
                shared.rename(away)  # the laptop boards a train
                work(laptop, shared)
                away.rename(shared)
                desktop.remember("trip", "flight", "TP 536", changed_on="2025-05-09T12:00Z", source="user")
                desktop.sync()
                meet(laptop, desktop)


def work(laptop: Memory, shared: Path) -> None:
    """What the agent does on the train: it reads and writes as ever, and a sync says why it cannot."""
    laptop.remember("trip", "flight", "TP 534", changed_on="2025-05-08T10:00Z", source="user")
    laptop.remember("trip", "hotel", "Casa do Mar", source="user")
    print("offline, believed:", value(laptop, "flight"), "and", value(laptop, "hotel"))
    report = laptop.sync()
    for each in report.mailboxes:
        print("sync:", (each.error or "done").replace(str(shared), "SHARED"))
    print("waiting to be sent:", laptop.status().pending, "events")


def meet(laptop: Memory, desktop: Memory) -> None:
    """The network is back: what was learned apart ends up in its right place on both."""
    report = laptop.sync()
    for change in report.changes:
        print("learned:", change.entity, change.predicate)
    desktop.sync()
    laptop.sync()
    for name, memory in (("laptop", laptop), ("desktop", desktop)):
        flights = [f"{belief.value} from {belief.valid_from:%d %B}" for belief in memory.timeline("trip", "flight")]
        print(name, "believes:", ", then ".join(flights), "and", value(memory, "hotel"))
    print("in sync:", laptop.status().in_sync, "- equal:", laptop.belief_digest() == desktop.belief_digest())


def value(memory: Memory, predicate: str) -> object:
    belief = memory.believe("trip", predicate)
    return None if belief is None else belief.value


if __name__ == "__main__":
    main()
