"""Anthropic's memory tool (memory_20250818) over a memory: a file is a slot, so its history stays and it syncs.

>>> from syncmem import Memory
>>> with Memory(":memory:") as memory:
...     files = MemoryFiles(memory)
...     print(files.handle({"command": "create", "path": "/memories/notes.md", "file_text": "Likes tea"}))
...     print(files.handle({"command": "view", "path": "/memories/../etc"}))
File created successfully at: /memories/notes.md
Error: Path /memories/../etc would escape /memories directory

Rules: replies and errors read as the tool's documentation has them.  A file is the value of ``memory_file`` of the
entity that is called as its path; a change remembers, so the newer text supersedes, and to delete ends.  Folders are
where files are.  Who is erased is by each file whose path names them (``memory.erase("ana")``: ``/memories/ana.md``,
``/memories/users/ana/tea.md``); ``memory.erase(path)`` erases one file.  What a model writes counts as inferred unless
``trust`` says otherwise; a file that was written with more trust is refused, before anything is written.  What is
believed can be read, and not changed, as ``/memories/beliefs/ENTITY.md``: the briefing of that entity, which no stored
text gets out of.
"""

from syncmem.integrations.anthropic_memory.files import MemoryFiles
from syncmem.integrations.anthropic_memory.paths import Refused
from syncmem.integrations.anthropic_memory.sdk import async_memory_tool, memory_tool

__all__ = ["MemoryFiles", "Refused", "async_memory_tool", "memory_tool"]
