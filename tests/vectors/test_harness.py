"""``syncmem conformance`` as other implementations drive it: a process, a line in, a line out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vectors.generate.vector import held, read
from syncmem.conformance.harness import LINE_BYTES_MAX, WORDS, answer, serve
from syncmem.conformance.outcomes import Outcome
from tests.cli.running import environment
from tests.vectors.test_vectors import wrong

COMMAND = [sys.executable, "-m", "syncmem", "conformance"]
VECTORS = read(held())
SECONDS_MAX = 120


def spoken(lines: bytes) -> list[dict[str, Any]]:
    """What the process answers to these lines."""
    run = subprocess.run(COMMAND, input=lines, capture_output=True, env=environment(), timeout=SECONDS_MAX, check=False)
    assert (run.returncode, run.stderr) == (0, b"")
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_a_process_answers_all_vectors_in_their_order() -> None:
    asked = b"".join(json.dumps(vector["ask"]).encode() + b"\n" for vector in VECTORS.values())
    told = dict(zip(VECTORS, spoken(asked), strict=True))
    assert {name: diff for name, v in VECTORS.items() if (diff := wrong(v["answer"], told[name]))} == {}


def test_it_answers_before_it_is_asked_again() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None and process.stdout is not None
        for seen in (5, 9):
            process.stdin.write(json.dumps({"word": "clock", "now": 1, "seen": [seen]}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["clock"] == seen + 1
        process.stdin.close()
        assert process.wait(SECONDS_MAX) == 0


def test_hello_names_version_words_and_outcomes() -> None:
    (told,) = spoken(b'{"word": "hello"}\n')
    assert (told["protocol"], told["words"]) == (1, list(WORDS))
    assert told["outcomes"] == list(map(str, Outcome))


MALFORMED = {
    "nothing": b"",
    "no JSON": b"open the door",
    "no UTF-8": b'{"word": "\xff"}',
    "half an object": b'{"word": "decode"',
    "an array": b'["decode", "00"]',
    "a number": b"5",
    "no word": b"{}",
    "a word that is none": b'{"word": "divine"}',
    "a word that is no text": b'{"word": ["decode"]}',
    "a field missing": b'{"word": "decode"}',
    "a field of another type": b'{"word": "decode", "bytes": 5}',
    "half a byte": b'{"word": "decode", "bytes": "0"}',
    "bytes in upper case": b'{"word": "decode", "bytes": "FF"}',
    "a run without end": b'{"word": "decode", "bytes": "(00*5"}',
    "a run of too much": b'{"word": "decode", "bytes": "(00*99999999)"}',
    "runs of too much": b'{"word": "decode", "bytes": "' + b"(00*9000000)" * 3 + b'"}',
    "a value in no notation": b'{"word": "encode", "value": {"number": "5"}}',
    "a surrogate": b'{"word": "encode", "value": "\\ud800"}',
    "a surrogate in a name": b'{"word": "keys", "subject_key": "00", "entity": "\\ud800"}',
    "a number beyond all bounds": b'{"word": "event", "device": "", "incarnation": "", "scope": "", "place": '
    + b"9" * 400
    + b', "kind": 1, "clock": 1, "payload": "", "salt": ""}',
    "a list of other rows": b'{"word": "salt", "cover": [[1]], "leaf": 1}',
    "nested beyond any stack": b'{"word": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("line", MALFORMED.values(), ids=list(MALFORMED))
def test_a_malformed_line_is_answered_and_the_next_one_too(line: bytes) -> None:
    answers = io.BytesIO()
    serve(io.BytesIO(line + b'\n{"word": "decode", "bytes": "00"}\n'), answers)
    first, second = (json.loads(told) for told in answers.getvalue().splitlines())
    assert first["outcome"] == "invalid" and first["why"]
    assert second == {"outcome": "accepted", "value": {"int": "0"}}


def test_malformed_lines_do_not_end_the_process() -> None:
    told = spoken(b"\n".join([*MALFORMED.values(), b'{"word": "decode", "bytes": "c0"}']))
    assert [one["outcome"] for one in told] == ["invalid"] * len(MALFORMED) + ["accepted"]


def test_a_line_that_is_too_long_is_passed_over_whole() -> None:
    answers = io.BytesIO()
    serve(io.BytesIO(b"[" * (2 * LINE_BYTES_MAX + 7) + b'\n{"word": "decode", "bytes": "c0"}'), answers)
    assert [json.loads(told)["outcome"] for told in answers.getvalue().splitlines()] == ["invalid", "accepted"]


FIELDS = sorted({name for vector in VECTORS.values() for name in vector["ask"]} - {"word"})
JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.sampled_from(["", "00", "(00*32)"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=6,
)
SMALL = [vector["ask"] for name, vector in VECTORS.items() if not name.startswith("fold/random")]


@given(st.sampled_from(SMALL), st.dictionaries(st.sampled_from(FIELDS), JUNK, max_size=3))
def test_whatever_stands_in_a_field_the_outcome_is_of_the_closed_set(ask: dict[str, Any], junk: dict[str, Any]) -> None:
    assert answer({**ask, **junk})["outcome"] in list(Outcome)


@given(st.sampled_from(SMALL), st.data())
def test_whatever_bit_of_the_bytes_is_flipped_the_outcome_is_of_the_closed_set(
    ask: dict[str, Any], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(ask)))
    text = ask[name][-1] if isinstance(ask[name], list) and ask[name] else ask[name]
    if isinstance(text, str) and len(text) > 1 and set(text) <= set("0123456789abcdef"):
        place = data.draw(st.integers(0, len(text) - 1))
        other = text[:place] + format(int(text[place], 16) ^ data.draw(st.integers(1, 15)), "x") + text[place + 1 :]
        changed = [*ask[name][:-1], other] if isinstance(ask[name], list) else other
        assert answer({**ask, name: changed})["outcome"] in list(Outcome)
