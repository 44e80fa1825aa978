# SPDX-License-Identifier: Apache-2.0
"""Tables for the tests of table services, and what must be true of one after whatever happened."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_hudi.core.claims import Free, TakeoverPolicy, load_claims, standings
from airflow_hudi.core.commits import CommitMetadata, load_commit
from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.ingestion import NewTable
from airflow_hudi.core.instants import Action, Instant
from airflow_hudi.core.job_errors import JobFailed
from airflow_hudi.core.plans import CleanerPlan, load_plan
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.services.cleaning import load_needed_files
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import (
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    ServicePolicy,
)
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.services.works import ServiceWork
from tests.spark.bench import SMALL, Bench, Row, rows
from tests.spark.engines import EngineProcess

COW, MOR = TableType.COPY_ON_WRITE, TableType.MERGE_ON_READ
BEAT = timedelta(seconds=1)
MISSES = 2
QUICK = {
    **SMALL,
    "hoodie.client.heartbeat.interval_in_ms": str(int(BEAT.total_seconds() * 1000)),
    "hoodie.client.heartbeat.tolerable.misses": str(MISSES),
    "hoodie.time.generator.max_expected_clock_skew_ms": "1",
}
BEATS = HeartbeatPolicy(BEAT, MISSES)
SOON = TakeoverPolicy(silence=timedelta(seconds=1), grace=timedelta(seconds=1))
POLICIES: dict[Service, ServicePolicy] = {
    Service.COMPACTION: CompactionPolicy(),
    Service.LOG_COMPACTION: LogCompactionPolicy(log_blocks=2),
    Service.CLUSTERING: ClusteringPolicy(),
}
ALL = (("0.15.0"), ("1.0.2"), ("1.1.1"), ("1.2.0"))


@dataclass
class Served(Bench):
    """A table with enough in it for every service."""

    def fill(self, *, updates: int = 2) -> None:
        """Two partitions, and some updates on top of the first rows."""
        self.upsert([*rows("abcdef"), *rows("wxyz", region="us")])
        for number in range(2, updates + 2):
            v = f"v{number}"
            self.upsert([*rows("abc", ts=number, v=v), *rows("wx", region="us", ts=number, v=v)])

    def plan(self, service: Service) -> str:
        """Let our own job make a plan."""
        report = self.run(ServiceWork(POLICIES[service], Mode.SCHEDULE, options=self.options))
        assert report.instant is not None, report.summary
        return report.instant

    def execution(self, service: Service, instant: str | None = None) -> ServiceWork:
        return ServiceWork(POLICIES[service], Mode.EXECUTE, instant, options=self.options)

    def dies_before_its_commit(self, records: Sequence[Row]) -> None:
        """A write whose driver ended just when it was to commit: its instant is left pending."""
        self.cancel_before_commit = True
        with pytest.raises(JobFailed):
            self.ingest("upsert", records)
        self.cancel_before_commit = False

    def await_silence(self, instant: Instant) -> None:
        """Until the heartbeat on an instant has expired."""
        until = time.monotonic() + 20
        while self.view().live_beat(instant) is not None and time.monotonic() < until:
            time.sleep(0.1)

    def await_end_of_patience(self, instant: str) -> None:
        """Until the heartbeat on a claimed instant has expired, and the grace has passed."""
        there = self.instant(instant)
        assert there is not None
        self.await_silence(there)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            now = datetime.now(tz=timezone.utc)
            claims = standings(self.control, self.base, self.takeover, now=now)
            if isinstance(claims[there.requested_at], Free):
                return
            time.sleep(0.1)
        raise TimeoutError(instant)

    # --- looking -------------------------------------------------------------------------------

    def view(self) -> ServicesView:
        return load_view(self.table, BEATS)

    def instant(self, time: str) -> Instant | None:
        return next((i for i in self.view().timeline if i.requested_at == time), None)

    def missing(self) -> list[str]:
        """Files that a completed instant names and nobody cleaned: damage."""
        timeline = self.view().timeline
        commits = [load_commit(self.table, timeline, i) for i in timeline.completed().writes()]
        stats = [s for c in commits if isinstance(c, CommitMetadata) for s in c.stats]
        paths = {stat.path for stat in stats if stat.path}
        gone = {path for path in paths if not Path(self.base, path).exists()}
        return sorted(gone - self._cleaned())

    def _cleaned(self) -> set[str]:
        timeline = self.view().timeline
        cleans = timeline.completed().of(Action.CLEAN)
        plans = [load_plan(self.table, timeline, instant) for instant in cleans]
        files = [plan.files for plan in plans if isinstance(plan, CleanerPlan)]
        named = [(part, name) for each in files for part, names in each.items() for name in names]
        return {f"{part}/{name}" for part, name in named}

    def needed(self) -> list[str]:
        """The files that pending plans name."""
        needed = load_needed_files(self.table, self.view().timeline)
        return [f"{part}/{name}" for part, names in needed.items() for name in names]

    def leftovers(self) -> list[str]:
        """What could block somebody for ever: heartbeats, claims, the lock."""
        hoodie = Path(self.base, ".hoodie")
        # Not their checksums: Hudi 1.1's timer may write one more after it was stopped.
        beats = [p.name for p in (hoodie / ".heartbeat").glob("[0-9]*") if p.is_file()]
        locks = [p.name for p in hoodie.glob("lock*")]
        return [*beats, *load_claims(self.control, self.base), *locks]

    def age_lock(self) -> bool:
        """Let the filesystem lock of a dead process expire; whether there was one."""
        lock = Path(self.base, ".hoodie/lock")
        if not lock.exists():
            return False
        old = time.time() - 3600
        os.utime(lock, (old, old))
        return True


def served(
    engine: EngineProcess, folder: Path, kind: TableType = MOR, *, fill: bool = True
) -> Served:
    """A table of this release, ready to be served."""
    definition = NewTable(keys=("id",), type=kind, ordering=("ts",), partitions=("region",))
    bench = Served(engine, folder, definition, options=dict(QUICK), takeover=SOON)
    if fill:
        bench.fill()
    return bench
