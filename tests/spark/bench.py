# SPDX-License-Identifier: Apache-2.0
"""Jobs on the tests' engines: the real contract and the real work, without a driver of their own.

What an operator would write into the control folder is written there; the engine's process then
plays the driver's part with its own session, and the report is settled against the timeline.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from airflow_hudi.core.checksums import content_of
from airflow_hudi.core.claims import TakeoverPolicy
from airflow_hudi.core.control import AttemptFolder, JobFolder, job_folder
from airflow_hudi.core.ingestion import FileSource, IngestWork, NewTable, Operation, SourceFormat
from airflow_hudi.core.jobs import JobArguments, JobKey, JobReport, JobSpec, Work
from airflow_hudi.core.locks import LockSettings
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.storage import LocalStorage, open_storage
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.verdicts import load_evidence, settle
from demo.stepping import work_of
from tests.spark.engines import EngineProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]

COLUMNS = ("id", "region", "ts", "v")
SMALL = {
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
}


def rows(ids: str, *, region: str = "eu", ts: int = 1, v: str = "a") -> list[Row]:
    """One row per letter of `ids`."""
    return [{"id": key, "region": region, "ts": ts, "v": v} for key in ids]


def run_job(
    spark: SparkSession, script: str, argv: list[str], *, cancel_before_commit: bool
) -> None:
    """The driver's part, in the engine's process."""
    from airflow_hudi.spark.runner import run_attempt  # noqa: PLC0415 - only there

    arguments = JobArguments.from_argv(argv)
    run = work_of(script)
    run_attempt(
        arguments, _cancelled_at_its_commit(run, arguments) if cancel_before_commit else run
    )


def _cancelled_at_its_commit(run: Any, arguments: JobArguments) -> Any:
    """The same work, cancelled by somebody else just when it asks whether it may commit."""
    control = JobFolder(open_storage(arguments.control), arguments.folder)

    def cancelled(job: Any) -> JobReport:
        ask = job.beating.check

        def cancel_and_ask() -> None:
            control.attempt(arguments.attempt).cancel()
            ask()

        job.beating.check = cancel_and_ask
        return cast("JobReport", run(job))

    return cancelled


SCRIPTS = {"ingest": "ingestion", "service": "compaction", "clean": "cleaning", "read": "reading"}


@dataclass
class Submitted:
    """One attempt at a job, ready for a driver."""

    base: str
    work: Work
    key: JobKey
    attempt: AttemptFolder

    @property
    def script(self) -> str:
        return SCRIPTS[self.work.KIND]

    @property
    def argv(self) -> list[str]:
        control = self.attempt.storage.uri.removeprefix("file://")
        return JobArguments(control, self.key.folder, self.attempt.number).to_argv()

    def settled(self) -> JobReport:
        """How it ended, by report and timeline; raises where the job failed."""
        report = self.attempt.load_report()
        assert report is not None
        evidence = load_evidence(open_storage(self.base), self.work, str(self.key), (report,))
        return settle(report, self.work, evidence)


@dataclass
class Bench:
    """One table under test, and the model of what must be in it."""

    engine: EngineProcess
    folder: Path
    definition: NewTable
    options: Mapping[str, str] = field(default_factory=lambda: dict(SMALL))
    model: dict[str, Row] = field(default_factory=dict)
    jobs: int = 0
    cancel_before_commit: bool = False
    lock: LockSettings = field(default_factory=LockSettings)
    takeover: TakeoverPolicy = field(default_factory=TakeoverPolicy)

    @property
    def base(self) -> str:
        return str(self.folder / "lake" / "orders")

    @property
    def table(self) -> Table:
        return open_table(self.base)

    def run(self, work: Work, *, task: str | None = None) -> JobReport:
        """One attempt at a job; a new job unless the task is named."""
        submitted = self.submit(work, task=task)
        self.engine.call(
            "tests.spark.bench:run_job",
            script=submitted.script,
            argv=submitted.argv,
            cancel_before_commit=self.cancel_before_commit,
        )
        return submitted.settled()

    def submit(self, work: Work, *, task: str | None = None) -> Submitted:
        """What an operator writes before it starts a driver."""
        self.jobs += 1
        key = JobKey("tests", "run", task or f"task{self.jobs}")
        job = job_folder(self.control, key)
        attempt = job.attempt(job.latest_number() + 1)
        attempt.submit(self._spec(key, attempt.number, work))
        return Submitted(self.base, work, key, attempt)

    @property
    def control(self) -> LocalStorage:
        return LocalStorage(self.folder / "control")

    def _spec(self, key: JobKey, attempt: int, work: Work) -> JobSpec:
        return JobSpec(
            key=key,
            attempt=attempt,
            table=self.base,
            release=self.engine.release,
            work=work,
            lock=self.lock,
            created_at=datetime.now(tz=timezone.utc),
            beat_seconds=600 if self.cancel_before_commit else 0.2,  # found by the last check
            takeover=self.takeover,
        )

    def ingest(
        self,
        operation: str,
        records: Sequence[Row],
        *,
        kind: SourceFormat = SourceFormat.JSON,
        task: str | None = None,
        **changes: Any,
    ) -> JobReport:
        """Write records from files of a format; the model is the caller's."""
        source = FileSource(*self.land(records, kind))
        create = None if Path(self.base, ".hoodie").exists() else self.definition
        work = IngestWork(
            Operation(operation), source, create=create, options=dict(self.options), **changes
        )
        return self.run(work, task=task)

    def land(
        self, records: Sequence[Row], kind: SourceFormat
    ) -> tuple[str, SourceFormat, dict[str, str]]:
        """Write the files of a source."""
        self.jobs += 1
        path = self.folder / "landing" / f"batch{self.jobs}.{kind.value}"
        path.parent.mkdir(parents=True, exist_ok=True)
        options = _WRITERS[kind](path, records)
        return str(path), kind, options

    def upsert(self, records: Sequence[Row], **changes: Any) -> JobReport:
        """Upsert, in table and model."""
        for record in records:
            self.model[record["id"]] = record
        return self.ingest("upsert", records, **changes)

    def check(self, columns: Sequence[str] = COLUMNS) -> None:
        """The table shows exactly the model, by content."""
        report = self.run(ReadWork(columns=tuple(columns)))
        expected = content_of(self.model.values())
        assert report.reading is not None
        assert (report.reading.rows, report.reading.checksum) == (expected.rows, expected.checksum)


def _write_json(path: Path, records: Sequence[Row]) -> dict[str, str]:
    path.write_text("\n".join(json.dumps(record) for record in records))
    return {}


def _write_csv(path: Path, records: Sequence[Row]) -> dict[str, str]:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(records)
    path.write_text(text.getvalue())
    return {"header": "true"}


def _write_parquet(path: Path, records: Sequence[Row]) -> dict[str, str]:
    import pyarrow as pa  # noqa: PLC0415 - heavy
    from pyarrow import parquet  # noqa: PLC0415

    parquet.write_table(pa.Table.from_pylist(list(records)), path)
    return {}


_WRITERS = {
    SourceFormat.JSON: _write_json,
    SourceFormat.CSV: _write_csv,
    SourceFormat.PARQUET: _write_parquet,
}
