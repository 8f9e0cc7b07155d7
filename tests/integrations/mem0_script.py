"""A program written against mem0's Memory (infer off), and what it saw: its answers with names for ids and times.

Run by hand with mem0 2.2.1 itself (a local vector store, counts of letters as vectors) it prints what
``mem0_answers.json`` holds: ``python tests/integrations/mem0_script.py``.
"""

from __future__ import annotations

import json
from typing import Any


def script(m: Any) -> list[Any]:
    """Add, read, change, filter and delete as an application does."""
    seen: list[Any] = []
    chat = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "I play tennis on Sundays.", "name": "alice"},
        {"role": "assistant", "content": "Shall I book a tennis court?"},
    ]
    seen.append(m.add(chat, user_id="alice", agent_id="coach", metadata={"topic": "sport", "level": 3}, infer=False))
    seen.append(m.add("Eats no meat.", user_id="alice", metadata={"topic": "diet"}, infer=False))
    seen.append(m.add("Eats no meat.", user_id="alice", infer=False))
    seen.append(m.add({"role": "user", "content": "Runs marathons."}, user_id="bob", run_id="chat-7", infer=False))
    first, second = (each["id"] for each in seen[0]["results"])
    diet = seen[1]["results"][0]["id"]
    seen.append(m.get(first))
    seen.append(m.get("00000000-0000-4000-8000-000000000000"))
    seen.append(m.update(first, "I play squash on Sundays."))
    seen.append(m.update(memory_id=first, text="I play padel on Sundays.", metadata={"level": 4}))
    seen.append(m.update(diet, metadata={"since": 2024}))
    seen.append(m.get(first))
    seen.append(m.search("padel on Sundays", filters={"user_id": "alice"}, top_k=1, threshold=0.0))
    for filters in (
        {"user_id": "alice"},
        {"user_id": "alice", "agent_id": "coach"},
        {"agent_id": "coach"},
        {"run_id": "chat-7"},
        {"user_id": "alice", "topic": "diet"},
        {"user_id": "alice", "level": {"gte": 4}},
        {"user_id": "alice", "topic": {"in": ["diet", "sport"]}, "role": "user"},
        {"user_id": "alice", "OR": [{"topic": "diet"}, {"role": "assistant"}]},
        {"user_id": "nobody"},
    ):
        seen.append(m.get_all(filters=filters))
    seen.append(m.delete(second))
    seen.append(m.get(second))
    seen.append(m.history(second))
    seen.append(m.history(first))
    for wrong in (
        lambda: m.delete(second),
        lambda: m.update(second, "gone"),
        lambda: m.add("of nobody", infer=False),
        lambda: m.get_all(filters={"topic": "diet"}),
        lambda: m.search(" ", filters={"user_id": "alice"}),
        lambda: m.add("x", user_id="a b", infer=False),
        lambda: m.delete_all(),
    ):
        seen.append(refusal(wrong))
    seen.append(m.delete_all(user_id="alice"))
    seen.append(m.get_all(filters={"user_id": "alice"}))
    seen.append(m.get_all(filters={"user_id": "bob"}))
    return seen


def refusal(call: Any) -> str:
    """Whether it refuses as a ValueError, or some other error (mem0 has one of its own for missing owners)."""
    try:
        call()
    except ValueError:
        return "refused"
    except Exception as error:
        return "refused" if "Validation" in type(error).__name__ else repr(error)
    return "done"


def told(seen: Any) -> list[Any]:
    """Answers with names for what differs from run to run: ids in order of appearance, times, scores; lists sorted."""
    ids: dict[str, str] = {}
    return [_told(each, ids) for each in seen]


def _told(part: Any, ids: dict[str, str]) -> Any:
    if isinstance(part, list):
        plain = [_told(each, ids) for each in part]
        return (
            plain
            if any("event" in each for each in part)
            else sorted(plain, key=lambda each: json.dumps(each, sort_keys=True))
        )
    if not isinstance(part, dict):
        return part
    shown = {name: _told(item, ids) for name, item in part.items()}
    if "old_memory" in shown:
        shown["id"] = "ROW"
    for name in ("id", "memory_id"):
        if shown.get(name, "ROW") != "ROW":
            shown[name] = ids.setdefault(shown[name], f"memory {len(ids) + 1}")
    if "created_at" in shown:
        shown["changed"] = shown["created_at"] != shown["updated_at"]
    times = {name: "TIME" for name in ("created_at", "updated_at") if isinstance(shown.get(name), str)}
    return shown | times | ({"score": "NUMBER"} if isinstance(shown.get("score"), float) else {})


def _mem0() -> Any:
    import tempfile

    from mem0 import Memory
    from mem0.configs.base import MemoryConfig

    folder = tempfile.mkdtemp()
    keyed = {"api_key": "none"}
    config = MemoryConfig(
        vector_store={"provider": "qdrant", "config": {"path": folder, "embedding_model_dims": 26}},
        llm={"provider": "openai", "config": keyed},
        embedder={"provider": "openai", "config": {**keyed, "embedding_dims": 26}},
        history_db_path=f"{folder}/history.db",
    )
    memory = Memory(config)

    class Letters:
        def embed(self, text: str, *args: Any, **kwargs: Any) -> list[float]:
            return [text.lower().count(chr(97 + n)) + 0.01 for n in range(26)]

        def embed_batch(self, texts: list[str], *args: Any, **kwargs: Any) -> list[list[float]]:
            return [self.embed(text) for text in texts]

    memory.embedding_model = Letters()
    return memory


if __name__ == "__main__":
    print(json.dumps(told(script(_mem0())), indent=1, sort_keys=True))
