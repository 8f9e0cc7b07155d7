"""The loop of the harness: reads lines, answers each, ends with its input.

Rules: a line that cannot be understood is answered like any other and never ends the loop; nothing is
remembered from one line to the next; a bug shows as a traceback and not as an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import IO, Any, Final

from syncmem.conformance import events, mailboxes, replicas, seals
from syncmem.conformance.asking import Ask
from syncmem.conformance.outcomes import Outcome, outcome_of
from syncmem.errors import InvalidInput, SyncmemError

VERSION: Final = 1  # of the protocol that is spoken about
LINE_BYTES_MAX: Final = 4 * 1024 * 1024  # above any vector: long inputs are written with runs

Answer = dict[str, Any]


def hello_word(ask: Ask) -> Answer:
    """Which version of the protocol this implementation speaks, and which words of the harness."""
    return {"protocol": VERSION, "implementation": "syncmem", "words": list(WORDS), "outcomes": list(Outcome)}


WORDS: Final[dict[str, Callable[[Ask], Answer]]] = {
    "hello": hello_word,
    "encode": events.encode_word,
    "decode": events.decode_word,
    "clock": events.clock_word,
    "salt": events.salt_word,
    "event": events.event_word,
    "episode": events.episode_word,
    "frame": events.frame_word,
    "bundle": events.bundle_word,
    "receive": replicas.receive_word,
    "fold": replicas.fold_word,
    "digest": replicas.digest_word,
    "keys": seals.keys_word,
    "unwrap": seals.unwrap_word,
    "statement": seals.statement_word,
    "roster": seals.roster_word,
    "seal": seals.seal_word,
    "open": seals.open_word,
    "blob": seals.blob_word,
    "mailbox": mailboxes.mailbox_word,
}


def serve(lines: IO[bytes], answers: IO[bytes]) -> None:
    """Answer every line of a stream."""
    while line := lines.readline(LINE_BYTES_MAX + 1):
        whole = len(line) <= LINE_BYTES_MAX
        while not (whole or line.endswith(b"\n")) and (more := lines.readline(LINE_BYTES_MAX)):
            line = more  # the rest of a line that is too long is passed over
        answer = _answered(line) if whole else _refused(InvalidInput(f"a line has at most {LINE_BYTES_MAX} bytes"))
        answers.write(
            json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"
        )
        answers.flush()


def _answered(line: bytes) -> Answer:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return _refused(InvalidInput("the line is not JSON; send one object a line"))
    if type(fields) is not dict:
        return _refused(InvalidInput("the line is no JSON object; send one object a line"))
    return answer(fields)


def answer(fields: dict[str, Any]) -> Answer:
    """The answer to one question: always with an ``outcome``; ``why`` is for people.

    >>> answer({"word": "clock", "now": 10, "seen": [12]})
    {'outcome': 'accepted', 'clock': 13}
    """
    word = fields.get("word")
    spoken = WORDS.get(word) if type(word) is str else None
    if spoken is None:
        return _refused(InvalidInput(f"a word is one of {', '.join(WORDS)}; send one"))
    try:
        found = spoken(Ask(fields))
    except SyncmemError as error:
        return _refused(error)
    return {"outcome": str(found.pop("outcome", Outcome.ACCEPTED)), **found}


def _refused(error: SyncmemError) -> Answer:
    return {"outcome": str(outcome_of(error)), "why": str(error)}
