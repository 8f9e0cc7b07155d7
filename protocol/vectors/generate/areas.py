"""All areas, in the order in which the protocol speaks of them."""

from __future__ import annotations

from protocol.vectors.generate import (
    agreeing,
    blob,
    bounds,
    bundle,
    chain,
    clock,
    digest,
    encoding,
    envelope,
    episode,
    erasure,
    event,
    evidence,
    fold,
    frame,
    keys,
    mailbox,
    roster,
    salt,
    scopes,
    statement,
    vouching,
)
from protocol.vectors.generate.vector import Vector

AREAS = (
    *(encoding, clock, salt, event, episode, chain, frame, bundle),
    *(fold, evidence, erasure, digest, keys, statement, bounds, roster, vouching, scopes),
    *(envelope, blob, mailbox, agreeing),
)


def all_vectors() -> list[Vector]:
    """Every vector, each time made anew."""
    return [vector for area in AREAS for vector in area.vectors()]
