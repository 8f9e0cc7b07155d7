"""Which peers there are, what each needs, and what each does not do that this library does."""

from __future__ import annotations

from dataclasses import dataclass

from tests.benchmarks.measuring import Reach, ratio_at_least

MERGE, REMEMBER = "merge", "remember"


@dataclass(frozen=True)
class Peer:
    """A peer.

    Attributes:
        script: in ``work/``; ``packages``: of npm for a script in JavaScript, else of PyPI.
        lacks: what it does not do, in words for the table.
        reach: for its claims a second where every write is kept.
    """

    name: str
    work: str
    script: str
    packages: tuple[str, ...]
    lacks: str
    reach: Reach | None = None

    @property
    def is_javascript(self) -> bool:
        return self.script.endswith(".mjs")


_IN_MEMORY = "no trust, valid time, encryption; all in memory, nothing durable by itself"
_WASM = "no trust, valid time, encryption; here in memory (WASM), nothing durable"

PEERS = (
    Peer("pycrdt", MERGE, "pycrdt_map.py", ("pycrdt",), f"no history by itself, {_IN_MEMORY}"),
    Peer("Loro", MERGE, "loro_map.py", ("loro",), _IN_MEMORY),
    Peer("Yjs", MERGE, "yjs_map.mjs", ("yjs",), f"no history by itself, {_IN_MEMORY}"),
    Peer("Automerge", MERGE, "automerge_map.mjs", ("@automerge/automerge",), _IN_MEMORY, ratio_at_least(1)),
    Peer("TinyBase", MERGE, "tinybase_store.mjs", ("tinybase",), f"no history, {_IN_MEMORY}", ratio_at_least(1)),
    Peer("cr-sqlite", MERGE, "crsqlite.mjs", ("@vlcn.io/crsqlite-wasm",), f"no history, {_WASM}", ratio_at_least(4)),
    Peer(
        *("SQLite-Sync", MERGE, "sqlite_sync.mjs", ("@sqliteai/sqlite-wasm",)),
        *(f"no history, {_WASM}", ratio_at_least(2.5)),
    ),
    Peer(
        *("memvara", REMEMBER, "memvara_claims.py", ("memvara", "pysqlite3-binary")),
        "no merging of replicas, signatures or end-to-end encryption; one confidence, no tiers of trust",
    ),
    Peer(
        *("mem0, infer off", REMEMBER, "mem0_texts.py", ("mem0ai",)),
        "no valid time, trust, superseding, merging of replicas, encryption; texts that are found by likeness",
    ),
)
LIMITS = ("msgpack", "numpy")  # packages of what is measured as a limit
