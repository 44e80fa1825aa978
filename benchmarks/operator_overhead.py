# SPDX-License-Identifier: Apache-2.0
"""What the operator costs: ``HudiCompactionOperator`` beside a bare ``spark-submit`` of its script.

    make benchmark

Both run the same compaction with the same settings on identical copies of one table, by turns and
each first in every other round. The operator's time is that of ``execute``: its look at the table,
the control folder, watching, settling. Airflow's import and its own work around a task are not in
it, on purpose: they are the same for every operator.

Wall time of a JVM on a machine with other work varies by more than what is looked for. So the
operator's parts are taken too: before the driver, after it, and its processor time meanwhile, which
is the most that its watching can have taken from the driver.
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
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.control import job_folder
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.core.jobs import JobArguments, JobKey, JobSpec, Outcome
from airflow_hudi.core.locks import LockSettings
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.spark.launch import driver_environment, plan_launch
from tests.spark.bench import SMALL, Bench, rows
from tests.spark.engines import EngineProcess
from tests.spark.submits import RELEASE, command, spark_environment
from tests.spark.tasks import execute

if TYPE_CHECKING:
    from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit

ROUNDS = 9


@dataclass(frozen=True)
class Round:
    """Seconds of one pair. Both end when the driver's process is gone, whoever returns earlier."""

    bare: float
    operator: float
    before: float
    meanwhile: float
    """Of the processor, for all that the operator does while the driver runs."""
    after: float
    """Negative: it returned while the kernel was still clearing the dead JVM away."""

    @property
    def more(self) -> float:
        """What the operator took longer."""
        return self.operator - self.bare

    @property
    def own(self) -> float:
        """The operator's parts; an early return is not counted in its favour."""
        return self.before + self.meanwhile + max(self.after, 0.0)


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
    work = ServiceWork(CompactionPolicy(), Mode.BOTH, options=dict(SMALL))
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


def time_operator(bench: Bench) -> tuple[float, float, float, float]:
    """From `execute` to its return, or to the driver's end if that is later."""
    from airflow_hudi.operators.compaction import HudiCompactionOperator  # noqa: PLC0415 - Airflow

    hudi = {"conn_type": "hudi", "host": str(bench.folder / "lake")}
    os.environ["AIRFLOW_CONN_HUDI_DEFAULT"] = str(hudi).replace("'", '"')
    task = HudiCompactionOperator(task_id="compact", table="orders", options=SMALL)
    with driver_times() as times:
        started = time.perf_counter()
        report, _ = execute(task)
        ended = time.perf_counter()
        used = time.process_time()
    assert report["outcome"] == Outcome.DONE.value, report
    return (
        max(ended, times["end"]) - started,
        times["start"] - started,
        used - times["used"],
        ended - times["end"],
    )


@contextmanager
def driver_times() -> Iterator[dict[str, float]]:
    """When the operator's driver was started, and when it was gone."""
    from airflow_hudi.hooks.spark_submit import DetachedSparkSubmit  # noqa: PLC0415 - Airflow

    times: dict[str, float] = {}
    gone = threading.Event()
    start = DetachedSparkSubmit.start

    def watched(hook: DetachedSparkSubmit, *arguments: Any, **named: Any) -> int:
        times["start"], times["used"] = time.perf_counter(), time.process_time()
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
    bare, operator, more = zip(*((r.bare, r.operator, r.more) for r in rounds), strict=True)
    apart = statistics.median(operator) - statistics.median(bare)
    print(f"Seconds over {len(rounds)} rounds, median (smallest to largest)\n")
    print("| bare `spark-submit` | operator | medians apart | apart in the same round |")
    print("|---|---|---|---|")
    print(f"| {spread(bare)} | {spread(operator)} | {apart:+.2f} | {spread(more)} |")
    print("\nThe operator's own parts\n")
    print("| before the driver | processor meanwhile | after the driver | together |")
    print("|---|---|---|---|")
    parts = zip(*((r.before, r.meanwhile, r.after, r.own) for r in rounds), strict=True)
    shown = " | ".join(spread(part) for part in parts)
    share = statistics.median(r.own for r in rounds) / statistics.median(bare)
    print(f"| {shown}, {share:.1%} of bare |")


def spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
