"""Why something was said: what a model had been given, what became of it, what it would be given now.

Rule: nothing of what was handed out is stored; it is read again from the rectangles, which keep for ever what was
believed when, for the moment and the known time of the entry.  What was erased since is gone there, too.
"""

from __future__ import annotations

from hashlib import sha256

from syncmem.errors import NotFound
from syncmem.model.event import Event
from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.record import Record
from syncmem.model.value import NONE, to_json
from syncmem.recall.answering import Answering, axes_of, moment
from syncmem.recall.asked import Axes
from syncmem.recall.ranking import Found
from syncmem.recall.receipts import blocks_in, receipts_in
from syncmem.recall.results import Hit, Recalled, Said, SaidClaim
from syncmem.recall.sharing import KIND, read
from syncmem.replica.episodes import Held
from syncmem.replica.reading import Reading
from syncmem.replica.readlog import Entry, Reference
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.replica import Replica
from syncmem.replica.telling import Telling

ERASED = "was erased"
HOLDS = "holds"


class Saying:
    """Looks into the read log of one replica."""

    def __init__(self, replica: Replica, reading: Reading, telling: Telling, answering: Answering) -> None:
        self._replica = replica
        self._reading = reading
        self._telling = telling
        self._answering = answering

    def entry(self, about: str) -> tuple[Entry, list[Reference]]:
        """The entry of a receipt, of a prompt as it was handed out, or of a text that carries either; what it found.

        Entries that other devices shared are known by their receipts.

        Raises:
            NotFound: there is none.
        """
        log = self._replica.readlog
        for receipt in receipts_in(about):
            found = log.entry(receipt)
            if found is not None:
                return found, log.found(found)
            shared = self._shared(receipt)
            if shared is not None:
                return shared
        for block in [about, *blocks_in(about)]:
            found = log.of_digest(sha256(block.encode()).digest())
            if found is not None:
                return found, log.found(found)
        raise NotFound(
            "no recall of this device is known by that; pass a receipt (recall-...), or a text that holds one or the "
            "block that was handed out: each device has a read log of its own; there 'syncmem why-said RECEIPT --share'"
            " (memory.share_recall) sends an entry"
        )

    def _shared(self, receipt: str) -> tuple[Entry, list[Reference]] | None:
        """The entry that another device shared under a receipt, if it has arrived."""
        listed = self._replica.fold.episodes.listed(
            scope=None, speaker=None, since=BEGINNING, until=FOREVER, conversation=receipt
        )
        for held in listed:
            if held.said.kind == KIND:
                arrival = self._replica.logs.arrival
                return read(self._content(held), self._telling.position, arrival, arrival(held.position))
        return None

    def _content(self, held: Held) -> str:
        episodes = self._replica.fold.episodes
        if episodes.missing(held):
            raise NotFound(f"what was shared of it is not all here; fetch({held.id.hex()!r}) brings it")
        chunks = [episodes.chunk(held, number) or b"" for number in range(1, held.said.chunk_count + 1)]
        return b"".join([held.said.content or b"", *chunks]).decode()

    def said(self, entry: Entry, found: list[Reference], now: Recalled | None, instant: int) -> Said:
        """What an entry says; ``now``: the same question asked again, ``instant``: about which moment."""
        claims = tuple(self._claim(reference, entry, instant) for reference in found)
        hits = () if now is None else tuple(sorted((*now.hits, *now.cut), key=lambda hit: (hit.past, -hit.score)))
        then = {_told(c.belief.entity, c.belief.predicate, c.belief.value, c.past) for c in claims if c.belief}
        anew = {_told(h.belief.entity, h.belief.predicate, h.belief.value, h.past) for h in hits}
        different = now is not None and (then != anew or any(claim.belief is None for claim in claims))
        return Said(
            receipt=entry.id,
            question=entry.question,
            asked_at=moment(entry.time),
            valid_at=moment(entry.instant),
            known=entry.n,
            claims=claims,
            now=hits,
            different=different,
            text=_text(entry, claims, hits, different),
        )

    def _claim(self, reference: Reference, entry: Entry, instant: int) -> SaidClaim:
        found = self._then(reference, entry)
        belief = None if found is None else self._telling.belief(found.slot, found.rectangle)
        since = ERASED if found is None else self._since(found, instant)
        why = tuple(reference.why.split())
        return SaidClaim(belief, reference.handed, reference.past, reference.score, why, since)

    def _then(self, reference: Reference, entry: Entry) -> Found | None:
        """What was found, as it was believed then; a claim of a moved branch stands elsewhere now."""
        for position in self._replica.moves.twins.get(reference.claim, (reference.claim,)):
            if not self._replica.logs.holds(position) or not isinstance(self._replica.logs.event(position), Event):
                continue
            placed = self._replica.fold.record_at(position)
            if placed is None:
                continue
            slot = placed[0]
            past = entry.asked is not None and entry.asked["history"]
            look = self._reading.timeline(slot, entry.n) if past else self._reading.at(slot, entry.instant, entry.n)
            for lane, rectangle in look:
                if rectangle.claim == position:
                    return Found(slot, lane, rectangle, reference.past)
            if entry.shared:  # there it was believed; here it arrived together with what replaced it
                return Found(slot, b"", self._claimed(placed[1]), reference.past)
        return None

    def _claimed(self, record: Record) -> Rectangle:
        """A belief as its claim alone would have it."""
        told = to_json(record.value)
        return Rectangle(record.start, record.stop, told, record.trust, 0, record.source, record.position)

    def _since(self, found: Found, instant: int) -> str:
        """What became of a belief."""
        now = self._reading.at(found.slot, instant)
        if found.past:
            now = self._reading.timeline(found.slot)
        if any(rectangle.value == found.rectangle.value for _, rectangle in now):
            return HOLDS
        status = self._telling.entry(found.rectangle.claim).status
        if status != "live":
            return f"was {status}"
        values = [self._telling.belief(found.slot, rectangle).value for _, rectangle in now]
        told = ", ".join("none" if value is NONE else repr(value) for value in values)
        return f"no longer holds; now {told}" if told and not found.past else "no longer holds"


def _told(entity: str, predicate: str, value: object, past: bool) -> tuple[str, str, str, bool]:
    return entity, predicate, repr(value), past


def _text(entry: Entry, claims: tuple[SaidClaim, ...], hits: tuple[Hit, ...], different: bool) -> str:
    asked = "a question that was erased since" if entry.question is None else repr(entry.question)
    handed = sum(claim.handed for claim in claims)
    parts = [
        f"Asked {asked} on {moment(entry.time):%Y-%m-%d %H:%M}, the model was given {_beliefs(handed)}"
        + (f"; {len(claims) - handed} more did not fit." if handed < len(claims) else ".")
    ]
    for claim in claims:
        if claim.handed and claim.since != HOLDS:
            told = "One" if claim.belief is None else f"{claim.belief.entity} {claim.belief.predicate}"
            value = "" if claim.belief is None else f" = {claim.belief.value!r}"
            parts.append(f"{told}{value} {claim.since}.")
    if entry.question is not None:
        parts.append(
            f"The same question finds something else now ({_beliefs(len(hits))})."
            if different
            else "The same question is answered the same now."
        )
    return " ".join(parts)


def again(entry: Entry, now: int) -> tuple[Axes, int] | None:
    """The axes to ask the same question again, if it is known; and the moment it is about now."""
    if entry.asked is None:
        return None
    instant = entry.instant if entry.asked["dated"] else now
    return axes_of(entry.asked, instant), instant


def _beliefs(number: int) -> str:
    return f"{number} belief" + ("" if number == 1 else "s")
