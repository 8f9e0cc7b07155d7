"""A laptop and a phone learn different things offline, and meet through bundle files (a USB stick, a mail)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from syncmem import Memory


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with Memory(place / "laptop.db") as laptop, Memory(place / "phone.db") as phone:
            laptop.define("employer", cardinality="single")
            laptop.remember("ana", "employer", "Stripe", changed_on="2021-02-01T00:00Z", source="user")
            exchange(laptop, phone, place / "first.bundle")

            # Both are offline. The phone hears of a change in June; the laptop still hears of the old state in May.
            phone.remember("ana", "employer", "Acme", changed_on="2024-06-01T00:00Z", source="user")
            laptop.remember("ana", "employer", "Stripe", observed_at="2024-05-02T09:00Z", source="user")

            exchange(phone, laptop, place / "second.bundle")
            exchange(laptop, phone, place / "third.bundle")
            for name, memory in (("laptop", laptop), ("phone", phone)):
                spans = [f"{b.value} from {b.valid_from:%Y-%m-%d}" for b in memory.timeline("ana", "employer")]
                print(name, "believes:", ", then ".join(spans))
            print("equal:", laptop.belief_digest() == phone.belief_digest())


def exchange(giver: Memory, taker: Memory, path: Path) -> None:
    """Everything the giver holds goes into a file, and from it into the taker; what is known costs nothing."""
    giver.export_bundle(path)
    taker.import_bundle(path)


if __name__ == "__main__":
    main()
