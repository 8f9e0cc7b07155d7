"""The verbs of recall that a Memory has: recall, briefing, search, why_said, index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Final

from syncmem import statements
from syncmem.asking import Asking
from syncmem.errors import InvalidInput
from syncmem.model.words import terms
from syncmem.replica.catalog import VAULT
from syncmem.results import Belief
from syncmem.statements import When

if TYPE_CHECKING:
    from syncmem.recall.answering import Answering, Wish
    from syncmem.recall.asked import Axes
    from syncmem.recall.context import Counter
    from syncmem.recall.results import Recalled, Said

HITS_DEFAULT: Final = 10
HITS_MAX: Final = 1_000
QUESTION_BYTES_MAX: Final = 16 * 1024


class Recalling(Asking):
    """recall, briefing, search, why_said, index."""

    _answers: Answering | None = None

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
        from syncmem.recall.asked import Question

        asked = Question(statements.text("question", question, QUESTION_BYTES_MAX))
        self.index()
        with self._seeing():
            axes = self._axes(valid_at, known_at, zone, scope, entity, predicates, min_trust, include_history)
            wish = self._wish(k, token_budget, count, log, dated=valid_at is not None)
            recalled = self._answering.answer(asked, axes, wish, None, ())
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
        self.index()
        with self._seeing():
            axes = self._axes(valid_at, known_at, zone, scope, entity, None, min_trust, include_history)
            wish = self._wish(k, token_budget, count, log, dated=valid_at is not None, briefing=True)
            recalled = self._answering.brief(axes, wish)
        return self._noted(recalled, axes, wish)

    def search(self, text: str, *, limit: int = 100, scope: str | None = VAULT) -> list[Belief]:
        """The beliefs, of any time, whose entity, predicate and value hold every word of a text, or begin with it.

        Nothing is ranked: they come in the order of their names and times.
        """
        from syncmem.recall.searching import rows_with

        words = terms(statements.text("text", text, QUESTION_BYTES_MAX))
        if not words:
            raise InvalidInput("the text has no word to look for; pass a word")
        self.index()
        with self._seeing():
            rows = islice(rows_with(self._replica, self._reading, words, scope), limit)
            return [self._telling.belief(slot, rectangle) for slot, rectangle in rows]

    def why_said(self, about: str) -> Said:
        """What a model was given, by the receipt or by a text that carries it; and what would be different now.

        Raises:
            NotFound: this device's read log knows of no such recall.
        """
        from syncmem.recall.asked import Question
        from syncmem.recall.saying import Saying, again

        if not isinstance(about, str):
            raise InvalidInput(f"a receipt or a text is wanted, not {type(about).__name__}; pass recalled.receipt")
        self.index()
        with self._seeing():
            saying = Saying(self._replica, self._reading, self._telling, self._answering)
            entry = saying.entry(about)
            asked = again(entry, self._now())
            if asked is None or entry.asked is None or entry.question is None:
                return saying.said(entry, None, entry.instant)
            axes, instant = asked
            wish = self._wish(entry.asked["k"], None, None, False)
            if entry.asked["briefing"]:
                return saying.said(entry, self._answering.brief(axes, wish), instant)
            return saying.said(entry, self._answering.answer(Question(entry.question), axes, wish, None, ()), instant)

    def index(self) -> None:
        """Make what recall needs, if it is not there: once; afterwards every write keeps it."""
        with self._lock:
            self._replica.db.check_usable()
            self._replica.refresh()
            while not self._replica.index.whole:
                with self._replica.transaction():
                    self._replica.index.advance()

    # -- how -----------------------------------------------------------------------------------------

    @property
    def _answering(self) -> Answering:
        from syncmem.recall.answering import Answering

        if self._answers is None:
            self._answers = Answering(self._replica, self._reading, self._telling)
        return self._answers

    @contextmanager
    def _seeing(self) -> Iterator[None]:
        """Reading one state of the file."""
        with self._lock, self._replica.db.snapshot(), self._looking():
            yield

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
        return Axes(
            instant=self._now() if valid_at is None else self._moment(valid_at, zone),
            n=None if known_at is None else self._transaction(known_at, zone),
            scope=None if scope is None else statements.name("scope", scope),
            entity=None if entity is None else statements.name("entity", entity),
            predicates=None if predicates is None else frozenset(statements.name("predicate", p) for p in predicates),
            trust_min=0 if min_trust is None else statements.trust_of(min_trust),
            history=history,
        )

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
