"""The tool as the package anthropic wants it: a subclass of its abstract memory tool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from syncmem.errors import InvalidInput
from syncmem.integrations.anthropic_memory.files import COMMANDS, MemoryFiles
from syncmem.integrations.anthropic_memory.paths import Refused
from syncmem.memory import Memory


def memory_tool(memory: Memory, **options: Any) -> Any:
    """A tool for ``client.beta.messages.tool_runner`` of the package anthropic; options as of :class:`MemoryFiles`.

    Raises:
        InvalidInput: the package is not installed.
    """
    answer, sdk = _answering(memory, options)
    return _subclass(sdk.BetaAbstractMemoryTool, lambda self, command: answer(command))()


def async_memory_tool(memory: Memory, **options: Any) -> Any:
    """The same for the package's asynchronous client; the memory is asked on a thread."""
    answer, sdk = _answering(memory, options)

    async def run(self: Any, command: Any) -> str:
        return await asyncio.to_thread(answer, command)

    return _subclass(sdk.BetaAsyncAbstractMemoryTool, run)()


def _subclass(parent: Any, run: Callable[[Any, Any], Any]) -> Any:
    return type("SyncmemMemoryTool", (parent,), dict.fromkeys(COMMANDS, run))


def _answering(memory: Memory, options: Mapping[str, Any]) -> tuple[Callable[[Any], str], Any]:
    """What answers the SDK's commands, with its own kind of error; and the SDK."""
    try:
        from anthropic.lib import tools as sdk
    except ImportError as error:
        raise InvalidInput(
            "the package anthropic is not installed; pip install anthropic, or use MemoryFiles"
        ) from error
    files = MemoryFiles(memory, **options)

    def answer(command: Any) -> str:
        try:
            return files.answer(command.to_dict())
        except Refused as refused:
            raise sdk.ToolError(str(refused)) from refused

    return answer, sdk
