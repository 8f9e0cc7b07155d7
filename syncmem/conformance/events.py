"""Words about values and events: encode, decode, clock, salt, event, episode, frame, bundle."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.conformance.asking import Ask
from syncmem.conformance.notation import tagged, untagged
from syncmem.conformance.outcomes import Outcome
from syncmem.errors import BadSignature, BrokenChain, InvalidInput, NotCanonical
from syncmem.model import salt
from syncmem.model.clock import next_clock
from syncmem.model.episode import Episode, chunk_hash, entities_of, episode_id
from syncmem.model.event import (
    CHAIN_START,
    ID_BYTES,
    Event,
    Kind,
    LogKey,
    chained,
    head_words,
    header,
    header_hash,
    readable,
)
from syncmem.model.frame import Frame
from syncmem.replica.bundle import read_bundle, read_chunks
from syncmem.replica.chain import Log, chain_after, erased_form
from syncmem.seal.keys import verify
from syncmem.wire.frames import read_frame

Answer = dict[str, Any]


def encode_word(ask: Ask) -> Answer:
    """Canonical bytes of a value."""
    try:
        return {"bytes": pack(untagged(ask.value("value"))).hex()}
    except (NotCanonical, UnicodeEncodeError, OverflowError) as error:
        raise InvalidInput(f"the value has no canonical encoding ({error}); send another") from error


def decode_word(ask: Ask) -> Answer:
    """The value of canonical bytes."""
    return {"value": tagged(unpack(ask.data("bytes")))}


def clock_word(ask: Ask) -> Answer:
    """The hybrid clock of the next event."""
    return {"clock": next_clock(ask.number("now"), ask.numbers("seen"))}


def salt_word(ask: Ask) -> Answer:
    """The salt of a leaf, after some leaves were forgotten; the cover that is left."""
    cover, asked = ask.nodes("cover"), ask.number("leaf")
    if not all(0 <= leaf < salt.BLOCK_EVENTS for leaf in [asked, *ask.numbers("forget")]):
        raise InvalidInput(f"a leaf is a number below {salt.BLOCK_EVENTS}; send one")
    for leaf in ask.numbers("forget"):
        cover = salt.forget(cover, leaf)
    value = salt.salt(cover, asked)
    left = [[node, held.hex()] for node, held in sorted(cover.items())]
    if value is None:
        return {"outcome": Outcome.FORGOTTEN, "cover": left}
    return {"salt": value.hex(), "cover": left}


def event_word(ask: Ask) -> Answer:
    """Everything that is hashed of one event, and the chain after it; kept: this version cannot read the payload."""
    key = LogKey(ask.data("device"), ask.data("incarnation"), ask.text("scope"))
    event = Event(ask.number("kind"), ask.number("clock"), ask.data("payload"))
    whole = header(key.id, ask.number("place"), event, ask.data("salt"))
    hashed = header_hash(whole)
    return {
        "outcome": Outcome.KEPT if readable(event) is None else Outcome.ACCEPTED,
        "log": key.id.hex(),
        "header": whole.hex(),
        "hash": hashed.hex(),
        "id": hashed[:ID_BYTES].hex(),
        "head": chained(ask.data("previous", CHAIN_START), hashed).hex(),
    }


def frame_word(ask: Ask) -> Answer:
    """The events of a frame whose signature and chain are right; ``previous``: the chain value before it."""
    frame = read_frame(ask.data("frame"))
    _check_signature(frame)
    log = Log(0, frame.key.id, frame.key, frame.first - 1, ask.data("previous", CHAIN_START), 0, False)
    nodes = dict(frame.cover)
    if chain_after(log, frame.first, frame.events, nodes) != frame.head:
        raise BrokenChain("the events do not lead to the stated head of their log; ask another device for them")
    return {**_key(frame.key), "first": frame.first, "head": frame.head.hex(), "events": _events(log, frame, nodes)}


def bundle_word(ask: Ask) -> Answer:
    """The frames and chunks of a bundle, none of which was taken in yet."""
    file = BytesIO(ask.data("bundle"))
    frames, chunks = list(read_bundle(file)), list(read_chunks(file))
    return {
        "frames": [[frame.key.id.hex(), frame.first, frame.last] for frame in frames],
        "chunks": [[chunk.episode.hex(), chunk.number, len(chunk.body)] for chunk in chunks],
    }


def episode_word(ask: Ask) -> Answer:
    """What an episode is called and whom it is about; whether ``chunk`` is the part of its content that it names."""
    payload, scope = ask.data("payload"), ask.text("scope")
    said = readable(Event(Kind.EPISODE, 0, payload))
    if not isinstance(said, Episode):
        return {"outcome": Outcome.KEPT}
    outcome = Outcome.ACCEPTED
    if ask.has("chunk"):
        number = ask.number("number")
        named = 1 <= number <= said.chunk_count and chunk_hash(ask.data("chunk")) == said.hash_of(number)
        outcome = Outcome.ACCEPTED if named else Outcome.REFUSED
    entities = entities_of(scope, payload, said)
    id = episode_id(scope, payload).hex()
    return {"outcome": outcome, "id": id, "entities": entities, "chunks": said.chunk_count}


def _check_signature(frame: Frame) -> None:
    words = head_words(frame.key.id, frame.last, frame.head)
    if not verify(frame.key.device, labels.HEAD, words, frame.signature):
        raise BadSignature("a log's head is not signed by its device; ask another device for the events")


def _key(key: LogKey) -> Answer:
    return {
        "log": key.id.hex(), "device": key.device.hex(), "incarnation": key.incarnation.hex(), "scope": key.scope,
    }  # fmt: skip


def _events(log: Log, frame: Frame, nodes: salt.Cover) -> list[list[Any]]:
    """``[place, id, kind, clock, payload]`` of each event, ``[place, id]`` of an erased one."""
    told: list[list[Any]] = []
    values = salt.salts_noting(nodes, frame.first % salt.BLOCK_EVENTS, len(frame.events))
    for place, (event, value) in enumerate(zip(frame.events, values, strict=True), frame.first):
        if isinstance(event, Event):
            assert value is not None, "the chain was computed with it"
            hashed = erased_form(log, place, event, value).header_hash
            told.append([place, hashed[:ID_BYTES].hex(), event.kind, event.hlc, event.payload.hex()])
        else:
            told.append([place, event.header_hash[:ID_BYTES].hex()])
    return told
