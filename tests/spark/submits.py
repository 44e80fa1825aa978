# SPDX-License-Identifier: Apache-2.0
"""Job scripts under a real ``spark-submit``: what an operator leaves behind is written into a
control folder, a driver of its own is started, and how it ends is looked at from outside."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.control import AttemptFolder, job_folder
from airflow_hudi.core.jobs import JobArguments, JobKey, JobReport, JobSpec, Work
from airflow_hudi.core.locks import LockKind, LockSettings
from airflow_hudi.core.storage import LocalStorage
from airflow_hudi.hooks.processes import end_session, members
from airflow_hudi.spark.launch import Launch, driver_environment, plan_launch
from airflow_hudi.spark.session import QUICK_START
from tests.spark.bench import SCRIPTS
from tests.spark.engines import ROOT

RELEASE = "1.2.0"
SECONDS = 180.0


def package_folder(name: str) -> Path:
    """Where this environment has a package."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


SPARK_HOME = package_folder("pyspark")


def spark_environment(**more: str) -> dict[str, str]:
    """This process's variables and those with which a Spark on this machine starts quickly."""
    return {
        **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": QUICK_START,
        **more,
    }


@dataclass(frozen=True)
class BarePython:
    """A Python as on a driver without Airflow: the standard library and fastavro, no more.

    PySpark comes from ``spark-submit``; this package only from where a test puts it.
    """

    folder: Path

    def environment(self, *places: Path) -> dict[str, str]:
        """A driver's variables with this Python, which also finds what is in these places."""
        executable, packages = self.folder / "python", self.folder / "packages"
        if not executable.exists():
            packages.mkdir(parents=True)
            (packages / "fastavro").symlink_to(package_folder("fastavro"))
            executable.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # no site-packages
            executable.chmod(0o755)
        path = os.pathsep.join(str(place) for place in (*places, packages))
        return spark_environment(PYSPARK_PYTHON=str(executable), PYTHONPATH=path)


@dataclass
class Ended:
    """A driver that has ended."""

    code: int
    report: JobReport | None
    output: str


@dataclass
class Driver:
    """One running ``spark-submit``, the leader of a process session."""

    process: subprocess.Popen[bytes]
    files: AttemptFolder
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def ended(self, seconds: float = SECONDS) -> Ended:
        """Wait for its end; what is left of its processes then is a failure of the test's."""
        code = self.process.wait(seconds)
        return Ended(code, self.files.load_report(), self.output)

    def signal_python(self) -> None:
        """SIGTERM to the driver itself, not to the JVM that started it."""
        seat = self.files.load().seat
        assert seat is not None
        assert seat.pid is not None
        os.kill(seat.pid, signal.SIGTERM)


def until(happened: Callable[[], bool], driver: Driver) -> None:
    """Wait for what a living driver is about to do."""
    deadline = time.monotonic() + SECONDS
    while not happened():
        assert driver.process.poll() is None, driver.output
        assert time.monotonic() < deadline, driver.output
        time.sleep(0.05)


@dataclass
class Submits:
    """A control folder and the drivers that were started with it."""

    folder: Path
    table: str
    number: int = 0
    conf: Mapping[str, str] = field(
        default_factory=lambda: {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "1",
        }
    )

    def plan(self, work: Work) -> Launch:
        """How the operators would start it."""
        return plan_launch(
            SCRIPTS[work.KIND], work, HudiSettings(str(self.folder), RELEASE), self.conf
        )

    def attempt(self, work: Work, **changes: str) -> AttemptFolder:
        """The first attempt at a new job, with its spec in the control folder."""
        self.number += 1
        key = JobKey("tests", "run", f"task{self.number}")
        files = job_folder(LocalStorage(self.folder / "control"), key).attempt(1)
        spec = JobSpec(
            key=key,
            attempt=1,
            table=self.table,
            release=RELEASE,
            work=work,
            lock=LockSettings(LockKind.FILESYSTEM),
            created_at=datetime.now(tz=timezone.utc),
            beat_seconds=0.2,
        )
        files.submit(replace(spec, **changes))  # type: ignore[arg-type]
        return files

    @contextmanager
    def driver(
        self, files: AttemptFolder, launch: Launch, environ: Mapping[str, str] | None = None
    ) -> Iterator[Driver]:
        """A running driver; its processes are gone at the end of the block."""
        control, _, _ = files.path.rpartition("/")
        arguments = JobArguments(str(self.folder / "control"), control, files.number)
        work = self.folder / f"work{time.monotonic_ns()}"
        work.mkdir()
        with (work / "driver.log").open("wb") as log:
            process = subprocess.Popen(
                command(launch, arguments),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=driver_environment(environ or spark_environment(PYTHONPATH=str(ROOT))),
                cwd=work,
                start_new_session=True,
            )
        try:
            yield Driver(process, files, work / "driver.log")
        finally:
            left = list(members(process.pid))
            if left:
                end_session(process.pid, first=None, patience=0, last_wait=10)
            process.wait()

    def run(self, work: Work, environ: Mapping[str, str] | None = None) -> Ended:
        """One job from its spec to its end, from this checkout."""
        with self.driver(self.attempt(work), self.plan(work), environ) as driver:
            return driver.ended()


def command(launch: Launch, arguments: JobArguments) -> list[str]:
    """``spark-submit`` as a person would type it."""
    settings = [part for pair in launch.conf.items() for part in ("--conf", "=".join(pair))]
    return [
        str(SPARK_HOME / "bin" / "spark-submit"),
        *("--master", "local[1]", "--name", arguments.folder),
        *settings,
        *("--jars", launch.jars, "--driver-class-path", launch.driver_class_path),
        *(("--py-files", launch.py_files) if launch.py_files else ()),
        launch.script,
        *arguments.to_argv(),
    ]
