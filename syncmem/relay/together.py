"""What several threads ask of a store's file at one time, done in one transaction, so that they wait for the disk once.

Rules: nobody has an answer before the commit that it tells of; where one of them fails, each is done again by itself,
so it fails alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Final, Generic, TypeVar

TOGETHER_MAX: Final = 64

Value = TypeVar("Value")


class _Job(Generic[Value]):
    """What one thread asks, and what came of it."""

    def __init__(self, work: Callable[[], Value]) -> None:
        self.work = work
        self.values: list[Value] = []
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        return bool(self.values) or self.error is not None


class Together(Generic[Value]):
    """Work that is done in transactions of a file, by who holds it."""

    def __init__(
        self, held: Callable[[], AbstractContextManager[None]], transaction: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._held = held
        self._transaction = transaction
        self._waiting: deque[_Job[Value]] = deque()

    def do(self, work: Callable[[], Value]) -> Value:
        """Do something in a transaction, with what other threads wait to have done. Raises what it raises."""
        job = _Job(work)
        self._waiting.append(job)
        try:
            with self._held():
                if not job.done:
                    self._run([self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAX))])
                if not job.done:  # more than so many came before
                    self._waiting.remove(job)
                    self._run([job])
        finally:
            with suppress(ValueError):
                self._waiting.remove(job)
        if job.error is not None:
            raise job.error
        return job.values[0]

    def do_all(self, works: Sequence[Callable[[], Value]], first: Callable[[], None]) -> list[Value]:
        """Do several things in one transaction; where one fails, none is done. Raises what that raises."""
        with self._held(), self._transaction():
            first()
            return [work() for work in works]

    def _run(self, jobs: Sequence[_Job[Value]]) -> None:
        try:
            with self._transaction():
                values = [job.work() for job in jobs]
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].error = error
                return
            for job in jobs:
                self._run([job])
        else:
            for job, value in zip(jobs, values, strict=True):
                job.values.append(value)
