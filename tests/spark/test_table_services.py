# SPDX-License-Identifier: Apache-2.0
"""Compaction, log compaction, clustering and cleaning as jobs, on every release: rows against a
model, outcomes by the timeline, and nothing left behind."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_hudi.core.instants import State
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import CleanPolicy, CompactionPolicy, RollbackPolicy
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from tests.spark.bench import rows
from tests.spark.engines import Engines
from tests.spark.served import ALL, COW, MOR, POLICIES, QUICK, served

pytestmark = pytest.mark.spark

SERVED = [
    *((Service.COMPACTION, MOR), (Service.LOG_COMPACTION, MOR)),
    *((Service.CLUSTERING, MOR), (Service.CLUSTERING, COW)),
]


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize(
    ("service", "kind"), SERVED, ids=[f"{s.value}-{k.value[:5]}" for s, k in SERVED]
)
def test_a_plan_is_previewed_made_executed_and_then_there_is_nothing_to_do(
    engines: Engines, tmp_path: Path, release: str, service: Service, kind: TableType
) -> None:
    bench = served(engines[release], tmp_path, kind)
    policy, options = POLICIES[service], bench.options
    before = bench.view().timeline.instants

    dry = bench.run(ServiceWork(policy, Mode.BOTH, options=options, dry_run=True))
    assert bench.view().timeline.instants == before
    planned = bench.run(ServiceWork(policy, Mode.SCHEDULE, options=options))
    assert planned.instant is not None
    assert planned.plan == dry.plan
    assert planned.plan is not None
    assert planned.plan.file_groups
    executed = bench.run(bench.execution(service, planned.instant))
    again = bench.run(bench.execution(service, planned.instant))
    rest = bench.run(ServiceWork(policy, Mode.BOTH, options=options))

    assert planned.outcome is executed.outcome is Outcome.DONE
    assert executed.instant == planned.instant
    assert again.outcome is rest.outcome is Outcome.NOTHING_TO_DO
    assert f"{service.noun} {planned.instant} was completed at" in again.summary
    assert "since the last" in rest.summary
    done = bench.instant(planned.instant)
    assert done is not None
    assert done.state is State.COMPLETED
    assert bench.view().service_of(done) is service
    assert bench.missing() == bench.leftovers() == []
    bench.check()
    bench.upsert(rows("ag", ts=9, v="later"))
    bench.check()


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("kind", [MOR, COW])
def test_a_clean_rolls_back_the_dead_and_deletes_what_nobody_needs(
    engines: Engines, tmp_path: Path, release: str, kind: TableType
) -> None:
    bench = served(engines[release], tmp_path, kind)
    policy = CleanPolicy(keep_versions=1)
    if kind is MOR:
        bench.run(ServiceWork(CompactionPolicy(), Mode.BOTH, options=bench.options))
    bench.dies_before_its_commit(rows("a", ts=50, v="never seen"))
    (dead,) = bench.view().timeline.pending()
    bench.await_silence(dead)

    dry = bench.run(CleanWork(policy, options=bench.options, dry_run=True))
    done = bench.run(CleanWork(policy, options=bench.options))
    again = bench.run(CleanWork(policy, options=bench.options))

    assert "would roll back 1 instants" in dry.summary
    assert done.cleaning is not None
    (undone,) = done.cleaning.rolled_back
    assert undone.instant == dead.requested_at
    assert undone.files_deleted or release == "0.15.0"  # there, log files get a command block
    assert done.cleaning.files_deleted > 0
    assert done.cleaning.holds == ()
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert len(bench.view().timeline.pending()) == 0
    assert bench.leftovers() == []
    bench.check()
    bench.upsert(rows("ag", ts=60, v="later"))
    bench.check()


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("service", [Service.LOG_COMPACTION, Service.CLUSTERING])
def test_a_plan_that_can_be_removed_survives_a_clean_until_its_delay_has_passed(
    engines: Engines, tmp_path: Path, release: str, service: Service
) -> None:
    bench = served(engines[release], tmp_path)
    instant = bench.plan(service)

    held = bench.run(CleanWork(options=bench.options))
    assert held.cleaning is not None
    (hold,) = held.cleaning.holds
    assert (hold.instant, hold.action) == (instant, service.noun)
    assert "younger than the rollback delay of 60 min" in hold.because
    assert bench.instant(instant) is not None

    removed = bench.run(CleanWork(rollback=RollbackPolicy(timedelta()), options=bench.options))
    assert removed.cleaning is not None
    assert [undone.instant for undone in removed.cleaning.rolled_back] == [instant]
    assert bench.instant(instant) is None
    bench.check()
    new = bench.run(ServiceWork(POLICIES[service], Mode.BOTH, options=bench.options))
    assert new.outcome is Outcome.DONE
    assert bench.leftovers() == []
    bench.check()


@pytest.mark.parametrize("release", ALL)
def test_a_compaction_plan_is_never_rolled_back(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = served(engines[release], tmp_path)
    instant = bench.plan(Service.COMPACTION)
    bench.upsert(rows("ab", ts=9, v="after the plan"))

    named = {path for path in bench.needed() if Path(bench.base, path).exists()}
    assert named == set(bench.needed())

    report = bench.run(
        CleanWork(CleanPolicy(keep_versions=1), RollbackPolicy(timedelta()), options=bench.options)
    )

    assert report.cleaning is not None
    (hold,) = report.cleaning.holds
    assert hold.because == "its plan stays until it is executed"
    assert all(Path(bench.base, path).exists() for path in named)
    executed = bench.run(bench.execution(Service.COMPACTION, instant))
    assert executed.outcome is Outcome.DONE
    bench.check()


@pytest.mark.parametrize("release", ALL)
def test_a_whole_life_with_hudis_own_settings(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    """A metadata table, a timeline server, and all else that the other tests do without."""
    beats = {key: value for key, value in QUICK.items() if "heartbeat" in key}
    bench = served(engines[release], tmp_path, fill=False)
    bench.options = beats
    bench.fill()
    in_order = (Service.LOG_COMPACTION, Service.COMPACTION, Service.CLUSTERING)
    for ts, service in enumerate(in_order, start=10):
        done = bench.run(ServiceWork(POLICIES[service], Mode.BOTH, options=beats))
        assert done.outcome is Outcome.DONE, (service, done.summary)
        bench.check()
        v = service.value
        bench.upsert(
            [
                *rows("ab", ts=ts, v=v),
                *rows("w", region="us", ts=ts, v=v),
            ]
        )
    bench.dies_before_its_commit(rows("a", ts=50, v="never seen"))
    (dead,) = bench.view().timeline.pending()
    bench.await_silence(dead)

    cleaned = bench.run(CleanWork(CleanPolicy(keep_versions=1), options=beats))

    assert cleaned.cleaning is not None
    assert len(cleaned.cleaning.rolled_back) == 1
    assert cleaned.cleaning.files_deleted > 0
    assert len(bench.view().timeline.pending()) == 0
    assert bench.missing() == bench.leftovers() == []
    bench.check()
    bench.upsert(rows("ag", ts=60, v="later"))
    bench.check()


@pytest.mark.parametrize("release", ALL)
def test_what_hudis_own_clean_does_to_a_plan_that_waits(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    """Beside ours: released Hudi spares plans that nobody has begun, and has no delay for those
    that somebody has."""
    bench = served(engines[release], tmp_path)
    instant = bench.plan(Service.LOG_COMPACTION)
    bench.engine.call(
        "tests.spark.interleaving:cleaned_bare", base=bench.base, told=dict(bench.options)
    )
    there = bench.instant(instant)
    print(release, "bare clean:", there)
    assert there is not None
