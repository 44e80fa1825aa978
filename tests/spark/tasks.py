# SPDX-License-Identifier: Apache-2.0
"""Operators executed in this process: the little of Airflow's task runner that they ask for.

To be imported before Airflow is, which reads its home when it is imported.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-hudi-tests-"))
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "True")

if TYPE_CHECKING:
    from airflow_hudi.operators.base import HudiJobOperator


@dataclass
class Instance:
    """A task instance, as far as our operators look at it."""

    task: Any
    run_id: str
    dag_id: str = "tests"
    map_index: int = -1
    pushed: dict[str, Any] = field(default_factory=dict)

    @property
    def task_id(self) -> str:
        return str(self.task.task_id)

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def execute(task: HudiJobOperator, *, run_id: str = "run") -> tuple[Any, Instance]:
    """What the task returns, and its instance with what was pushed."""
    instance = Instance(task, run_id)
    context: Any = {"ti": instance}
    return task.execute(context), instance
