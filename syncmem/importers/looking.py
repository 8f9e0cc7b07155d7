"""Looking through an archive before anything is written: what is new in it, whether it is whole, what it lacks.

Rules: the archive is read to its end, so a broken one is refused before anything of it is written; what was looked
at is kept in a scratch file, not in memory; an archive is named by all that it says, so the same has the same name on
every device, zipped or not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import Any, Final

from syncmem.importers.records import End, Fact, Record, Skipped, Turn
from syncmem.model.imported import IDENTITY_BYTES, ORIGIN_BYTES, mark
from syncmem.replica import driver
from syncmem.replica.imports import Imports

CHUNK_RECORDS: Final = 500  # written as one transaction
CHUNK_LETTERS: Final = 4 * 1024 * 1024
PROBLEMS_MAX: Final = 20  # that are told; the others are counted
LACKING_FEW: Final = 2  # people delete a chat or two between two exports ...
LACKING_SHARE_MAX: Final = 0.1  # ... and not a tenth of all that is known
NAME_BYTES: Final = 6

Said = Turn | Fact | End
Marked = tuple[bytes, Said]
Judge = Callable[[Marked], str | None]  # why a record cannot be stored; "" because it names what was erased


@dataclass(slots=True)
class Looked:
    """What was seen: the name of the archive, and how many of what."""

    name: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    lacking: int = 0
    refused: str | None = None

    def skip(self, place: str, why: str) -> None:
        """Note something that cannot be taken in."""
        self.counts["skipped"] += 1
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append(f"{place}: {why}")


def marked(records: Iterable[Record], origin: bytes) -> Iterator[Marked | Skipped]:
    """Records with their marks; texts that hold half a character are made whole."""
    for record in records:
        if isinstance(record, Skipped):
            yield record
        else:
            said = _whole(record)
            yield mark(origin, list(said.id), said.content), said


def chunks(records: Iterable[Marked | Skipped]) -> Iterator[list[Marked | Skipped]]:
    """Records in portions of bounded size."""
    waiting = iter(records)
    while first := list(islice(waiting, 1)):
        chunk, letters = first, _letters(first[0])
        while len(chunk) < CHUNK_RECORDS and letters < CHUNK_LETTERS and (more := list(islice(waiting, 1))):
            chunk += more
            letters += _letters(more[0])
        yield chunk


def look(
    portions: Iterator[list[Marked | Skipped]],
    origin: bytes,
    imports: Callable[[], Any],
    judge: Judge,
    progress: Callable[[int], None],
) -> Looked:
    """Look through a whole archive; ``imports`` is a context in which what is known can be asked."""
    looked, name, done = Looked(), sha256(origin), 0
    with _Scratch() as scratch:
        for portion in portions:
            with imports() as known:
                for record in portion:
                    if isinstance(record, Skipped):
                        looked.skip(record.place, record.why)
                        continue
                    name.update(record[0])
                    _count(record, known, scratch, judge, looked)
            done += len(portion)
            progress(done)
        with imports() as known:
            overlapping = scratch.batches or (set() if looked.counts else known.batches_of(origin))
            before = known.records(origin, overlapping)
            looked.lacking = before - scratch.shared
    looked.name = name.hexdigest()[: 2 * NAME_BYTES]
    looked.refused = _shrunken(looked, before, scratch.shared)
    return looked


def _count(record: Marked, imports: Imports, scratch: _Scratch, judge: Judge, looked: Looked) -> None:
    sign, said = record
    scratch.note_identity(sign, imports)
    if not scratch.note(sign):
        looked.counts["repeated"] += 1
    elif imports.known(sign) is not None:
        looked.counts["known"] += 1
    else:
        why = judge(record)
        if why == "":
            looked.counts["erased"] += 1
        elif why is not None:
            looked.skip(" ".join(said.id), why)
        else:
            looked.counts[type(said).__name__] += 1


def _shrunken(looked: Looked, before: int, shared: int) -> str | None:
    """Why an archive is taken for less than it should be, beside the earlier ones with which it shares records.

    One that shares none is another one; one in which there is nothing at all is taken for each of them.
    """
    if looked.lacking <= max(LACKING_FEW if shared else 0, before * LACKING_SHARE_MAX):
        return None
    return (
        f"the archive lacks {looked.lacking} of the {before} records that came from there before; it may be cut off, "
        "or be of another account (name= tells accounts apart); if it is right, pass force=True: nothing is removed"
    )


class _Scratch:
    """What was seen of an archive, in a temporary file."""

    def __enter__(self) -> _Scratch:
        self._db = driver.dbapi.connect("", isolation_level=None)
        self._db.execute("CREATE TABLE marks (mark BLOB PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("BEGIN")
        self.shared = 0
        self.batches: set[int] = set()  # of earlier imports, with which records are shared
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def note(self, mark: bytes) -> bool:
        """Whether something is seen for the first time."""
        return bool(self._db.execute("INSERT OR IGNORE INTO marks VALUES (?)", (mark,)).rowcount)

    def note_identity(self, mark: bytes, imports: Imports) -> None:
        """Count the records that are known, however they were changed."""
        record = mark[: ORIGIN_BYTES + IDENTITY_BYTES]
        if self.note(record) and (batches := imports.batches_of(record)):
            self.shared += 1
            self.batches |= batches


# -- texts -------------------------------------------------------------------------------------------------


def _letters(record: Marked | Skipped) -> int:
    return len(record[1].text) if not isinstance(record, Skipped) and isinstance(record[1], Turn) else 0


def _whole(said: Said) -> Said:
    """A record whose texts can be written as UTF-8."""
    return said if _is_whole(said) else _repaired(said)


def _is_whole(said: Said) -> bool:
    try:
        (said.text if isinstance(said, Turn) else json.dumps(said.value, ensure_ascii=False, default=str)).encode()
        "".join(filter(None, (*said.id, getattr(said, "title", None), getattr(said, "entity", None)))).encode()
    except UnicodeEncodeError:
        return False
    return True


def _repaired(said: Said) -> Said:
    fields = {name: _mended(getattr(said, name)) for name in said.__dataclass_fields__}
    return type(said)(**fields)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, tuple | list):
        return type(value)(_mended(each) for each in value)
    if isinstance(value, dict):
        return {_mended(key): _mended(each) for key, each in value.items()}
    return value
