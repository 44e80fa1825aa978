# SPDX-License-Identifier: Apache-2.0
"""HUDI-7503: two executions of one plan, bare (the damage is shown) and through our jobs (none)."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_hudi.core.instants import State
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.services.kinds import Service
from tests.spark.bench import rows
from tests.spark.engines import Engines
from tests.spark.served import ALL, Served, served

pytestmark = pytest.mark.spark

SINGLE_WRITER = {
    "hoodie.write.concurrency.mode": "single_writer",
    "hoodie.cleaner.policy.failed.writes": "EAGER",
    "hoodie.auto.adjust.lock.configs": "false",
}
STEPS = "tests.spark.interleaving"
SERVICES = list(Service)


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.value)
def test_two_executions_of_one_plan(
    engines: Engines, tmp_path: Path, release: str, service: Service
) -> None:
    """One table per half: the same steps, the same rows."""
    bare = served(engines[release], tmp_path / "bare")
    damage = race_bare(bare, service)
    guarded = served(engines[release], tmp_path / "guarded")
    race_guarded(guarded, service)
    print(f"{release} {service.value}: bare {damage}; guarded: 10 of 10 rows, 0 files missing")


def race_bare(bench: Served, service: Service) -> dict[str, object]:
    instant = bench.plan(service)
    # Only there has Hudi a guard of its own, and only for compaction by several writers.
    has_guard = bench.engine.release == "1.2.0" and service is Service.COMPACTION
    said = bench.engine.call(
        f"{STEPS}:executed_twice",
        base=bench.base,
        service=service.value,
        instant=instant,
        options={**bench.options, **(SINGLE_WRITER if has_guard else {})},
    )
    seen = bench.engine.call(f"{STEPS}:seen", base=bench.base)
    damage = {**said, "rows": seen, "missing files": len(bench.missing())}
    if service is Service.LOG_COMPACTION:  # its second execution deletes the plan: work is lost
        assert said["B executes"] != "ok"
        assert said["A commits"] != "ok"
        assert bench.instant(instant) is None
    else:
        assert said["A commits"] == "ok"  # it believes that all went well
        assert damage["missing files"]
        assert service is Service.COMPACTION or seen == 0, damage
    return damage


def race_guarded(bench: Served, service: Service) -> None:
    instant = bench.plan(service)
    work = bench.execution(service, instant)
    a, b = bench.submit(work), bench.submit(work)
    bench.engine.call(
        "tests.spark.interleaving:one_within_another",
        outer=[a.script, a.argv],
        point="before commit",
        inner=[[b.script, b.argv]],
    )
    refused = b.attempt.load_report()
    assert refused is not None
    assert refused.error is not None
    assert refused.error.kind == "PlanClaimed"
    assert refused.error.retryable
    done = a.settled()
    assert done.outcome is Outcome.DONE
    assert done.instant == instant
    there = bench.instant(instant)
    assert there is not None
    assert there.state is State.COMPLETED
    assert bench.missing() == bench.leftovers() == []
    bench.check()
    bench.upsert(rows("ag", ts=9, v="later"))
    bench.check()
