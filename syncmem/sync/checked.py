"""A mailbox whose answers are held to its promises, as far as that needs no key.

Rules: one result for each put and each name, in order; a blob that is not what its name says is not there;
what nobody asked for is not looked at.  Whatever breaks them counts as not reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from syncmem.errors import Unreachable
from syncmem.wire.mailbox import LISTED_MAX, Answer, BlobName, Drop, Exchange, Listed, Mailbox, digest


class Checked:
    """See :class:`syncmem.wire.mailbox.Mailbox`."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.address = mailbox.address
        self.push = mailbox.push
        self._mailbox = mailbox

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        answer = self._mailbox.exchange(request, write_seed)
        self._check_count(len(answer.results), len(request.puts))
        return replace(answer, listed=[_as_named(entry) for entry in answer.listed[:LISTED_MAX]])

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        given = iter(self._mailbox.get(key, write_seed, names))
        for number, asked in enumerate(names):
            name, blob = next(given, (None, None))
            if name != asked:
                raise Unreachable(f"{self.address} answers question {number + 1} with something else; sync again")
            yield asked, blob if blob is not None and digest(blob) == asked.digest else None

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        dropped = self._mailbox.drop(request, write_seed)
        self._check_count(len(dropped), len(request.names))
        return dropped

    def close(self) -> None:
        self._mailbox.close()

    def _check_count(self, count: int, asked: int) -> None:
        if count != asked:
            raise Unreachable(f"{self.address} answers {count} things where {asked} were asked; check the address")


def _as_named(entry: Listed) -> Listed:
    return entry if entry.blob is None or digest(entry.blob) == entry.name.digest else entry._replace(blob=None)
