# SPDX-License-Identifier: Apache-2.0
"""What the operator costs: ``HudiCompactionOperator`` beside a bare ``spark-submit`` of its script.

    make benchmark

Both run the same compaction with the same settings on identical copies of one table, by turns and
each first in every other round. The operator's time is that of ``execute``: its look at the table,
the control folder, watching, settling. Airflow's import and its own work around a task are not in
it, on purpose: they are the same for every operator.
"""

from __future__ import annotations

import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from airflow_hudi.core.compaction import CompactionWork, Mode
from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.control import job_folder
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.core.jobs import JobArguments, JobKey, JobSpec, Outcome
from airflow_hudi.core.locks import LockSettings
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.spark.launch import driver_environment, plan_launch
from tests.spark.bench import SMALL, Bench, rows
from tests.spark.engines import EngineProcess
from tests.spark.submits import RELEASE, command, spark_environment
from tests.spark.tasks import execute

if TYPE_CHECKING:
    from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit

ROUNDS = 7


@dataclass(frozen=True)
class Round:
    """Seconds of one pair; `before` and `after` are the operator's own, with no driver running."""

    bare: float
    operator: float
    before: float
    after: float

    @property
    def more(self) -> float:
        """What the operator took longer."""
        return self.operator - self.bare


def main(rounds: int = ROUNDS) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(EngineProcess(RELEASE)) as engine:
        made = a_table(engine, Path(folder, "made"))
        os.environ.update(spark_environment(AIRFLOW__LOGGING__LOGGING_LEVEL="WARNING"))
        os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = '{"conn_type": "spark", "host": "local[1]"}'
        one_round(made, 0)  # imports, first look-ups, the disk's caches
        report([one_round(made, number) for number in range(1, rounds + 1)])


def a_table(engine: EngineProcess, folder: Path) -> Bench:
    """Merge on read, with log files on every file group."""
    definition = NewTable(("id",), TableType.MERGE_ON_READ, ("ts",), ("region",))
    bench = Bench(engine, folder, definition)
    for ts in range(1, 4):
        bench.upsert([*rows("abcd", ts=ts), *rows("wxyz", region="us", ts=ts)])
    return bench


def one_round(made: Bench, number: int) -> Round:
    turns = [time_bare, time_operator] if number % 2 else [time_operator, time_bare]
    seconds: dict[str, tuple[float, ...]] = {}
    for turn in turns:
        name = turn.__name__
        copy = replace(made, folder=made.folder.parent / f"{name}{number}")
        shutil.copytree(made.base, copy.base)
        seconds[name] = turn(copy)
        copy.check()  # an exit code proves nothing
        shutil.rmtree(copy.folder)
    result = Round(*seconds["time_bare"], *seconds["time_operator"])
    print(f"round {number}: {result}", file=sys.stderr, flush=True)
    return result


def time_bare(bench: Bench) -> tuple[float]:
    """The spec is there already; from the command to its end."""
    work = CompactionWork(Mode.BOTH, options=dict(SMALL))
    control, key = bench.folder / "control", JobKey("benchmark", "bare", "compact")
    files = job_folder(LocalStorage(control), key).attempt(1)
    now = datetime.now(tz=timezone.utc)
    files.submit(JobSpec(key, 1, bench.base, RELEASE, work, LockSettings(), now))
    launch = plan_launch("compaction", work, HudiSettings(str(bench.folder), RELEASE), {})
    line = command(launch, JobArguments(str(control), key.folder, 1))
    environ = driver_environment(os.environ)
    with (bench.folder / "driver.log").open("wb") as log:
        started = time.perf_counter()
        done = subprocess.run(
            line, env=environ, cwd=bench.folder, stdout=log, stderr=log, check=False
        )
        seconds = time.perf_counter() - started
    assert done.returncode == 0, (bench.folder / "driver.log").read_text()
    return (seconds,)


def time_operator(bench: Bench) -> tuple[float, float, float]:
    """From `execute` to its return."""
    from airflow_hudi.operators.compaction import HudiCompactionOperator  # noqa: PLC0415 - Airflow

    hudi = {"conn_type": "hudi", "host": str(bench.folder / "lake")}
    os.environ["AIRFLOW_CONN_HUDI_DEFAULT"] = str(hudi).replace("'", '"')
    task = HudiCompactionOperator(task_id="compact", table="orders", options=SMALL)
    with driver_times() as times:
        started = time.perf_counter()
        report, _ = execute(task)
        ended = time.perf_counter()
    assert report["outcome"] == Outcome.DONE.value, report
    return ended - started, times["start"] - started, ended - times["end"]


@contextmanager
def driver_times() -> Iterator[dict[str, float]]:
    """When the operator's driver was started, and when it was gone."""
    from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit  # noqa: PLC0415 - Airflow

    times: dict[str, float] = {}
    gone = threading.Event()
    start = DetachedSparkSubmit.start

    def watched(hook: DetachedSparkSubmit, *arguments: Any, **named: Any) -> int:
        times["start"] = time.perf_counter()
        pid = start(hook, *arguments, **named)
        ends = os.pidfd_open(pid)

        def wait() -> None:
            select.select([ends], [], [])  # the hook takes note of the end; this only sees it
            times["end"] = time.perf_counter()
            os.close(ends)
            gone.set()

        threading.Thread(target=wait, daemon=True).start()
        return pid

    with mock.patch.object(DetachedSparkSubmit, "start", watched):
        yield times
    assert gone.wait(30)


def report(rounds: list[Round]) -> None:
    bare, operator = [r.bare for r in rounds], [r.operator for r in rounds]
    print(f"Seconds over {len(rounds)} rounds, median (smallest to largest)\n")
    print("| bare `spark-submit` | operator | operator - bare, by round |")
    print("|---|---|---|")
    more = [r.more for r in rounds]
    share = statistics.median(more) / statistics.median(bare)
    print(f"| {spread(bare)} | {spread(operator)} | {spread(more)}, {share:+.1%} |")
    print("\nThe operator alone, no driver running: seconds\n")
    print("| before the driver is started | after it is gone | both |")
    print("|---|---|---|")
    before, after = [r.before for r in rounds], [r.after for r in rounds]
    print(
        f"| {spread(before)} | {spread(after)} | {spread([r.before + r.after for r in rounds])} |"
    )


def spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
