"""The verbs of recall that a Memory has: recall, briefing, search, why_said, share_recall, index."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Final

from syncmem import statements
from syncmem.asking import Asking
from syncmem.errors import FileError, InvalidInput, NotFound
from syncmem.model.instant import to_datetime
from syncmem.model.subjects import subjects
from syncmem.model.words import terms
from syncmem.observed import Observation
from syncmem.observing import Observing
from syncmem.replica.catalog import VAULT
from syncmem.results import Belief
from syncmem.statements import When

if TYPE_CHECKING:
    from syncmem.recall.answering import Answering, Wish
    from syncmem.recall.asked import Axes, Question
    from syncmem.recall.context import Counter
    from syncmem.recall.embedding import Embedder
    from syncmem.recall.finding import Likeness
    from syncmem.recall.nearest import Nearest
    from syncmem.recall.results import Recalled, Said
    from syncmem.recall.vectors import Vectors

HITS_DEFAULT: Final = 10
HITS_MAX: Final = 1_000
QUESTION_BYTES_MAX: Final = 16 * 1024
EMBEDDED_AT_RECALL: Final = 16  # documents that one recall makes vectors for
EMBEDDED_AT_ONCE: Final = 64  # ... and one step of index()


class Recalling(Asking, Observing):
    """recall, briefing, search, why_said, share_recall, index."""

    _answers: Answering | None = None
    _embedder_wanted: Embedder | str | None = None
    _embedding: tuple[Vectors, Nearest] | None = None
    _embedding_sought: bool = False

    def recall(
        self,
        question: str,
        *,
        k: int = HITS_DEFAULT,
        token_budget: int | None = None,
        valid_at: When | None = None,
        known_at: When | int | None = None,
        entity: str | None = None,
        predicates: Iterable[str] | None = None,
        min_trust: int | str | None = None,
        include_history: bool = False,
        scope: str | None = VAULT,
        log: bool = True,
        count: Counter | None = None,
        zone: str | tzinfo | None = None,
    ) -> Recalled:
        """The beliefs that answer a question, best first, and the block to give them to a model.

        Only what is believed and holds at the axes is found, as :meth:`believe` would say it; ranking comes second.

        Args:
            k: at most so many beliefs.
            token_budget: the block takes at most so many tokens; the best ones that fit are in it.
            valid_at, known_at, zone: as in :meth:`believe`.
            entity, predicates: only beliefs about this entity, only under these predicates.
            min_trust: only what is believed with as much trust: a tier or 0 to 100.
            include_history: also what held before and does no longer, told as such.
            scope: None: every scope of this device.
            log: note in the read log what was found; the receipt is for :meth:`why_said`.
            count: counts the tokens of a text; unsaid: an estimate that is seldom exceeded.

        >>> from syncmem import Memory
        >>> with Memory(":memory:", embedder=None) as memory:
        ...     _ = memory.define("home_city", cardinality="single", aliases=["lives in"])
        ...     _ = memory.remember("ana", "home_city", "Lisbon")
        ...     found = memory.recall("Where does Ana live?")
        ...     found.hits[0].belief.value, found.hits[0].why
        ('Lisbon', ('slot', 'text'))
        """
        text = statements.text("question", question, QUESTION_BYTES_MAX)
        wish = self._wish(k, token_budget, count, log, dated=valid_at is not None)
        self._index_texts()
        likeness = self._likeness(text)
        with self._looking():
            axes = self._axes(valid_at, known_at, zone, scope, entity, predicates, min_trust, include_history)
            recalled = self._answering.answer(self._question(text, axes), axes, wish, likeness(), self._notes())
        return self._noted(recalled, axes, wish)

    def briefing(
        self,
        entity: str,
        *,
        k: int = 50,
        token_budget: int | None = None,
        valid_at: When | None = None,
        known_at: When | int | None = None,
        min_trust: int | str | None = None,
        include_history: bool = False,
        scope: str | None = VAULT,
        log: bool = True,
        count: Counter | None = None,
        zone: str | tzinfo | None = None,
    ) -> Recalled:
        """What is believed of an entity, for the start of a conversation: what has most trust first, then the newest.

        The arguments are those of :meth:`recall`.
        """
        self._index_texts()
        with self._looking():
            axes = self._axes(valid_at, known_at, zone, scope, entity, None, min_trust, include_history)
            wish = self._wish(k, token_budget, count, log, dated=valid_at is not None, briefing=True)
            recalled = self._answering.brief(axes, wish)
        return self._noted(recalled, axes, wish)

    def search(self, text: str, *, limit: int = 100, scope: str | None = VAULT) -> list[Belief]:
        """The beliefs, of any time, whose entity, predicate and value hold every word of a text, or begin with it.

        Nothing is ranked: they come in the order of their names and times.
        """
        from syncmem.recall.asked import meant_by
        from syncmem.recall.searching import rows_with

        words = terms(statements.text("text", text, QUESTION_BYTES_MAX))
        if not words:
            raise InvalidInput("the text has no word to look for; pass a word")
        self._index_texts()
        with self._looking():
            for name, meant in meant_by(words, self._replica.aliases.elsewhere(scope)).items():
                words = list(dict.fromkeys([*(word for word in words if word not in terms(name)), *meant]))
            rows = islice(rows_with(self._replica, self._reading, words, scope), statements.at_least("limit", limit))
            return [self._telling.belief(slot, rectangle) for slot, rectangle in rows]

    def why_said(self, about: str) -> Said:
        """What a model was given, by the receipt or by a text that carries it; and what would be different now.

        Raises:
            NotFound: this device's read log knows of no such recall.
        """
        from syncmem.recall.saying import Saying, again

        if not isinstance(about, str):
            raise InvalidInput(f"a receipt or a text is wanted, not {type(about).__name__}; pass recalled.receipt")
        self._index_texts()
        with self._looking():
            saying = Saying(self._replica, self._reading, self._telling, self._answering)
            entry, found = saying.entry(about)
            asked = again(entry, self._now())
        if asked is None or entry.asked is None or entry.question is None:
            with self._looking():
                return saying.said(entry, found, None, entry.instant)
        axes, instant = asked
        wish = self._wish(entry.asked["k"], None, None, False)
        likeness = self._likeness(entry.question)
        with self._looking():
            if entry.asked["briefing"]:
                return saying.said(entry, found, self._answering.brief(axes, wish), instant)
            answer = self._answering.answer(self._question(entry.question, axes), axes, wish, likeness(), ())
            return saying.said(entry, found, answer, instant)

    def share_recall(self, receipt: str, *, scope: str = VAULT) -> Observation:
        """Let the other devices know what was recalled here: :meth:`why_said` tells it there once they have synced.

        What travels is the question and references to the claims, as an episode of kind "recall"; it is erased with
        everybody who is in either.

        Raises:
            NotFound: this device's read log knows of no such recall.
            InvalidInput: its question was erased.
        """
        from syncmem.recall import sharing

        with self._lock:
            entry = self._replica.readlog.entry(statements.text("receipt", receipt, QUESTION_BYTES_MAX))
            if entry is None:
                raise NotFound(f"this device has no recall {receipt!r}; pass recalled.receipt")
            if entry.asked is None or entry.question is None:
                raise InvalidInput("the question was erased with whom it was about; there is nothing to share")
            found = self._replica.readlog.found(entry)
            logs, places = self._replica.logs, [each.claim for each in found if each.claim]
            about = {name for place in places for name in subjects(logs.key_of(place).scope, logs.event(place))}
            about |= sharing.named_in(entry.question, self.entities(scope=scope)) | {entry.asked["entity"]} - {None}
            return self.observe(
                sharing.written(entry, found, self._telling.event_id),
                kind=sharing.KIND,
                at=to_datetime(entry.time),
                conversation=entry.id,
                mentions=about,
                source="agent",
                scope=scope,
            )

    def index(self, *, progress: Callable[[int, int], None] | None = None) -> None:
        """Make all that recall needs: the texts, once, and the vectors that are lacking.

        Writes keep the texts; vectors are made later, some at each recall, or all of them here, outside of any lock,
        so that a thread may do it. ``progress`` is told how many were made and how many there are to make.
        """
        self._index_texts()
        made = 0
        with self._looking():
            wanted = 0 if self._vectors is None else self._vectors.lacking()
        while (done := self._embed(EMBEDDED_AT_ONCE)) is not None:
            made += done
            if progress is not None:
                progress(made, max(made, wanted))

    # -- texts and vectors ---------------------------------------------------------------------------

    def _index_texts(self) -> None:
        with self._lock:
            self._replica.db.check_usable()
            self._replica.refresh()
            while not self._replica.index.whole:
                with self._replica.transaction():
                    self._replica.index.advance()

    @property
    def _vectors(self) -> Vectors | None:
        """The vectors of the model that was asked for."""
        with self._lock:
            if not self._embedding_sought:
                from syncmem.recall.embedding import chosen
                from syncmem.recall.nearest import Nearest
                from syncmem.recall.vectors import Vectors

                embedder = chosen(self._embedder_wanted)
                if embedder is not None:
                    vectors = Vectors(self._replica, embedder)
                    self._embedding = vectors, Nearest(self._replica, vectors)
                self._embedding_sought = True
            return None if self._embedding is None else self._embedding[0]

    def _embed(self, most: int) -> int | None:
        """Make some vectors that are lacking, outside of the lock; how many, or None if there is nothing to do."""
        vectors = self._vectors
        if vectors is None:
            return None
        with self._looking():
            batch = vectors.batch(most)
        if batch is None:
            return None
        made = vectors.embedder.embed_documents([each.text for each in batch.pending]) if batch.pending else []
        with self._lock, self._replica.transaction():
            vectors.put(batch, made)
        return len(batch.pending)

    def _likeness(self, question: str) -> Callable[[], Likeness | None]:
        """The likeness to a question, once the lock is held: its vector is made before."""
        vectors = self._vectors
        if vectors is None:
            return lambda: None
        with suppress(FileError):  # they stay to be made
            self._embed(EMBEDDED_AT_RECALL)
        from syncmem.recall.vectors import packed

        asked = packed(vectors.embedder.embed_query(question), vectors.embedder.dimension)
        assert self._embedding is not None
        nearest = self._embedding[1]
        return lambda: nearest.to(asked)

    def _notes(self) -> list[str]:
        """What to know about an answer."""
        vectors = self._vectors
        if vectors is None:
            install = "; pip install 'syncmem[embed]' for a model" if self._embedder_wanted == "auto" else ""
            return [f"only words were compared: there is no embedder{install}"]
        lacking = vectors.lacking()
        return [f"{lacking} texts have no vector yet: index() makes them"] if lacking else []

    # -- how -----------------------------------------------------------------------------------------

    @property
    def _answering(self) -> Answering:
        from syncmem.recall.answering import Answering

        if self._answers is None:
            self._answers = Answering(self._replica, self._reading, self._telling)
        return self._answers

    def _noted(self, recalled: Recalled, axes: Axes, wish: Wish) -> Recalled:
        with self._lock:
            return self._answering.note(recalled, axes, wish)

    def _axes(
        self,
        valid_at: When | None,
        known_at: When | int | None,
        zone: str | tzinfo | None,
        scope: str | None,
        entity: str | None,
        predicates: Iterable[str] | None,
        min_trust: int | str | None,
        history: bool,
    ) -> Axes:
        from syncmem.recall.asked import Axes

        if isinstance(predicates, str):
            raise InvalidInput(f"predicates is a list of names; pass [{predicates!r}]")
        n = None if known_at is None else self._transaction(known_at, zone)
        where = VAULT if scope is None else statements.name("scope", scope)
        name = None if entity is None else statements.name("entity", entity)
        named = None if predicates is None else [statements.name("predicate", each) for each in predicates]
        return Axes(
            instant=self._now() if valid_at is None else self._moment(valid_at, zone),
            n=n,
            scope=None if scope is None else where,
            entity=None if name is None else self._replica.aliases.standing(where, name, n),
            predicates=None if named is None else frozenset(m for p in named for m in (p, *self._meant(where, p))),
            trust_min=0 if min_trust is None else statements.trust_of(min_trust),
            history=bool(history),
        )

    def _question(self, text: str, axes: Axes) -> Question:
        """A question as it is asked there, where some may be called by other names."""
        from syncmem.recall.asked import Question, meant_by

        meant = meant_by(terms(text), self._replica.aliases.elsewhere(axes.scope, axes.n))
        return Question(text, tuple(term for each in meant.values() for term in each))

    def _wish(
        self,
        k: int,
        token_budget: int | None,
        count: Callable[[str], int] | None,
        log: bool,
        *,
        dated: bool = False,
        briefing: bool = False,
    ) -> Wish:
        from syncmem.recall.answering import Wish
        from syncmem.recall.context import tokens_at_most

        if type(k) is not int or not 1 <= k <= HITS_MAX:
            raise InvalidInput(f"k is the number of beliefs, 1 to {HITS_MAX}, not {k!r}; pass such a number")
        if token_budget is not None and (type(token_budget) is not int or token_budget < 0):
            raise InvalidInput(f"token_budget is a number of tokens, not {token_budget!r}; pass 0 or more")
        return Wish(k, token_budget, count or tokens_at_most, log, dated, briefing)
