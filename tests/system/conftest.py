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
def quiet(airflow: RunningAirflow, witness: Witness) -> dict[str, Run]:
    """Runs that need nobody: begun first, looked at last, at work while others are disturbed."""
    assert witness
    landing = airflow.warehouse / "landing"
    landing.mkdir()
    pq.write_table(pa.table({"version": [1], "status": ["placed"]}), landing / "no_key.parquet")
    return {dag_id: airflow.trigger(dag_id) for dag_id in ("life", "mapped", "no_key")}
