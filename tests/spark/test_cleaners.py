# SPDX-License-Identifier: Apache-2.0
"""Cleaners beside others, in processes of their own, with a lock that all of them can see."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_hudi.core.ingestion import FileSource, IngestWork, Operation, SourceFormat
from airflow_hudi.core.instants import Action
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.locks import LockKind, LockSettings, lock_key, lock_path
from airflow_hudi.core.locks.zookeeper import zookeeper_session
from airflow_hudi.core.plans import CleanerPlan, decode_plan
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.policies import CleanPolicy, RollbackPolicy
from airflow_hudi.core.services.works import CleanWork
from tests.spark.bench import rows
from tests.spark.engines import EngineProcess, Engines
from tests.spark.served import COW, QUICK, Served, served
from tests.zookeeper import ZooKeeperServer

pytestmark = pytest.mark.spark

SECONDS = 120.0
# As in #9674 and its like: a writer that does not know of the services beside it.
ALONE = {
    "hoodie.write.concurrency.mode": "single_writer",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.clean.automatic": "false",
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
    ),
    # Eager, it would roll the pending clustering back.
    "hoodie.cleaner.policy.failed.writes": "NEVER",
}
RELEASES = ("0.15.0", "1.2.0")


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def second(release: str) -> Iterator[EngineProcess]:
    engine = EngineProcess(release, cores="1")
    yield engine
    engine.kill()


@pytest.fixture
def bench(
    engines: Engines, release: str, zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> Served:
    bench = served(engines[release], tmp_path, fill=False)
    bench.lock = LockSettings(LockKind.ZOOKEEPER, zookeeper=zookeeper_server.settings())
    bench.fill()
    return bench


def test_a_cleaner_waits_for_the_writer_that_is_committing(
    bench: Served, second: EngineProcess
) -> None:
    assert bench.lock.zookeeper is not None
    records = rows("a", ts=50, v="being committed")
    source = FileSource(*bench.land(records, SourceFormat.JSON))
    writer = bench.submit(IngestWork(Operation.UPSERT, source, options=bench.options))
    entered, go = bench.folder / "entered", bench.folder / "go"
    writing = second.begin(
        "tests.spark.interleaving:held",
        jobs=[[writer.script, writer.argv, "in write"]],
        entered=str(entered),
        go=str(go),
    )
    second.await_file(entered, writing)
    cleaner = bench.submit(CleanWork(rollback=RollbackPolicy(timedelta()), options=bench.options))
    with zookeeper_session(bench.lock.zookeeper) as session:
        waits = threading.Event()
        path = lock_path(bench.lock.zookeeper, lock_key(bench.base))

        def look(contenders: list[str]) -> None:
            if len(contenders) > 1:
                waits.set()

        session.ChildrenWatch(path, look)
        cleaning = bench.engine.begin(
            "tests.spark.interleaving:one", job=[cleaner.script, cleaner.argv]
        )
        assert waits.wait(SECONDS), bench.engine.log_tail()
    assert not cleaning.done()
    go.touch()
    writing.result(SECONDS)
    cleaning.result(SECONDS)

    bench.model["a"] = records[0]
    assert writer.settled().outcome is Outcome.DONE
    report = cleaner.settled()
    assert report.cleaning is None or report.cleaning.rolled_back == ()
    bench.check()


def test_of_two_cleaners_one_carries_each_rollback_out(
    bench: Served, second: EngineProcess
) -> None:
    for number in (50, 51):
        bench.dies_before_its_commit(rows("a", ts=number, v="never seen"))
    dead = bench.view().timeline.pending()
    for instant in dead:
        bench.await_silence(instant)
    work = CleanWork(rollback=RollbackPolicy(timedelta()), options=bench.options)
    first, other = bench.submit(work), bench.submit(work)
    running = [
        engine.begin("tests.spark.interleaving:one", job=[job.script, job.argv])
        for engine, job in ((bench.engine, first), (second, other))
    ]
    for one in running:
        one.result(SECONDS)

    reports = [first.settled(), other.settled()]
    undone = [u.instant for r in reports if r.cleaning for u in r.cleaning.rolled_back]
    assert sorted(undone) == [instant.requested_at for instant in dead]
    assert len(bench.view().timeline.pending()) == 0
    assert bench.leftovers() == []
    bench.check()


def test_a_file_that_a_pending_plan_names_is_spared(bench: Served) -> None:
    """Hudi itself would delete it: its cleaner looks after compactions only."""
    cow = served(bench.engine, bench.folder / "cow", COW)
    instant = cow.plan(Service.CLUSTERING)
    row = rows("a", ts=70, v="after the plan")[0]
    cow.engine.call(
        "tests.spark.interleaving:written_alone", base=cow.base, row=row, told=ALONE | QUICK
    )
    cow.model["a"] = row
    policy = CleanPolicy(keep_versions=1)

    bare = cow.engine.call(
        "tests.spark.interleaving:previewed_clean",
        base=cow.base,
        options={**QUICK, **policy.options()},
    )
    plan = decode_plan(Action.CLEAN, bare.encode())
    assert isinstance(plan, CleanerPlan)
    report = cow.run(CleanWork(policy, options=cow.options))

    assert report.cleaning is not None
    assert report.cleaning.spared
    planned = {f"{part}/{name}" for part, names in plan.files.items() for name in names}
    assert set(report.cleaning.spared) <= planned
    assert all(Path(cow.base, path).exists() for path in report.cleaning.spared)
    assert report.cleaning.files_deleted == len(planned) - len(report.cleaning.spared)
    assert cow.instant(instant) is not None
    cow.check()
