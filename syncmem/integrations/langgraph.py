"""LangGraph's store, over a memory: ``SyncmemStore`` is a ``BaseStore`` whose items have a history and sync.

Rules: a put supersedes, a delete ends, and what an item was at any time stays answerable through the memory beneath
(:meth:`SyncmemStore.entity` names it there).  The operations of a batch all see what was before it; of several puts
of one item the last counts.  A search has the newest first, or the most alike.
``created_at`` is since when there is an item without a gap, ``updated_at`` since when it is as it is: to put an equal
value again confirms it, and changes neither.  Who is erased is by each item whose namespace or key names them
(``memory.erase("ana")``), on every device; ``memory.erase(store.entity(namespace, key))`` erases one item.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack

from syncmem.aio import AsyncMemory
from syncmem.arguments import guarded
from syncmem.errors import InvalidInput
from syncmem.keeping import Keeping, Path, Put, Ranked
from syncmem.memory import Memory
from syncmem.model import conditions
from syncmem.model.instant import to_datetime
from syncmem.opened import Opening
from syncmem.recall.item_vectors import Lacking
from syncmem.recall.vectors import packed
from syncmem.replica.catalog import VAULT
from syncmem.replica.items import entity_of
from syncmem.replica.lookup import Item as Kept

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )

    from syncmem.integrations.langgraph_index import Index, Model, model_of
except ImportError as error:
    raise ImportError("the store needs LangGraph; pip install 'syncmem[langgraph]'") from error

PREDICATE: Final = "langgraph.item"
EMBEDDED_AT_ONCE: Final = 64
SPLIT_MAX: Final = 4096  # paths that are remembered as namespace and key
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Embed:
    """Texts whose vectors are wanted; ``asked``: they are questions."""

    texts: list[str]
    asked: bool = False


class SyncmemStore(BaseStore):
    """The store of a graph: ``builder.compile(store=SyncmemStore(memory))``.

    Args:
        memory: stays the caller's to close; :meth:`open` opens one that is closed with the store.
        index: for searching by meaning: ``{"fields": ["text"]}`` with the memory's own embedder; "embed" names another
            of the library's or is one, or what LangGraph takes (with "dims"). None: a query is not looked at.
        ttl: LangGraph's ``TTLConfig``: ``default_ttl`` in minutes, ``refresh_on_read``. What has lapsed is never
            returned, so nothing is to be swept.
        scope: who shares the items: "vault" (all devices), "device" (never leaves), or a name.
        trust: of what is put, as in :meth:`~syncmem.Memory.remember`; items are those that are believed.

    Raises:
        InvalidInput: a value that is no JSON object or takes more than 48 KiB, a path of more than 1 KiB, an operator
            that there is not; nothing of the batch was written.

    >>> from syncmem import Memory
    >>> with Memory(":memory:") as memory:
    ...     store = SyncmemStore(memory)
    ...     store.put(("users", "ana"), "prefs", {"theme": "dark"})
    ...     store.put(("users", "ana"), "prefs", {"theme": "light"})
    ...     past = memory.timeline(store.entity(("users", "ana"), "prefs"), PREDICATE)
    ...     store.get(("users", "ana"), "prefs").value, [belief.value for belief in past]
    ({'theme': 'light'}, [{'theme': 'dark'}, {'theme': 'light'}])
    """

    supports_ttl = True

    @guarded
    def __init__(
        self,
        memory: Memory,
        *,
        index: Index | None = None,
        ttl: TTLConfig | None = None,
        scope: str = VAULT,
        trust: int | str = "inference",
    ) -> None:
        self.memory = memory
        self.ttl_config = ttl
        self._keeping = Keeping(
            memory, PREDICATE, description="An item of a LangGraph store.", scope=scope, trust=trust, source="langgraph"
        )
        self._model: Model | None = None if index is None else model_of(index, memory)
        self._vectors = None if self._model is None else self._keeping.vectors(self._model.id)
        self._turns = AsyncMemory.around(memory)
        self._owns = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        index: Index | None = None,
        ttl: TTLConfig | None = None,
        scope: str = VAULT,
        trust: int | str = "inference",
        **opening: Unpack[Opening],
    ) -> Self:
        """A store over a memory of its own: :class:`~syncmem.Memory` takes the other arguments."""
        memory = Memory(path, **opening)
        try:
            store = cls(memory, index=index, ttl=ttl, scope=scope, trust=trust)
        except BaseException:
            memory.close()
            raise
        store._owns = True
        return store

    def close(self) -> None:
        """Close the memory, if this opened it; safe to call twice."""
        self._turns.let_go()
        if self._owns:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def entity(namespace: Path, key: str) -> str:
        """What an item is called in the memory beneath: ``memory.history(store.entity(...), "langgraph.item")``."""
        return entity_of((*namespace, key))

    def index_all(self) -> None:
        """Make the vectors that are lacking now; else the next search by meaning does."""
        self._drive(self._embedding())

    # -- batches ------------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations, the reading ones first; their results in the order of the operations."""
        return self._drive(self._steps(list(ops)))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As :meth:`batch`; the memory's part on a thread of its own, embedding where its model does it."""
        steps, made = self._steps(list(ops)), None
        while True:
            try:
                wanted = await self._turns.run(partial(_sent, steps, made))
            except _Done as done:
                found: list[Result] = done.result
                return found
            assert self._model is not None
            made = await (self._model.aembed_queries if wanted.asked else self._model.aembed_documents)(wanted.texts)

    def _drive(self, steps: Generator[_Embed, Sequence[Sequence[float]], R]) -> R:
        made: Sequence[Sequence[float]] | None = None
        while True:
            try:
                wanted = steps.send(made)  # type: ignore[arg-type]  # the first time there is nothing to send
            except StopIteration as stopped:
                result: R = stopped.value
                return result
            assert self._model is not None
            made = (self._model.embed_queries if wanted.asked else self._model.embed_documents)(wanted.texts)

    def _steps(self, ops: list[Op]) -> Generator[_Embed, Sequence[Sequence[float]], list[Result]]:
        """What a batch does; it asks for vectors on its way."""
        for op in ops:
            _check(op)
        puts = {(op.namespace, str(op.key)): _put(op) for op in ops if isinstance(op, PutOp)}
        asked = list({op.query: None for op in ops if isinstance(op, SearchOp) and op.query and self._model})
        vectors: dict[str, bytes] = {}
        if asked:
            yield from self._embedding()
            made = yield _Embed(asked, asked=True)
            vectors = {query: self._packed(vector) for query, vector in zip(asked, made, strict=True)}
        results = [self._read(op, vectors) for op in ops]
        self._keeping.put(list(puts.values()))
        return results

    def _read(self, op: Op, vectors: dict[str, bytes]) -> Result:
        if isinstance(op, GetOp):
            found = self._keeping.get((*op.namespace, str(op.key)))
            if found is None:
                return None
            if op.refresh_ttl:
                self._keeping.renew([found])
            created, updated = _times(found)
            key = str(op.key)
            return Item(namespace=op.namespace, key=key, value=found.content, created_at=created, updated_at=updated)
        if isinstance(op, SearchOp):
            ranked = self._search(op, vectors)
            if op.refresh_ttl:
                self._keeping.renew([item for _, item in ranked])
            return [SearchItem(*_split(item.entity), item.content, *_times(item), score) for score, item in ranked]
        return self._list(op) if isinstance(op, ListNamespacesOp) else None

    def _search(self, op: SearchOp, vectors: dict[str, bytes]) -> list[Ranked]:
        namespace, wanted = op.namespace_prefix, op.filter or {}
        if op.query and self._vectors is not None:
            asked = vectors[op.query]
            return self._keeping.nearest(self._vectors, namespace, wanted, asked, op.limit, op.offset)
        return [(None, item) for item in self._keeping.select(namespace, wanted, op.limit, op.offset)]

    def _list(self, op: ListNamespacesOp) -> list[Path]:
        matching = op.match_conditions or ()
        fixed = next((_before_wildcard(each.path) for each in matching if each.match_type == "prefix"), ())
        found = (each for each in self._keeping.namespaces(fixed) if all(_matches(each, one) for one in matching))
        depth = op.max_depth
        listed = sorted({each if depth is None else each[:depth] for each in found})
        return listed[op.offset : op.offset + op.limit]

    # -- vectors ------------------------------------------------------------------------------------

    def _embedding(self) -> Generator[_Embed, Sequence[Sequence[float]], None]:
        """Make the vectors that are lacking."""
        while self._vectors is not None and (lacking := self._keeping.lacking(self._vectors, EMBEDDED_AT_ONCE)):
            texts = [text for item, index in lacking for text in self._texts(item, index)]
            made = (yield _Embed([text for _, _, text in texts])) if texts else ()
            rows = [(no, path, self._packed(vector)) for (no, path, _), vector in zip(texts, made, strict=True)]
            self._keeping.keep_vectors(self._vectors, lacking[-1][0].no, rows)

    def _texts(self, item: Lacking, index: bool | list[str] | None) -> list[tuple[int, str, str]]:
        """The texts of an item that have vectors: (its number, path, text)."""
        assert self._model is not None
        fields = [] if index is False else index if isinstance(index, list) else self._model.fields
        content = json.loads(item.value)
        return [
            (item.no, f"{field} {number}", text)
            for field in fields
            for number, text in enumerate(get_text_at_path(content, field))
        ]

    def _packed(self, vector: Sequence[float]) -> bytes:
        assert self._model is not None
        return packed(vector, self._model.dims or len(vector))


