# SPDX-License-Identifier: Apache-2.0
"""The harness itself: calls, failures and sudden death."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.engines import EngineCallFailed, EngineDied, EngineProcess, Engines

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HERE = "tests.spark.test_engines"


def sum_of(spark: SparkSession, numbers: list[int]) -> int:
    frame = spark.createDataFrame([(number,) for number in numbers], "n long")
    return int(frame.groupBy().sum("n").collect()[0][0])


def jvm_pid(spark: SparkSession) -> int:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return int(jvm.java.lang.ProcessHandle.current().pid())


def sleep_in_task(spark: SparkSession, entered: str) -> None:
    def hold(_: object) -> None:
        Path(entered).write_text(str(os.getpid()))
        time.sleep(300)

    spark.sparkContext.parallelize([1], 1).foreach(hold)


def test_a_call_returns_what_the_function_returned(engines: Engines) -> None:
    assert engines["1.2.0"].call(f"{HERE}:sum_of", numbers=[1, 2, 3]) == 6


def test_a_failed_call_brings_its_traceback_and_leaves_the_engine_usable(engines: Engines) -> None:
    with pytest.raises(EngineCallFailed) as raised:
        engines["1.2.0"].call(f"{HERE}:sum_of", numbers=["x"])

    assert "in sum_of" in raised.value.traceback
    assert engines["1.2.0"].call(f"{HERE}:sum_of", numbers=[4]) == 4


def test_kill_takes_the_jvm_and_sparks_python_workers_along(tmp_path: Path) -> None:
    engine = EngineProcess("1.2.0")
    jvm = engine.call(f"{HERE}:jvm_pid")
    entered = tmp_path / "entered"
    held = engine.begin(f"{HERE}:sleep_in_task", entered=str(entered))
    while not entered.exists() or not entered.read_text():
        time.sleep(0.05)

    engine.kill()

    assert not any(_is_running(pid) for pid in (jvm, int(entered.read_text())))
    with pytest.raises(EngineDied):
        held.result(10)
    with pytest.raises(EngineDied):
        engine.call(f"{HERE}:sum_of", numbers=[1])


def _is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
