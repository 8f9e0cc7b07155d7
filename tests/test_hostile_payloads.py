"""Payloads that another implementation may sign by mistake or on purpose: kept, never the end of a merge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.vectors.generate.believing import day, define, logs
from protocol.vectors.generate.event import KEPT, READABLE
from protocol.vectors.generate.making import said
from syncmem.codec import pack
from syncmem.conformance.harness import answer
from syncmem.errors import NotCanonical


def outcome_with(kind: int, payload: Any) -> str:
    """What becomes of a log that holds a claim, the payload, and another claim."""
    definitions, a, b = logs(3)
    define(definitions, {"cardinality": "single"})
    a.write(1, day(1), said("Lisbon"))
    b.write(kind, day(2), payload)
    b.write(1, day(3), said("Porto"))
    frames = [log.frame().hex() for log in (definitions, a, b)]
    told = answer({"word": "fold", "frames": frames})
    return str(told["outcome"])


REF = [bytes(16), 1, bytes(16)]


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (1, said("Porto", refs=REF)),  # ended in an AttributeError, as the following did
        (3, said("Porto", refs=REF)),
        (5, [REF, 90, None, None, None, None]),
        (7, [[REF], 90, None, None, None]),
        (5, [[REF, 5], 90, None, None, None, None]),  # a TypeError
        (8, ["home_city", {"cardinality": "single", "new": b"\0"}, 90, None, None, None, None]),  # a TypeError
        (10, [1, 1, [[bytes(16), 2**63]], None]),  # an OverflowError
    ],
)
def test_a_signed_payload_of_another_shape_does_not_end_the_merge(kind: int, payload: Any) -> None:
    assert outcome_with(kind, payload) == "accepted"


PAYLOADS = [(kind, payload) for _, _, kind, payload in (*READABLE, *KEPT) if isinstance(payload, list)]
JUNK = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False)),
        *(st.text(max_size=3), st.binary(max_size=3), st.just(REF), st.just([REF])),
        st.sampled_from(["ttl", "mentions", "stale_after", "cardinality", "single", b"\0" * 16, 2**62, 2**40]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["ttl", "stale_after", "stale_trust", "mentions", "equality", "x"]), inner),
    ),
    max_leaves=5,
)


@given(st.sampled_from(PAYLOADS), st.data())
def test_whatever_stands_in_the_fields_of_a_payload_the_merge_goes_on(
    written: tuple[int, list[Any]], data: st.DataObject
) -> None:
    kind, fields = written
    changed = list(fields)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(JUNK)
    try:
        pack(changed)
    except (NotCanonical, UnicodeEncodeError):
        return
    assert outcome_with(kind, changed) == "accepted"
