"""The page of one slot, its address, and the page of its whole history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from syncmem.errors import InvalidInput
from syncmem.picture.bars import Hues
from syncmem.replica.catalog import VAULT
from syncmem.view.pages import to
from syncmem.view.shown import TABLE_ROWS, told
from syncmem.view.viewer import bound_of, moment_of, number_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from syncmem.results import HistoryEntry
    from syncmem.view.viewer import Viewer


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a slot is to be shown.

    Attributes:
        known: as of which transaction of this device; None: now.
        at: the moment about which is told why; None: now.
        since, until: the stretch of time that is looked at.
        skip: rows of the table that come before.
        meeting: of which meeting of devices before and after are shown; None: the last one.
    """

    entity: str
    predicate: str
    scope: str
    known: int | None = None
    at: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    skip: int = 0
    meeting: int | None = None

    @staticmethod
    def of(request: Request, zone: tzinfo) -> Asked:
        asked = request.query_params
        entity, predicate = asked.get("entity", ""), asked.get("predicate", "")
        if not entity or not predicate:
            raise InvalidInput("which slot? follow a link from the list of people and things")
        since, until = bound_of(request, "since", zone, end=False), bound_of(request, "until", zone, end=True)
        if since is not None and until is not None and since >= until:
            raise InvalidInput("that stretch of time ends before it begins; go back and change one of the dates")
        return Asked(
            entity, predicate, asked.get("scope") or VAULT,
            known=number_of(request, "known") if asked.get("known") else None,
            at=moment_of(request, "at"), since=since, until=until, skip=number_of(request, "skip"),
            meeting=number_of(request, "meeting") if asked.get("meeting") else None,
        )  # fmt: skip

    @property
    def within(self) -> dict[str, Any]:
        """The stretch as verbs of the memory take it."""
        return {"valid_from": self.since, "valid_to": self.until}

    def meets(self, moment: datetime) -> datetime | None:
        """A moment, if it lies in the stretch."""
        inside = (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)
        return moment if inside else None

    def link(self, fragment: str = "", **changed: Any) -> str:
        """The address of this page, with something else of it shown."""
        new = replace(self, **changed)
        given = {
            "entity": new.entity, "predicate": new.predicate, "scope": None if new.scope == VAULT else new.scope,
            "known": new.known, "at": _iso(new.at), "since": _iso(new.since), "until": _iso(new.until),
            "skip": new.skip or None, "meeting": new.meeting,
        }  # fmt: skip
        return to("/slot", fragment, **given)

    def history(self, skip: int | None = None) -> str:
        """The address of its whole history."""
        scope = None if self.scope == VAULT else self.scope
        return to("/history", entity=self.entity, predicate=self.predicate, scope=scope, skip=skip)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def slot(viewer: Viewer, request: Request) -> Response:
    """The page of one slot."""
    asked = Asked.of(request, viewer.zone)
    asked = _stepped(viewer, asked, request)
    return viewer.page("slot.html", one=told(viewer, asked, Hues()), asked=asked, said=_said(viewer, request))


def _said(viewer: Viewer, request: Request) -> HistoryEntry | None:
    """What was just written here, if this is the page after it."""
    event = request.query_params.get("said")
    return viewer.memory.event(event) if event else None


def _stepped(viewer: Viewer, asked: Asked, request: Request) -> Asked:
    """The slider tells a step among the changes that are shown: as of which transaction it is."""
    if not request.query_params.get("step"):
        return asked
    changes = viewer.memory.outline(asked.entity, asked.predicate, scope=asked.scope, **asked.within).changes
    step = number_of(request, "step")
    return replace(asked, known=changes[step] if step < len(changes) - 1 else None)


def history(viewer: Viewer, request: Request) -> Response:
    """All events about a slot, a page at a time."""
    asked = Asked.of(request, viewer.zone)
    found = viewer.memory.history_page(
        asked.entity, asked.predicate, skip=asked.skip, limit=TABLE_ROWS, scope=asked.scope
    )
    return viewer.page("history.html", asked=asked, history=found, rows=TABLE_ROWS)
