"""An import that turns out to be wrong is withdrawn as a whole; what it superseded returns."""

from __future__ import annotations

from syncmem import Memory, Source


def main() -> None:
    with Memory(":memory:", zone="UTC") as memory:
        memory.define("phone", cardinality="single")
        memory.remember("ana", "phone", "+351 21 000", changed_on="2023-01-10", source="user")

        archive = Source(kind="integration", id="address-book")
        with memory.transaction():
            for person, number in (("ana", "+49 30 111"), ("rui", "+351 22 222")):
                said = {"source": archive, "trust": "user", "batch": "address-book-7"}
                memory.remember(person, "phone", number, changed_on="2024-02-01", **said)
        print("after the import:", value(memory, "ana"), "and", value(memory, "rui"))

        receipt = memory.retract(batch="address-book-7", reason="it was somebody else's address book")
        print("withdrawn:", receipt.decision, "->", value(memory, "ana"), "and", value(memory, "rui"))

        memory.undo(receipt.event)
        print("undone:", value(memory, "ana"), "and", value(memory, "rui"))


def value(memory: Memory, person: str) -> object:
    belief = memory.believe(person, "phone")
    return None if belief is None else belief.value


if __name__ == "__main__":
    main()
