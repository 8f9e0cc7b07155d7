"""The verb of exporting that a Memory has: export."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from syncmem import files, statements
from syncmem.asking import Asking
from syncmem.errors import InvalidInput
from syncmem.exporting.current import write_current
from syncmem.exporting.markdown import write_document
from syncmem.model.instant import find_zone, shown
from syncmem.replica.catalog import VAULT
from syncmem.results import Timeline


class Form(StrEnum):
    """What the file is."""

    MARKDOWN = "markdown"
    JSON = "json"
    SQLITE = "sqlite"


_BY_ENDING: Final = {
    ".md": Form.MARKDOWN,
    ".markdown": Form.MARKDOWN,
    ".json": Form.JSON,
    ".db": Form.SQLITE,
    ".sqlite": Form.SQLITE,
    ".sqlite3": Form.SQLITE,
}


class Exporting(Asking):
    """export."""

    def export(
        self, path: str | os.PathLike[str], *, form: str | None = None, entity: str | None = None, scope: str = VAULT
    ) -> int:
        """Write what is believed into a new file for people or other tools; how many beliefs it holds.

        ``markdown``: all with their dates, the present first; ``json``: what holds now; ``sqlite``: plain tables, for
        Datasette and the like.  It is a view: :meth:`export_bundle` and :meth:`backup` keep everything.

        Args:
            form: unsaid: by the ending of the name (.md, .json, .db or .sqlite).
            entity: only what is believed of it; unsaid: of all.

        Raises:
            InvalidInput: there is a file already, or the form is not known; nothing was written.
        """
        chosen = _form(path, form)
        names = self.entities(scope=scope) if entity is None else [statements.name("entity", entity)]
        timelines = (
            self.timeline(name, predicate, scope=scope)
            for name in names
            for predicate in self.predicates_of(name, scope=scope)
        )
        if chosen == Form.SQLITE:
            return files.write_new(path, lambda target: self._tables(target, timelines, scope))
        write = write_document if chosen == Form.MARKDOWN else write_current
        now, zone = shown(self._now()), find_zone("UTC" if self._zone is None else self._zone)
        assert now is not None, "the present is a time"
        return files.write_new(path, lambda target: _text(target, lambda file: write(file, timelines, now, zone)))

    def _tables(self, path: Path, timelines: Iterator[Timeline], scope: str) -> int:
        from syncmem.exporting.tables import write_tables

        return write_tables(path, timelines, self.predicates(scope=scope))


def _form(path: str | os.PathLike[str], form: str | None) -> Form:
    if form is None:
        ending = Path(path).suffix.casefold()
        if ending not in _BY_ENDING:
            raise InvalidInput(
                f"what {os.fspath(path)} is to be does not show; pass form= {', '.join(Form)}, "
                "or write all events as lines with export_bundle(path, legible=True)"
            )
        return _BY_ENDING[ending]
    if form not in list(Form):
        raise InvalidInput(f"there is no form {form!r}; use one of {', '.join(Form)}")
    return Form(form)


def _text(path: Path, write: Callable[[IO[str]], int]) -> int:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        return write(file)
