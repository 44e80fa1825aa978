# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.system.drivers import Witness
from tests.system.running import Run, RunningAirflow


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningAirflow]:
    """One Airflow for the whole folder; most of a minute."""
    running = RunningAirflow(tmp_path_factory.mktemp("system"))
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture(scope="session")
def witness(airflow: RunningAirflow) -> Iterator[Witness]:
    """Looks at all drivers from before the first one is started."""
    seeing = Witness(airflow.warehouse)
    yield seeing
    seeing.close()


@pytest.fixture(scope="session", autouse=True)
def begun(airflow: RunningAirflow, witness: Witness) -> dict[str, Run]:
    """Runs that go on by themselves while others are disturbed, each until its test looks at it.

    Some need nobody at all; in the others the driver stops in the middle of its write.
    """
    assert witness
    landing = airflow.warehouse / "landing"
    landing.mkdir()
    pq.write_table(pa.table({"version": [1], "status": ["placed"]}), landing / "no_key.parquet")
    runs = {dag_id: airflow.trigger(dag_id) for dag_id in ("life", "mapped", "no_key")}
    for dag_id in ("died", "cleared", "cleared_deferred", "marked", "marked_deferred"):
        runs[dag_id] = airflow.trigger(dag_id, slow_at_first=True)
    return runs