class _Done(Exception):
    """The steps are done. (An exception of its own: StopIteration does not pass through coroutines.)"""

    def __init__(self, result: Any) -> None:
        self.result = result


def _sent(steps: Generator[_Embed, Any, Any], made: Any, _: Memory | None = None) -> _Embed:
    """The next thing that the steps ask for."""
    try:
        return steps.send(made)
    except StopIteration as stopped:
        raise _Done(stopped.value) from None


def _check(op: Op) -> None:
    """Refuse what cannot be done, before anything is."""
    if not isinstance(op, (GetOp, SearchOp, ListNamespacesOp, PutOp)):
        raise InvalidInput(f"{type(op).__name__} is no operation of a store; use its methods")
    for path in _paths(op):
        if type(path) is not tuple or not all(isinstance(label, str) for label in path):
            raise InvalidInput(f"a namespace is a tuple of texts, not {path!r}; pass such as ('users', 'ana')")
    validate_op_namespace(op)
    if isinstance(op, SearchOp) and op.filter:
        conditions.check(op.filter)
    if isinstance(op, SearchOp) and not isinstance(op.query, str | None):
        raise InvalidInput(f"a query is text, not {type(op.query).__name__}; pass a question, or a filter")
    if isinstance(op, (SearchOp, ListNamespacesOp)):
        depth = getattr(op, "max_depth", None)
        for number in (op.limit, op.offset, 0 if depth is None else depth):
            if not isinstance(number, int) or number < 0:
                raise InvalidInput(f"limit, offset and max_depth are whole numbers, not {number!r}; pass 0 or more")


