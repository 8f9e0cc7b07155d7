"""mem0 with infer off: a text a claim, vectors of counted letters, a local store of vectors."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["MEM0_TELEMETRY"] = "False"

from harness import main
from mem0 import Memory
from mem0.configs.base import MemoryConfig

LETTERS = 26


class Counted:
    """Vectors that cost nothing: what is measured is the memory."""

    def embed(self, text: str, *_: object, **__: object) -> list[float]:
        return [text.lower().count(chr(97 + number)) + 0.01 for number in range(LETTERS)]

    def embed_batch(self, texts: list[str], *_: object, **__: object) -> list[list[float]]:
        return [self.embed(text) for text in texts]


class Texts:
    def __init__(self, folder: Path) -> None:
        keyed = {"api_key": "none"}
        config = MemoryConfig(
            vector_store={"provider": "qdrant", "config": {"path": str(folder), "embedding_model_dims": LETTERS}},
            llm={"provider": "openai", "config": keyed},
            embedder={"provider": "openai", "config": {**keyed, "embedding_dims": LETTERS}},
            history_db_path=str(folder / "history.db"),
        )
        self._memory = Memory(config)
        self._memory.embedding_model = Counted()

    def put(self, key: str, value: str, start: int) -> None:
        self._memory.add(value, user_id=key, infer=False, metadata={"start": start})

    def get(self, key: str) -> str | None:
        found = self._memory.search("value", filters={"user_id": key}, top_k=1)["results"]
        return str(found[0]["memory"]) if found else None


if __name__ == "__main__":
    main(Texts)
