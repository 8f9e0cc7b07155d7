"""A session of the OpenAI Agents SDK whose items are episodes: synced, dated, erased with whom they are about.

>>> import asyncio
>>> from syncmem import Memory
>>> async def main(memory):
...     session = Session("chat-7", memory, user="ana")
...     await session.add_items([{"role": "user", "content": "Hello"}, {"role": "user", "content": "Anyone?"}])
...     return await session.pop_item(), await session.get_items()
>>> with Memory(":memory:") as memory:
...     asyncio.run(main(memory))
({'role': 'user', 'content': 'Anyone?'}, [{'role': 'user', 'content': 'Hello'}])

Rules: an item is an episode of the conversation that is called as the session, of the kind "item"; items stand in the
order of their times, which only grow within what a device has seen, so all devices that hold them show one order.  A
plain message is kept as the text that it is, said by the user or by the agent, so that claims can quote it and an
extractor read it; every other item is kept as JSON.  To pop or to clear withdraws items, each of which is a batch of
its own: what another device adds meanwhile stays, ``Memory.episode`` still shows them, undoing brings them back.
The SDK is not imported: it takes whatever has these methods.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from syncmem.aio import AsyncMemory
from syncmem.arguments import checked
from syncmem.errors import InvalidInput
from syncmem.memory import Memory
from syncmem.model.imported import batch_of_episode
from syncmem.model.instant import from_datetime, to_datetime
from syncmem.observed import EpisodeInfo
from syncmem.replica.catalog import VAULT
from syncmem.results import Source

R = TypeVar("R")
KIND: Final = "item"
_ROLES: Final = ("user", "assistant", "system", "developer")
_JSON: Final = "application/json"


@checked
class Session:
    """The SDK's ``Session`` over a memory: ``Runner.run(agent, "Hello", session=Session("chat-7", memory))``.

    Args:
        session_id: names the conversation, on all devices.
        memory: an open :class:`syncmem.Memory` (asked on a thread) or :class:`syncmem.AsyncMemory`.
        user: the entity that speaks as the user; erasing it erases the items.
        agent: the entity that speaks as the assistant.
        scope: who shares the session.
        session_settings: the SDK's ``SessionSettings``; its ``limit`` is for ``get_items`` without one.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory | AsyncMemory,
        *,
        user: str | None = None,
        agent: str = "assistant",
        scope: str = VAULT,
        session_settings: Any = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._opened = memory
        self._user = user
        self._agent = agent
        self._scope = scope

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The items in their order; with ``limit`` the latest ones.

        Raises:
            NotFound: the content of a long item has not come to this device and is at no mailbox.
        """
        most = getattr(self.session_settings, "limit", None) if limit is None else limit
        return await self._asked(lambda memory: [_item(memory, each) for each in self._latest(memory, most)])

    async def add_items(self, items: Sequence[Any]) -> None:
        """Add items at the end; all of them or, after an exception, none."""
        await self._asked(lambda memory: self._add(memory, items))

    async def pop_item(self) -> Any | None:
        """Withdraw the last item, and return it; None if there is none."""
        popped = await self._asked(lambda memory: self._withdraw(memory, 1))
        return popped[0] if popped else None

    async def clear_session(self) -> None:
        """Withdraw all items."""
        await self._asked(lambda memory: self._withdraw(memory, None))

    async def _asked(self, call: Callable[[Memory], R]) -> R:
        opened = self._opened
        if isinstance(opened, AsyncMemory):
            return await opened.run(call)
        return await asyncio.to_thread(call, opened)

    # -- on the memory's thread -----------------------------------------------------------------------

    def _latest(self, memory: Memory, most: int | None) -> list[EpisodeInfo]:
        listed = memory.episodes(conversation=self.session_id, scope=self._scope)
        items = [each for each in listed if each.kind == KIND]
        return items if most is None else items[len(items) - min(max(most, 0), len(items)) :]

    def _add(self, memory: Memory, items: Sequence[Any]) -> None:
        if any(not isinstance(item, dict) for item in items):
            raise InvalidInput("items are dicts, as the SDK makes them; pass [{'role': 'user', 'content': 'Hello'}]")
        with memory.transaction():
            before = [from_datetime(each.at) for each in self._latest(memory, 1) if each.at is not None]
            first = max([memory._now(), *(time + 1 for time in before)])
            for number, item in enumerate(items):
                batch = f"session/{self.session_id}/{memory._environment.randomness(8).hex()}"
                where: dict[str, Any] = {"conversation": self.session_id, "scope": self._scope, "batch": batch}
                memory.observe(kind=KIND, at=to_datetime(first + number), **self._kept(item), **where)

    def _kept(self, item: Any) -> dict[str, Any]:
        """An item as it is observed: a plain message as text, all else as JSON."""
        plain = _is_plain(item)
        role = item["role"] if plain else "assistant"
        speaker = self._user or "user" if role == "user" else self._agent
        return {
            "content": item["content"] if plain else _as_json(item),
            "media_type": "text/plain" if plain else _JSON,
            "speaker": speaker,
            "source": Source(role, self._agent if role == "assistant" else None),
            "mentions": [self._user] if self._user not in (None, speaker) else [],
        }

    def _withdraw(self, memory: Memory, most: int | None) -> list[Any]:
        found = self._latest(memory, most)
        items = [_item(memory, each) for each in found] if most is not None else []
        with memory.transaction():
            for each in found:
                memory.retract(batch=batch_of_episode(memory._held(each.id).said), scope=self._scope)
        return items


def _is_plain(item: Any) -> bool:
    if not isinstance(item, dict) or item.keys() != {"role", "content"} or item["role"] not in _ROLES:
        return False
    text = item["content"]
    return isinstance(text, str) and text != "" and text == text.encode(errors="replace").decode()


def _as_json(item: Any) -> str:
    try:
        return json.dumps(item, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"an item cannot be written as JSON ({error}); pass what the SDK makes of it") from error


def _item(memory: Memory, told: EpisodeInfo) -> Any:
    text = memory.read(told.id).decode()
    return json.loads(text) if told.media_type == _JSON else {"role": told.source.kind, "content": text}
