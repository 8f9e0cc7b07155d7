"""Events: what is replicated. Their kinds, their canonical bytes, their names and their chain.

Rules:

* An event is ``header`` and ``payload``.  The header holds the log, the place in it, the kind, the
  writer's clock, and a commitment to the payload; the payload holds everything personal.
* ``commitment = H(salt, payload)``, ``id = H(header)[:16]``, ``chain = H(previous chain, H(header))``.
  Removing payload and salt leaves the chain verifiable.
* A reference is a hash pointer (log, place, id), so a cycle cannot be written.
* A payload is an array; later versions may append fields, which older ones keep and do not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from syncmem import labels
from syncmem.codec import EVENT_BYTES_MAX, FLAT, is_canonical, pack, pack_flat, unpack_outer
from syncmem.errors import InvalidInput, NotCanonical
from syncmem.freezing import maker
from syncmem.model.clock_note import ClockNote as ClockNote
from syncmem.model.clock_note import check_clock_note
from syncmem.model.episode import Episode, check_episode
from syncmem.model.frontier import HEAD_BYTES as HEAD_BYTES
from syncmem.model.frontier import Frontier as Frontier
from syncmem.model.frontier import check_frontier
from syncmem.model.instant import EARLIEST, LATEST
from syncmem.model.link import Link, check_link
from syncmem.model.moved import Moved, check_moved
from syncmem.model.value import TEXT_BYTES_MAX
from syncmem.model.value import check as check_value

ID_BYTES: Final = 16
SALT_BYTES: Final = 32  # of the names in an erasure
LOG_PREFIX_BYTES: Final = 6  # of a log id, in the public names of events
CHAIN_START: Final = bytes(32)
TRUST_MAX: Final = 100
SEQ_MAX: Final = 2**40 - 1  # a place in a log fits 40 bits beside the log's number


class Kind(IntEnum):
    """What an event does. Numbers are for ever; unknown ones are kept, forwarded and not folded."""

    CLAIM = 1
    AFFIRM = 2
    END = 3
    DENY = 4
    RETRACT = 5
    WITHDRAW = 6  # retract a whole batch
    UNDO = 7
    DEFINE = 8
    CLOCK_NOTE = 9
    FRONTIER = 10
    ERASE = 11
    MOVED = 12
    SAME = 13  # two names are one entity
    DIFFERENT = 14
    EPISODE = 15  # what was said or written, as it was


STATEMENTS: Final = frozenset({Kind.CLAIM, Kind.AFFIRM, Kind.END, Kind.DENY})
LINKS: Final = frozenset({Kind.SAME, Kind.DIFFERENT})
ERASABLE: Final = STATEMENTS | LINKS | {Kind.EPISODE}  # the kinds that are about somebody


class Form(IntEnum):
    """How a statement speaks about time."""

    STATE = 0
    CHANGE = 1


class Then(IntEnum):
    """What holds after a bounded claim."""

    OPEN = 0  # not bounded
    RESUME = 1  # temporary: the older value is current again
    VACATE = 2  # period: nothing follows


class Ref(NamedTuple):
    """A pointer to an event: 16-byte log id, place in the log, 16-byte event id."""

    log: bytes
    seq: int
    id: bytes

    def __str__(self) -> str:
        return f"{self.log[:LOG_PREFIX_BYTES].hex()}-{self.seq}"


class Statement(NamedTuple):
    """Payload of claim, affirm, end and deny: someone says something about one slot."""

    entity: str
    predicate: str
    value: Any
    form: int
    observed_at: int | None
    start: int | None  # since / changed on / at; None: not stated
    start_latest: int | None  # the last instant an imprecise start may mean
    stop: int | None
    then: int
    trust: int
    source_kind: str | None
    source_id: str | None
    batch: str | None
    refs: list[Ref] | None  # what a claim corrects; the claim an end names
    extra: dict[str, Any] | None  # ttl, stale_after, stale_trust, span, episode, reason, ...


class Retract(NamedTuple):
    """Payload: these claims, ends or denials are mistakes."""

    refs: list[Ref]
    trust: int
    source_kind: str | None
    source_id: str | None
    batch: str | None
    extra: dict[str, Any] | None


class Withdraw(NamedTuple):
    """Payload: everything of a batch is withdrawn, whenever it arrives."""

    batch: str
    trust: int
    source_kind: str | None
    source_id: str | None
    extra: dict[str, Any] | None


class Undo(NamedTuple):
    """Payload: these events, of any kind, are taken back as one."""

    refs: list[Ref]
    trust: int
    source_kind: str | None
    source_id: str | None
    extra: dict[str, Any] | None


class Define(NamedTuple):
    """Payload: what a predicate is like (see :mod:`syncmem.model.predicate`)."""

    predicate: str
    settings: dict[str, Any]
    trust: int
    source_kind: str | None
    source_id: str | None
    batch: str | None
    extra: dict[str, Any] | None


class Erase(NamedTuple):
    """Payload: everything about these entities goes, everywhere. Nothing takes it back; it names nobody."""

    names: list[bytes]  # see :mod:`syncmem.model.subjects`
    salt: bytes | None  # the key of the names; None: the scope's subject key
    trust: int
    source_kind: str | None
    source_id: str | None
    extra: dict[str, Any] | None


Payload = Statement | Retract | Withdraw | Undo | Define | ClockNote | Frontier | Erase | Moved | Link | Episode


@dataclass(frozen=True, slots=True)
class Event:
    """One event as stored: ``payload`` stays bytes, so that unknown kinds are forwarded exactly."""

    kind: int
    hlc: int
    payload: bytes


new_event: Final = maker(Event)


@dataclass(frozen=True, slots=True)
class Erased:
    """What is left of an event whose payload and salt are gone: enough for the chain, nothing personal."""

    header_hash: bytes


@dataclass(frozen=True, slots=True)
class LogKey:
    """What a log is: device public key, incarnation and scope; its id is their hash."""

    device: bytes
    incarnation: bytes
    scope: str

    @property
    def id(self) -> bytes:
        return sha256(labels.LOG + pack([self.device, self.incarnation, self.scope])).digest()[:ID_BYTES]


def header(log: bytes, seq: int, event: Event, salt: bytes) -> bytes:
    """The canonical header of an event."""
    commitment = sha256(labels.PAYLOAD + salt + event.payload).digest()
    return pack_flat([log, seq, event.kind, event.hlc, commitment, len(event.payload)])


def header_hash(header_bytes: bytes) -> bytes:
    return sha256(labels.HEADER + header_bytes).digest()


def chained(previous: bytes, hashed_header: bytes) -> bytes:
    """The chain value after an event (32 bytes)."""
    return sha256(labels.CHAIN + previous + hashed_header).digest()


def head_words(log: bytes, seq: int, head: bytes) -> bytes:
    """What a device signs of its log (see :data:`syncmem.labels.HEAD`)."""
    return pack_flat([log, seq, head])


def encode(payload: Payload) -> bytes:
    """The canonical payload bytes.

    Raises:
        InvalidInput: the event would exceed 64 KiB.
    """
    flat = FLAT.issuperset(map(type, payload))
    data = pack_flat(list(payload)) if flat else pack([_plain(item) for item in payload])
    if len(data) > EVENT_BYTES_MAX - 256:  # room for the header
        raise InvalidInput(f"the event takes {len(data)} bytes, at most {EVENT_BYTES_MAX} fit; store long text apart")
    return data


def worded(kind: Kind, hlc: int, payload: Payload) -> tuple[Event, Payload]:
    """An event as it is written, and its payload as every device reads it.

    Raises:
        InvalidInput: it is too long, or no device could read it.
    """
    cls, check = _SHAPES[kind]
    data = encode(payload)
    read: Payload | None = payload
    try:
        if type(payload) is cls and tuple(map(type, payload)) in check.accepted:  # it is read as it is written
            _check_ranges(payload)
        else:
            read = decode(kind, data)
    except NotCanonical as error:
        raise InvalidInput(f"no device could read this event ({error}); pass other dates and values") from error
    assert read is not None, "this version knows the kind"
    return new_event(int(kind), hlc, data), read


def _plain(item: Any) -> Any:
    """A field as msgpack writes it."""
    if isinstance(item, IntEnum):
        return int(item)
    if type(item) is list and item and isinstance(item[0], Ref):
        return [list(ref) for ref in item]
    return item


def decode(kind: int, payload: bytes) -> Payload | None:
    """The payload's fields, or None for a kind that this version does not know.

    Raises:
        NotCanonical: the bytes are not a canonical, well-formed payload of that kind.
    """
    shape = _SHAPES.get(kind)
    if shape is None:
        return None
    cls, check = shape
    if len(payload) > EVENT_BYTES_MAX:
        raise NotCanonical(f"a payload of {len(payload)} bytes is too long; ask the sender to check it")
    fields = unpack_outer(payload)
    if (types := tuple(map(type, fields)) if type(fields) is list else ()) not in check.accepted:
        _check_types(kind, fields, types, check)
    if len(fields) > check.fields:
        del fields[check.fields :]
    for number in check.refs:
        fields[number] = None if fields[number] is None else [ref_of(item) for item in fields[number]]
    decoded: Payload = cls._make(fields)
    _check_ranges(decoded)
    return decoded


def _check_types(kind: int, fields: Any, types: tuple[type[Any], ...], check: _Check) -> None:
    """Refuse wrong types; right ones without containers are remembered, so that each combination is looked at once."""
    if not is_canonical(fields):
        raise NotCanonical("a second encoding of the same value; ask the sender for canonical bytes")
    if len(types) < check.fields:
        raise NotCanonical(f"a payload of kind {kind} has at least {check.fields} fields; ask the sender to check it")
    for number, allowed in check.typed:
        if types[number] not in allowed:
            raise NotCanonical(f"field {number} of a payload of kind {kind} has a wrong type; ask the sender to check")
    if FLAT.issuperset(types):
        check.accepted.add(types)


def ref_of(item: Any) -> Ref:
    """The pointer that a list of three is."""
    typed = type(item) is list and [type(part) for part in item] == [bytes, int, bytes]
    if not typed or (len(item[0]), len(item[2])) != (ID_BYTES, ID_BYTES) or not 1 <= item[1] <= SEQ_MAX:
        raise NotCanonical("a reference is [log id, place, event id]; ask the sender to check it")
    return Ref(*item)


def _check_ranges(payload: Payload) -> None:
    if isinstance(payload, Frontier):
        return check_frontier(payload, place_max=SEQ_MAX)
    if isinstance(payload, Moved):
        return check_moved(payload, place_max=SEQ_MAX)
    if isinstance(payload, Episode):
        return check_episode(payload)
    if isinstance(payload, Statement):
        entity, predicate, value, _, observed_at, start, latest, stop, *_ = payload
        if not entity or not predicate:
            raise NotCanonical("a statement names an entity and a predicate; ask the sender to check it")
        for time in (observed_at, start, latest, stop):
            if time is not None and not EARLIEST <= time <= LATEST:
                raise NotCanonical("a stated time is out of range; ask the sender to check it")
        if type(value) is not str or len(value) > TEXT_BYTES_MAX // 4:
            check_value(value)
    elif isinstance(payload, Define):
        check_value(payload.settings)
    elif isinstance(payload, Link):
        check_link(payload)
    elif isinstance(payload, ClockNote):
        check_clock_note(payload, place_max=SEQ_MAX)
    elif isinstance(payload, Erase):
        keyed = payload.salt is None or len(payload.salt) == SALT_BYTES
        if not keyed or not all(type(name) is bytes and len(name) == ID_BYTES for name in payload.names):
            raise NotCanonical("an erasure lists names of 16 bytes, with a salt of 32; ask the sender to check it")
    if not 0 <= payload.trust <= TRUST_MAX:
        raise NotCanonical("a trust is out of range; ask the sender to check it")


class _Check(NamedTuple):
    fields: int
    typed: tuple[tuple[int, _Types], ...]
    refs: tuple[int, ...]  # fields that are lists of pointers
    accepted: set[tuple[type[Any], ...]]  # combinations of types that were found right


_Types = frozenset[type[Any]]
_TEXT: _Types = frozenset({str})
_INT: _Types = frozenset({int})
_LIST: _Types = frozenset({list})
_MAP: _Types = frozenset({dict})
_BYTES: _Types = frozenset({bytes})
_OPTIONAL_TEXT: _Types = frozenset({str, type(None)})
_OPTIONAL_BYTES: _Types = frozenset({bytes, type(None)})
_OPTIONAL_INT: _Types = frozenset({int, type(None)})
_OPTIONAL_MAP: _Types = frozenset({dict, type(None)})
_OPTIONAL_LIST: _Types = frozenset({list, type(None)})
_BOOL: _Types = frozenset({bool})
_SAID = (_INT, _OPTIONAL_TEXT, _OPTIONAL_TEXT)  # trust, source kind, source id


def _shape(cls: type[Any], *types: _Types | None, refs: tuple[int, ...] = ()) -> tuple[type[Any], _Check]:
    typed = tuple((number, allowed) for number, allowed in enumerate(types) if allowed is not None)
    return cls, _Check(len(types), typed, refs, set())


_STATEMENT = _shape(
    Statement,
    *(_TEXT, _TEXT, None, _INT, _OPTIONAL_INT, _OPTIONAL_INT, _OPTIONAL_INT, _OPTIONAL_INT, _INT, *_SAID),
    *(_OPTIONAL_TEXT, _OPTIONAL_LIST, _OPTIONAL_MAP),
    refs=(13,),
)
_SHAPES: Final[dict[int, tuple[type[Any], _Check]]] = {
    **dict.fromkeys((int(kind) for kind in STATEMENTS), _STATEMENT),
    Kind.RETRACT: _shape(Retract, _LIST, *_SAID, _OPTIONAL_TEXT, _OPTIONAL_MAP, refs=(0,)),
    Kind.WITHDRAW: _shape(Withdraw, _TEXT, *_SAID, _OPTIONAL_MAP),
    Kind.UNDO: _shape(Undo, _LIST, *_SAID, _OPTIONAL_MAP, refs=(0,)),
    Kind.DEFINE: _shape(Define, _TEXT, _MAP, *_SAID, _OPTIONAL_TEXT, _OPTIONAL_MAP),
    Kind.CLOCK_NOTE: _shape(ClockNote, _BYTES, _INT, _INT, _INT, *_SAID, _OPTIONAL_MAP),
    Kind.FRONTIER: _shape(Frontier, _INT, _INT, _LIST, _OPTIONAL_MAP),
    Kind.ERASE: _shape(Erase, _LIST, _OPTIONAL_BYTES, *_SAID, _OPTIONAL_MAP),
    **dict.fromkeys((int(kind) for kind in LINKS), _shape(Link, _TEXT, _TEXT, *_SAID, _OPTIONAL_TEXT, _OPTIONAL_MAP)),
    Kind.EPISODE: _shape(
        Episode,
        *(_TEXT, _OPTIONAL_TEXT, _INT, _OPTIONAL_TEXT, _OPTIONAL_TEXT, _TEXT, _OPTIONAL_LIST, _BOOL, _INT),
        *(_OPTIONAL_BYTES, _OPTIONAL_BYTES, _OPTIONAL_TEXT, _OPTIONAL_TEXT, _OPTIONAL_MAP),
    ),
    Kind.MOVED: _shape(Moved, _BYTES, _INT, _BYTES, _BYTES, _LIST, _OPTIONAL_MAP),
}


def readable(event: Event | Erased) -> Payload | None:
    """The payload's fields, or None where this version cannot read them (kept and forwarded all the same)."""
    if isinstance(event, Erased) or not 0 <= event.hlc <= LATEST:
        return None
    try:
        return decode(event.kind, event.payload)
    except NotCanonical:
        return None
