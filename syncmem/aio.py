"""AsyncMemory: the same Memory for asyncio, on one owner thread. Not a second implementation.

A call that is cancelled while it runs still finishes on the owner thread; what it wrote stays written.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack

from syncmem.errors import Closed
from syncmem.memory import Memory
from syncmem.opened import Opening
from syncmem.replica.connection import WAIT_SECONDS

P = ParamSpec("P")
R = TypeVar("R")


def _on_owner(method: Callable[Concatenate[Memory, P], R]) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """The method of Memory, run on the owner thread."""

    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(lambda: method(self._memory, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


class AsyncMemory:
    """A :class:`~syncmem.Memory` whose methods are awaited.

    >>> async def main():
    ...     async with AsyncMemory(":memory:") as memory:
    ...         await memory.remember("ana", "language", "English")
    ...         return (await memory.believe("ana", "language")).value
    >>> asyncio.run(main())
    'English'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wait_seconds: float = WAIT_SECONDS,
        **opening: Unpack[Opening],
    ) -> None:
        self._owner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="syncmem-owner")
        self._open = functools.partial(Memory, path, wait_seconds=wait_seconds, **opening)
        self._opened: Memory | None = None
        self._closed = False

    @classmethod
    def around(cls, memory: Memory) -> Self:
        """The same for a memory that is open already."""
        found = cls(memory.path)
        found._opened = memory
        return found

    async def __aenter__(self) -> Self:
        await self._run(lambda: self._memory)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the file and end the owner thread; safe to call twice."""
        if self._opened is not None and not self._closed:
            await self._run(self._opened.close)
        self._closed = True
        self._owner.shutdown(wait=False)

    def let_go(self) -> None:
        """End the owner thread and leave the memory open, to whoever opened it."""
        self._closed = True
        self._owner.shutdown(wait=False)

    async def run(self, call: Callable[[Memory], R]) -> R:
        """Several calls as one step on the owner thread, for example inside ``memory.transaction()``."""
        return await self._run(lambda: call(self._memory))

    @property
    def _memory(self) -> Memory:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    async def _run(self, call: Callable[[], R]) -> R:
        if self._closed:
            raise Closed("the memory is closed; open it again")
        return await asyncio.get_running_loop().run_in_executor(self._owner, call)

    remember = _on_owner(Memory.remember)
    remember_all = _on_owner(Memory.remember_all)
    end = _on_owner(Memory.end)
    deny = _on_owner(Memory.deny)
    retract = _on_owner(Memory.retract)
    correct = _on_owner(Memory.correct)
    undo = _on_owner(Memory.undo)
    withdraw = _on_owner(Memory.withdraw)
    erase = _on_owner(Memory.erase)
    scrub = _on_owner(Memory.scrub)
    inspect = _on_owner(Memory.inspect)
    define = _on_owner(Memory.define)
    same = _on_owner(Memory.same)
    different = _on_owner(Memory.different)
    aliases = _on_owner(Memory.aliases)
    correct_clock = _on_owner(Memory.correct_clock)
    believe = _on_owner(Memory.believe)
    beliefs = _on_owner(Memory.beliefs)
    timeline = _on_owner(Memory.timeline)
    history = _on_owner(Memory.history)
    event = _on_owner(Memory.event)
    why = _on_owner(Memory.why)
    changes = _on_owner(Memory.changes)
    contested = _on_owner(Memory.contested)
    recall = _on_owner(Memory.recall)
    briefing = _on_owner(Memory.briefing)
    search = _on_owner(Memory.search)
    why_said = _on_owner(Memory.why_said)
    share_recall = _on_owner(Memory.share_recall)
    index = _on_owner(Memory.index)
    entities = _on_owner(Memory.entities)
    predicates = _on_owner(Memory.predicates)
    scopes = _on_owner(Memory.scopes)
    names = _on_owner(Memory.names)
    predicates_of = _on_owner(Memory.predicates_of)
    belief_map = _on_owner(Memory.belief_map)
    outline = _on_owner(Memory.outline)
    moments = _on_owner(Memory.moments)
    history_page = _on_owner(Memory.history_page)
    read_log = _on_owner(Memory.read_log)
    last_known = _on_owner(Memory.last_known)
    merge = _on_owner(Memory.merge)
    export = _on_owner(Memory.export)
    export_bundle = _on_owner(Memory.export_bundle)
    import_bundle = _on_owner(Memory.import_bundle)
    backup = _on_owner(Memory.backup)
    event_digest = _on_owner(Memory.event_digest)
    belief_digest = _on_owner(Memory.belief_digest)
    devices = _on_owner(Memory.devices)
    create_vault = _on_owner(Memory.create_vault)
    add_mailbox = _on_owner(Memory.add_mailbox)
    remove_mailbox = _on_owner(Memory.remove_mailbox)
    share = _on_owner(Memory.share)
    invite = _on_owner(Memory.invite)
    rename_device = _on_owner(Memory.rename_device)
    grant = _on_owner(Memory.grant)
    revoke = _on_owner(Memory.revoke)
    adopt = _on_owner(Memory.adopt)
    sync = _on_owner(Memory.sync)
    sync_in_background = _on_owner(Memory.sync_in_background)
    status = _on_owner(Memory.status)
    erasures = _on_owner(Memory.erasures)
    extract = _on_owner(Memory.extract)
    reextract = _on_owner(Memory.reextract)
    import_archive = _on_owner(Memory.import_archive)
    imports = _on_owner(Memory.imports)
    observe = _on_owner(Memory.observe)
    episode = _on_owner(Memory.episode)
    episodes = _on_owner(Memory.episodes)
    read = _on_owner(Memory.read)
    episode_text = _on_owner(Memory.episode_text)
    fetch = _on_owner(Memory.fetch)
    set_fetching = _on_owner(Memory.set_fetching)
    define_pack = _on_owner(Memory.define_pack)
    submit = _on_owner(Memory.submit)
    consolidate = _on_owner(Memory.consolidate)
    questions = _on_owner(Memory.questions)
    answer = _on_owner(Memory.answer)
    subscribe = _on_owner(Memory.subscribe)
    doctor = _on_owner(Memory.doctor)
    rebuild = _on_owner(Memory.rebuild)
