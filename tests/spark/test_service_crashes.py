# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of a guarded execution and of a clean; then the same work again.

One process is killed while it is in the middle of many jobs, each on a table of its own and held at
another step: one inside the other, so that all of them are where they were when it died.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_hudi.core.instants import State
from airflow_hudi.core.jobs import Outcome, Work
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import CleanPolicy, RollbackPolicy
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from tests.spark.bench import rows
from tests.spark.engines import EngineProcess, Engines
from tests.spark.served import POLICIES, Served, served

pytestmark = pytest.mark.spark

EXECUTION = (
    "before start_heartbeat",  # claimed, and the lock is held
    "before execute",
    "before commit",  # all files are written
    "in commit",  # checked, and the lock is held
    "after commit",
)
CLEANING = (
    "after schedule_rollback",  # the lock is held
    "before execute_rollback",
    "after execute_rollback",
    "after schedule_clean",  # the lock is held
    "before clean",
    "after clean",
)


@dataclass
class Case:
    """One table, the work on it, and the step at which that dies."""

    point: str
    bench: Served
    work: Work
    instant: str | None = None


def executions(service: Service) -> Callable[[EngineProcess, Path], list[Case]]:
    def make(engine: EngineProcess, folder: Path) -> list[Case]:
        cases: list[Case] = []
        for point in EXECUTION:
            # Hudi 1.2 beats for a compaction itself.
            if point == "before start_heartbeat" and engine.release == "1.2.0":
                point = "before execute"  # noqa: PLW2901
            bench = served(engine, folder / f"{service.value}{len(cases)}")
            instant = bench.plan(service)
            work = ServiceWork(POLICIES[service], Mode.BOTH, options=bench.options)
            cases.append(Case(point, bench, work, instant))
        return cases

    return make


def cleanings(engine: EngineProcess, folder: Path) -> list[Case]:
    cases: list[Case] = []
    for point in CLEANING:
        bench = served(engine, folder / f"clean{len(cases)}")
        bench.run(ServiceWork(POLICIES[Service.COMPACTION], Mode.BOTH, options=bench.options))
        bench.dies_before_its_commit(rows("a", ts=50, v="never seen"))
        (dead,) = bench.view().timeline.pending()
        bench.await_silence(dead)
        work = CleanWork(
            CleanPolicy(keep_versions=1), RollbackPolicy(timedelta()), options=bench.options
        )
        cases.append(Case(point, bench, work, dead.requested_at))
    return cases


def killed_in_the_middle_of(cases: list[Case], folder: Path) -> None:
    """Start them all, one inside the other, and kill the process that runs them."""
    victim = EngineProcess(cases[0].bench.engine.release, cores="1")
    submitted = [case.bench.submit(case.work) for case in cases]
    entered = folder / "entered"
    running = victim.begin(
        "tests.spark.interleaving:held",
        jobs=[
            [job.script, job.argv, case.point] for job, case in zip(submitted, cases, strict=True)
        ],
        entered=str(entered),
        go=str(folder / "never"),
    )
    victim.await_file(entered, running)
    victim.kill()
    for job in submitted:
        assert job.attempt.load_report() is None


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
@pytest.mark.parametrize("service", [Service.COMPACTION, Service.CLUSTERING])
def test_an_execution_that_is_killed_at_any_step_is_made_good(
    engines: Engines, tmp_path: Path, release: str, service: Service
) -> None:
    cases = executions(service)(engines[release], tmp_path)
    killed_in_the_middle_of(cases, tmp_path)
    for case in cases:
        bench = case.bench
        was_locked = bench.age_lock()
        assert was_locked is (case.point in ("before start_heartbeat", "in commit")), case.point

        again = bench.run(case.work)

        expected = Outcome.NOTHING_TO_DO if case.point == "after commit" else Outcome.DONE
        assert again.outcome is expected, (case.point, again.summary)
        check(case)


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_a_clean_that_is_killed_at_any_step_is_made_good(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    cases = cleanings(engines[release], tmp_path)
    killed_in_the_middle_of(cases, tmp_path)
    for case in cases:
        case.bench.age_lock()
        again = case.bench.run(case.work)
        assert again.outcome is not Outcome.FAILED
        assert case.bench.instant(case.instant or "") is None, case.point
        check(case)


def check(case: Case) -> None:
    bench = case.bench
    assert bench.missing() == [], case.point
    assert len(bench.view().timeline.pending()) == 0, case.point
    bench.check()
    bench.upsert(rows("ag", ts=99, v="later"))
    bench.check()
    last = bench.run(CleanWork(options=bench.options, policy=CleanPolicy(keep_versions=1)))
    assert last.outcome is not Outcome.FAILED
    assert bench.leftovers() == [], case.point
    completed = bench.view().timeline.completed()
    assert all(instant.state is State.COMPLETED for instant in completed)
