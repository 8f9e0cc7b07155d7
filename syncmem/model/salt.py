"""Salts of payload commitments: leaves of a hash tree, so that one can be forgotten alone.

Rule: the salt of event ``seq`` is leaf ``seq mod 256`` of a binary tree over the seed of block
``seq div 256``.  A *cover* is the fewest nodes from which all remaining leaves follow; forgetting a
leaf replaces its ancestor by the siblings on the path, and nobody can compute it again.
Nodes are numbered as in a heap: the root is 1, the children of ``i`` are ``2i`` and ``2i+1``.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from syncmem import labels

BLOCK_EVENTS: Final = 256
SEED_BYTES: Final = 32

Cover = dict[int, bytes]


def whole(seed: bytes) -> Cover:
    """The cover of a block from which nothing was forgotten."""
    return {1: seed}


def salt(cover: Cover, leaf: int) -> bytes | None:
    """The salt of one leaf (0..255), or None where it was forgotten."""
    path = []
    node = leaf + BLOCK_EVENTS
    while node and node not in cover:
        path.append(node)
        node //= 2
    if not node:
        return None
    value = cover[node]
    for step in reversed(path):
        value = _child(value, step)
    return value


def salts(cover: Cover, first: int, count: int) -> list[bytes | None]:
    """The salts of ``count`` leaves from leaf ``first``; inner nodes are computed once."""
    return salts_noting(dict(cover), first, count)


def salts_noting(known: Cover, first: int, count: int) -> list[bytes | None]:
    """As :func:`salts`; the inner nodes computed are noted in ``known``, for the next leaves of the same block."""
    return [_leaf(known, node) for node in range(first + BLOCK_EVENTS, first + BLOCK_EVENTS + count)]


def forget(cover: Cover, leaf: int) -> Cover:
    """The cover without one leaf."""
    node = leaf + BLOCK_EVENTS
    path = []
    while node and node not in cover:
        path.append(node)
        node //= 2
    if not node:
        return cover
    result = {number: value for number, value in cover.items() if number != node}
    value = cover[node]
    for step in reversed(path):
        result[step ^ 1] = _child(value, step ^ 1)
        value = _child(value, step)
    return result


def put(cover: Cover, leaf: int, value: bytes) -> Cover:
    """The cover with the salt of one leaf, known from elsewhere."""
    if salt(cover, leaf) == value:
        return cover
    return {**forget(cover, leaf), leaf + BLOCK_EVENTS: value}


def forgotten(cover: Cover, first: int, count: int) -> list[int]:
    """Which of ``count`` leaves from leaf ``first`` have no salt any more."""
    if 1 in cover:
        return []
    return [first + offset for offset, value in enumerate(salts(cover, first, count)) if value is None]


def _leaf(known: Cover, node: int) -> bytes | None:
    if node in known:
        return known[node]
    parent = _leaf(known, node // 2) if node > 1 else None
    if parent is None:
        return None
    known[node] = _child(parent, node)
    return known[node]


def _child(parent: bytes, node: int) -> bytes:
    return sha256(labels.SALT + (b"\1" if node & 1 else b"\0") + parent).digest()
