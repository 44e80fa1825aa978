# SPDX-License-Identifier: Apache-2.0
"""Rollbacks that somebody planned or began and did not end, on real tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_hudi.core.instants import Action, InstantTime, State
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from tests.spark.bench import rows
from tests.spark.engines import Engines
from tests.spark.served import POLICIES, QUICK, Served, served

pytestmark = pytest.mark.spark

RELEASES = ("0.15.0", "1.2.0")


def plan_rollback(bench: Served, instant: str) -> str:
    return str(
        bench.engine.call(
            "tests.spark.interleaving:rollback_planned",
            base=bench.base,
            instant=instant,
            told=QUICK,
        )
    )


@pytest.mark.parametrize("release", RELEASES)
def test_one_that_was_cut_short_after_its_target_had_gone_is_ended(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = served(engines[release], tmp_path)
    bench.dies_before_its_commit(rows("a", ts=50, v="never seen"))
    (dead,) = bench.view().timeline.pending()
    bench.await_silence(dead)
    first = bench.run(CleanWork(options=bench.options))
    assert first.cleaning is not None
    (undone,) = first.cleaning.rolled_back
    cut_short(bench, undone.rollback)

    again = bench.run(CleanWork(options=bench.options))

    assert again.cleaning is not None
    assert [r.rollback for r in again.cleaning.rolled_back] == [undone.rollback]
    assert len(bench.view().timeline.pending()) == 0
    assert bench.leftovers() == []
    bench.check()


def cut_short(bench: Served, rollback: str) -> None:
    """As if its executor had died right before its last step."""
    timeline = bench.view().timeline
    done = timeline.find(InstantTime(rollback), Action.ROLLBACK)
    assert done is not None
    file = timeline.file_of(done, State.COMPLETED)
    assert file is not None
    Path(bench.base, file.path).unlink()
    assert len(bench.view().timeline.pending()) == 1


@pytest.mark.parametrize("release", RELEASES)
def test_a_compaction_whose_rollback_is_planned_is_executed_all_the_same(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = served(engines[release], tmp_path)
    instant = bench.plan(Service.COMPACTION)
    plan_rollback(bench, instant)
    kept = bench.run(CleanWork(options=bench.options))
    assert kept.outcome is Outcome.NOTHING_TO_DO
    assert bench.instant(instant) is not None

    executed = bench.run(bench.execution(Service.COMPACTION, instant))

    assert executed.outcome is Outcome.DONE
    assert len(bench.view().timeline.pending()) == 0
    assert bench.missing() == bench.leftovers() == []
    bench.check()


@pytest.mark.parametrize("release", RELEASES)
def test_a_clustering_whose_rollback_is_planned_is_planned_anew(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    """Hudi would execute it, and the rollback would then delete its plan."""
    bench = served(engines[release], tmp_path)
    instant = bench.plan(Service.CLUSTERING)
    plan_rollback(bench, instant)

    work = ServiceWork(POLICIES[Service.CLUSTERING], Mode.BOTH, options=bench.options)
    report = bench.run(work)

    assert report.outcome is Outcome.DONE
    assert report.instant != instant
    assert bench.instant(instant) is None
    assert len(bench.view().timeline.pending()) == 0
    assert bench.missing() == bench.leftovers() == []
    bench.check()
    bench.upsert(rows("ag", ts=60, v="later"))
    bench.check()
