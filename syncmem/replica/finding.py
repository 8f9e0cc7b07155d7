"""Finding what a device or a source said in some time, in whatever kind of event.

Rules: a time is that of the writer's clock, corrected for known errors, so every replica that holds the same
events finds the same; notes of arrival and of moved events say nothing, episodes are raw material that only an
erasure takes away, and events that this version cannot read are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from syncmem.model.episode import Episode
from syncmem.model.event import Event, Frontier, Payload, readable
from syncmem.model.moved import Moved
from syncmem.replica.replica import Replica
from syncmem.results import Source


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whose words are meant: all that is not None must fit.

    Attributes:
        device: the key of the device that wrote them.
        source: what they name as their source; of it, too, only what is not None.
        since, until: the first and the last instant, both included.
    """

    device: bytes | None
    source: Source
    since: int
    until: int
    scope: str | None


class Said(NamedTuple):
    """An event that was found."""

    position: int
    scope: str
    kind: int
    trust: int
    payload: Payload


def said_by(replica: Replica, speaker: Speaker) -> Iterator[Said]:
    """All that a speaker said and that is held, log by log in the order in which it was written."""
    for log in replica.logs.held(scope=speaker.scope, device=speaker.device):
        assert log.key is not None
        for first, events in replica.logs.runs(log.no):
            for position, event in enumerate(events, log.position(first)):
                if isinstance(event, Event) and _in_time(replica, speaker, position, event):
                    payload = readable(event)
                    if (
                        payload is not None
                        and not isinstance(payload, Frontier | Moved | Episode)
                        and _names(payload, speaker.source)
                    ):
                        yield Said(position, log.key.scope, event.kind, payload.trust, payload)


def _in_time(replica: Replica, speaker: Speaker, position: int, event: Event) -> bool:
    return speaker.since <= replica.clocks.corrected(position, event.hlc) <= speaker.until


def _names(payload: Payload, source: Source) -> bool:
    """Whether an event names a source, as far as that is told."""
    stated = getattr(payload, "source_kind", None), getattr(payload, "source_id", None)
    episode = (getattr(payload, "extra", None) or {}).get("episode") if source.episode is not None else None
    wanted = source.kind, source.id, source.episode
    return all(part is None or part == own for part, own in zip(wanted, (*stated, episode), strict=True))
