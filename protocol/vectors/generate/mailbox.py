"""What a mailbox is asked and answers, as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.envelope import mailbox
from protocol.vectors.generate.keys import EPOCH_KEY
from protocol.vectors.generate.making import expand, flipped, runs, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack
from syncmem.seal.keys import public_key, sign

WRITE_SEED = expand(EPOCH_KEY, labels.WRITE, 32)
KEY, BOX = public_key(WRITE_SEED), mailbox(EPOCH_KEY)
STREAM, OTHER = sorted([secret("a stream", 8), secret("another stream", 8)])
BLOB = b"sealed"
DROP_SEEDS = [secret(f"drop key {number}") for number in (1, 2, 3)]
DROP_KEYS = [public_key(seed) for seed in DROP_SEEDS]


def name(counter: int, blob: bytes = BLOB, stream: bytes = STREAM) -> list[Any]:
    return [stream, counter, sha256(blob).digest()[:16]]


def text(named: Sequence[Any]) -> str:
    return f"{named[0].hex()}/{named[1]:012d}-{named[2].hex()}"


def message(head: Any, *blobs: bytes) -> bytes:
    data = pack(head)
    return len(data).to_bytes(4, "big") + data + b"".join(blobs)


def signed(body: bytes, seed: bytes = WRITE_SEED) -> bytes:
    return body + sign(seed, labels.REQUEST, sha256(body).digest())


def exchange(puts: Any = (), cursors: Any = (), inline: Any = 1000, drop: Any = None, **other: Any) -> bytes:
    parts = [other.get("version", 1), other.get("key", KEY), list(puts), list(cursors), inline, drop]
    parts += [other.get("making_room", False)]
    return signed(message(parts, *other.get("blobs", ())), other.get("seed", WRITE_SEED))


def asked(kind: str, called: str, says: str, data: bytes, outcome: str, **answer: Any) -> Vector:
    ask: dict[str, Any] = {"word": "mailbox", "message": kind, "bytes": runs(data)}
    ask |= {"registered": []} if kind == "drop" else {}
    return Vector("mailbox", f"{kind}-{called}", says, ask, {"outcome": outcome, **answer})


def vectors() -> Iterator[Vector]:
    for made in (exchanges, bad_exchanges, answers, gets, drops, watches, names):
        yield from made()


def exchanges() -> Iterator[Vector]:
    empty: dict[str, Any] = {"mailbox": BOX.hex(), "puts": [], "cursors": [], "inline": 1000, "drop_key": None}
    empty["making_room"] = False
    yield asked("exchange", "empty", "Who brings nothing asks what is new.", exchange(), "accepted", **empty)
    puts = [[STREAM, 1, len(BLOB)], [STREAM, 2, 3]]
    made = [[text(name(1)), None], [text(name(2, b"two")), None]]
    yield asked(
        "exchange", "puts", "A blob is named by its stream, its place there and its digest.",
        exchange(puts, blobs=[BLOB, b"two"]), "accepted", **{**empty, "puts": made},
    )  # fmt: skip
    cursors = [[STREAM, 5], [OTHER, 0]]  # ascending
    yield asked(
        "exchange", "cursors", "A cursor is the last place up to which the asker has everything.",
        exchange(cursors=cursors), "accepted", **{**empty, "cursors": [[s.hex(), n] for s, n in cursors]},
    )  # fmt: skip
    yield asked(
        "exchange", "drop-key", "A member registers a key with which it may sign drops.",
        exchange(drop=DROP_KEYS[0]), "accepted", **{**empty, "drop_key": DROP_KEYS[0].hex()},
    )  # fmt: skip
    yield asked(
        "exchange", "making-room", "Who makes room says so: a full mailbox takes what holds anew what is dropped next.",
        exchange(puts[:1], blobs=[BLOB], making_room=True), "accepted",
        **{**empty, "puts": made[:1], "making_room": True},
    )  # fmt: skip
    malformed = [[text(name(0)), 5], [text(name(3, b"")), 5]]
    yield asked(
        "exchange", "puts-that-cannot-be-kept", "A put at place 0 or without content is malformed.",
        exchange([[STREAM, 0, len(BLOB)], [STREAM, 3, 0]], blobs=[BLOB]), "accepted", **{**empty, "puts": malformed},
    )  # fmt: skip


def bad_exchanges() -> Iterator[Vector]:
    right = exchange([[STREAM, 1, len(BLOB)]], blobs=[BLOB])
    for called, says, data in (
        ("empty-bytes", "No bytes are no request.", b""),
        ("version-2", "Another version is not read.", exchange(version=2)),
        ("parts-missing", "A request has all its parts.", signed(message([1, KEY, []]))),
        ("key-short", "A write key has 32 bytes.", exchange(key=KEY[:31])),
        ("stream-short", "A stream's name has 8 bytes.", exchange([[STREAM[:7], 1, 0]])),
        ("counter-too-high", "Counters end with 10^12 - 1.", exchange([[STREAM, 10**12, 0]])),
        ("size-wrong", "The sizes are those of the blobs.", exchange([[STREAM, 1, 5]], blobs=[BLOB])),
        ("puts-too-many", "A request brings at most 256 blobs.", exchange([[STREAM, 1, 0]] * 257)),
        ("inline-negative", "Nobody asks for less than nothing.", exchange(inline=-1)),
        ("drop-key-short", "A drop key has 32 bytes.", exchange(drop=DROP_KEYS[0][:31])),
        ("making-room-number", "Whether room is made is true or false.", exchange(making_room=1)),
        ("cursor-no-pair", "Cursors are pairs.", exchange(cursors=[STREAM])),
        ("cursors-descending", "Cursors ascend by stream.", exchange(cursors=[[OTHER, 0], [STREAM, 5]])),
        ("cursor-twice", "A stream has one cursor.", exchange(cursors=[[STREAM, 5], [STREAM, 6]])),
        ("head-second-encoding", "The head is canonical.", signed(b"\0\0\0\3\x91\xcc\1")),
    ):
        yield asked("exchange", called, says, data, "not-canonical")
    for called, says, data in (
        ("signature-changed", "One bit of the signature is enough.", flipped(right, -1)),
        ("signature-of-other", "Who does not know the epoch key writes nothing.", exchange(seed=secret("a stranger"))),
        ("blob-changed", "The signature covers the blobs.", flipped(right, -65)),
    ):
        yield asked("exchange", called, says, data, "unreadable")


EPOCH = secret("epoch of a mailbox", 16)


def answer(results: Any = (), ends: Any = (), listed: Any = (), more: Any = False, **other: Any) -> bytes:
    parts = [other.get("version", 1), other.get("epoch", EPOCH), list(results), list(ends), list(listed), more]
    return message(parts, *other.get("blobs", ()))


def answers() -> Iterator[Vector]:
    told: dict[str, Any] = {"epoch": EPOCH.hex(), "results": [], "ends": [], "listed": [], "more": False}
    yield asked("answer", "empty", "A new mailbox has an epoch and nothing else.", answer(), "accepted", **told)
    each = [[number, "why"] for number in range(6)]
    yield asked(
        "answer", "results", "Stored, known, conflict, too large, over quota, malformed: each put for itself.",
        answer(each), "accepted", **{**told, "results": list(range(6))},
    )  # fmt: skip
    yield asked(
        "answer", "later-result", "A result of a later version counts as malformed.",
        answer([[77, "new"]]), "accepted", **{**told, "results": [5]},
    )  # fmt: skip
    listed = [[*name(4), len(BLOB), True], [*name(5, b"large"), 5, False]]
    shown = [[text(name(4)), len(BLOB), BLOB.hex()], [text(name(5, b"large")), 5, None]]
    yield asked(
        "answer", "listed", "What lies behind the cursors is listed; small blobs come along.",
        answer(ends=[[STREAM, 5]], listed=listed, more=True, blobs=[BLOB]), "accepted",
        **{**told, "ends": [[STREAM.hex(), 5]], "listed": shown, "more": True},
    )  # fmt: skip
    for called, says, data in (
        ("epoch-short", "A mailbox's epoch has 16 bytes.", answer(epoch=EPOCH[:15])),
        ("more-a-number", "Whether there is more is true or false.", answer(more=1)),
        ("blob-missing", "What comes along is there.", answer(listed=listed[:1])),
        ("followed", "Nothing follows the blobs.", answer(blobs=[b"x"])),
        ("ends-descending", "Ends ascend by stream.", answer(ends=[[OTHER, 1], [STREAM, 5]])),
        ("results-too-many", "An answer has a result for at most 256 puts.", answer([[0, ""]] * 257)),
        ("listed-short", "A listed blob has five parts.", answer(listed=[name(4)])),
        ("result-no-pair", "A result is a number and a reason.", answer([0])),
        ("version-2", "Another version is not read.", answer(version=2)),
    ):
        yield asked("answer", called, says, data, "not-canonical")


def gets() -> Iterator[Vector]:
    wanted = [name(1), name(2, stream=OTHER)]
    yield asked(
        "get", "names", "Blobs are fetched by their names.", signed(message([1, KEY, wanted])), "accepted",
        key=KEY.hex(), names=[text(one) for one in wanted],
    )  # fmt: skip
    short = [[STREAM, 1, bytes(15)]]
    yield asked("get", "digest-short", "A digest has 16 bytes.", signed(message([1, KEY, short])), "not-canonical")
    many = [name(1)] * 2049
    yield asked(
        "get", "names-too-many", "At most 2,048 blobs are asked for.", signed(message([1, KEY, many])), "not-canonical"
    )
    yield asked("get", "signature-changed", "Who may not write may not read.",
                flipped(signed(message([1, KEY, wanted])), -1), "unreadable")  # fmt: skip


def drops() -> Iterator[Vector]:
    one, both = DROP_KEYS[:1], DROP_KEYS[:2]
    for called, says, reason, signers, registered, outcome in (
        ("erase-by-one", "One registered key is enough to erase.", "erase", [0], both, "accepted"),
        ("erase-by-none", "Nobody erases without a registered key.", "erase", [], both, "refused"),
        ("erase-by-stranger", "A key that is not registered counts for nothing.", "erase", [2], both, "refused"),
        ("erase-by-one-and-a-stranger", "Who else has signed does not matter.", "erase", [2, 0], both, "accepted"),
        ("erase-of-none-registered", "Where no key is registered nobody erases.", "erase", [0], [], "refused"),
        ("compact-by-one-and-a-stranger", "A stranger's key makes no second.", "compact", [0, 2], both, "refused"),
        ("compact-by-two-of-three", "Any two compact.", "compact", [1, 2], DROP_KEYS, "accepted"),
        ("compact-by-two", "Two registered keys are needed to compact.", "compact", [0, 1], both, "accepted"),
        ("compact-by-one", "One key of two does not compact.", "compact", [0], both, "refused"),
        ("compact-by-the-same-twice", "The same key twice is one key.", "compact", [0, 0], both, "refused"),
        ("compact-alone", "Where one key is registered it compacts alone.", "compact", [0], one, "accepted"),
        ("compact-of-none-registered", "Where no key is registered nobody compacts.", "compact", [0], [], "refused"),
        ("other-reason", "Other reasons are not known.", "tidy", [0, 1], both, "refused"),
    ):
        yield dropping(called, says, reason, signers, registered, outcome)
    yield dropping("signature-for-other-blobs", "A signature is of these blobs.", "erase", [0], one, "refused",
                   of=[name(8)])  # fmt: skip
    yield dropping("signature-for-other-reason", "A signature is of this reason.", "erase", [0], one, "refused",
                   why="compact")  # fmt: skip
    yield dropping("signature-for-other-mailbox", "A signature is for this mailbox and no other.", "erase", [0], one,
                   "refused", box=bytes(16))  # fmt: skip
    three = [[key, bytes(64)] for key in DROP_KEYS]
    yield asked("drop", "three-signatures", "A drop has at most two signatures.",
                signed(message([1, KEY, [name(1)], "erase", three])), "not-canonical")  # fmt: skip
    yield asked("dropped", "some", "Each blob is answered for itself.", message([1, [True, False]]), "accepted",
                dropped=[True, False])  # fmt: skip
    yield asked("dropped", "numbers", "Gone or not is true or false.", message([1, [1]]), "not-canonical")


def dropping(called: str, says: str, reason: str, signers: Sequence[int], registered: Sequence[bytes], outcome: str,
             *, of: Any = None, why: str | None = None, box: bytes = BOX) -> Vector:  # fmt: skip
    """A drop of two blobs, signed by some keys (of other blobs, for another reason or mailbox)."""
    wanted = [name(1), name(2)]
    words = box + pack([why or reason, wanted if of is None else of])
    signatures = [[DROP_KEYS[number], sign(DROP_SEEDS[number], labels.DROPPING, words)] for number in signers]
    data = signed(message([1, KEY, wanted, reason, signatures]))
    ask = {"word": "mailbox", "message": "drop", "bytes": data.hex(), "registered": [key.hex() for key in registered]}
    told = {"mailbox": BOX.hex(), "names": [text(one) for one in wanted], "reason": reason}
    return Vector(
        "mailbox", f"drop-{called}", says, ask, {"outcome": outcome, **(told if outcome == "accepted" else {})}
    )


def watches() -> Iterator[Vector]:
    def watch(since: Any, seed: bytes = WRITE_SEED) -> bytes:
        return signed(message([1, KEY, since]), seed)

    told: dict[str, Any] = {"mailbox": BOX.hex(), "since": f"{EPOCH.hex()}-7"}
    yield asked(
        "watch", "since", "Who watches says where it saw the mailbox: its epoch, the sum of its streams' ends.",
        watch([EPOCH, 7]), "accepted", **told,
    )  # fmt: skip
    yield asked("watch", "first", "Who never saw it says nil.", watch(None), "accepted", **{**told, "since": None})
    for called, says, since in (
        ("epoch-short", "A mailbox's epoch has 16 bytes.", [EPOCH[:15], 7]),
        ("negative", "No sum of ends is negative.", [EPOCH, -1]),
        ("no-pair", "A position is a pair.", [EPOCH]),
        ("beyond", "4,096 streams of 10^12 - 1 blobs each are the most.", [EPOCH, 4096 * (10**12 - 1) + 1]),
    ):
        yield asked("watch", called, says, watch(since), "not-canonical")
    stranger = watch(None, secret("a stranger"))
    yield asked("watch", "signature-of-other", "Who may not write is told nothing.", stranger, "unreadable")
    at = {"position": f"{EPOCH.hex()}-{4096 * (10**12 - 1)}"}
    yield asked(
        "moved", "position", "The answer says where the mailbox is, and nothing of what is there.",
        message([1, [EPOCH, 4096 * (10**12 - 1)]]), "accepted", **at,
    )  # fmt: skip
    yield asked("moved", "nowhere", "There is no such mailbox yet.", message([1, None]), "accepted", position=None)
    yield asked("moved", "followed", "Nothing follows.", message([1, None]) + b"x", "not-canonical")


def names() -> Iterator[Vector]:
    right = text(name(42))
    told = {"stream": STREAM.hex(), "counter": 42, "digest": name(42)[2].hex()}
    yield named(
        "name", "A blob's name is its stream, its place in twelve digits, and its digest.", right, "accepted", **told
    )
    yield named("name-upper-case", "Names are in lower case.", right.upper(), "invalid")
    yield named("name-eleven-digits", "A place has twelve digits.", right.replace("/0", "/"), "invalid")
    yield named(
        "name-of-a-copy", "What a file service makes of a name in conflict is no name.", right + " (1)", "invalid"
    )
    yield named("name-with-folder", "A name has one folder.", "a/" + right, "invalid")


def named(called: str, says: str, written: str, outcome: str, **told: Any) -> Vector:
    return Vector(
        "mailbox", called, says, {"word": "mailbox", "message": "name", "name": written}, {"outcome": outcome, **told}
    )
