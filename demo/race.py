# SPDX-License-Identifier: Apache-2.0
"""HUDI-7503 on purpose: one service plan, two jobs, first bare and then guarded.

``make demo DEMO=race``: the same rows, the same plan, the same order of steps, on real tables of
this machine's disk. Bare are Hudi's own calls, as two jobs of an orchestrator that does not read
the timeline would make them; guarded are the jobs that our operators start.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_hudi.core.commits import CommitMetadata, load_commit
from airflow_hudi.core.control import AttemptFolder, job_folder
from airflow_hudi.core.ingestion import IngestWork, NewTable, Operation, QuerySource
from airflow_hudi.core.jobs import JobArguments, JobKey, JobReport, JobSpec, Work
from airflow_hudi.core.locks import LockSettings
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import (
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    ServicePolicy,
)
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.core.versions import RELEASE_NAMES
from demo.environment import short
from demo.races import STEPS, executed_twice, rows_seen
from demo.stepping import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 20
_POLICIES: dict[Service, ServicePolicy] = {
    Service.CLUSTERING: ClusteringPolicy(),
    Service.COMPACTION: CompactionPolicy(),
    Service.LOG_COMPACTION: LogCompactionPolicy(log_blocks=2),
}
_SETTINGS = {
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
}
# Without this mode Hudi 1.2 guards compactions itself; releases before it guard nothing.
_UNGUARDED = {
    "hoodie.write.concurrency.mode": "single_writer",
    "hoodie.cleaner.policy.failed.writes": "EAGER",
    "hoodie.auto.adjust.lock.configs": "false",
}
_NEW = NewTable(keys=("id",), type=TableType.MERGE_ON_READ, ordering=("version",))


@dataclass(frozen=True, slots=True)
class Ending:
    """What one half of a race came to."""

    said: Mapping[str, str]
    rows: int | str
    missing: int

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost."""
        return self.rows == ROWS and not self.missing


@dataclass
class Table:
    """One small table, written and served by our own jobs in this process."""

    folder: Path
    jobs: int = 0

    @property
    def base(self) -> str:
        """Where it is."""
        return str(self.folder / "orders")

    def run(self, work: Work) -> JobReport:
        """A job, to its end."""
        script, argv, attempt = self.submit(work)
        run(script, argv)
        return _report(attempt)

    def submit(self, work: Work) -> tuple[str, list[str], AttemptFolder]:
        """What an operator writes before it starts a driver."""
        self.jobs += 1
        key = JobKey("demo", "race", f"job{self.jobs}")
        control = LocalStorage(self.folder / "control")
        attempt = job_folder(control, key).attempt(1)
        now = datetime.now(tz=timezone.utc)
        release = RELEASE_NAMES[-1]
        attempt.submit(JobSpec(key, 1, self.base, release, work, LockSettings(), now, 0.5))
        script = "compaction" if isinstance(work, ServiceWork) else "ingestion"
        argv = JobArguments(str(self.folder / "control"), key.folder, 1).to_argv()
        return script, argv, attempt

    def fill(self) -> None:
        """Twenty orders, of which ten are changed twice."""
        for version in (1, 2, 3):
            last = ROWS if version == 1 else ROWS // 2
            columns = f"concat('o', id) id, bigint({version}) version, 'v{version}' status"
            source = QuerySource(f"select {columns} from range(1, {last + 1})")  # noqa: S608 - ours
            new = _NEW if version == 1 else None
            self.run(IngestWork(Operation.UPSERT, source, create=new, options=_SETTINGS))

    def plan(self, service: Service) -> str:
        """A plan of a service."""
        work = ServiceWork(_POLICIES[service], Mode.SCHEDULE, options=_SETTINGS)
        report = self.run(work)
        if report.instant is None:
            raise RuntimeError(report.summary)
        return report.instant

    def missing(self) -> int:
        """How many files a completed instant names that are not there."""
        table = open_table(self.base)
        timeline = load_timeline(table)
        commits = (load_commit(table, timeline, i) for i in timeline.completed().writes())
        stats = (stat for c in commits if isinstance(c, CommitMetadata) for stat in c.stats)
        return len({s.path for s in stats if s.path and not Path(self.base, s.path).exists()})


