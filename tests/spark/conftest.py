# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.engines import Engines


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    """`engines["1.2.0"]`: one engine per release for the whole run, started on first use."""
    running = Engines()
    yield running
    running.close()
