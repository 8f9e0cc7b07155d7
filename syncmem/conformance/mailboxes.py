"""The word about what a mailbox is asked and answers: mailbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from syncmem.conformance.asking import Ask
from syncmem.errors import InvalidInput, MailboxRefused
from syncmem.wire.mailbox import BlobName, Put, check_put, digest, mailbox_id, may_drop
from syncmem.wire.messages import (
    read_agree,
    read_agreed,
    read_answer,
    read_drop,
    read_dropped,
    read_exchange,
    read_get,
    read_moved,
    read_watch,
)
from syncmem.wire.proofs import Proved, coded, shared_by_relay, signed

Answer = dict[str, Any]


def mailbox_word(ask: Ask) -> Answer:
    """What a message says; ``message`` names which it is."""
    reader = _READERS.get(ask.text("message"))
    if reader is None:
        raise InvalidInput(f"a message is one of {', '.join(_READERS)}; name one")
    return reader(ask)


def _exchange(ask: Ask) -> Answer:
    request = read_exchange(ask.data("bytes"), _proved(ask))
    return {
        "mailbox": request.mailbox.hex(),
        "puts": [_put(put) for put in request.puts],
        "cursors": _pairs(request.cursors.items()),
        "inline": request.inline_bytes_max,
        "drop_key": None if request.drop_key is None else request.drop_key.hex(),
        "making_room": request.making_room,
    }


def _put(put: Put) -> list[Any]:
    """The name a put gets, and why it cannot be kept (an outcome of the protocol, by number)."""
    refused = check_put(put)
    return [str(BlobName(put.stream, put.counter, digest(put.blob))), None if refused is None else int(refused.outcome)]


def _answer(ask: Ask) -> Answer:
    answer = read_answer(ask.data("bytes"))
    return {
        "epoch": answer.epoch.hex(),
        "results": [int(result.outcome) for result in answer.results],
        "ends": _pairs(answer.ends.items()),
        "listed": [[str(o.name), o.size, None if o.blob is None else o.blob.hex()] for o in answer.listed],
        "more": answer.more,
    }


def _get(ask: Ask) -> Answer:
    key, names = read_get(ask.data("bytes"))
    return {"key": key.hex(), "names": list(map(str, names))}


def _drop(ask: Ask) -> Answer:
    """A drop, where those keys are registered."""
    request = read_drop(ask.data("bytes"))
    if not may_drop(request, set(ask.each_data("registered"))):
        raise MailboxRefused("not enough registered keys have signed the drop; ask another member to sign too")
    return {"mailbox": request.mailbox.hex(), "names": list(map(str, request.names)), "reason": request.reason}


def _dropped(ask: Ask) -> Answer:
    return {"dropped": read_dropped(ask.data("bytes"))}


def _watch(ask: Ask) -> Answer:
    request = read_watch(ask.data("bytes"))
    return {"mailbox": request.mailbox.hex(), "since": None if request.since is None else str(request.since)}


def _agree(ask: Ask) -> Answer:
    key, agreement = read_agree(ask.data("bytes"))
    return {"mailbox": mailbox_id(key).hex(), "agreement_key": agreement.hex()}


def _agreed(ask: Ask) -> Answer:
    return {"relay_key": read_agreed(ask.data("bytes")).hex()}


def _proved(ask: Ask) -> Proved:
    """As a relay that has this seed, and has agreed with whoever said that key."""
    if not ask.has("relay_seed"):
        return signed
    seed, agreement = ask.data("relay_seed"), ask.data("agreement_key")

    def proved(key: bytes, message: bytes, proof: bytes) -> bool:
        shared = shared_by_relay(seed, key, agreement)
        return coded(shared, message, proof) or signed(key, message, proof)

    return proved


def _moved(ask: Ask) -> Answer:
    position = read_moved(ask.data("bytes"))
    return {"position": None if position is None else str(position)}


def _name(ask: Ask) -> Answer:
    found = BlobName.parse(ask.text("name"))
    if found is None:
        raise InvalidInput("a blob's name is stream/counter-digest; see the protocol, section Mailbox")
    return {"stream": found.stream.hex(), "counter": found.counter, "digest": found.digest.hex()}


def _pairs(items: Iterable[tuple[bytes, int]]) -> list[list[Any]]:
    return [[stream.hex(), number] for stream, number in sorted(items)]


_READERS: Final[dict[str, Callable[[Ask], Answer]]] = {
    "exchange": _exchange,
    "answer": _answer,
    "get": _get,
    "drop": _drop,
    "dropped": _dropped,
    "watch": _watch,
    "moved": _moved,
    "agree": _agree,
    "agreed": _agreed,
    "name": _name,
}
