"""Evidence: what a statement rests on, as its event says it: the claims it is derived from, and its passage.

Rules:

* A claim whose ``extra`` has ``derived_from`` is *derived*: it counts only while every claim named there is held
  and live.  What is there and cannot be read names something that never arrives.
* A derived claim has at most the trust of the claims it names.  One tier more it may have if it states
  ``corroborated_by`` and names that many claims (two at least), of which no two go back to the same source.
* Statements are *twins* if they say the same of the same slot in the same way, from the same passage of the same
  episode: one text that was read twice.  Who read it does not matter, nor which device.  Values are compared as
  ``casefold``, whatever their predicate says, so that nobody ceases to be a twin.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from syncmem.codec import pack
from syncmem.errors import NotCanonical
from syncmem.model.equality import Equality
from syncmem.model.event import ID_BYTES, Kind, Ref, Statement, ref_of
from syncmem.model.value import key

DERIVED_FROM: Final = "derived_from"  # in ``extra``
CORROBORATED_BY: Final = "corroborated_by"  # in ``extra``, and a setting of predicates
CORROBORATION_MIN: Final = 2
TIERS: Final = (30, 50, 70, 90)  # inference, document, integration, user
AGENT_KINDS: Final = frozenset({"assistant", "agent"})  # kinds of sources that are the agent itself

_CLAIMS: Final = (Kind.CLAIM, Kind.AFFIRM)


def is_derived(kind: int, said: Statement) -> bool:
    """Whether a statement is a claim that is derived from others."""
    return said.extra is not None and DERIVED_FROM in said.extra and kind in _CLAIMS


def roots_of(kind: int, said: Statement) -> list[Ref] | None:
    """The claims that a claim is derived from: None if it is not, empty if that cannot be read."""
    if not is_derived(kind, said):
        return None
    listed = (said.extra or {})[DERIVED_FROM]
    try:
        return [ref_of(item) for item in listed] if type(listed) is list else []
    except NotCanonical:
        return []


def corroboration_of(said: Statement) -> int:
    """How many independent sources a claim says that it has; 0 where it says nothing of it."""
    stated = (said.extra or {}).get(CORROBORATED_BY)
    return stated if type(stated) is int and stated >= CORROBORATION_MIN else 0


def passage_of(scope: str, kind: int, said: Statement) -> bytes | None:
    """What twins share; None for a statement that names no episode."""
    if said.extra is None or type(said.extra.get("episode")) is not str:
        return None
    way = int(Kind.CLAIM if kind == Kind.AFFIRM else kind)
    place = [said.extra["episode"], said.extra.get("span")]
    words = [scope, said.entity, said.predicate, way, *place, key(pack(said.value), Equality.CASEFOLD)]
    return sha256(pack(words)).digest()[:ID_BYTES]


def a_tier_more(trust: int) -> int:
    """The next tier above a trust (there is none above the user's)."""
    return next((tier for tier in TIERS if tier > trust), trust)


def is_agent(source_kind: str | None) -> bool:
    """Whether a kind of source is the agent itself ("assistant", "assistant:name")."""
    return (source_kind or "").split(":")[0] in AGENT_KINDS
