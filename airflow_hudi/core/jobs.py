# SPDX-License-Identifier: Apache-2.0
"""The one contract between operator and driver: a spec goes in, a report comes out, both JSON.

Neither carries a secret: a spec names tables, columns and settings; what Spark needs to open them
it has where it runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TypeAlias
from urllib.parse import quote

from airflow_hudi import __version__
from airflow_hudi.core.claims import TakeoverPolicy
from airflow_hudi.core.errors import InvalidInput
from airflow_hudi.core.ingestion import IngestWork
from airflow_hudi.core.job_errors import VersionSkew
from airflow_hudi.core.locks import LockSettings
from airflow_hudi.core.reading import Reading, ReadWork
from airflow_hudi.core.services.rollback import Hold
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.values import from_json, parsed

Work: TypeAlias = IngestWork | ServiceWork | CleanWork | ReadWork
"""What a job does to its table."""

NOT_MAPPED = -1
PROGRESS = "» "
"""Lines of a driver's output that begin so are meant for people."""

_LONGEST_NAME = 150
_DIGEST = 12


@dataclass(frozen=True, slots=True)
class JobKey:
    """Which task's job this is. Not the try: a retry is the same job."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = NOT_MAPPED

    def __str__(self) -> str:
        mapped = "" if self.map_index == NOT_MAPPED else f"/{self.map_index}"
        return f"{self.dag_id}/{self.run_id}/{self.task_id}{mapped}"

    @property
    def folder(self) -> str:
        """Where the control folder keeps this job."""
        task = self.task_id if self.map_index == NOT_MAPPED else f"{self.task_id}#{self.map_index}"
        return "/".join(("jobs", *(_file_name(part) for part in (self.dag_id, self.run_id, task))))


def _file_name(part: str) -> str:
    """A name that every storage takes; long ones are cut and keep their difference."""
    name = quote(part, safe=" ")
    name = name if name.strip(".") else name.replace(".", "%2E")
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(part.encode()).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST_NAME - _DIGEST - 1]}-{digest}"


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One attempt at a job: everything the driver needs to know."""

    key: JobKey
    attempt: int
    table: str
    """The table's base path or URI."""
    release: str
    work: Work
    lock: LockSettings
    created_at: datetime
    beat_seconds: float = 5.0
    takeover: TakeoverPolicy = field(default_factory=TakeoverPolicy)
    cluster_manager: str = ""
    """Where to ask whether an application on another machine is gone; empty: nowhere."""
    package: str = __version__


class Outcome(str, Enum):
    """How a job ended."""

    DONE = "done"
    NOTHING_TO_DO = "nothing_to_do"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ReportedError:
    """The error of a failed job: its class, its sentence, and whether trying again may help."""

    kind: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What a commit did to rows, by Hudi's own count."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    written: int = 0

    def __str__(self) -> str:
        return f"{self.inserted} inserted, {self.updated} updated, {self.deleted} deleted"


@dataclass(frozen=True, slots=True)
class PlanSize:
    """How much a plan would rewrite."""

    file_groups: int
    partitions: int
    log_files: int

    def __str__(self) -> str:
        return (
            f"{self.file_groups} file groups in {self.partitions} partitions,"
            f" {self.log_files} log files"
        )


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A pending instant that was undone."""

    instant: str
    action: str
    rollback: str
    """The rollback's own instant."""
    files_deleted: int


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What a clean did, and what it left alone."""

    rolled_back: tuple[RolledBack, ...] = ()
    holds: tuple[Hold, ...] = ()
    """What is pending and was not rolled back, until when, and why."""
    files_deleted: int = 0
    retain_from: str | None = None
    """The earliest instant whose files stay."""
    spared: tuple[str, ...] = ()
    """Files that were due, and that a pending plan names."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """How one attempt ended; this is what a task returns."""

    outcome: Outcome
    summary: str
    table: str
    job: str
    attempt: int
    release: str
    instant: str | None = None
    """The instant it committed, executed or scheduled."""
    rows: RowCounts | None = None
    plan: PlanSize | None = None
    reading: Reading | None = None
    cleaning: Cleaning | None = None
    notes: tuple[str, ...] = ()
    error: ReportedError | None = None
    application_id: str | None = None
    tracking_url: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    package: str = __version__

    @property
    def is_retryable(self) -> bool:
        """Whether another attempt may end better."""
        return self.error is not None and self.error.retryable

    @property
    def exit_code(self) -> int:
        """0 done, 3 nothing to do, 4 not worth retrying, 1 failed."""
        if self.outcome is Outcome.FAILED:
            return EXIT_FAILED if self.is_retryable else EXIT_NOT_WORTH_RETRYING
        return EXIT_DONE if self.outcome is Outcome.DONE else EXIT_NOTHING_TO_DO


EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_NOTHING_TO_DO = 3
EXIT_NOT_WORTH_RETRYING = 4


@dataclass(frozen=True, slots=True)
class JobArguments:
    """What stands on the driver's command line: where its spec is, and nothing else."""

    control: str
    folder: str
    attempt: int

    def to_argv(self) -> list[str]:
        """The arguments of the job script."""
        return ["--control", self.control, "--job", self.folder, "--attempt", str(self.attempt)]

    @classmethod
    def from_argv(cls, argv: Sequence[str]) -> JobArguments:
        """The way back; wrong arguments are :class:`InvalidInput`."""
        names = ("--control", "--job", "--attempt")
        if len(argv) != 2 * len(names) or tuple(argv[::2]) != names:
            raise InvalidInput(f"expected {' … '.join(names)} …, got {' '.join(argv)!r}")
        if not (argv[5].isascii() and argv[5].isdigit() and int(argv[5])):
            raise InvalidInput(f"--attempt takes a number from 1 on, not {argv[5]!r}")
        return cls(argv[1], argv[3], int(argv[5]))


def decode_spec(data: bytes) -> JobSpec:
    """A spec from its bytes; one of another version line is :class:`VersionSkew`."""
    read = parsed(data)
    # Looked at alone and first: the rest of it may be unknown to this version.
    wrote = read.get("package") if isinstance(read, dict) else None
    if not isinstance(wrote, str):
        raise InvalidInput("this is no job spec: it does not say which version wrote it")
    if _line(wrote) != _line(__version__):
        raise VersionSkew(asked_by=wrote, here=__version__)
    return from_json(JobSpec, read)


def _line(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])
