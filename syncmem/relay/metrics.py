"""Figures for Prometheus: how much is asked, how it goes, how many listen.

Rule: no label has a value that a client chooses; nothing here tells one mailbox, device or address from another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from syncmem.relay.access import Served
from syncmem.wire.mailbox import PutResult

SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the operator's page shows: requests by path and status, puts by outcome, bytes, who listens now."""

    requests: dict[tuple[str, str], int]
    puts: dict[str, int]
    received: int
    sent: int
    streams: int


class Metrics:
    """The figures of one relay."""

    def __init__(self) -> None:
        self._all = CollectorRegistry()
        one: Any = {"registry": self._all, "namespace": "syncmem_relay"}
        self._requests = Counter("requests", "Requests that were answered.", ["path", "status"], **one)
        self._seconds = Histogram("request_seconds", "How long they took.", ["path"], buckets=SECONDS, **one)
        self._received = Counter("received_bytes", "Bytes of requests.", **one)
        self._sent = Counter("sent_bytes", "Bytes of answers.", **one)
        self._puts = Counter("puts", "Blobs that were put, by what became of them.", ["outcome"], **one)
        self._wakes = Counter("wakes", "Calls to wake_url, by how they ended.", ["outcome"], **one)
        self._streams = Gauge("streams", "Who listens now.", **one)
        self._free = Gauge("free_bytes", "Left on the disk of the store.", **one)
        self._listening: Callable[[], int] = lambda: 0
        self._free_bytes: Callable[[], int | None] = lambda: None

    def count(self, served: Served) -> None:
        self._requests.labels(served.path, served.status).inc()
        if served.path != "/v1/watch":  # that lasts as long as somebody listens
            self._seconds.labels(served.path).observe(served.milliseconds / 1000)
        self._received.inc(served.received)
        self._sent.inc(served.sent)

    def count_puts(self, results: Sequence[PutResult]) -> None:
        for result in results:
            self._puts.labels(result.outcome.name.lower()).inc()

    def count_wake(self, outcome: str) -> None:
        self._wakes.labels(outcome).inc()

    def watch(self, streams: Callable[[], int], free_bytes: Callable[[], int] | None) -> None:
        """Whom to ask for what is as it is now."""
        self._listening = streams
        self._streams.set_function(streams)
        if free_bytes is not None:
            self._free_bytes = free_bytes
            self._free.set_function(free_bytes)

    def free_bytes(self) -> int | None:
        """What is left on the disk of the store, where that is known."""
        return self._free_bytes()

    def figures(self) -> Figures:
        """What was counted until now."""
        found = Figures({}, {}, 0, 0, self._listening())
        for sample in (sample for metric in self._all.collect() for sample in metric.samples):
            name, count = sample.name.removeprefix("syncmem_relay_"), round(sample.value)
            if name == "requests_total":
                found.requests[sample.labels["path"], sample.labels["status"]] = count
            elif name == "puts_total":
                found.puts[sample.labels["outcome"]] = count
            elif name == "received_bytes_total":
                found = replace(found, received=count)
            elif name == "sent_bytes_total":
                found = replace(found, sent=count)
        return found

    async def show(self, request: Request) -> Response:
        return Response(generate_latest(self._all), headers={"content-type": CONTENT_TYPE_LATEST})

    def alone(self) -> Starlette:
        """An application that shows nothing else, for an address of its own."""
        return Starlette(routes=[Route("/metrics", self.show, methods=["GET"])])
