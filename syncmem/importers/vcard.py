"""vCard: people, one card after the other, of versions 2.1 to 4.0.

A person is called by the formatted name.  Rules: a card was true at its ``REV``; without one nobody knows when; the
cards are told apart by their ``UID``, else by their name; what has no meaning for a memory (photos, keys) is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from syncmem.errors import InvalidInput
from syncmem.importers.archive import Archive, first_line
from syncmem.importers.records import Fact, Plain, Record, Skipped
from syncmem.importers.times import iso

FILES: Final = ("*.vcf", "*.vcard")
CARD_LINES_MAX: Final = 200_000  # a photo has some ten thousand
_PARSER: Final = "vobject.base"
_PREDICATES: Final = {
    "tel": "phone",
    "email": "email",
    "adr": "address",
    "bday": "birthday",
    "anniversary": "anniversary",
    "org": "organization",
    "title": "job_title",
    "role": "role",
    "nickname": "nickname",
    "url": "website",
    "note": "note",
    "lang": "language",
}
_ADDRESS: Final = ("box", "extended", "street", "code", "city", "region", "country")
_SINGLE: Final = {"birthday": {"cardinality": "single"}, "anniversary": {"cardinality": "single"}}


class VCard(Plain):
    """Reads cards."""

    kind: ClassVar[str] = "vcard"
    trust: ClassVar[str] = "integration"

    def predicates(self, archive: Archive) -> dict[str, dict[str, Any]]:
        return _SINGLE

    def read(self, archive: Archive) -> Iterator[Record]:
        for name in archive.names(*FILES):
            for line, card in _cards(archive, name):
                yield from _person(card, f"{name or 'the file'}, card at line {line}")


def _cards(archive: Archive, name: str) -> Iterator[tuple[int, str]]:
    """The cards of a file, each with the number of its first line."""
    began, lines = 0, list[str]()
    for number, line in archive.lines(name):
        word = line.strip().upper()
        if word == "BEGIN:VCARD" and not lines:
            began = number
        elif not began:
            raise InvalidInput(f"line {number} belongs to no card; is it a vCard file?")
        lines.append(line.rstrip("\r\n"))
        if len(lines) > CARD_LINES_MAX:
            raise InvalidInput(f"the card at line {began} does not end; nothing was imported: export it again")
        if word == "END:VCARD":
            yield began, "\r\n".join(lines) + "\r\n"
            began, lines = 0, []
    if began:
        raise InvalidInput(f"the card at line {began} breaks off; nothing was imported: export it again")


def _person(card: str, place: str) -> Iterator[Record]:
    vobject, unread = _vobject(), _Unread()
    try:
        with unread:
            contents = vobject.readOne(card, ignoreUnreadable=True, allowQP=True).contents
    except Exception as error:  # whatever its parser meets in a card that is none
        yield Skipped(place, f"it cannot be read ({first_line(error)})")
        return
    for said in unread.said:
        yield Skipped(place, f"a part of it cannot be read ({said})")
    name, uid = _first(contents, "fn"), _first(contents, "uid")
    if name is None:
        yield Skipped(place, "it has no name (FN)")
        return
    seen = iso(_first(contents, "rev"))
    for field, predicate in _PREDICATES.items():
        for each in contents.get(field, ()):
            for value in _values(each.value, field):
                yield Fact((uid or name,), name, predicate, value, observed_at=seen)


def _first(contents: dict[str, Any], field: str) -> str | None:
    found = [each.value for each in contents.get(field, ()) if isinstance(each.value, str) and each.value.strip()]
    return found[0].strip() if found else None


def _values(value: Any, field: str) -> Iterator[Any]:
    """What a field says, as values of claims."""
    if field == "adr":
        parts = {name: _joined(getattr(value, name, "")) for name in _ADDRESS}
        if address := {name: part for name, part in parts.items() if part}:
            yield address
    elif _joined(value):
        text = _joined(value)
        yield f"{text[:4]}-{text[4:6]}-{text[6:]}" if field == "bday" and len(text) == 8 and text.isdigit() else text


def _joined(value: Any) -> str:
    parts = value if isinstance(value, list) else [value]
    return ", ".join(str(part).strip() for part in parts if str(part).strip())


class _Unread(logging.Filter):
    """What the parser passes over it says in its log alone: here it is kept, and not shown there."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        self.said.append(record.getMessage())
        return False

    def __enter__(self) -> None:
        logging.getLogger(_PARSER).addFilter(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger(_PARSER).removeFilter(self)


def _vobject() -> Any:
    try:
        import vobject
    except ImportError as error:
        raise InvalidInput("cards need another package: run pip install 'syncmem[import]'") from error
    return vobject
