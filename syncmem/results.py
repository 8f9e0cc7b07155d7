"""What reading and writing return: plain frozen objects, nothing to close, safe to keep and to share.

Times are aware ``datetime`` objects in UTC; None means unbounded or not stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any

from syncmem.errors import InvalidInput
from syncmem.model.as_json import as_dict as as_dict
from syncmem.model.value import NONE


class Decision(StrEnum):
    """What a write came to, on this device, when it was written."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"
    CONTESTED = "CONTESTED"


class Grade(StrEnum):
    """How far an answer about another device can be relied on."""

    EXACT = "exact"
    PROVISIONAL = "provisional"  # that device may have learned more since it was last heard of
    PARTIAL = "partial"  # some of what it held has not arrived here
    REDACTED = "redacted"  # some of what it held was erased


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement comes from.

    Attributes:
        kind: such as "user", "document", "integration", "model".
        id: which one: an account, a file, a model's name.
        episode: the conversation or document it was taken from.
        span: the place in the episode, as (start, end) in characters.
    """

    kind: str | None = None
    id: str | None = None
    episode: str | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Belief:
    """One value that holds over ``[valid_from, valid_to)``.

    Attributes:
        valid_from: None also where nobody knows since when (what an undated document says).
        value: the value as stated; ``NONE`` where it is known that there is none.
        trust: 0..100, of the statement that wins.
        source: kind and id of that statement's source (``why`` knows the episode and span).
        contested: something else claims to know better, and lost by trust or by a tie.
        event: the id of a claim that says so: the one that wins where this part of the belief begins.
        grade: how far an answer about another device can be relied on.
    """

    scope: str
    entity: str
    predicate: str
    value: Any
    valid_from: datetime | None
    valid_to: datetime | None
    trust: int
    source: Source
    contested: bool
    event: str
    grade: Grade = Grade.EXACT

    @property
    def is_none(self) -> bool:
        """Whether it is known that there is none."""
        return self.value is NONE

    def to_dict(self) -> dict[str, Any]:
        """As JSON types: times as RFC 3339 text, NONE as None."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Timeline(Sequence[Belief]):
    """The beliefs about one slot in order of valid time; equal neighbours are one.

    ``presumed`` tells of each belief from when on it is only presumed to hold still, because nobody vouched for a later
    moment (None: it was vouched for to its end, the year 1: nobody dated it at all); it is empty unless asked for.
    """

    scope: str
    entity: str
    predicate: str
    beliefs: tuple[Belief, ...]
    presumed: tuple[datetime | None, ...] = ()

    def __len__(self) -> int:
        return len(self.beliefs)

    def __getitem__(self, index: Any) -> Any:
        return self.beliefs[index]

    def __iter__(self) -> Iterator[Belief]:
        return iter(self.beliefs)

    def at(self, when: datetime) -> tuple[Belief, ...]:
        """The beliefs that hold at an aware moment.

        Raises:
            InvalidInput: the moment has no zone.
        """
        if when.utcoffset() is None:
            raise InvalidInput(f"{when} has no zone; pass an aware datetime (tzinfo=UTC, or an offset)")
        return tuple(
            belief
            for belief in self.beliefs
            if (belief.valid_from is None or belief.valid_from <= when)
            and (belief.valid_to is None or when < belief.valid_to)
        )

    def to_svg(self, *, now: datetime | None = None, zone: str | tzinfo = UTC, width: float | None = None) -> str:
        """The timeline as the text of an SVG file, light or dark as its viewer wishes.

        ``now``: an aware moment to mark; ``zone``: in which dates are shown; ``width``: in pixels.
        """
        from syncmem.picture.alone import timeline_svg

        return timeline_svg(self, now, zone, width)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from syncmem.picture.alone import timeline_html

        return timeline_html(self)


