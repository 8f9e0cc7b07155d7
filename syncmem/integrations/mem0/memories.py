"""The drop-in: mem0's methods, told in the verbs of a :class:`syncmem.Memory`.

Rules: adding and updating remember, updating also ends what was there, deleting ends: nothing is overwritten, and
``history`` tells all of it.  What is written counts as inferred unless ``trust`` says otherwise, so it changes nothing
that somebody with more trust stated elsewhere; that is refused, before anything is written.  What a user says in a
message counts as theirs, but came through here, so it is changed and deleted through here.  A memory belongs to its
user, else its agent, else its run: erasing one of them erases it on every device.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

import syncmem
from syncmem.errors import InvalidInput
from syncmem.integrations.mem0.filters import holds, owners
from syncmem.integrations.mem0.given import count, day, fields, read_filters, read_messages
from syncmem.integrations.mem0.looking import Looking
from syncmem.integrations.mem0.shapes import (
    BESIDE,
    PREDICATE,
    REPLACED,
    Kept,
    expired,
    rows,
    text_of,
    value_from,
)
from syncmem.judging.extracting import Extractor
from syncmem.observed import Observation
from syncmem.recalling import HITS_MAX
from syncmem.replica.catalog import VAULT
from syncmem.results import Source
from syncmem.statements import trust_of

TOP_K: Final = 20
THRESHOLD: Final = 0.1
_UNSAID: Final = object()
_OTHERS: Final = ("vector_store", "llm", "embedder", "reranker", "graph_store", "history_db_path", "version")


class Memory:
    """mem0's ``Memory`` (as of its version 2), over one file.

    Args:
        memory: an open :class:`syncmem.Memory`, or the path of one; unsaid: ``SYNCMEM_DB``, else ``syncmem.db``.
        trust: how much what is written counts: "inference" (unsaid), or "user" where the user is who adds and deletes.
        agent: names the program in the sources of what it writes.
        extractor: what finds facts with ``infer=True``; unsaid: the rules for plain English
            (:func:`syncmem.english`), which pass over most of what a model would find.
        scope: who shares it.
        opening: the arguments of :class:`syncmem.Memory`, where a path is given.
    """

    def __init__(
        self,
        memory: syncmem.Memory | str | os.PathLike[str] | None = None,
        *,
        trust: int | str = "inference",
        agent: str = "mem0",
        extractor: Extractor | None = None,
        scope: str = VAULT,
        **opening: Any,
    ) -> None:
        self._opened = not isinstance(memory, syncmem.Memory)
        self._trust = trust_of(trust)
        self._source = Source("model", agent)
        self._extractor = extractor
        self._scope = scope
        if isinstance(memory, syncmem.Memory):
            self.memory = memory
        else:
            self.memory = syncmem.Memory(memory or os.environ.get("SYNCMEM_DB", "syncmem.db"), **opening)
        self._looking = Looking(self.memory, scope)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Of mem0's configuration nothing is needed: its sections name services that are not asked here.

        ``path``, ``trust``, ``agent``, ``scope`` and the arguments of :class:`syncmem.Memory` may stand in it.
        """
        given = {name: value for name, value in config.items() if name not in _OTHERS and not name.startswith("custom")}
        return cls(given.pop("path", None), **given)

    # -- writing ------------------------------------------------------------------------------------

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, Any]:
        """Keep messages as they are (``infer=False``), or what the extractor finds in them.

        With ``infer=True`` each message is observed, and what it says becomes claims about its speaker; each of them
        has the ``metadata``, the owners and the ``expiration_date`` (after that day it is no longer shown here; whether
        it still holds is for messages to say). ``memory_type`` and ``prompt`` are for mem0's own model.
        """
        owner = owners({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        said = [each for each in read_messages(messages) if each["role"] != "system"]
        beside = {"expiration_date": day(expiration_date), "metadata": fields("metadata", metadata) or None}
        if infer:
            return {"results": [found for each in said for found in self._extracted(each, owner, beside)]}
        results = []
        with self.memory.transaction():
            for each in said:
                who = {"actor_id": each["name"], "role": each["role"]}
                id = str(UUID(bytes=self.memory._environment.randomness(16), version=4))
                self._remember(owner, {"id": id, "memory": each["content"], **owner, **who, **beside})
                results.append({"id": id, "memory": each["content"], "event": "ADD", **who})
        return {"results": results}

    def _remember(self, owner: Mapping[str, str], value: dict[str, Any]) -> None:
        entity, *others = dict.fromkeys(owner.values())
        self._define()
        last = value.get("expiration_date")
        until = {} if last is None or last < self._looking.today().isoformat() else {"until": last, "then": "resume"}
        kept = {name: part for name, part in value.items() if part is not None}
        self.memory.remember(entity, PREDICATE, kept, mentions=others, zone="UTC", **until, **self._said())

    def _define(self) -> None:
        if not self.memory._definition(self._scope, PREDICATE).declared:
            about = "A memory in words, as it was handed over."
            self.memory.define(PREDICATE, cardinality="many", description=about, **self._said())

    def _extracted(
        self, message: dict[str, Any], owner: Mapping[str, str], beside: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """What an extractor finds in a message, and what became of it."""
        extractor = self._extractor or self._english()
        user = message["role"] == "user"
        speaker = next(iter(owner.values())) if user else owner.get("agent_id", message["role"])
        rest = {"speaker": speaker, "source": Source("user" if user else "assistant", self._source.id)}
        turn = self._observe(message["content"], owner, {**owner, **beside}, **rest)
        for judged in self.memory.extract(turn.episode, extractor, version=1).judged:
            if judged.receipts and judged.outcome in ("ADD", "UPDATE", "DELETE"):
                text = text_of(judged.predicate, judged.candidate.value)
                yield {"id": judged.receipts[-1].event, "memory": text, "event": judged.outcome}

    def _observe(self, text: str, owner: Mapping[str, str], beside: Mapping[str, Any], **rest: Any) -> Observation:
        """Keep a text as an episode, and beside it what was handed over with it."""
        mentions = [name for name in owner.values() if name != rest.get("speaker")]
        handed = {BESIDE: {name: part for name, part in beside.items() if part is not None}}
        where: dict[str, Any] = {"scope": self._scope, "conversation": owner.get("run_id"), "mentions": mentions}
        return self.memory.observe(text, beside=handed, **where, **rest)

    def _english(self) -> Extractor:
        from syncmem.judging.english import english

        self.memory.define_pack("personal", scope=self._scope)
        return english

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSAID,
        data: str | None = None,
    ) -> dict[str, str]:
        """Another text in the place of a memory's, or more ``metadata``; what it was stays in the history."""
        kept, text = self._known(memory_id), data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSAID:
            raise InvalidInput("nothing is to be changed; pass text=, metadata= or expiration_date=")
        belief = kept.belief
        new = {**kept.value, "memory": kept.text if text is None else text, "created_at": kept.created_at}
        new["metadata"] = {**(kept.value.get("metadata") or {}), **(metadata or {})} or None
        if expiration_date is not _UNSAID:
            new["expiration_date"] = day(expiration_date)
        with self.memory.transaction():
            if belief.predicate == PREDICATE:
                self._end(kept, REPLACED)
                self._remember(_owner_of(kept), new)
            else:
                self._say_anew(kept, new)
        return {"message": "Memory updated successfully!"}

    def _say_anew(self, kept: Kept, new: dict[str, Any]) -> None:
        """A fact is another one: what it was ends, or is superseded; what is kept with it stands beside the text."""
        belief, said = kept.belief, self._said_of(kept)
        value = value_from(belief.predicate, new["memory"])
        if value == belief.value or self.memory._definition(self._scope, belief.predicate).many:
            self._end(kept, REPLACED)
        beside = replace(kept, value=new).beside
        turn = self._observe(
            new["memory"], {"": belief.entity, **_owners_of(new)}, beside, kind="memory", source=self._source
        )
        said["source"] = Source(self._source.kind, self._source.id, turn.episode)
        self.memory.remember(belief.entity, belief.predicate, value, affirm=False, **said)

    def delete(self, memory_id: str) -> dict[str, str]:
        """A memory holds no longer; its history stays. What must go for good is erased: ``memory.erase(user)``."""
        self._end(self._known(memory_id))
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """All memories of somebody hold no longer; all of them or, where one may not be ended, none."""
        filters = owners({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        self._end_all([kept for kept in self._looking.held(filters) if holds(filters, kept.fields)])
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Every memory of everybody that was added here holds no longer; other beliefs, and all history, stay."""
        self._end_all(list(self._looking.added(self._source.id)))

    def _end_all(self, found: Sequence[Kept]) -> None:
        with self.memory.transaction():
            for kept in found:
                self._end(kept)

    def _end(self, kept: Kept, reason: str | None = None) -> None:
        said = self._said_of(kept)
        with self.memory.transaction():
            for belief in (kept.belief, *kept.others):
                why = reason if belief is kept.belief else REPLACED
                self.memory.end(belief.entity, belief.predicate, belief.value, reason=why, **said)

    def _said_of(self, kept: Kept) -> dict[str, Any]:
        """How a memory is changed: with the trust of this one, and of what came through it.

        Raises:
            InvalidInput: it was stated elsewhere, with more trust.
        """
        for belief in (kept.belief, *kept.others):
            if belief.trust > self._trust and not self._looking.came_from(belief, self._source.id, self._trust):
                raise InvalidInput(
                    f"{kept.text!r} was stated with trust {belief.trust}, more than the {self._trust} of this memory; "
                    "ask the user, or open it with Memory(..., trust='user') where the user is who says so"
                )
        most = max(belief.trust for belief in (kept.belief, *kept.others))
        return self._said() | {"trust": max(self._trust, most)}

    def _said(self) -> dict[str, Any]:
        return {"trust": self._trust, "source": self._source, "scope": self._scope}

    # -- reading ------------------------------------------------------------------------------------

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """A memory by its id; None if there is none."""
        kept = self._looking.find(memory_id)
        return None if kept is None else kept.item(score=None)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = TOP_K,
        show_expired: bool = False,
        limit: int | None = None,
        **owner: Any,
    ) -> dict[str, Any]:
        """The memories of somebody, the newest first. ``user_id=`` and ``limit=``, of mem0's version 1, are taken."""
        wanted = read_filters(filters, owner)
        found = [kept for kept in self._looking.held(wanted, past=show_expired) if holds(wanted, kept.fields)]
        shown = [kept for kept in found if show_expired or not expired(kept, self._looking.today())]
        return {"results": [kept.item() for kept in shown[: count(top_k if limit is None else limit)]]}

    def search(
        self,
        query: str,
        *,
        top_k: int = TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = THRESHOLD,
        limit: int | None = None,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
        **owner: Any,
    ) -> dict[str, Any]:
        """The memories that fit a question, best first. ``score`` is 1 for the best one, and less for the others.

        What has expired holds no longer and is not found; ``rerank``, ``explain`` and ``show_expired`` change nothing.
        """
        wanted = read_filters(filters, owner)
        if not isinstance(query, str) or not query.strip():
            raise InvalidInput("the query is empty; pass a question")
        most = count(top_k if limit is None else limit)
        key, name = next(iter(owners(wanted).items()))
        entity = name if key == "user_id" else None
        k = min(HITS_MAX, 2 * most + 1) if wanted.keys() == {"user_id"} else HITS_MAX  # what filters leave out counts
        hits = self.memory.recall(query, k=k, entity=entity, scope=self._scope, log=False).hits
        best = max((hit.score for hit in hits), default=0.0)
        results = []
        for hit in hits:
            kept = self._looking.kept(hit.belief, key)
            score = max(0.0, hit.score / best) if best > 0 else 0.0
            if score >= (threshold or 0.0) and holds(wanted, kept.fields) and not expired(kept, self._looking.today()):
                results.append(kept.item(score=score))
        return {"results": results[:most]}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """What became of a memory: ADD, UPDATE and DELETE, in order."""
        return list(rows(memory_id, self._looking.told(memory_id)))

    def _known(self, id: str) -> Kept:
        kept = self._looking.find(id)
        if kept is None:
            raise InvalidInput(f"Memory with id {id} not found; take an id from get_all() or search()")
        return kept

    # -- opening ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the memory, if it was opened here."""
        if self._opened:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _owner_of(kept: Kept) -> dict[str, str]:
    """Whose memory it is; the entity under which it stands comes first."""
    return {"": kept.belief.entity, **_owners_of(kept.value)}


def _owners_of(value: Mapping[str, Any]) -> dict[str, str]:
    return {name: value[name] for name in ("user_id", "agent_id", "run_id") if value.get(name)}
