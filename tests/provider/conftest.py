# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.provider.stand_in import Stage, TaskProcess, task_processes

# Airflow reads its home on import and writes a configuration file there; never into the user's own.
os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-hudi-tests-"))
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "True")


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A warehouse with one table, and a stand-in for Spark that this process finds."""
    stage = Stage(tmp_path / "stage").set_up()
    for name, value in stage.environ.items():
        monkeypatch.setenv(name, value)
    yield stage
    stage.clear()


@pytest.fixture
def start_task(stage: Stage) -> Iterator[Callable[..., TaskProcess]]:
    """Begin a try of a task in a process of its own."""
    from tests.provider import one_try  # noqa: PLC0415 - Airflow is slow to import

    tries: list[TaskProcess] = []

    def start(operator: str, **arguments: Any) -> TaskProcess:
        outcome = stage.folder / f"outcome-{len(tries)}.json"
        process = task_processes().Process(
            target=one_try.run, args=(operator, arguments, stage.environ, outcome)
        )
        process.start()
        tries.append(TaskProcess(process, outcome))
        return tries[-1]

    yield start
    for one in tries:
        one.kill()
        one.process.close()
