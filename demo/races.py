# SPDX-License-Identifier: Apache-2.0
"""HUDI-7503 on purpose: two executions of one plan by Hudi's own calls, in an order that hurts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.table import open_table
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.versions import release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_hudi.spark.engine.protocol import Engine, TableClient

STEPS = ("A executes", "B executes", "A commits", "B commits")


def executed_twice(
    engine: Engine, base: str, service: Service, instant: str, options: Mapping[str, str]
) -> dict[str, str]:
    """A executes, B executes, A commits, B commits: what each of the four calls came to.

    The calls are Hudi's own, as two of its jobs would make them; nothing of ours guards them.
    """
    properties = open_table(base).properties
    told = {**table_options(properties, release(engine.release)), **options}
    said: dict[str, str] = {}
    with engine.client(base, told) as a, engine.client(base, told) as b:
        of_a = _try(said, STEPS[0], lambda: a.execute(service, instant))
        of_b = _try(said, STEPS[1], lambda: b.execute(service, instant))
        _commit(said, STEPS[2], a, of_a)
        _commit(said, STEPS[3], b, of_b)
    return said


def rows_seen(spark: SparkSession, base: str) -> int | str:
    """How many rows a reader gets, or the error that it gets instead."""
    said: dict[str, str] = {}
    count = _try(said, "read", lambda: spark.read.format("hudi").load(base).count())
    return said["read"] if count is None else int(count)


def _commit(said: dict[str, str], name: str, client: TableClient, executed: Any) -> None:
    if executed is not None:
        _try(said, name, lambda: client.commit(executed))


def _try(said: dict[str, str], name: str, call: Any) -> Any:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - PySpark is on drivers only
    from pyspark.errors import PySparkException  # noqa: PLC0415

    from airflow_hudi.spark.failures import explained  # noqa: PLC0415

    try:
        result = call()
    except (Py4JError, PySparkException, AirflowHudiError) as error:
        said[name] = explained(error).kind
        return None
    said[name] = "ok"
    return result
