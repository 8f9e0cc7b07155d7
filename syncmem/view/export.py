"""One page in one file: what is believed, with pictures, tables and histories, for who has no server.

Rules: it loads nothing and runs nothing (its policy says so to the browser); it is made from what is in the memory now,
so nothing of who was erased is in it; what does not fit into it is named.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from syncmem.errors import NotFound
from syncmem.files import write_new
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

SLOTS_MAX: Final = 200  # on one page
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
        return f"{self.slots} timelines in {self.file}{rest}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


def export(
    memory: Memory, file: Path, *, zone: tzinfo, now: Callable[[], int], also: Mapping[str, Memory] | None = None,
    entity: str | None = None, scope: str = VAULT,
) -> Exported:  # fmt: skip
    """Write a page into a new file; ``entity``: about one name only.

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
    shown = []
    for number, asked in enumerate(slots):
        found = viewer.memory.belief_map(asked.entity, asked.predicate, scope=asked.scope)
        shown.append(told(viewer, asked, found, hues, linked=False, name=f"s{number}-"))
    css = style()
    digest = b64encode(sha256(css.encode()).digest()).decode()
    return viewer.pages.text(
        "export.html", slots=shown, more=more, entity=entity, style=Markup(css), digest=digest, made=viewer.present
    )
