# SPDX-License-Identifier: Apache-2.0
"""Spark played by a script: real processes and the real job contract, no JVM.

The operators find ``spark-submit`` in SPARK_HOME. Here that is a *stage*: a folder with a script
that receives the provider's real command line and runs ``stand_in_driver.py``, and where driver
and test leave word for each other.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.control import AttemptFolder, JobFolder
from airflow_hudi.core.jobs import JobKey
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.core.values import to_json
from airflow_hudi.hooks.processes import members
from tests.provider.stand_in_driver import Part
from tests.provider.tables import LocalTable

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, ForkServerProcess

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(__file__).with_name("stand_in_driver.py")
READ = "airflow_hudi.operators.reading.HudiReadOperator"
INGEST = "airflow_hudi.operators.ingestion.HudiIngestOperator"
COMPACT = "airflow_hudi.operators.compaction.HudiCompactionOperator"
LOG_COMPACT = "airflow_hudi.operators.compaction.HudiLogCompactionOperator"
CLUSTER = "airflow_hudi.operators.clustering.HudiClusteringOperator"
CLEAN = "airflow_hudi.operators.cleaning.HudiCleanOperator"
KEY = JobKey("shop", "manual__1", "the_task")

_LONG_ENOUGH = 90.0  # the first import of Airflow on a busy machine takes a while


def an_operator(path: str, **arguments: Any) -> Any:
    """An operator on the stage's table, by the name of its class."""
    module, _, name = path.rpartition(".")
    operator = getattr(importlib.import_module(module), name)
    said = {"task_id": KEY.task_id, "table": "orders", "poll_interval": 0.02, **arguments}
    return operator(**said)


def until(happened: Callable[[], Any], what: str = "") -> Any:
    """Wait for something that will happen; how long that takes decides nothing."""
    deadline = time.monotonic() + _LONG_ENOUGH
    while not (result := happened()):
        assert time.monotonic() < deadline, f"never happened: {what or happened}"
        time.sleep(0.005)
    return result


@dataclass(frozen=True)
class Stage:
    """Where a stand-in driver plays its part."""

    folder: Path

    def set_up(self) -> Stage:
        (self.folder / "home" / "bin").mkdir(parents=True)
        self.warehouse.mkdir()
        LocalTable(self.warehouse / "orders").create()
        landing = self.warehouse / "landing"
        landing.mkdir()
        (landing / "orders.json").write_text('{"id": 1}\n')
        # As with Spark the leader of the session is not the driver.
        command = f'"{sys.executable}" "{DRIVER}" "{self.notes}" "$@"'
        _script(self.folder / "home" / "bin" / "spark-submit", f"{command}; exit $?")
        java = self.folder / "java"
        (java / "bin").mkdir(parents=True)
        answer = f"echo 'java.home = {java}' >&2; echo 'java.specification.version = 17' >&2"
        _script(java / "bin" / "java", f"{self._wait_if_held}; {answer}")
        with zipfile.ZipFile(self.folder / "hudi.jar", "w") as jar:
            jar.writestr("a.class", b"")
        self.notes.mkdir()
        self.play(Part())
        return self

    @property
    def _wait_if_held(self) -> str:
        at, held = self.notes / "at_launch", self.notes / "launches_are_held"
        return f"while [ -e {held} ]; do touch {at}-$$; sleep 0.01; done"

    def hold_launches(self) -> None:
        """Tasks wait just before they claim an attempt: where Java is asked for its version."""
        (self.notes / "launches_are_held").touch()

    def release_launches(self) -> None:
        (self.notes / "launches_are_held").unlink()

    def held_launches(self) -> int:
        return len(list(self.notes.glob("at_launch-*")))

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def environ(self) -> dict[str, str]:
        """What the operators need to find all of it."""
        return {
            "AIRFLOW_CONN_HUDI_DEFAULT": json.dumps(
                {"conn_type": "hudi", "host": str(self.warehouse)}
            ),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "AIRFLOW_HUDI_BUNDLE_1_2_0": str(self.folder / "hudi.jar"),
            "SPARK_HOME": str(self.folder / "home"),
            "JAVA_HOME": str(self.folder / "java"),
            "PYTHONPATH": str(ROOT),  # for the driver: it imports this package and the tests
        }

    def play(self, part: Part) -> None:
        """What every driver that starts from now on does."""
        (self.notes / "part.json").write_text(json.dumps(to_json(part)))

    def open(self, gate: str = "go") -> None:
        (self.notes / gate).touch()

    def noted(self, what: str) -> list[dict[str, Any]]:
        """What the drivers wrote down, one entry per driver."""
        files = (self.notes / what).glob("*.json")
        return [json.loads(file.read_text()) for file in sorted(files)]

    def was_dead_when_next_began(self, driver: int) -> bool:
        """Whether no driver that started later saw this one alive."""
        return not [start for start in self.noted("started") if driver in start["others"]]

    def attempt(self, number: int = 1, key: JobKey = KEY) -> AttemptFolder:
        control = LocalStorage(self.warehouse / ".hudi_control")
        return JobFolder(control, key.folder).attempt(number)

    def living(self) -> list[int]:
        """The processes of all drivers that were started here."""
        # By both records: a driver takes a moment to say that it has started.
        launched = (self.warehouse / ".hudi_control").rglob("launched.json")
        sessions = {json.loads(file.read_text())["pid"] for file in launched}
        sessions |= {start["session"] for start in self.noted("started")}
        return [pid for session in sessions for pid in members(session)]

    def clear(self) -> None:
        """End what a test left running."""
        for pid in self.living():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@dataclass
class FakeTask:
    """The little of a task instance that an operator asks for."""

    key: JobKey = KEY
    task: Any = None
    pushed: dict[str, Any] = field(default_factory=dict)
    on_push: Callable[[str], None] | None = None

    @property
    def dag_id(self) -> str:
        return self.key.dag_id

    @property
    def run_id(self) -> str:
        return self.key.run_id

    @property
    def task_id(self) -> str:
        return self.key.task_id

    @property
    def map_index(self) -> int:
        return self.key.map_index

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))
        if self.on_push is not None:
            self.on_push(key)


@dataclass
class TaskProcess:
    """One try of a task in a process of its own, as Airflow runs it: it can be killed."""

    process: ForkServerProcess
    outcome: Path

    def end(self) -> dict[str, Any]:
        """What came of it."""
        self.process.join(_LONG_ENOUGH)
        assert self.process.exitcode == 0, self.process.exitcode
        return dict(json.loads(self.outcome.read_text()))

    def kill(self) -> None:
        """As the machine's memory watch does it: no handler runs."""
        self.process.kill()
        self.process.join(_LONG_ENOUGH)

    def signal(self) -> None:
        """As Airflow's supervisor does it."""
        assert self.process.pid is not None
        os.kill(self.process.pid, signal.SIGTERM)

    def log(self) -> str:
        """What it has logged so far."""
        file = self.outcome.with_suffix(".log")
        return file.read_text() if file.exists() else ""


def task_processes() -> ForkServerContext:
    """Airflow is imported once, and every try of a task is forked from there."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.provider.one_try"])
    return context
