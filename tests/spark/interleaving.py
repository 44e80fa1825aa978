# SPDX-License-Identifier: Apache-2.0
"""What an engine is told to do by tests that hold jobs at their steps; see ``demo/stepping``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.services.kinds import Service
from demo.stepping import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def one_within_another(
    _spark: SparkSession, outer: list[Any], point: str, inner: list[list[Any]]
) -> None:
    """Run a job, and at one of its points others, each to its end; jobs are script and argv."""

    def others() -> None:
        for script, argv in inner:
            run(script, argv)

    script, argv = outer
    run(script, argv, {point: others})


def held(_spark: SparkSession, jobs: list[list[Any]], entered: str, go: str) -> None:
    """Run jobs one inside the other, each held at its point; the innermost one tells, and waits.

    Jobs are script, argv and point. When all that live go on, they do so from the innermost out.
    """
    _nested(jobs, Path(entered), Path(go))


def _nested(jobs: list[list[Any]], entered: Path, go: Path) -> None:
    if not jobs:
        entered.touch()
        until = time.monotonic() + 300
        while not go.exists() and time.monotonic() < until:
            time.sleep(0.02)
        return
    (script, argv, point), *inner = jobs
    run(script, argv, {point: lambda: _nested(inner, entered, go)})


def one(_spark: SparkSession, job: list[Any]) -> None:
    """Run a job to its end."""
    script, argv = job
    run(script, argv)


def previewed_clean(spark: SparkSession, base: str, options: dict[str, str]) -> str | None:
    """What Hudi itself would delete now."""
    from airflow_hudi.core.table import open_table  # noqa: PLC0415 - only on the engine
    from airflow_hudi.core.table_options import table_options  # noqa: PLC0415
    from airflow_hudi.core.versions import release  # noqa: PLC0415
    from tests.spark.adapted import engine_here  # noqa: PLC0415

    engine = engine_here(spark)
    told = {**table_options(open_table(base).properties, release(engine.release)), **options}
    with engine.client(base, told) as client:
        return client.preview_clean()


def executed_twice(
    spark: SparkSession, base: str, service: str, instant: str, options: dict[str, str]
) -> dict[str, str]:
    """Two executions of one plan by Hudi's own calls, without any guard of ours."""
    from demo.races import executed_twice as race  # noqa: PLC0415 - only on the engine
    from tests.spark.adapted import SHARED, engine_here  # noqa: PLC0415

    return race(engine_here(spark), base, Service(service), instant, {**SHARED, **options})


def seen(spark: SparkSession, base: str) -> int | str:
    """How many rows a reader gets, or the error instead."""
    from demo.races import rows_seen  # noqa: PLC0415 - only on the engine

    return rows_seen(spark, base)


def written_alone(spark: SparkSession, base: str, row: dict[str, Any], told: dict[str, str]) -> str:
    """A write by somebody who takes himself for the only one, and asks nobody."""
    from airflow_hudi.core.table import open_table  # noqa: PLC0415 - only on the engine
    from airflow_hudi.core.table_options import table_options  # noqa: PLC0415
    from airflow_hudi.core.versions import release  # noqa: PLC0415
    from tests.spark.adapted import engine_here  # noqa: PLC0415

    engine = engine_here(spark)
    frame = spark.createDataFrame([row], "id string, region string, ts long, v string")
    options = table_options(open_table(base).properties, release(engine.release))
    return engine.write(frame, base, {**options, **told})


def rollback_planned(_spark: SparkSession, base: str, instant: str, told: dict[str, str]) -> str:
    """Plan the rollback of a pending instant, and go away."""
    from airflow_hudi.core.table import open_table  # noqa: PLC0415 - only on the engine
    from airflow_hudi.core.table_options import table_options  # noqa: PLC0415
    from airflow_hudi.core.versions import release  # noqa: PLC0415
    from tests.spark.adapted import SHARED, engine_here  # noqa: PLC0415

    engine = engine_here(_spark)
    options = table_options(open_table(base).properties, release(engine.release))
    with engine.client(base, {**options, **SHARED, **told}) as client, client.lock():
        return client.schedule_rollback(instant)


def cleaned_bare(spark: SparkSession, base: str, told: dict[str, str]) -> None:
    """Hudi's own clean, as one of its jobs would run it."""
    from airflow_hudi.core.table import open_table  # noqa: PLC0415 - only on the engine
    from airflow_hudi.core.table_options import table_options  # noqa: PLC0415
    from airflow_hudi.core.versions import release  # noqa: PLC0415
    from tests.spark.adapted import SHARED, engine_here  # noqa: PLC0415

    engine = engine_here(spark)
    options = table_options(open_table(base).properties, release(engine.release))
    with engine.client(base, {**options, **SHARED, **told}) as client:
        java: Any = client
        java._client.clean()