@dataclass(frozen=True, slots=True)
class Change:
    """A belief that a write began or ended."""

    value: Any
    valid_from: datetime | None
    valid_to: datetime | None
    event: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a write did, as this device saw it; the fold decides on every device what holds.

    Attributes:
        decision: ADD, UPDATE, DELETE, NOOP or CONTESTED.
        event: the id of the event that was written.
        closed: beliefs that are no longer held as they were.
        opened: beliefs that are held now.
        lost_to: the belief that stands against what was written, if it did not win.
        why: one sentence.
        known: this device's transaction number.
        undeclared: the predicate was never defined (it is treated as many-valued).
    """

    decision: Decision
    event: str
    closed: tuple[Change, ...]
    opened: tuple[Change, ...]
    lost_to: Belief | None
    why: str
    known: int
    undeclared: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What was taken back of the words of a source or a device, as this device saw it.

    Attributes:
        events: the ids of the events that take it back; undoing them restores all of it. None in a dry run.
        taken: how many events were taken back, by their verb, such as ``{"remember": 412, "end": 3}``.
        slots: (scope, entity, predicate, number) of the statements that were taken back.
        changed: (scope, entity, predicate) of the slots that believe something else now.
        trust: with how much trust it was taken back; an undo of it needs as much.
        outranked: how many events stay because they were said with more trust; pass a higher ``trust=``.
        erasures: how many erasures are among its words; nothing takes those back.
        since, until: the time that was looked at; None: unbounded.
        known: this device's transaction number.
        why: one or two sentences, also on what is still to come.
        dry_run: nothing was kept of it.
    """

    events: tuple[str, ...]
    taken: dict[str, int]
    slots: tuple[tuple[str, str, str, int], ...]
    changed: tuple[tuple[str, str, str], ...]
    trust: int
    outranked: int
    erasures: int
    since: datetime | None
    until: datetime | None
    known: int
    why: str
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What an erasure did here; the other devices do the same when they hear of it.

    Attributes:
        entities: the names that it reached, those that were one with the entity included.
        events: how many events were erased, for each scope in which the erasure was written.
        erasures: the ids of the events that tell the other devices.
        scrubbed: no trace is left in this replica's files; if not, a program that is reading them holds that up,
            and it is done at a later write, start or ``scrub()``.
        alike: where nothing was erased, the entities here whose names differ from that one in case alone.
    """

    entities: tuple[str, ...]
    events: dict[str, int]
    erasures: tuple[str, ...]
    scrubbed: bool
    alike: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One event about a slot.

    Attributes:
        event: its id; ``verb``: remember, affirm, end, deny, retract, withdraw, undo, define, same, different,
            clock_note.
        entity: of a statement, the entity that it names itself; others may be one with it; ``predicate``: about what.
        value: of a link (same, different), both names.
        status: "live", or what took it back: "undone", "withdrawn", "retracted", "denied", "detached", "unreadable";
            "retracted with" an event that was taken from the same passage, or "unfounded: ..." for a derived claim.
        effect: what its arrival did here, in words.
        asserted_at: the writer's clock, corrected for known errors; ``arrived_at``: when it arrived here.
        names: ids of the events that it refers to; ``derived_from``: of the claims from which a claim follows.
        quote: the words of its source's span, if that episode's content is here.
    """

    event: str
    verb: str
    entity: str | None
    value: Any
    form: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    observed_at: datetime | None
    trust: int
    source: Source
    batch: str | None
    reason: str | None
    device: str
    asserted_at: datetime | None
    arrived_at: datetime | None
    known: int
    status: str
    effect: str
    names: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    quote: str | None = None
    predicate: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Aliases:
    """The names of one entity.

    Attributes:
        entity: the name under which all of them stand: the least.
        names: all of them, in order.
        links: the events that say of one of them that it is, or is not, one with another name; ``value`` holds both
            names, ``effect`` tells what became of it.
    """

    entity: str
    names: tuple[str, ...]
    links: tuple[HistoryEntry, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something is believed.

    Attributes:
        winner: the statement that wins at the moment asked about.
        supports: other live statements of the same value that cover it.
        lost: live statements of other values, each with the reason why it does not hold there.
        taken_back: statements that were undone, withdrawn, retracted or denied, with the reason.
        text: all of it in a few sentences.
    """

    belief: Belief | None
    winner: HistoryEntry | None
    supports: tuple[HistoryEntry, ...]
    lost: tuple[tuple[HistoryEntry, str], ...]
    taken_back: tuple[tuple[HistoryEntry, str], ...]
    text: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class RepairedLog:
    """A log that two lives of its device went on writing (a machine put back whole): the branches stand apart now.

    Attributes:
        log: the start of its id; ``device``: whose it is.
        place: the first place at which there were two events.
        events: how many events of one branch stand in another log now; what refers to them follows.
        moved_to: the start of that log's id, where this device moved them; None where it only followed.
    """

    log: str
    device: str
    place: int
    events: int
    moved_to: str | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What a merge or an import brought.

    Attributes:
        events: how many events were new.
        transactions: in how many transactions they were taken in.
        slots: (scope, entity, predicate) of the slots that changed.
        refused: why the events of some logs were not taken in; those of the others were.
        repaired: logs that two lives of a device had gone on writing, and that are whole again.
        chunks: how many parts of the content of episodes were new.
    """

    events: int
    transactions: int
    slots: tuple[tuple[str, str, str], ...] = ()
    refused: tuple[str, ...] = ()
    repaired: tuple[RepairedLog, ...] = ()
    chunks: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Notice:
    """A slot believes something else now; ``aliases`` are the other names of its entity."""

    scope: str
    entity: str
    predicate: str
    known: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Doctor:
    """The state of a replica and of what it stands on; ``problems`` is empty when all is well."""

    facts: dict[str, Any]
    problems: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)