def main(folder: Path) -> int:
    """Run all races and print what came of them; 0 where only the bare ones did damage."""
    from airflow_hudi.spark.session import QUICK_START, local_session  # noqa: PLC0415 - heavy

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _say(f"» race: one plan, two jobs; Hudi {RELEASE_NAMES[-1]}, {ROWS} rows")
    spark = local_session(
        RELEASE_NAMES[-1],
        app_name="race",
        extra_conf={"spark.driver.extraJavaOptions": QUICK_START},
    )
    spark.sparkContext.setLogLevel("ERROR")
    endings = {}
    with (folder / "jobs.log").open("w", buffering=1) as log:
        for service in _POLICIES:
            _say(f"» {service.noun}: bare, then guarded")
            with redirect_stdout(log):
                endings[service] = (
                    _bare(spark, folder, service),
                    _guarded(spark, folder, service),
                )
    spark.stop()
    _say(_told(endings, folder))
    return 0 if all(guarded.is_good for _, guarded in endings.values()) else 1


def _bare(spark: SparkSession, folder: Path, service: Service) -> Ending:
    from airflow_hudi.spark.engine.adapters import engine_of  # noqa: PLC0415 - heavy
    from airflow_hudi.spark.engine.locks import lock_options  # noqa: PLC0415

    table = _filled(folder / "bare" / service.value)
    instant = table.plan(service)
    options = {
        **lock_options(LockSettings(), table.base),
        **_SETTINGS,
        **(_UNGUARDED if service is Service.COMPACTION else {}),
    }
    engine = engine_of(spark, RELEASE_NAMES[-1])
    said = executed_twice(engine, table.base, service, instant, options)
    return Ending(said, rows_seen(spark, table.base), table.missing())


def _guarded(spark: SparkSession, folder: Path, service: Service) -> Ending:
    table = _filled(folder / "guarded" / service.value)
    work = ServiceWork(_POLICIES[service], Mode.EXECUTE, table.plan(service), _SETTINGS)
    script, argv, of_a = table.submit(work)
    _, second, of_b = table.submit(work)
    run(script, argv, {"before commit": lambda: _run(script, second)})
    a, b = _report(of_a), _report(of_b)
    said = {STEPS[0]: "ok", STEPS[1]: _said(b), STEPS[2]: _said(a)}
    return Ending(said, rows_seen(spark, table.base), table.missing())


def _run(script: str, argv: list[str]) -> None:
    run(script, argv)


def _filled(folder: Path) -> Table:
    table = Table(folder)
    table.fill()
    return table


def _report(attempt: AttemptFolder) -> JobReport:
    report = attempt.load_report()
    if report is None:
        raise RuntimeError(f"{attempt.path} left no report")
    return report


def _said(report: JobReport) -> str:
    return "ok" if report.error is None else f"refused ({report.error.kind})"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# --- what is told ------------------------------------------------------------------------------


def _told(endings: Mapping[Service, tuple[Ending, Ending]], folder: Path) -> str:
    header = ("", "", *STEPS, "a reader sees", "files lost")
    lines: list[tuple[str, ...]] = [header]
    for service, halves in endings.items():
        for name, ending in zip(("bare", "guarded"), halves, strict=True):
            steps = [ending.said.get(step, "·") for step in STEPS]
            seen = ending.rows if isinstance(ending.rows, str) else f"{ending.rows} of {ROWS} rows"
            title = service.noun if name == "bare" else ""
            lines.append((title, name, *steps, seen, str(ending.missing)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    return f"""
What came of it

{_indented(table)}

  bare: every job believes what its own call told it, and nobody looks at the timeline
  guarded: one executor per plan; the second job is told so, and may try again later

Look further

  .venv/bin/python -m airflow_hudi timeline {short(folder)}/bare/clustering/orders
  .venv/bin/python -m airflow_hudi timeline {short(folder)}/guarded/clustering/orders
  {short(folder)}/jobs.log  what the jobs said
  docs/table_services.md  how the guard works"""


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
