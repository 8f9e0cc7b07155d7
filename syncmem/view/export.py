"""One page in one file: what is believed, with pictures, tables and histories, for who has no server.

Rules: it loads nothing and runs nothing (its policy says so to the browser); it is made from what is in the memory now,
so nothing of who was erased is in it; what does not fit into it is named.  It holds what the pages show, without what
acts; a page about one name tells of nothing else: no other questions, no other claims of a recall, no devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from syncmem.errors import NotFound
from syncmem.files import write_new
from syncmem.page.making import alone
from syncmem.picture.bars import Hues
from syncmem.replica.catalog import VAULT
from syncmem.results import as_dict
from syncmem.view.app import style
from syncmem.view.pages import Pages
from syncmem.view.shown import told
from syncmem.view.slot import Asked
from syncmem.view.viewer import Viewer, device_names

if TYPE_CHECKING:
    from syncmem.memory import Memory
    from syncmem.recall.results import Said

SLOTS_MAX: Final = 200  # on one page
QUESTIONS_MAX: Final = 200
READS_MAX: Final = 40  # the latest
NAMES_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: how many slots are on the page, and whether others are not."""

    file: str
    slots: int
    more: bool

    @property
    def text(self) -> str:
        rest = f"; there are more, name one: syncmem view NAME --export {self.file}" if self.more else ""
        return f"{self.slots} timeline{'' if self.slots == 1 else 's'} in {self.file}{rest}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


def export(
    memory: Memory, file: Path, *, zone: tzinfo, now: Callable[[], int], also: Mapping[str, Memory] | None = None,
    entity: str | None = None, scope: str = VAULT,
) -> Exported:  # fmt: skip
    """Write a page into a new file: timelines, questions, the read log, devices; ``entity``: about one name only.

    Raises:
        NotFound: nothing was said about that name. InvalidInput: there is a file already.
    """
    pages = Pages(zone, device_names(memory, also or {}), path=memory.path)
    viewer = Viewer(memory, dict(also or {}), zone, pages, now)
    slots = list(islice(_slots(memory, entity, scope), SLOTS_MAX + 1))
    if entity is not None and not slots:
        raise NotFound(f"nothing was said about {entity!r}; list the names with 'syncmem entities'")
    text = _page(viewer, slots[:SLOTS_MAX], len(slots) > SLOTS_MAX, entity)
    written = Exported(str(file), min(len(slots), SLOTS_MAX), len(slots) > SLOTS_MAX)
    write_new(file, lambda target: target.write_text(text, encoding="utf-8", newline="\n"))
    return written


def _slots(memory: Memory, entity: str | None, scope: str) -> Iterator[Asked]:
    """The slots in order of their names."""
    names = iter([entity]) if entity is not None else _names(memory, scope)
    for name in names:
        for predicate in memory.predicates_of(name, scope=scope):
            yield Asked(name, predicate, scope)


def _names(memory: Memory, scope: str) -> Iterator[str]:
    last = ""
    while found := memory.names(after=last, limit=NAMES_AT_ONCE, scope=scope):
        yield from found
        last = found[-1]


def _page(viewer: Viewer, slots: list[Asked], more: bool, entity: str | None) -> str:
    hues = Hues()
    shown = [told(viewer, asked, hues, linked=False, name=f"s{number}-") for number, asked in enumerate(slots)]
    whole = {} if entity is not None else {"standing": viewer.memory.status(), "held": viewer.memory.devices()}
    return viewer.pages.text(
        "export.html", slots=shown, more=more, entity=entity, made=viewer.present, whole=whole, **alone(style()),
        **_questions(viewer.memory, entity), **_reads(viewer.memory, entity),
    )  # fmt: skip


def _questions(memory: Memory, entity: str | None) -> dict[str, Any]:
    """What is open, of one name or of all."""
    found = [each for each in memory.questions() if entity is None or each.entity == entity]
    return {"questions": found[:QUESTIONS_MAX], "more_questions": len(found) > QUESTIONS_MAX}


def _reads(memory: Memory, entity: str | None) -> dict[str, Any]:
    """The latest recalls with what each had found; of one name those that had found something of it, and that alone."""
    found = memory.read_log(limit=READS_MAX + 1)
    told = [(entry, memory.why_said(entry.receipt)) for entry in found[:READS_MAX]]
    if entity is not None:
        told = [(entry, _only(said, entity)) for entry, said in told]
        told = [(entry, said) for entry, said in told if said.claims]
    return {"reads": told, "more_reads": len(found) > READS_MAX}


def _only(said: Said, entity: str) -> Said:
    """What was found of one name."""
    claims = tuple(claim for claim in said.claims if claim.belief is not None and claim.belief.entity == entity)
    now = tuple(hit for hit in said.now if hit.belief.entity == entity)
    return replace(said, claims=claims, now=now, text="")
