"""Words about keys and what is sealed or signed with them: keys, unwrap, statement, roster, seal, open, blob."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from syncmem import labels
from syncmem.conformance.asking import Ask
from syncmem.conformance.notation import tagged
from syncmem.conformance.outcomes import Outcome
from syncmem.errors import InvalidInput, Unreadable
from syncmem.model.subjects import subject_name
from syncmem.seal.envelope import EpochKey, padded_length, seal, unseal
from syncmem.seal.keys import SEED_BYTES, derive, public_key, transport_key, unwrap, wrap_context
from syncmem.seal.phrase import new_phrase, paper_seed
from syncmem.seal.roster import Roster, epoch_keys
from syncmem.seal.statements import Statement, read_statement
from syncmem.sync.dropping import drop_seed
from syncmem.sync.pairing import Code
from syncmem.sync.shelf import content_key
from syncmem.wire.blob import ItemKind, read_blob, read_lacks, read_noted, read_offer, read_replaced, read_wants
from syncmem.wire.proofs import of_mailbox, shared_by_mailbox

Answer = dict[str, Any]


def keys_word(ask: Ask) -> Answer:
    """All that follows from the secrets that the line names."""
    told: Answer = {}
    if ask.has("device_seed"):
        seed = _secret(ask, "device_seed")
        told |= {"device": public_key(seed).hex(), "transport": transport_key(seed).hex()}
        if ask.has("mailbox"):
            told["drop_key"] = public_key(drop_seed(seed, ask.data("mailbox"))).hex()
    if ask.has("epoch_key"):
        told |= _of_epoch(ask)
    if ask.has("subject_key"):
        told["name"] = subject_name(ask.data("subject_key"), ask.text("entity")).hex()
    if ask.has("entropy"):
        told["phrase"] = new_phrase(_secret(ask, "entropy"))
    if ask.has("phrase"):
        paper = paper_seed(ask.text("phrase"))
        told |= {"paper_seed": paper.hex(), "recovery_seed": derive(paper, labels.RECOVERY, SEED_BYTES).hex()}
    if ask.has("code"):
        code = Code.parse(ask.text("code"))
        told |= {"secret": code.secret.hex(), "address": code.address, "place": code.place.hex()}
    if ask.has("length"):
        told["padded"] = padded_length(ask.number("length"))
    return told


def _of_epoch(ask: Ask) -> Answer:
    key = EpochKey(bytes(16), "", bytes(16), _secret(ask, "epoch_key"), b"")
    if ask.has("event"):
        shelf = content_key(key, ask.data("event"))
        return {"mailbox": shelf.mailbox.hex(), "stream": shelf.stream(ask.data("event")).hex()}
    told = {"write_key": key.write_key.hex(), "mailbox": key.mailbox.hex(), "names_key": key.names.hex()}
    if ask.has("relay_key"):
        agreed = shared_by_mailbox(key.write_seed, ask.data("relay_key")).secret
        return {**told, "agreement_key": of_mailbox(key.write_seed).hex(), "shared": agreed.hex()}
    return {**told, "stream": key.stream(ask.data("log")).hex()} if ask.has("log") else told


def _secret(ask: Ask, name: str) -> bytes:
    found = ask.data(name)
    if len(found) != SEED_BYTES:
        raise InvalidInput(f"{name!r} has {SEED_BYTES} bytes; send all of them")
    return found


def unwrap_word(ask: Ask) -> Answer:
    """The keys in a wrap."""
    seed = _secret(ask, "device_seed")
    context = wrap_context(ask.data("vault"), ask.text("scope"), public_key(seed))
    both = unwrap(seed, context, ask.data("wrap"))
    if len(both) != 2 * SEED_BYTES:
        raise Unreadable("what was sealed to this device is no pair of keys; ask the sender to seal it again")
    return {"epoch_key": both[:SEED_BYTES].hex(), "subject_key": both[SEED_BYTES:].hex()}


# -- the roster -----------------------------------------------------------------------------------------


def statement_word(ask: Ask) -> Answer:
    """Who says what in a statement; kept: its kind is of a later version."""
    said = read_statement(ask.data("statement"))
    told: Answer = {} if said.body is not None else {"outcome": Outcome.KEPT}
    return {
        **told,
        "id": said.id.hex(),
        "kind": said.kind,
        "vault": said.roster.hex(),
        "parents": [parent.hex() for parent in said.parents],
        "signer": said.signer.hex(),
        "time": said.time,
    }


def roster_word(ask: Ask) -> Answer:
    """Who belongs to a vault by these statements, which epochs are current, which logs are cut."""
    roster = Roster(map(read_statement, ask.each_data("statements")))
    ordered = [standing for standing in roster.members if standing.live]
    return {
        **(_keys(roster, _secret(ask, "device_seed")) if ask.has("device_seed") else {}),
        "vault": roster.vault.hex(),
        "live": [standing.device.hex() for standing in ordered],
        "revoked": [standing.device.hex() for standing in roster.members if standing.revoked],
        "names": {standing.device.hex(): standing.name for standing in roster.members},
        "epochs": {scope: _id(roster.current_epoch(scope)) for scope in roster.scopes},
        "missing": sorted(parent.hex() for parent in roster.missing),
        "cuts": [roster.cut(device, log) for device, log in ask.two_each("logs")],
    }


def _keys(roster: Roster, seed: bytes) -> Answer:
    """``{epoch id: [epoch key, subject key]}`` of all epochs whose key the owner of a seed was given."""
    found = epoch_keys(roster, seed, public_key(seed))
    return {"keys": {id.hex(): [key.secret.hex(), key.subject.hex()] for id, key in found.items()}}


def _id(statement: Statement | None) -> str | None:
    return None if statement is None else statement.id.hex()


# -- envelopes and blobs --------------------------------------------------------------------------------


def _epoch(ask: Ask) -> EpochKey:
    """The epoch that a line is about."""
    return EpochKey(ask.data("vault"), "", ask.data("epoch"), _secret(ask, "epoch_key"), b"")


def seal_word(ask: Ask) -> Answer:
    """The envelope of a plaintext, with the 32 random bytes given."""
    random = ask.data("random")
    return {"envelope": seal(_epoch(ask), ask.data("plaintext"), lambda count: random[:count]).hex()}


def open_word(ask: Ask) -> Answer:
    """The plaintext of an envelope."""
    return {"plaintext": unseal(_epoch(ask), ask.data("envelope")).hex()}


def blob_word(ask: Ask) -> Answer:
    """What a blob says, if the device it names, or else the one known to write there, signed it for this mailbox."""
    writer = (ask.data("device"), ask.data("incarnation")) if ask.has("device") else None
    blob = read_blob(ask.data("blob"), ask.data("vault"), ask.data("mailbox"), writer)
    state = None if blob.state is None else tagged(list(blob.state))
    return {
        "device": blob.device.hex(),
        "incarnation": blob.incarnation.hex(),
        "counter": blob.counter,
        "state": state,
        "items": [_item(item.kind, item.body) for item in blob.items],
    }


def _item(kind: int, body: bytes) -> list[Any]:
    """``[kind, bytes]``; of wants, places replaced and offers what they say instead of the bytes."""
    reader = _SAYING.get(kind)
    return [kind, body.hex() if reader is None else _plain(reader(body))]


def _plain(part: Any) -> Any:
    if isinstance(part, list | tuple):
        return [_plain(inner) for inner in part]
    return part.hex() if type(part) is bytes else part


_SAYING: Final[dict[int, Callable[[bytes], Sequence[Any]]]] = {
    ItemKind.WANTS: read_wants,
    ItemKind.REPLACED: read_replaced,
    ItemKind.OFFER: read_offer,
    ItemKind.LACKS: read_lacks,
    ItemKind.NOTED: read_noted,
}
