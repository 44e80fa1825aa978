# SPDX-License-Identifier: Apache-2.0
"""Tables that only come about when two writers meet, or one dies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.spark.engines import EngineProcess
from tests.tables.building import BY_REGION, COLUMNS, MOR, Row, TableInProgress, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE = 120.0
_LOCKS = "org.apache.hudi.client.transaction.lock"
_LAZY = {
    "hoodie.cleaner.policy.failed.writes": "LAZY",  # 0.x
    "hoodie.clean.failed.writes.policy": "LAZY",
}

# --- a writer killed just before its commit ----------------------------------------------------

OPTIMISTIC = {
    **BY_REGION,
    **_LAZY,
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": f"{_LOCKS}.FileSystemBasedLockProvider",
    # The default where a timeline server runs: all markers of a task in one text file.
    "hoodie.embed.timeline.server": "true",
    "hoodie.write.markers.type": "TIMELINE_SERVER_BASED",
}


def killed_writer(engine: EngineProcess, base: Path) -> list[str]:
    """MOR: a second process is killed -9 with all its files written and its commit not.

    Leaves requested and inflight, heartbeat, markers, a log file and a base file. The writer is
    stopped at a sure place by taking the table's lock away from it once its instant is inflight.
    """
    steps: list[str] = engine.call(f"{__name__}:first_commit", base=str(base))
    victim = EngineProcess(engine.release)
    try:
        outcome = victim.begin(f"{__name__}:doomed_upsert", base=str(base))
        inflight = _wait(lambda: _inflight(base), outcome)
        lock = base / ".hoodie" / "lock"
        _wait(lambda: _create(lock), outcome)
        _wait(lambda: len(_files_of(base, inflight)) == 2 or None, outcome)
        time.sleep(1)  # the files are named before they are full
    finally:
        victim.kill()
    lock.unlink()
    return [*steps, f"upsert of 2 rows, killed before its commit: {inflight}"]


def first_commit(spark: SparkSession, base: str) -> list[str]:
    table = TableInProgress(spark, base, MOR, OPTIMISTIC)
    table.write(rows("12"), "insert")
    table.write(rows("1", ts=2))
    return table.steps


def doomed_upsert(spark: SparkSession, base: str) -> list[str]:
    """An update (a log file) and an insert elsewhere (a base file)."""
    table = TableInProgress(spark, base, MOR, OPTIMISTIC)
    table.write(rows("2", ts=3) + rows("3", region="us", ts=3))
    return table.steps


def _inflight(base: Path) -> str | None:
    found = sorted(base.glob(".hoodie/**/*.deltacommit.inflight"))
    done = {path.name.split("_")[0].split(".")[0] for path in base.glob(".hoodie/**/*.deltacommit")}
    pending = [path.name.split(".")[0] for path in found if path.name.split(".")[0] not in done]
    return pending[0] if pending else None


def _files_of(base: Path, instant: str) -> list[Path]:
    """What the dead writer left: one base file in `us`, one more log file in `eu`."""
    base_files = list(base.glob(f"us/*_{instant}.parquet"))
    logs = sorted(base.glob("eu/.*.log.*[0-9]"))
    return base_files + logs[1:]


def _create(lock: Path) -> bool | None:
    with contextlib.suppress(FileExistsError):
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        return True
    return None


def _wait(ask: Callable[[], Any], outcome: Future[Any]) -> Any:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        answer = ask()
        if answer is not None:
            return answer
        if outcome.done():
            msg = f"the writer ended before it could be killed: {outcome.result()}"
            raise RuntimeError(msg)
        time.sleep(0.002)
    msg = f"waited {_PATIENCE:.0f} s in vain"
    raise TimeoutError(msg)


# --- writers that complete in another order than they were requested ---------------------------

LOCKLESS = {
    **BY_REGION,
    **_LAZY,
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": f"{_LOCKS}.InProcessLockProvider",
    "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "SIMPLE",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.bucket.index.hash.field": "id",
}


def lockless_writers(spark: SparkSession, base: str) -> list[str]:
    """MOR with a bucket index: A is requested before B and completes after it.

    Twice: the second time a compaction is planned before A completes, so that A's log file, with an
    older time in its name, belongs to the compaction's slice.
    """
    table = TableInProgress(spark, base, MOR, LOCKLESS)
    table.write(rows("1"))
    _overlap(table, rows("12", ts=2, v="A"), lambda: table.write(rows("12", ts=3, v="B")))
    plans: list[str] = []

    def write_and_plan() -> None:
        table.write(rows("12", ts=5, v="B"))
        plans.append(table.schedule_compaction())

    _overlap(table, rows("12", ts=4, v="A"), write_and_plan)
    table.compact(plans[0])
    table.write(rows("3", ts=6))
    return table.steps


def _overlap(table: TableInProgress, first: list[Row], meanwhile: Callable[[], Any]) -> None:
    """`first` is requested first and held in its own tasks until `meanwhile` is done."""
    entered, go = Path(f"{table.base}.entered"), Path(f"{table.base}.go")
    frame = table.spark.createDataFrame(first, COLUMNS).coalesce(1)
    held = frame.withColumn("v", _gate(table.base, str(entered), str(go))("v"))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(table.write_frame, held, "upsert", of=len(first))
        _wait(lambda: entered.exists() or None, slow)
        meanwhile()
        go.touch()
        slow.result(_PATIENCE)
    entered.unlink()
    go.unlink()


def _gate(base: str, entered: str, go: str) -> Any:
    """A UDF that waits for the file `go`, once the writer's own instant is on the timeline."""
    from pyspark.sql import functions  # noqa: PLC0415 - on the engine only

    def hold(value: str) -> str:
        folder = Path(base, ".hoodie", "timeline")
        done = {path.name.split("_")[0] for path in folder.glob("*commit")}
        requested = {path.name.split(".")[0] for path in folder.glob("*.requested")}
        if requested - done:
            Path(entered).touch()
            until = time.monotonic() + 100
            while not Path(go).exists() and time.monotonic() < until:
                time.sleep(0.02)
        return value

    return functions.udf(hold, "string").asNondeterministic()
