"""The verbs of importing that a Memory has: import_archive, imports; and what else a withdrawn import takes along."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from syncmem import files, statements
from syncmem.ending_as_well import as_one
from syncmem.errors import FileError, InvalidInput
from syncmem.judging.verbs import Judging
from syncmem.model.instant import find_zone
from syncmem.replica.catalog import VAULT
from syncmem.results import Decision, Receipt
from syncmem.statements import Words

if TYPE_CHECKING:
    from syncmem.importers.archive import Archive
    from syncmem.importers.records import Importer
    from syncmem.importers.reports import ImportedBatch, ImportReport
    from syncmem.judging.extracting import Extractor

AnyPath = str | os.PathLike[str]
MAPPING_EXAMPLE: Final = """a TOML file such as:
[[claim]]
entity = "{name}"
predicate = "employer"
value = "{company}"
since = "{from}\""""
MappingFile = Mapping[str, Any] | str | os.PathLike[str] | None


class Importing(Judging):
    """import_archive, imports."""

    def import_archive(
        self,
        path: AnyPath,
        kind: str | Importer = "auto",
        *,
        user: str = "user",
        name: str = "",
        mapping: MappingFile = None,
        scope: str = VAULT,
        trust: int | str | None = None,
        zone: str | tzinfo | None = None,
        extractor: Extractor | str | None = None,
        version: object = 1,
        dry_run: bool = False,
        force: bool = False,
        include_erased: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> ImportReport:
        """Take in what another program has, with its history: chats become episodes, facts become claims.

        Each keeps the time that the archive gives it, and what nobody dated ranks below all that is dated.  What was
        imported before does not come in again, whatever the zone or the device; if it is stopped, call it again.
        All of it is one batch: ``retract(batch=report.batch)`` withdraws it, and what was extracted from it; then
        the same archive may be imported anew.

        Args:
            path: a file, a zip file or a folder, as it was exported.
            kind: "auto" (told by how the archive begins), "chatgpt", "claude", "mem0", "mcp", "graphiti",
                "basic-memory", "vcard", "jsonl", "csv", one that another package adds, or an importer.
            user: the entity that the owner of the archive is; ``name``: tells several accounts apart.
            mapping: of a table ("jsonl", "csv") what its columns mean: a TOML file or its content.
            trust: of facts; unsaid: as the kind has it ("integration" for cards, "inference" for what models wrote,
                else "document").
            extractor, version: read what the user said, as :meth:`extract` does.
            dry_run: read all of it, and write nothing.
            force: also if it lacks more than a tenth of what came from there before.
            include_erased: also what names an entity that was erased.
            progress: is told how many records were read: first for looking through, then for writing.

        Raises:
            InvalidInput: the archive is broken, something else, or lacks much (see ``force``); nothing was written.
        """
        from syncmem.importers.recognising import importer_of
        from syncmem.importers.running import Run, Wanted, extraction_by

        archive = _archive(path, user, zone, mapping)
        reader = _reading(importer_of(archive, kind) if isinstance(kind, str) else kind, mapping)
        wanted = Wanted(
            archive=archive,
            importer=reader,
            scope=statements.name("scope", scope),
            name=name,
            trust=statements.trust_of(reader.trust if trust is None else trust),
            force=force,
            include_erased=include_erased,
            extraction=extraction_by(extractor, version),
            progress=progress or _ignore,
        )
        self._replica.check_committed()  # a portion is a transaction of its own
        return Run(self, wanted).look() if dry_run else Run(self, wanted).write()

    def imports(self) -> tuple[ImportedBatch, ...]:
        """The batches that came out of archives.

        >>> import json, pathlib, tempfile
        >>> from syncmem import Memory
        >>> with tempfile.TemporaryDirectory() as folder, Memory(":memory:") as memory:
        ...     archive = pathlib.Path(folder, "memory.jsonl")
        ...     line = {"type": "entity", "name": "ana", "entityType": "person", "observations": ["Speaks Greek"]}
        ...     _ = archive.write_text(json.dumps(line))
        ...     first, again = memory.import_archive(archive, "mcp"), memory.import_archive(archive, "mcp")
        ...     memory.believe("ana", "observation").value, first.claims, again.claims, again.known
        ...     [(each.batch == first.batch, each.events) for each in memory.imports()]
        ('Speaks Greek', 2, 0, 2)
        [(True, 2)]
        """
        from syncmem.importers.reports import ImportedBatch

        with self._looking():
            return tuple(ImportedBatch(*each) for each in self._replica.fold.imports.batches())

    def _withdraw(self, said: Words, scope: str | None) -> Receipt:
        """Withdraw a batch, and with the episodes in it what extractors made of them."""
        with self._lock, self._replica.transaction():
            assert said.batch is not None
            derived = self._derived_from(said.batch, scope)
            receipt = super()._withdraw(said, scope)
            others = [super(Importing, self)._withdraw(replace(said, batch=name), where) for where, name in derived]
            if not others:
                return receipt
            together = as_one(receipt, others)
            decision = Decision.UPDATE if together.opened else Decision.DELETE if together.closed else receipt.decision
            return replace(together, decision=decision, why="Withdrawn, and with it what was extracted from it.")

    def _derived_from(self, batch: str, scope: str | None) -> list[tuple[str, str]]:
        """The batches (scope, name) of what was extracted from the episodes of a batch."""
        from syncmem.model.derivation import read_batch

        sql = (
            "SELECT DISTINCT lower(hex(e.id)) FROM batches b JOIN members m ON m.batch = b.id "
            "JOIN episodes e ON e.position >= m.position AND e.position < m.position + m.count "
            "WHERE b.name = ?1 AND b.scope = ifnull(?2, b.scope)"
        )
        episodes = {row[0] for row in self._replica.db.execute(sql, (batch, scope)).fetchall()}
        if not episodes:
            return []
        rows = self._replica.db.execute("SELECT scope, name FROM batches ORDER BY scope, name").fetchall()
        read = [(where, found) for where, name in rows if (found := read_batch(name)) is not None]
        standing = [(where, each.name) for where, each in read if each.episode in episodes]
        return [each for each in standing if not self._replica.fold.is_withdrawn(each)]


def _archive(path: AnyPath, user: str, zone: str | tzinfo | None, mapping: MappingFile) -> Archive:
    from syncmem.importers.archive import Archive

    found = Path(path)
    if not found.exists():
        raise FileError(f"{found} cannot be read (no such file); check the path")
    if zone is not None:
        find_zone(zone)
    named = {} if mapping is None else mapping if isinstance(mapping, Mapping) else _read_mapping(mapping)
    return Archive(found, statements.name("user", user), zone, named)


def _reading(reader: Importer, mapping: MappingFile) -> Importer:
    if mapping is None and reader.wants_mapping:
        raise InvalidInput(f"what the columns of {reader.kind} mean is not known; pass mapping=, {MAPPING_EXAMPLE}")
    return reader


def _read_mapping(path: AnyPath) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(files.text_of(path))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"the mapping {os.fspath(path)} is no TOML ({error}); correct it") from error


def _ignore(done: int) -> None:
    """Nobody asked."""
