"""mem0's ``Memory`` over a memory that is dated, keeps its history and syncs; mem0 itself is not needed.

>>> from syncmem.integrations.mem0 import Memory
>>> with Memory(":memory:", embedder=None) as m:
...     added = m.add("Likes tennis on weekends", user_id="alice", infer=False)
...     found = m.search("tennis", filters={"user_id": "alice"})
...     found["results"][0]["memory"], found["results"][0]["id"] == added["results"][0]["id"]
('Likes tennis on weekends', True)
"""

from syncmem.integrations.mem0.memories import Memory

__all__ = ["Memory"]
