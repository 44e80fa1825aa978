# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.zookeeper import ZooKeeperServer

# Timings are never asserted; in CI the same examples are drawn every time, elsewhere new ones.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[ZooKeeperServer]:
    """A real ZooKeeper, started on first use; two seconds."""
    server = ZooKeeperServer()
    yield server
    server.close()
