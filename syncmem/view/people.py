"""The list of people and things, and one of them with all that is believed of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from syncmem.picture.bars import Hues
from syncmem.replica.catalog import VAULT
from syncmem.view.figures import rows_of_timeline, timeline_figure
from syncmem.view.outlined import rows_of_groups
from syncmem.view.pages import Figure, to
from syncmem.view.shown import TOLD_MAX, holding
from syncmem.view.slot import Asked
from syncmem.view.viewer import number_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from syncmem.results import Belief
    from syncmem.view.viewer import Viewer

NAMES: Final = 40  # on a page
BELIEFS_SHOWN: Final = 6  # of each name
PREDICATES: Final = 100  # ... of one name, on a page
PICTURES_MAX: Final = 12  # on the page of one name


def people(viewer: Viewer, request: Request) -> Response:
    """Names in order, a page at a time, with what holds now of each."""
    asked = request.query_params
    text, scope = asked.get("text", "").strip(), asked.get("scope") or VAULT
    before = asked.get("before")
    found = viewer.memory.names(
        after=asked.get("after", ""), before=before, text=text or None, limit=NAMES + 1, scope=scope
    )
    more = len(found) > NAMES
    shown = found[1:] if before is not None and more else found[:NAMES]
    later = (more or before is not None) and bool(shown)
    earlier = bool(shown) and (more if before is not None else bool(asked.get("after")))
    same: dict[str, Any] = {"text": text, "scope": _unless_vault(scope)}
    return viewer.page(
        "people.html",
        text=text,
        scope=scope,
        scopes=viewer.memory.scopes(),
        listed=[(name, *_holding(viewer, name, scope)) for name in shown],
        later=to("/", after=shown[-1], **same) if later else None,
        earlier=to("/", before=shown[0], **same) if earlier else None,
    )


def _holding(viewer: Viewer, name: str, scope: str) -> tuple[list[Belief], int]:
    """What holds now of a name, and how much more does than is shown."""
    found = viewer.memory.beliefs(name, scope=scope)
    return found[:BELIEFS_SHOWN], max(len(found) - BELIEFS_SHOWN, 0)


def _unless_vault(scope: str) -> str | None:
    return None if scope == VAULT else scope


def thing(viewer: Viewer, request: Request) -> Response:
    """Everything about one name: a timeline for each predicate."""
    entity, scope = request.query_params.get("entity", ""), request.query_params.get("scope") or VAULT
    skip, predicates = number_of(request, "skip"), viewer.memory.predicates_of(entity, scope=scope)
    hues = Hues()
    asked = [Asked(entity, predicate, scope) for predicate in predicates[skip : skip + PREDICATES]]
    slots = [_slot(viewer, each, number, hues) for number, each in enumerate(asked)]
    aliases = viewer.memory.aliases(entity, scope=scope)
    page_of = partial(to, "/thing", entity=entity, scope=_unless_vault(scope))
    return viewer.page(
        "thing.html",
        entity=aliases.entity,
        names=aliases.names,
        scope=scope,
        slots=slots,
        earlier=page_of(skip=max(skip - PREDICATES, 0) or None) if skip else None,
        later=page_of(skip=skip + PREDICATES) if skip + PREDICATES < len(predicates) else None,
    )


def _slot(viewer: Viewer, asked: Asked, number: int, hues: Hues) -> tuple[Asked, list[Belief], int, Figure | None]:
    """One slot of a name: what holds now, how much there is over time, and its picture if there is room for one."""
    about, now = (asked.entity, asked.predicate), viewer.present
    outline = viewer.memory.outline(*about, scope=asked.scope)
    figure = None
    if number < PICTURES_MAX and outline.beliefs:
        if outline.beliefs > TOLD_MAX:
            rows = rows_of_groups(outline)
        else:
            rows = rows_of_timeline("", viewer.memory.timeline(*about, presumed=True, scope=asked.scope))
        figure = timeline_figure(
            rows, name=f"slot-{number}", title=f"{asked.entity} {asked.predicate} over time", now=now,
            zone=viewer.zone, hues=hues, lead=lambda bar: asked.link(),
        )  # fmt: skip
    return asked, holding(viewer, asked, now), outline.beliefs, figure
