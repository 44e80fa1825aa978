# SPDX-License-Identifier: Apache-2.0
"""The same operators on a cluster, by changing the Spark connection and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.checksums import content_of
from airflow_hudi.core.cluster_managers import manager_says
from airflow_hudi.core.ingestion import NewTable, SourceFormat
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.timeline import load_timeline
from tests.spark.bench import COLUMNS, SMALL, Bench, rows
from tests.spark.clusters import StandaloneCluster
from tests.spark.engines import Engines
from tests.spark.submits import RELEASE, spark_environment
from tests.spark.tasks import execute

pytestmark = pytest.mark.spark


@pytest.fixture
def cluster() -> Iterator[StandaloneCluster]:
    running = StandaloneCluster()
    yield running
    running.close()


def test_ingestion_compaction_and_reading_run_on_the_cluster_of_the_connection(
    engines: Engines, cluster: StandaloneCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = NewTable(("id",), TableType.MERGE_ON_READ, ("ts",), ("region",))
    bench = Bench(engines[RELEASE], tmp_path, definition)
    bench.upsert([*rows("abcd"), *rows("wx", region="us")])
    environ = {
        **spark_environment(),
        "AIRFLOW_CONN_HUDI_DEFAULT": json.dumps({"conn_type": "hudi", "host": f"{tmp_path}/lake"}),
        "AIRFLOW_CONN_SPARK_DEFAULT": cluster.connection,
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    from airflow_hudi.operators.compaction import (  # noqa: PLC0415 - imports Airflow
        HudiCompactionOperator,
    )
    from airflow_hudi.operators.ingestion import HudiIngestOperator  # noqa: PLC0415
    from airflow_hudi.operators.reading import HudiReadOperator  # noqa: PLC0415

    changed = [*rows("a", ts=2, v="b"), *rows("n", region="asia")]
    source, _, _ = bench.land(changed, SourceFormat.JSON)
    bench.model.update({row["id"]: row for row in changed})
    common: dict[str, Any] = {"table": "orders"}
    tasks = [
        HudiIngestOperator(task_id="change", source=source, options=SMALL, **common),
        HudiCompactionOperator(task_id="compact", options=SMALL, **common),
        HudiReadOperator(task_id="read", columns=COLUMNS, **common),
    ]
    done = [execute(task) for task in tasks]

    assert [report["outcome"] for report, _ in done] == [Outcome.DONE.value] * 3
    expected, reading = content_of(bench.model.values()), done[-1][0]["reading"]
    assert (reading["rows"], reading["checksum"]) == (expected.rows, expected.checksum)
    timeline = load_timeline(bench.table)
    assert len(timeline.pending()) == 0
    assert {done[0][0]["instant"], done[1][0]["instant"]} <= {
        instant.requested_at for instant in timeline.completed()
    }
    applications = [instance.pushed["application_id"] for _, instance in done]
    assert len(set(applications)) == 3
    completed = cluster.completed()
    assert {
        application: completed.get(application) for application in applications
    } == dict.fromkeys(applications, "FINISHED")
    assert [manager_says(cluster.web_page, each) for each in applications] == [False] * 3
    assert manager_says(cluster.web_page, "app-20260101000000-0000") is None
