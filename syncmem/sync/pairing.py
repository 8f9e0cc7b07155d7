"""Pairing: the new device is shown a code by a trusted one, asks at a meeting place, and is let in.

Rules: the code carries 128 random bits and is used once; the meeting place is a mailbox like any other,
named and sealed by the code's secret; the trusted side shows who asks and admits or does not; what
admits is written to the new device's transport key, so a code that leaks later opens nothing.

==========  ================================================================================================
``code``    "SYNCMEM-" and base 32 of pack([1, secret (16), address]) with the first 4 bytes of its SHA-256
request     blob 1 of the stream "request": pack([1, member, its signature over meeting place and member])
answer      blobs of the stream "answer": wrapped pack([part, parts, addresses, statements])
==========  ================================================================================================
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from syncmem import labels
from syncmem.codec import FRAME_BYTES_MAX, pack, unpack
from syncmem.errors import InvalidInput, MailboxRefused, NotCanonical, Unreadable
from syncmem.model.value import TEXT_BYTES_MAX
from syncmem.seal.bodies import Member, new_member, read_member
from syncmem.seal.keys import derive, public_key, sign, unwrap, verify, wrap
from syncmem.seal.statements import Statement, read_statement
from syncmem.sync.place import Place, place_key
from syncmem.wire.mailbox import Mailbox

PREFIX: Final = "SYNCMEM-"
SECRET_BYTES: Final = 16  # no code can be guessed, so no PAKE is needed
PART_BYTES_MAX: Final = 256 * 1024  # of statements in one blob of the answer
_FORMAT: Final = 1
_CHECK_BYTES: Final = 4
_REQUEST, _ANSWER = b"request", b"answer"


@dataclass(frozen=True, slots=True)
class Code:
    """What the trusted device shows: a secret, and where the two meet."""

    secret: bytes = field(repr=False)
    address: str

    def __str__(self) -> str:
        data = pack([_FORMAT, self.secret, self.address])
        return PREFIX + base64.b32encode(data + sha256(data).digest()[:_CHECK_BYTES]).decode().rstrip("=")

    @property
    def place(self) -> bytes:
        """The secret of the meeting place (32 bytes)."""
        return derive(self.secret + bytes(SECRET_BYTES), labels.INVITATION, 32)

    @classmethod
    def parse(cls, text: str) -> Code:
        """The code of a text that was typed, pasted or scanned; case, spaces and line ends do not matter.

        Raises:
            InvalidInput: it is no code, or a character of it is wrong.
        """
        plain = "".join(text.split()).upper()
        if not plain.startswith(PREFIX):
            raise InvalidInput(f"a code begins with {PREFIX}; show a new one with 'syncmem invite'")
        body = plain[len(PREFIX) :]
        try:
            data = base64.b32decode(body + "=" * (-len(body) % 8))
            format, secret, address = unpack(data[:-_CHECK_BYTES])
        except (binascii.Error, NotCanonical, ValueError, TypeError) as error:
            raise InvalidInput("the code is not complete or has a wrong character; copy the whole of it") from error
        if data[-_CHECK_BYTES:] != sha256(data[:-_CHECK_BYTES]).digest()[:_CHECK_BYTES]:
            raise InvalidInput("a character of the code is wrong; copy the whole of it")
        if format != _FORMAT or type(secret) is not bytes or len(secret) != SECRET_BYTES or type(address) is not str:
            raise InvalidInput("the code is of a later version; upgrade syncmem on this device")
        return cls(secret, address)


@dataclass(frozen=True, slots=True)
class Admission:
    """What the new device is let in with."""

    addresses: list[str]
    statements: list[Statement]


class Meeting:
    """The meeting place of one code, seen from either side."""

    def __init__(self, code: Code, mailbox: Mailbox, randomness: Callable[[int], bytes]) -> None:
        self._place = Place(place_key(code.place), mailbox, randomness)

    # -- the new device -----------------------------------------------------------------------------

    def ask(self, seed: bytes, name: str) -> None:
        """Say who asks to be let in; asking again with the same words changes nothing.

        Raises:
            MailboxRefused: another device has used this code.
        """
        member = new_member(seed, name)
        signature = sign(seed, labels.JOINING, self._place.key.mailbox + pack(list(member)))
        request = pack([_FORMAT, list(member), signature])
        present = self._requested()
        if present is not None:
            if present.device != member.device:
                raise MailboxRefused("another device has used this code; show a new one with 'syncmem invite'")
            return
        self._place.put(_REQUEST, 1, request)

    def answered(self, seed: bytes) -> Admission | None:
        """The admission, or None while there is none."""
        addresses: list[str] = []
        statements: list[Statement] = []
        parts = self._read(_ANSWER)
        for number, data in enumerate(parts, 1):
            part, count, where, wires = _opened(unwrap(seed, self._context(public_key(seed)), data))
            if part != number:
                return None
            addresses, statements = where, statements + [read_statement(wire) for wire in wires]
            if number == count:
                return Admission(addresses, statements)
        return None

    # -- the trusted device -------------------------------------------------------------------------

    def asking(self) -> Member | None:
        """Who asks to be let in, or None while nobody does."""
        return self._requested()

    def admit(self, member: Member, addresses: Sequence[str], statements: Sequence[Statement]) -> None:
        """Write the answer: where to sync, and the roster in which the new device is a member."""
        parts = list(_parts([statement.wire for statement in statements]))
        for number, wires in enumerate(parts, 1):
            plain = pack([number, len(parts), list(addresses), wires])
            self._place.put(_ANSWER, number, wrap(member.transport, self._context(member.device), plain))

    # -- both ---------------------------------------------------------------------------------------

    def _requested(self) -> Member | None:
        for data in self._read(_REQUEST):
            try:
                format, parts, signature = unpack(data)
                member = read_member(parts)
            except (NotCanonical, ValueError, TypeError) as error:
                raise Unreadable("what was asked here is malformed; show a new code with 'syncmem invite'") from error
            said = self._place.key.mailbox + pack(list(member))
            if format != _FORMAT or not verify(member.device, labels.JOINING, said, signature):
                raise Unreadable("what was asked here is not signed as it should be; show a new code")
            return member
        return None

    def _context(self, device: bytes) -> bytes:
        return labels.ADMISSION + pack([self._place.key.mailbox, device])

    def _read(self, stream: bytes) -> Iterator[bytes]:
        """The blobs of a stream, in order; the first under each counter."""
        for counter, entry in enumerate(self._place.listed(stream), 1):
            if entry.name.counter != counter:
                return
            yield self._place.read(entry)


def _parts(wires: Sequence[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    for wire in wires:
        if part and sum(map(len, part)) + len(wire) > PART_BYTES_MAX:
            yield part
            part = []
        part.append(wire)
    yield part


def _opened(plain: bytes) -> tuple[int, int, list[str], list[bytes]]:
    try:
        part, parts, addresses, wires = unpack(plain, bytes_max=FRAME_BYTES_MAX)
        right = type(part) is int and type(parts) is int and all(type(wire) is bytes for wire in wires)
        if right and all(type(address) is str and len(address) <= TEXT_BYTES_MAX for address in addresses):
            return part, parts, addresses, wires
    except (NotCanonical, ValueError, TypeError) as error:
        raise Unreadable("the answer is malformed; ask for a new code") from error
    raise Unreadable("the answer is malformed; ask for a new code")
