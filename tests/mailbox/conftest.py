"""Servers that tests of mailboxes share: one of each in a process of the tests, begun when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mailbox.postgres import Cluster, cluster
from tests.mailbox.storage import Storage


@pytest.fixture(scope="session")
def postgres() -> Cluster:
    return cluster()


@pytest.fixture(scope="session")
def storage() -> Iterator[Storage]:
    server = Storage()
    yield server
    server.close()
