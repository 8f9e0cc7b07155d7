"""basic-memory: a folder of Markdown notes with observations (``- [category] text #tag (context)``) and relations
(``- relation [[Note]]``).

A note is an entity, called by its title.  Rules: its front matter may say when it was written (``modified``,
``updated``, ``created``, ``date``); the times of files do not, because copying changes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, ClassVar, Final

from syncmem.errors import InvalidInput
from syncmem.importers.archive import Archive
from syncmem.importers.records import Fact, Plain, Record, Skipped, Time
from syncmem.importers.times import either

FILES: Final = "*.md"
_FRONT: Final = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_OBSERVATION: Final = re.compile(r"[-*] \[(?P<category>[^\[\]()]+)\] +(?P<text>\S.*)")
_RELATION: Final = re.compile(r"[-*] (?P<how>[^\[\]]*?) *\[\[(?P<other>[^\[\]|]+)(?:\|[^\[\]]*)?\]\].*")
_FENCE: Final = re.compile(r"(```+|~~~+)")
_TASKS: Final = frozenset({"x", "X", "-"})
_WRITTEN: Final = ("modified", "updated", "updated_at", "created", "created_at", "date")


class BasicMemory(Plain):
    """Reads notes, one file after the other."""

    kind: ClassVar[str] = "basic-memory"

    def read(self, archive: Archive) -> Iterator[Record]:
        for name in archive.names(FILES):
            yield from _note(archive.text(name), name or archive.path.name)


def _note(text: str, name: str) -> Iterator[Record]:
    front = _FRONT.match(text)
    try:
        said = {} if front is None else _front_matter(front[1])
    except ValueError as error:
        yield Skipped(name, f"its front matter cannot be read ({error})")
        return
    title = said.get("title")
    entity = str(title) if title else name.rsplit("/", 1)[-1].removesuffix(".md")
    written = next((time for key in _WRITTEN if (time := _time(said.get(key))) is not None), None)
    id = (str(said.get("permalink") or name),)
    if isinstance(said.get("type"), str) and said["type"]:
        yield Fact(id, entity, "type", said["type"], observed_at=written)
    for line in _outside_fences(text[front.end() if front else 0 :]):
        observed, related = _OBSERVATION.fullmatch(line), _RELATION.fullmatch(line)
        if observed and observed["category"].strip() and observed["category"] not in _TASKS:
            yield Fact(id, entity, observed["category"].strip(), observed["text"], observed_at=written)
        elif related:
            how, other = related["how"] or "links_to", related["other"].strip()
            yield Fact(id, entity, how, other, observed_at=written, mentions=(other,))


def _front_matter(text: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError as error:
        raise InvalidInput("notes need another package: run pip install 'syncmem[import]'") from error
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return found if isinstance(found, dict) else {}


def _time(stated: object) -> Time | None:
    if isinstance(stated, datetime | date):
        return stated
    return either(stated)


def _outside_fences(text: str) -> Iterator[str]:
    """The lines that are no code, without the spaces around them."""
    fence: str | None = None
    for line in text.splitlines():
        line = line.strip()
        found = _FENCE.match(line)
        if found and (fence is None or (found[1].startswith(fence) and line == found[1])):
            fence = found[1] if fence is None else None
        elif fence is None:
            yield line
