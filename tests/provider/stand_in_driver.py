# SPDX-License-Identifier: Apache-2.0
"""A driver without Spark: what the stand-in for ``spark-submit`` runs (see ``stand_in.py``).

The real runner keeps the job contract; only Spark and the work itself are played. It acts as
``part.json`` on its stage says, and waits there for gates that the test opens, so that a test
decides what happens before what.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from airflow_hudi.core.ingestion import JOB_METADATA_KEY
from airflow_hudi.core.job_errors import JobFailed
from airflow_hudi.core.jobs import JobReport, JobSpec
from airflow_hudi.core.storage import Storage
from airflow_hudi.core.values import from_json
from airflow_hudi.spark import runner
from airflow_hudi.spark.beating import Beating

APPLICATION = "local-0001"
TRACKING_URL = "http://127.0.0.1:4040"
INSTANT = "20260101120000000"
COMPLETED = "20260101120001000"


@dataclass(frozen=True)
class Part:
    """What a driver is to play."""

    ends: str = "done"
    """done, nothing, fails, crashes"""
    waits: bool = False
    """At the gate ``go``, with its seat taken."""
    sits_late: bool = False
    """Waits at the gate ``sit`` before it takes its seat."""
    never_starts: bool = False
    is_deaf: bool = False
    """Ignores SIGTERM."""
    pulse: float = 0.05
    """Seconds between two beats."""
    lingers: bool = False
    """Waits at the gate ``leave`` when its report is written."""
    says: tuple[str, ...] = ()
    summary: str = "it is done"
    retryable: bool = False
    commits: str | None = None
    """The name of the timeline file to write before it ends."""
    instant: str | None = None


def main(stage: Path, argv: list[str]) -> None:
    part = from_json(Part, json.loads((stage / "part.json").read_text()))
    seen = {"files": open_files(), "others": others(stage)}
    note(stage, "started", argv=argv, environ=dict(os.environ), **seen)
    if part.never_starts:
        sys.stderr.write("no such master\n")
        sys.exit(1)
    if part.sits_late:
        wait_at(stage, "sit")
    quick = cast("Any", Beating.start)
    setattr(Beating, "start", lambda self, _: quick(self, part.pulse))  # noqa: B010 - mypy knows
    setattr(runner, "_begin", begin)  # noqa: B010
    setattr(runner, "_stop_spark", partial(linger, stage, part))  # noqa: B010
    runner.main(partial(act, stage, part), argv[-6:])


def begin(spec: JobSpec, beating: Beating, control: Storage) -> runner.Job:
    beating.application_id = APPLICATION
    beating.tracking_url = TRACKING_URL
    return runner.Job(spec, cast("Any", None), cast("Any", None), beating, control)


def act(stage: Path, part: Part, job: runner.Job) -> JobReport:
    note(stage, "worked", attempt=job.spec.attempt)
    for line in part.says:
        sys.stdout.write(f"{line}\n")
    job.say("reading the source")
    if part.is_deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if part.waits:
        wait_at(stage, "go")
    if part.commits is not None:
        commit(job.spec, part.commits)
    if part.ends == "crashes":
        sys.stdout.write("java.lang.OutOfMemoryError: Java heap space\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if part.ends == "fails":
        raise JobFailed(part.summary, kind="TestError", retryable=part.retryable)
    if part.ends == "nothing":
        return job.nothing_to_do(part.summary)
    return job.done(part.summary, instant=part.instant)


def commit(spec: JobSpec, name: str) -> None:
    """The completed file of a write, with the job's key as the real driver leaves it."""
    stats = {"eu": [{"fileId": "f", "numInserts": 3}]}
    said = {"partitionToWriteStats": stats, "extraMetadata": {JOB_METADATA_KEY: str(spec.key)}}
    timeline = Path(spec.table, ".hoodie", "timeline")
    (timeline / name).write_text(json.dumps(said))


def linger(stage: Path, part: Part) -> None:
    if part.lingers:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        wait_at(stage, "leave")


def wait_at(stage: Path, gate: str) -> None:
    note(stage, f"at_{gate}")
    while not (stage / gate).exists():
        time.sleep(0.005)


def note(stage: Path, what: str, **facts: object) -> None:
    """One file per process and fact, whole or not there."""
    file = stage / what / f"{os.getpid()}.json"
    file.parent.mkdir(exist_ok=True)
    whole = file.with_suffix(".tmp")
    whole.write_text(json.dumps({"pid": os.getpid(), "session": os.getsid(0), **facts}))
    whole.rename(file)


def others(stage: Path) -> list[int]:
    """The drivers on this stage that are alive now."""
    pids = [int(file.stem) for file in (stage / "started").glob("*.json")]
    return [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]


def open_files() -> list[str]:
    return [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.exists()]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