def _paths(op: Op) -> list[Path]:
    if isinstance(op, ListNamespacesOp):
        return [each.path for each in op.match_conditions or ()]
    return [op.namespace_prefix if isinstance(op, SearchOp) else op.namespace]


def _put(op: PutOp) -> Put:
    if not isinstance(op.value, Mapping | None):
        raise InvalidInput(f"a value is a dict, not {type(op.value).__name__}; pass such as {{'text': 'likes tea'}}")
    named = isinstance(op.index, list) and all(isinstance(field, str) for field in op.index)
    if not (named or isinstance(op.index, bool | None)):
        raise InvalidInput(f"index is False or a list of fields, not {op.index!r}; pass such as ['text']")
    value = None if op.value is None else dict(op.value)
    try:
        lease = None if op.ttl is None or value is None else timedelta(minutes=op.ttl)
    except (OverflowError, ValueError, TypeError) as error:
        raise InvalidInput(f"a ttl of {op.ttl!r} is no number of minutes within 1,000 years; leave it out") from error
    return Put((*op.namespace, str(op.key)), value, lease, op.index)


@lru_cache(maxsize=SPLIT_MAX)
def _split(entity: str) -> tuple[Path, str]:
    """Namespace and key of an item."""
    *namespace, key = json.loads(entity)
    return tuple(namespace), key


def _times(item: Kept) -> tuple[Any, Any]:
    """Since when there is an item, and since when it is as it is."""
    updated = to_datetime(item.updated)
    return updated if item.created == item.updated else to_datetime(item.created), updated


def _before_wildcard(path: Path) -> Path:
    return path[: path.index("*")] if "*" in path else path


def _matches(namespace: Path, condition: MatchCondition) -> bool:
    """Whether a namespace begins (or ends) with a path, in which "*" is any label."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"a namespace matches by prefix or suffix, not by {condition.match_type!r}; use one of both")
    from_end = max(0, len(namespace) - len(path))
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[from_end:]
    return len(part) == len(path) and all(one in ("*", other) for one, other in zip(path, part, strict=True))
