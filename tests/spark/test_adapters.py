# SPDX-License-Identifier: Apache-2.0
"""Our adapters on the real engine, all releases: timelines read by our core, rows by a model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_gateway import JavaPackage

from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.spark.engine.adapters import engine_of
from tests.spark import adapter_steps
from tests.spark.adapted import COW, MOR
from tests.spark.engines import Engines

pytestmark = pytest.mark.spark


class Bench:
    """One release's engine, and a place for a table."""

    def __init__(self, engines: Engines, release: str, folder: Path) -> None:
        self.release = release
        self.is_0_x = release.startswith("0.")
        self._engine = engines[release]
        self._base = str(folder / "orders")

    def see(self, steps: str, **arguments: Any) -> dict[str, Any]:
        """What was seen by one of the functions of `adapter_steps`, on a table of its own."""
        name = f"{adapter_steps.__name__}:{steps}"
        seen: dict[str, Any] = self._engine.call(name, base=self._base, **arguments)
        return seen


@pytest.fixture(params=RELEASE_NAMES)
def bench(engines: Engines, request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(engines, request.param, tmp_path)


def test_only_the_release_that_is_there_is_driven(bench: Bench) -> None:
    assert bench.see("refuse_releases") == {
        "here": bench.release,
        "no table": True,
        "unknown": "UnknownRelease",
        "other": "EnvironmentProblem",
    }


def test_a_session_without_hudi_is_a_problem_of_the_environment() -> None:
    hudi = SimpleNamespace(DataSourceUtils=JavaPackage("org.apache.hudi.DataSourceUtils", None))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hudi=hudi)))
    context = SimpleNamespace(_gateway=SimpleNamespace(jvm=jvm))
    session: Any = SimpleNamespace(sparkContext=context)

    with pytest.raises(EnvironmentProblem, match="no Hudi"):
        engine_of(session, "1.2.0")


def test_a_lock_excludes_and_a_heartbeat_shows(bench: Bench) -> None:
    seen = bench.see("lock_and_beat")

    assert seen.pop("waited") < 10
    assert seen == {
        "while held": "LockNotAcquired",
        "still held": True,
        "freed": True,
        "after it": "none",
        "schedule while held": "LockNotAcquired",
        "beats": [True, True, False, [], True],
    }


def served(planned: str, committed: str) -> dict[str, Any]:
    return {
        "as previewed": True,
        "requested": f"{planned} requested",
        "executed": f"{planned} inflight",
        "files are there": True,
        "and no others": True,
        "rows while inflight": True,
        "refused": "Refused",
        "still inflight": f"{planned} inflight",
        "checked under the lock": [True],
        "committed": f"{committed} completed",
        "committed its files": True,
        "rows after it": True,
    }


def test_a_plan_is_executed_first_and_committed_later(bench: Bench) -> None:
    clustering = "replacecommit" if bench.is_0_x else "clustering"

    assert bench.see("serve_merge_on_read") == {
        "logcompaction": served("logcompaction", "deltacommit"),
        "compaction": served("compaction", "commit"),
        "clustering": served(clustering, "replacecommit"),
        "nothing to compact": None,
        "a later write": True,
    }


def test_clustering_of_base_files_has_two_steps_too(bench: Bench) -> None:
    clustering = "replacecommit" if bench.is_0_x else "clustering"

    assert bench.see("cluster_copy_on_write") == {
        **served(clustering, "replacecommit"),
        "a later write": True,
    }


@pytest.mark.parametrize("kind", [COW, MOR])
def test_every_kind_of_write_can_be_checked_before_its_commit(bench: Bench, kind: str) -> None:
    seen = bench.see("write_checked", kind=kind)

    assert seen.pop("not checkable") == "UnsupportedFeature"
    assert seen == {
        operation: {"saw": [[True, operation.upper()]], "recorded": "tests", "rows": True}
        for operation in seen
    }
    assert len(seen) == 7


def test_a_refused_write_is_removed_by_a_rollback_in_two_steps(bench: Bench) -> None:
    assert bench.see("refuse_and_roll_back") == {
        "error": "Refused",
        "state": "commit inflight",
        "left files": 1,
        "rows": True,
        "planned once": True,
        "planned": ["rollback requested", True],
        "deleted": 1,
        "again": "InstantNotPending",
        "done": ["rollback completed", "gone", []],
        "heartbeat files": [],
        "a later write": True,
    }


def test_clean_deletes_old_slices_only(bench: Bench) -> None:
    assert bench.see("clean") == {
        "too early": [None, {}],
        "as previewed": True,
        "planned": ["clean requested", True],
        "deleted": [1, "clean completed", False],
        "nothing left": None,
        "rows": True,
    }


STAGEABLE = ["upsert", "insert", "bulk_insert", "delete", "insert_overwrite"]
STAGED = {
    "while staged": [True, True, True],
    "state": True,
    "extra": "7",
    "is what was staged": True,
    "heartbeat files": [],
    "rows": True,
}


@pytest.mark.parametrize(
    ("kind", "operations", "metadata"),
    [
        pytest.param(MOR, STAGEABLE, "false", id="log files"),
        pytest.param(COW, ["upsert", "insert_overwrite"], "true", id="with a metadata table"),
    ],
)
def test_a_staged_write_is_unseen_until_it_is_committed(
    bench: Bench, kind: str, operations: list[str], metadata: str
) -> None:
    seen = bench.see("stage_and_commit", kind=kind, operations=operations, metadata=metadata)

    assert seen.pop("a later write")
    assert seen == dict.fromkeys(operations, STAGED)


def test_a_staged_write_is_committed_by_another_client(bench: Bench) -> None:
    seen = bench.see("commit_for_another")

    assert seen == {
        "left": [True, True],
        "refused": ["Refused", ["8"], "deltacommit inflight", True],
        "again": "InstantNotPending",
        "after": [True, "deltacommit completed", []],
        "a later write": True,
    }


def test_a_commit_that_found_the_lock_taken_can_be_tried_again(bench: Bench) -> None:
    assert bench.see("commit_when_free") == {
        "while held": ["LockNotAcquired", "commit inflight", True],
        "after it": ["commit completed", True],
    }


def test_a_staged_write_conflicts_with_what_was_committed_meanwhile(bench: Bench) -> None:
    assert bench.see("conflict_of_staged") == {
        "error": "WriteConflict",
        "state": "commit inflight",
        "again": "InstantNotPending",
        "left": [[], []],
        "rows": True,
    }
