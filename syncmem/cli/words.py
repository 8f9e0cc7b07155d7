"""Values, times and results in words.

Rule: a value may come from any device, so nothing in it reaches the terminal as a control sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from syncmem.model.instant import local_text
from syncmem.picture.legible import escaped as escaped
from syncmem.picture.legible import period_text as period_text
from syncmem.picture.legible import source_text as source_text
from syncmem.picture.legible import value_text as value_text

if TYPE_CHECKING:
    from syncmem.results import Belief, Change, HistoryEntry, Receipt, RepairedLog

NAMES_SHOWN: Final = 3  # as many as fit a line
DURATIONS: Final = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"))


def repair_text(repaired: RepairedLog) -> str:
    """What became of a log that two lives of a device had gone on writing."""
    where = "are in another log now" if repaired.moved_to is None else f"were moved to log {repaired.moved_to}"
    return (
        f"Two lives of device {repaired.device} wrote log {repaired.log} on from place {repaired.place} "
        f"(a machine put back whole?): {counted(repaired.events, 'event')} of one {where}; nothing is lost."
    )


def duration_text(microseconds: int | None) -> str:
    """The shortest whole form.

    >>> duration_text(30 * 86_400_000_000), duration_text(None)
    ('30d', '')
    """
    if microseconds is None:
        return ""
    for size, unit in DURATIONS:
        if microseconds % size == 0:
            return f"{microseconds // size}{unit}"
    return f"{microseconds / 1e6}s"


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "event"), counted(2, "event")
    ('1 event', '2 events')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def slot_text(entity: str, predicate: str, scope: str = "vault") -> str:
    place = "" if scope == "vault" else f" ({escaped(scope)})"
    return f"{escaped(entity)} {escaped(predicate)}{place}"


def belief_text(belief: Belief, zone: tzinfo) -> str:
    """One belief on one line."""
    parts = [
        value_text(belief.value),
        period_text(belief.valid_from, belief.valid_to, zone),
        f"trust {belief.trust}",
        source_text(belief.source),
        "contested" if belief.contested else "",
        "" if belief.grade == "exact" else str(belief.grade),
        belief.event,
    ]
    return _joined(parts)


def change_text(change: Change, zone: tzinfo) -> str:
    return f"{value_text(change.value)}  {period_text(change.valid_from, change.valid_to, zone)}"


def receipt_text(receipt: Receipt, zone: tzinfo) -> str:
    """What a write did."""
    lines = [f"{receipt.decision}  {escaped(receipt.why)}"]
    lines += [f"  closed  {change_text(change, zone)}" for change in receipt.closed]
    lines += [f"  opened  {change_text(change, zone)}" for change in receipt.opened]
    lines += [f"  lost to {belief_text(receipt.lost_to, zone)}"] if receipt.lost_to else []
    lines += [f"  event   {receipt.event}  (tx{receipt.known})"]
    if receipt.undeclared:
        lines.append("  note    the predicate is undeclared, so it holds many values; 'syncmem define' settles it")
    return "\n".join(lines)


def entry_text(entry: HistoryEntry, zone: tzinfo, *, named: bool = False) -> str:
    """One event: what was said (``named``: of whom), where it stands, and the words that it was drawn from."""
    said = [local_text(entry.asserted_at, zone), entry.verb]
    said += [escaped(entry.entity)] if named and entry.entity is not None else []
    said += [value_text(entry.value)] if entry.value is not None else []
    said += [period_text(entry.valid_from, entry.valid_to, zone)] if entry.form else []
    said += [f"of {_some(entry.names)}"] if entry.names else []
    said += [f"from {_some(entry.derived_from)}"] if entry.derived_from else []
    stands = [
        entry.event,
        entry.status,
        f"trust {entry.trust}",
        source_text(entry.source),
        f"batch {escaped(entry.batch)}" if entry.batch else "",
        f"device {entry.device}",
    ]
    quoted = "" if entry.quote is None else f'\n    "{escaped(entry.quote)}"'
    return f"{_joined(said)}\n    {_joined(stands)}{quoted}"


def several_names(entries: Iterable[HistoryEntry]) -> bool:
    """Whether statements are about several names, which are one."""
    return len({entry.entity for entry in entries} - {None}) > 1


def _some(names: Sequence[str]) -> str:
    """The first names: one event may name a thousand others."""
    more = len(names) - NAMES_SHOWN
    return " ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def history_text(entries: Sequence[HistoryEntry], zone: tzinfo) -> str:
    """Events in order of arrival, and after those that arrived together what they did."""
    lines, named = [], several_names(entries)
    for entry, following in zip_longest(entries, entries[1:]):
        lines.append(entry_text(entry, zone, named=named))
        if following is None or following.known != entry.known:
            lines += [f"    => {escaped(entry.effect)}"] if entry.effect else []
    return "\n".join(lines)


def facts_text(facts: Mapping[str, Any], indent: str = "") -> str:
    """Nested facts, one a line."""
    width = max(map(len, facts), default=0)
    lines = []
    for name, fact in facts.items():
        title = f"{indent}{name.replace('_', ' '):<{width}}"
        rows = fact if isinstance(fact, list) and fact and isinstance(fact[0], dict) else None
        if isinstance(fact, dict):
            lines += [title.rstrip(), facts_text(fact, indent + "  ")]
        elif rows is not None:
            lines += [title.rstrip(), *(indent + "  " + _joined(_named(row)) for row in rows)]
        else:
            lines.append(f"{title}  {_fact_text(fact)}")
    return "\n".join(lines)


def _named(row: Mapping[str, Any]) -> Iterable[str]:
    return (f"{name.replace('_', ' ')} {_fact_text(fact)}" for name, fact in row.items() if fact is not None)


def _fact_text(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, list):
        return (
            ", ".join(" ".join(_named(each)) if isinstance(each, dict) else value_text(each) for each in fact) or "none"
        )
    return value_text(fact)


def _joined(parts: Iterable[str]) -> str:
    return "  ".join(part for part in parts if part)
