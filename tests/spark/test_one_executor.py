# SPDX-License-Identifier: Apache-2.0
"""Two tasks, one plan, and two real drivers: the operators see to it that it is executed once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_hudi.core.instants import State
from airflow_hudi.core.services.kinds import Service
from tests.spark.engines import Engines
from tests.spark.served import QUICK, served
from tests.spark.submits import RELEASE, spark_environment
from tests.spark.tasks import execute

pytestmark = pytest.mark.spark


def test_two_tasks_that_want_one_plan_at_the_same_time_execute_it_once(
    engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = served(engines[RELEASE], tmp_path)
    instant = bench.plan(Service.CLUSTERING)
    environ = {
        **spark_environment(),
        "AIRFLOW_CONN_HUDI_DEFAULT": json.dumps({"conn_type": "hudi", "host": f"{tmp_path}/lake"}),
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[1]"}',
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    from airflow_hudi.operators.clustering import (  # noqa: PLC0415 - imports Airflow
        HudiClusteringOperator,
    )

    tasks = [
        HudiClusteringOperator(
            task_id=name,
            table="orders",
            mode="execute",
            instant=instant,
            options=QUICK,
            when_nothing_to_do="succeed",
        )
        for name in ("one", "other")
    ]
    with ThreadPoolExecutor(2) as pool:
        reports = [report for report, _ in pool.map(execute, tasks)]

    assert sorted(report["outcome"] for report in reports) == ["done", "nothing_to_do"]
    assert {report["instant"] for report in reports} == {instant}
    done = bench.instant(instant)
    assert done is not None
    assert done.state is State.COMPLETED
    assert bench.missing() == bench.leftovers() == []
    bench.check()
