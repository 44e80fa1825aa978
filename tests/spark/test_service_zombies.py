# SPDX-License-Identifier: Apache-2.0
"""An executor that is stopped for so long that it is taken for dead, and then wakes up."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.instants import State
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.works import ServiceWork
from tests.spark.bench import Submitted, rows
from tests.spark.engines import EngineProcess, Engines
from tests.spark.served import ALL, POLICIES, Served, served

pytestmark = pytest.mark.spark


@pytest.fixture
def second(request: pytest.FixtureRequest) -> Iterator[EngineProcess]:
    """A process of its own, to be stopped."""
    engine = EngineProcess(request.getfixturevalue("release"), cores="1")
    yield engine
    engine.kill()


@pytest.mark.parametrize("release", ALL)
def test_of_a_zombie_and_its_successor_exactly_one_commits(
    engines: Engines, second: EngineProcess, release: str, tmp_path: Path
) -> None:
    """A compaction is executed again under the same instant: this is where RFC-79 alone fails."""
    bench = served(engines[release], tmp_path)
    instant = bench.plan(Service.COMPACTION)
    zombie = bench.submit(bench.execution(Service.COMPACTION, instant))
    with stopped_before_its_commit(bench, second, zombie) as woken:
        successor = bench.run(bench.execution(Service.COMPACTION, instant))
        assert successor.outcome is Outcome.DONE
        assert bench.missing() == []
        woken()
    check_that_it_gave_up(zombie)

    done = bench.instant(instant)
    assert done is not None
    assert done.state is State.COMPLETED
    assert [f.instant.state for f in bench.view().timeline.files_of(done)].count(
        State.COMPLETED
    ) == 1
    check_that_all_is_well(bench)


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_a_zombies_clustering_is_rolled_back_and_planned_anew(
    engines: Engines, second: EngineProcess, release: str, tmp_path: Path
) -> None:
    bench = served(engines[release], tmp_path)
    instant = bench.plan(Service.CLUSTERING)
    zombie = bench.submit(bench.execution(Service.CLUSTERING, instant))
    with stopped_before_its_commit(bench, second, zombie) as woken:
        work = ServiceWork(POLICIES[Service.CLUSTERING], Mode.BOTH, options=bench.options)
        successor = bench.run(work)
        assert successor.outcome is Outcome.DONE
        assert successor.instant not in (None, instant)
        assert any("was left half-way and is rolled back" in note for note in successor.notes)
        assert bench.missing() == []
        woken()
    check_that_it_gave_up(zombie)

    assert bench.instant(instant) is None
    check_that_all_is_well(bench)


@contextmanager
def stopped_before_its_commit(
    bench: Served, engine: EngineProcess, job: Submitted
) -> Iterator[Any]:
    """A job that has written its files and is stopped, with its JVM, until it counts as dead."""
    entered, go = bench.folder / "entered", bench.folder / "go"
    running: Future[Any] = engine.begin(
        "tests.spark.interleaving:held",
        jobs=[[job.script, job.argv, "before commit"]],
        entered=str(entered),
        go=str(go),
    )
    engine.await_file(entered, running)
    engine.stop()
    assert isinstance(job.work, ServiceWork)
    assert job.work.instant is not None
    bench.await_end_of_patience(job.work.instant)

    def wake() -> None:
        go.touch()
        engine.proceed()
        running.result(120)

    yield wake


def check_that_it_gave_up(zombie: Submitted) -> None:
    report = zombie.attempt.load_report()
    assert report is not None
    assert report.outcome is Outcome.FAILED
    assert report.error is not None
    assert report.error.kind in ("ClaimLost", "JobSuperseded")
    assert report.error.retryable


def check_that_all_is_well(bench: Served) -> None:
    assert bench.missing() == bench.leftovers() == []
    assert len(bench.view().timeline.pending()) == 0
    bench.check()
    bench.upsert(rows("ag", ts=9, v="later"))
    bench.check()
