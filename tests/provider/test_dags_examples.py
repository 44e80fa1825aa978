# SPDX-License-Identifier: Apache-2.0
"""Every example DAG loads, and its tasks do what they say."""

from __future__ import annotations

import importlib.util
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.provider.tables import FakeTaskInstance, connect
from tests.tables.fixtures import StoredTable

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "dags_examples").glob("*.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_makes_a_dag(path: Path) -> None:
    from airflow.sdk import DAG  # noqa: PLC0415 - slow, and only after the home is set

    made = load(path)
    built = [value() for name, value in vars(made).items() if name.startswith("hudi_")]
    assert built
    assert all(isinstance(dag, DAG) and dag.task_ids for dag in built)


def test_pending_plans_are_returned(tmp_path: Path) -> None:
    base = StoredTable("1.2.0", "mor_pending").unpack(tmp_path)
    task = load(ROOT / "dags_examples" / "pending_plans.py").pending_plans
    planned = task.function(str(base))
    kinds = {item["plan"]["kind"] for item in planned}
    assert {"compaction", "logcompaction", "clustering"} <= kinds


def test_what_the_sensor_found_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    StoredTable("1.2.0", "mor_done").unpack(tmp_path)
    connect(monkeypatch, tmp_path)
    example = load(ROOT / "dags_examples" / "commit_sensor.py")
    dag = example.hudi_commit_sensor()
    sensor = dag.get_task("new_commits")
    assert sensor.deferrable
    assert sensor.downstream_task_ids == {"what_arrived"}
    long_ago = datetime(2020, 1, 1, tzinfo=timezone.utc)
    context: Any = {
        "params": {"table": "mor_done"},
        "dag_run": SimpleNamespace(run_after=long_ago),
        "ti": FakeTaskInstance(),
    }
    sensor.render_template_fields(context)
    found = sensor.execute(context)
    assert found["commit_count"] == 7  # eleven instants, less the services and what is no write
    newest = example.what_arrived.function(found)
    printed = capsys.readouterr().out
    assert newest == found["newest"]
    assert f"{newest} deltacommit, visible at " in printed
