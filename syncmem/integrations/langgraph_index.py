"""What makes the vectors of a LangGraph store: an embedder of this library, or whatever LangGraph takes for one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any, Protocol, TypedDict

from langgraph.store.base import ensure_embeddings

from syncmem.errors import InvalidInput
from syncmem.memory import Memory
from syncmem.recall.embedding import EMBEDDERS, Embedder, chosen

Vectors = Sequence[Sequence[float]]
WHOLE = "$"  # the field that is the whole object


class Index(TypedDict, total=False):
    """How a store is searched by meaning.

    ``embed``: the name of an embedder ("auto", "e5", "minilm", "wordllama", "hashing") or one, or what LangGraph takes:
    LangChain's ``Embeddings``, a function (or coroutine function) of a list of texts, "provider:model"; unsaid: the
    memory's own.  ``dims``: of its vectors; needed for a function, so that its vectors are told from others.
    ``fields``: paths of the texts, such as "text" or "messages[*].content"; unsaid: "$", the whole object.
    """

    dims: int
    embed: Any
    fields: list[str] | None


class Model(Protocol):
    """Makes vectors, here or where the event loop is; ``id`` names the model and the fields."""

    id: str
    fields: list[str]
    dims: int | None

    def embed_documents(self, texts: list[str]) -> Vectors: ...
    def embed_queries(self, texts: list[str]) -> Vectors: ...
    async def aembed_documents(self, texts: list[str]) -> Vectors: ...
    async def aembed_queries(self, texts: list[str]) -> Vectors: ...


def model_of(index: Index, memory: Memory) -> Model:
    """The model that an index names.

    Raises:
        InvalidInput: there is none, or its vectors could not be told from others.
    """
    if unknown := index.keys() - Index.__annotations__.keys():
        raise InvalidInput(f"an index has no {', '.join(sorted(unknown))}; it has {', '.join(Index.__annotations__)}")
    if isinstance(index.get("fields"), str):
        raise InvalidInput(f"the fields of an index are a list; pass [{index['fields']!r}]")
    fields = list(index.get("fields") or [WHOLE])
    embed: Any = index.get("embed", memory._embedder_wanted)
    if embed is None or (isinstance(embed, str) and (EMBEDDERS.has(embed) or embed in ("auto", "none"))):
        embedder = chosen(embed)
        if embedder is None:
            raise InvalidInput("there is no embedder; pip install 'syncmem[embed]', or pass index={'embed': ...}")
        return _Ours(embedder, fields)
    if hasattr(embed, "dimension") and hasattr(embed, "embed_query"):
        return _Ours(embed, fields)
    return _LangChains(embed, index.get("dims"), fields)


class _Ours:
    """An embedder of this library."""

    def __init__(self, embedder: Embedder, fields: list[str]) -> None:
        self._embedder = embedder
        self.fields = fields
        self.dims: int | None = embedder.dimension
        self.id = f"{embedder.id} of {fields}"

    def embed_documents(self, texts: list[str]) -> Vectors:
        return self._embedder.embed_documents(texts)

    def embed_queries(self, texts: list[str]) -> Vectors:
        return [self._embedder.embed_query(text) for text in texts]

    async def aembed_documents(self, texts: list[str]) -> Vectors:
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_queries(self, texts: list[str]) -> Vectors:
        return await asyncio.to_thread(self.embed_queries, texts)


class _LangChains:
    """What LangGraph takes for one."""

    def __init__(self, embed: Any, dims: int | None, fields: list[str]) -> None:
        try:
            self._embeddings = ensure_embeddings(embed)
        except (ValueError, ImportError) as error:
            ours = ", ".join(EMBEDDERS.names())
            raise InvalidInput(f"{embed!r} is no embedder ({error}); pass one of {ours}, or a function") from error
        self.fields = fields
        self.dims = dims
        name = embed if isinstance(embed, str) else _name(embed)
        self.id = f"{name} {dims} of {fields}"

    def embed_documents(self, texts: list[str]) -> Vectors:
        return self._embeddings.embed_documents(texts)

    def embed_queries(self, texts: list[str]) -> Vectors:
        return [self._embeddings.embed_query(text) for text in texts]

    async def aembed_documents(self, texts: list[str]) -> Vectors:
        return await self._embeddings.aembed_documents(texts)

    async def aembed_queries(self, texts: list[str]) -> Vectors:
        return await asyncio.gather(*(self._embeddings.aembed_query(text) for text in texts))


def _name(embed: Any) -> str:
    """A name for a model that has none: what it is, and of which model it says it is."""
    what = embed if inspect.isroutine(embed) else type(embed)
    said = [str(getattr(embed, name)) for name in ("model", "model_name", "model_id") if hasattr(embed, name)]
    return ":".join([f"{what.__module__}.{what.__qualname__}", *said])
