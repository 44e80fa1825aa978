# SPDX-License-Identifier: Apache-2.0
"""The task group of all services: which tasks it has, in which order, and what each one is told."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.services.policies import (
    CleanPolicy,
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
)
from tests.provider.stand_in import Stage
from tests.provider.stand_in_driver import Part

POLICIES: dict[str, Any] = {
    "log_compaction": LogCompactionPolicy(log_blocks=2),
    "compaction": CompactionPolicy(after_delta_commits=3),
    "clustering": ClusteringPolicy(sort_columns=("day",)),
    "clean": CleanPolicy(keep_commits=4),
}
IN_ORDER = ["log_compaction", "compaction", "clustering", "clean"]


def a_dag(**arguments: Any) -> Any:
    """A DAG that has the group and nothing else."""
    from airflow.sdk import DAG  # noqa: PLC0415 - slow

    from airflow_hudi.operators.table_services import hudi_table_services  # noqa: PLC0415 - slow

    with DAG("d", schedule=None) as dag:
        hudi_table_services(**{"table": "orders", **arguments})
    return dag


def in_order(dag: Any) -> list[str]:
    """The tasks as a chain, without the group's name; fails if they are none."""
    (first,) = dag.roots
    chain = [first]
    while chain[-1].downstream_list:
        (next_task,) = chain[-1].downstream_list
        chain.append(next_task)
    assert {task.task_id for task in chain} == set(dag.task_ids)
    return [task.task_id.rpartition(".")[2] for task in chain]


def test_all_services_run_one_after_another_and_the_clean_comes_last() -> None:
    assert in_order(a_dag(**POLICIES)) == IN_ORDER


@pytest.mark.parametrize("given", [(), *((name,) for name in IN_ORDER[:3]), tuple(IN_ORDER[1:3])])
def test_only_services_with_a_policy_run_and_the_clean_always_does(given: tuple[str, ...]) -> None:
    dag = a_dag(**{name: POLICIES[name] for name in given})
    assert in_order(dag) == [*given, "clean"]


def test_each_task_has_its_policy_and_the_clean_the_delay() -> None:
    dag = a_dag(**POLICIES, rollback_delay=timedelta(minutes=5))
    for name, policy in POLICIES.items():
        work = dag.get_task(f"table_services.{name}").work()
        assert work.policy == policy
    assert dag.get_task("table_services.clean").work().rollback.delay == timedelta(minutes=5)
    assert a_dag().get_task("table_services.clean").work().policy == CleanPolicy()


def test_pool_limits_and_settings_are_handed_to_every_task() -> None:
    given = {
        "pool": "spark",
        "max_active_tis_per_dag": 1,
        "retries": 3,
        "deferrable": True,
        "hudi_conn_id": "other",
        "options": {"some.key": "7"},
        "dry_run": True,
    }
    dag = a_dag(**POLICIES, **given)
    for task in dag.tasks:
        assert task.table == "orders"
        assert {name: getattr(task, name) for name in given if name != "dry_run"} == {
            name: value for name, value in given.items() if name != "dry_run"
        }
        assert task.work().dry_run


def test_a_word_that_no_task_knows_is_refused_when_the_dag_is_read() -> None:
    with pytest.raises(TypeError, match="nonsense"):
        a_dag(nonsense=1)


def test_the_groups_name_is_free_and_can_be_there_twice() -> None:
    from airflow.sdk import DAG, TaskGroup  # noqa: PLC0415 - slow

    from airflow_hudi.operators.table_services import hudi_table_services  # noqa: PLC0415 - slow

    with DAG("d", schedule=None) as dag:
        first = hudi_table_services("orders", table="orders")
        with TaskGroup("nightly"):
            second = hudi_table_services("clicks", table="clicks")
        first >> second
    assert dag.task_ids == ["orders.clean", "nightly.clicks.clean"]
    assert dag.get_task("orders.clean").downstream_task_ids == {"nightly.clicks.clean"}


def test_a_group_stands_between_what_is_before_and_behind_it() -> None:
    from airflow.sdk import DAG, BaseOperator  # noqa: PLC0415 - slow

    from airflow_hudi.operators.table_services import hudi_table_services  # noqa: PLC0415 - slow

    with DAG("d", schedule=None) as dag:
        services = hudi_table_services(table="orders", **POLICIES)
        BaseOperator(task_id="before") >> services >> BaseOperator(task_id="behind")
    assert dag.get_task("before").downstream_task_ids == {"table_services.log_compaction"}
    assert dag.get_task("behind").upstream_task_ids == {"table_services.clean"}


def test_the_group_survives_the_database() -> None:
    from airflow.serialization import serialized_objects  # noqa: PLC0415 - slow

    # Airflow 3.1 has one class for both the stored DAG and the way there.
    names = vars(serialized_objects)
    serialization: Any = names.get("DagSerialization") or names["SerializedDAG"]
    dag = a_dag(**POLICIES, rollback_delay=timedelta(minutes=5), pool="spark")
    stored = serialization.to_dict(dag)
    again = serialization.from_dict(stored)
    assert set(again.task_group_dict) == {"table_services"}
    assert in_order(again) == IN_ORDER
    rules = [again.get_task(f"table_services.{name}").trigger_rule for name in IN_ORDER]
    assert [str(rule) for rule in rules] == ["none_failed"] * 4
    assert {task.pool for task in again.tasks} == {"spark"}
    assert serialization.to_dict(dag) == stored


# --- run by Airflow itself ------------------------------------------------------------------------

_DAG = """
from airflow.sdk import DAG
from airflow_hudi import ClusteringPolicy, CompactionPolicy, hudi_table_services

with DAG("d", schedule=None) as dag:
    for table in ("orders", "clicks"):
        hudi_table_services(
            table,
            table=table,
            compaction=CompactionPolicy(),
            clustering=ClusteringPolicy(),
            poll_interval=0.02,
        )
"""

_RUN = """
import importlib.util, json, sys
from airflow.utils.db import initdb

initdb()
spec = importlib.util.spec_from_file_location("services", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
run = module.dag.test()
with open(sys.argv[2], "w") as file:
    json.dump({ti.task_id: ti.state for ti in run.get_task_instances()}, file)
"""


@pytest.mark.skipif(
    importlib.metadata.version("apache-airflow-core").startswith("3.2."),
    reason="dag.test() of Airflow 3.2 runs no task with the pydantic that it brings here",
)
def test_a_service_with_nothing_to_do_skips_only_itself_and_a_failed_one_stops_the_rest(
    stage: Stage, tmp_path: Path
) -> None:
    """On ``orders`` nothing is due; ``clicks`` is not there, so its first service fails."""
    stage.play(Part(ends="nothing"))
    example = tmp_path / "dags" / "services.py"
    example.parent.mkdir()
    example.write_text(_DAG)
    environ = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(example.parent),
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
    }
    command = [sys.executable, "-c", _RUN, str(example), str(tmp_path / "said")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"

    assert json.loads((tmp_path / "said").read_text()) == {
        "orders.compaction": "skipped",
        "orders.clustering": "skipped",
        "orders.clean": "skipped",
        "clicks.compaction": "failed",
        "clicks.clustering": "upstream_failed",
        "clicks.clean": "upstream_failed",
    }
    assert len(stage.noted("worked")) == 1  # a clean is for its driver to judge
