"""Reasons: why a slot believes what it believes at one moment, statement by statement."""

from __future__ import annotations

from typing import Final

from syncmem.model.instant import FOREVER, iso
from syncmem.model.record import CLAIM_ROLES, DEAD, Record, Role
from syncmem.model.sweep import sweep
from syncmem.replica.catalog import Slot
from syncmem.replica.reading import Reading, Visible
from syncmem.replica.replica import Replica
from syncmem.replica.stretch import Near
from syncmem.replica.telling import Telling
from syncmem.replica.timelines import NONE_KEY, spread_over_lanes
from syncmem.results import Belief, Explanation, HistoryEntry

LOST_TOLD_MAX: Final = 8  # in words, those that contradict first; all that were weighed are in the explanation
ELSEWHEN: Final = "it holds only"
REPLACED: Final = "a statement about a later time replaced it"  # which is no contradiction


class Reasons:
    """Explains beliefs of one replica."""

    def __init__(self, replica: Replica, reading: Reading, telling: Telling) -> None:
        self._replica = replica
        self._reading = reading
        self._telling = telling

    def explain(self, slot: Slot, instant: int, belief: Belief | None, visible: Visible) -> Explanation:
        """Why ``belief`` (or nothing) is believed of a slot at a valid instant, by the visible events."""
        behind = None if belief is None else self._telling.position(belief.event)
        near = Near(instant, behind, visible.row)
        records = self._reading.records(slot, visible, near)
        winner = self._winner(slot, records, instant, belief, visible)
        if winner is None:  # what took it over from the one behind it may be out of sight
            winner = next((record for record in records if record.position == behind), None)
        claims = [record for record in records if record.role in CLAIM_ROLES]
        if winner is not None and self._reading.definition(slot, visible).many:
            claims = [record for record in claims if record.key in (winner.key, NONE_KEY)]  # others do not interact
        supports, lost, gone = [], [], []
        for record in claims:
            if winner is not None and record.position == winner.position:
                continue
            entry = self._telling.entry(record.position)
            if record.flags & DEAD:
                gone.append((entry, f"it was {entry.status}"))
            elif winner is not None and record.key == winner.key:
                supports.append(entry)
            else:
                lost.append((entry, _why_lost(record, winner, instant)))
        shown = None if winner is None else self._telling.entry(winner.position)
        text = _text(belief, shown, len(supports), lost, len(gone), near.passed_over)
        return Explanation(belief, shown, tuple(supports), tuple(lost), tuple(gone), text)

    def _winner(
        self, slot: Slot, records: list[Record], instant: int, belief: Belief | None, visible: Visible
    ) -> Record | None:
        """The statement that wins at the instant, in the lane of the belief."""
        if belief is None:
            return None
        many = self._reading.definition(slot, visible).many
        for held in spread_over_lanes(records, many).values():
            segments, _ = sweep([record for record in held if record.counts])
            ends = [segment.start for segment in segments[1:]] + [FOREVER]
            for segment, end in zip(segments, ends, strict=False):
                winner = segment.winner if segment.start <= instant < end else None
                if winner is not None and self._telling.value(winner) == belief.value:
                    return winner
        return None


def _why_lost(record: Record, winner: Record | None, instant: int) -> str:
    """The first rule that keeps a live claim from holding at the instant."""
    if record.start > instant:
        return f"{ELSEWHEN} from {iso(record.start)[:10]}"
    if record.stop <= instant:
        return f"{ELSEWHEN} until {iso(record.stop)[:10]}"
    if winner is None:
        return "it was ended, and nothing followed"
    if record.aging is not None and record.aging[0] <= instant and record.aging[1] < winner.trust:
        return f"it has aged, and counts with trust {record.aging[1]}, less than {winner.trust}"
    if record.trust < winner.trust:
        return f"its trust {record.trust} is less than {winner.trust}"
    if winner.role == Role.TEMPORARY and record.role != Role.TEMPORARY:
        return "a temporary statement lies over it"
    if record.anchor != winner.anchor:
        return REPLACED
    return "the other was observed later" if record.observed_at != winner.observed_at else "the other was written later"


def _text(
    belief: Belief | None,
    winner: HistoryEntry | None,
    supports: int,
    lost: list[tuple[HistoryEntry, str]],
    gone: int,
    elsewhere: int,
) -> str:
    if belief is None or winner is None:
        head = "Nothing is believed there."
    else:
        said = f"{winner.asserted_at:%Y-%m-%d %H:%M}" if winner.asserted_at else "at an unknown time"
        who = winner.source.kind or "someone"
        told = "derived it" if winner.derived_from else "said so"
        head = f"{belief.value!r} holds because {who} {told} ({said}, trust {winner.trust}, device {winner.device})."
    parts = [head]
    if winner is not None and winner.derived_from:
        parts.append(f"It is derived from {', '.join(winner.derived_from)}, and goes with any of them.")
    if supports:
        parts.append(f"{_counted(supports, 'more statement says', 'more statements say')} the same.")
    if len(lost) > LOST_TOLD_MAX:
        lost = sorted(lost, key=lambda each: each[1] == REPLACED or each[1].startswith(ELSEWHEN))
    parts += [f"{entry.value!r} does not hold: {why}." for entry, why in lost[:LOST_TOLD_MAX]]
    if len(lost) > LOST_TOLD_MAX:
        parts.append(
            f"{_counted(len(lost) - LOST_TOLD_MAX, 'more statement does', 'more statements do')} not hold either."
        )
    if gone:
        parts.append(f"{_counted(gone, 'statement was', 'statements were')} taken back.")
    if elsewhere:
        told = _counted(elsewhere, "statement about another time is", "statements about other times are")
        parts.append(f"{told} not weighed here.")
    if belief is not None and belief.contested:
        parts.append("It is contested: ask the user.")
    return " ".join(parts)


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"
