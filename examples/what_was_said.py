"""A conversation is kept as it was; claims are drawn from it, quote it, and are derived anew by a better extractor."""

from __future__ import annotations

from collections.abc import Sequence

from syncmem import Candidate, Memory, Utterance, english

TURNS = [
    ("2025-04-10T09:00Z", "I live in Lisboa."),
    ("2025-04-10T09:01Z", "I speak Greek and Portuguese."),
]


def better(said: Utterance) -> Sequence[Candidate]:
    """The next version of the extractor: it spells cities in English."""
    spelled = {"Lisboa": "Lisbon"}
    return [
        Candidate(
            found.entity,
            found.predicate,
            spelled.get(found.value, found.value),
            kind=found.kind,
            observed_at=found.observed_at,
            source=found.source,
        )
        for found in english(said)
    ]


with Memory(":memory:", zone="Europe/Lisbon") as memory:
    memory.define_pack("personal")
    observed = [memory.observe(text, speaker="ana", at=at, conversation="chat-7") for at, text in TURNS]
    for turn in observed:
        memory.extract(turn.episode, english, version=1, name="cities")

    again = memory.observe(TURNS[0][1], speaker="ana", at=TURNS[0][0], conversation="chat-7")
    print(f"observed again: {'written' if again.new else 'nothing was written'}")

    for derived in memory.reextract(better, version=2, name="cities"):
        print(f"version 2 derived {len(derived.judged)} anew and withdrew {len(derived.withdrawn)} batch")
    city = memory.believe("ana", "home_city")
    winner = memory.why("ana", "home_city").winner
    assert city is not None and winner is not None
    print(f"believed: {city.value}, because ana said {winner.quote!r}")

    memory.erase(episode=observed[0].episode)
    winner = memory.why("ana", "home_city").winner
    assert winner is not None
    print(f"still believed: {winner.value}; {'its words are gone' if winner.quote is None else winner.quote}")
    print("left of the conversation:", [memory.episode_text(one.id) for one in memory.episodes(conversation="chat-7")])
