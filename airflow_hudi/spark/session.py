# SPDX-License-Identifier: Apache-2.0
"""A local Spark session with one Hudi release, for tests, examples and small tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.spark.engine.bundles import bundle_jar
from airflow_hudi.spark.engine.session_conf import (
    HUDI_SESSION_CONF,
    RELEASE_PROPERTY,
)
from airflow_hudi.spark.java import check_pyspark, find_java
from airflow_hudi.spark.launch import jvm_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM flags that halve the start of a small session; for tests, not for large data."""


def local_session(
    release: str,
    *,
    app_name: str,
    cores: str = "2",
    jar: str | Path | None = None,
    warehouse: str | Path | None = None,
    extra_conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start (or return) this process's Spark session with the given Hudi release.

    A JVM loads one bundle for its whole life, so a second release in the same process raises
    EnvironmentProblem. `extra_conf` is laid over the defaults; JVM options are added to ours.
    """
    check_pyspark()
    _refuse_other_release(release)
    _point_spark_at_this_python()
    place = {"spark.sql.warehouse.dir": str(warehouse)} if warehouse else {}
    extra = {**place, **(extra_conf or {})}
    conf = session_conf(release, jar=bundle_jar(release, jar=jar), extra=extra)
    from pyspark.sql import SparkSession  # noqa: PLC0415 - only where Spark is really started

    builder = SparkSession.builder.master(f"local[{cores}]").appName(app_name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def session_conf(release: str, *, jar: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """All settings of a local session, as values: `extra` last, but our JVM options stay."""
    return {
        **HUDI_SESSION_CONF,
        # In both: with spark.jars alone the classes sit in a second class loader, which the JVM
        # side of py4j does not see; without it the executors lack them.
        "spark.jars": str(jar),
        "spark.driver.extraClassPath": str(jar),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **extra,
        **jvm_options(release, extra),
    }


def _point_spark_at_this_python() -> None:
    # Read by PySpark when it starts the JVM and the Python workers.
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _refuse_other_release(release: str) -> None:
    from pyspark import SparkContext  # noqa: PLC0415 - only where Spark is really started

    gateway = SparkContext._gateway  # noqa: SLF001 - the JVM outlives a stopped session
    if gateway is None:
        return
    running = gateway.jvm.java.lang.System.getProperty(RELEASE_PROPERTY)
    if running != release:
        has = f"Hudi {running}" if running else "no Hudi bundle of ours"
        raise EnvironmentProblem(
            f"this process already runs a JVM with {has}, and a JVM cannot change its bundle",
            cure=f"use another process for Hudi {release}",
        )
