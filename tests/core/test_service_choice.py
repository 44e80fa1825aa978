# SPDX-License-Identifier: Apache-2.0
"""Plans that are not executed twice, and plans that somebody has claimed: what a job does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from airflow_hudi.core.claims import Claim, Executor, Free, Held, PlanClaimed, Standing
from airflow_hudi.core.heartbeat import Heartbeat, Signs
from airflow_hudi.core.hosts import Process
from airflow_hudi.core.instants import UTC, Instant, InstantTime
from airflow_hudi.core.services.choice import (
    Choice,
    Execute,
    MakePlan,
    NothingToDo,
    PlanBegun,
    PlanInUse,
    Replan,
    choose,
)
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import (
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    RollbackPolicy,
    ServicePolicy,
)
from airflow_hudi.core.services.view import PendingRollback, ServicesView
from airflow_hudi.core.services.works import ServiceWork
from tests.builders import EPOCH, an_instant, at
from tests.core.test_compaction_choice import timeline_of

PLAN = at(0)
NOW = EPOCH + timedelta(minutes=30)
DELAY = RollbackPolicy(timedelta(minutes=60))
OVERDUE = RollbackPolicy(timedelta(minutes=30))
STAYS = RollbackPolicy(timedelta(), clustering_is_removable=False)
OWNER = Claim(Executor("daily/run/cluster", "jobs/x", 1, "host boot ns", (Process(7),)))
HELD = Held(OWNER, NOW + timedelta(minutes=7))
DEAD = Free("it is gone")
POLICIES: dict[Service, ServicePolicy] = {
    Service.COMPACTION: CompactionPolicy(),
    Service.LOG_COMPACTION: LogCompactionPolicy(),
    Service.CLUSTERING: ClusteringPolicy(),
}


@dataclass(frozen=True)
class Row:
    because: str
    state: str
    policy: RollbackPolicy
    claim: Standing | None
    chosen: Any
    is_undone: bool = False
    beats: bool = False


def instant_of(service: Service, state: str) -> Instant:
    return an_instant(f"{PLAN} {service.value} {state}")


def view_of(service: Service, row: Row) -> ServicesView:
    beat = Heartbeat(PLAN, NOW - timedelta(seconds=5))
    undoing = PendingRollback(an_instant(f"{at(60)} rollback requested"), PLAN, service.value)
    return ServicesView(
        "/lake/orders",
        timeline_of(f"{at(-9)}-{at(-8)} deltacommit", f"{PLAN} {service.value} {row.state}"),
        Signs({PLAN: beat} if row.beats else {}, NOW),
        rollbacks=(undoing,) if row.is_undone else (),
        zone=UTC,
    )


def chosen(service: Service, row: Row, mode: Mode, *, named: bool = False) -> Choice:
    work = ServiceWork(POLICIES[service], mode, PLAN if named else None, rollback=row.policy)
    claims = {} if row.claim is None else {InstantTime(PLAN): row.claim}
    return choose(work, view_of(service, row), claims=claims)


REMOVABLE = (
    Row("nobody has begun it", "requested", DELAY, None, Execute),
    Row("its executor died before it began", "requested", DELAY, DEAD, Execute),
    Row(
        "its executor died, and its last beat is there",
        "requested",
        DELAY,
        DEAD,
        Execute,
        beats=True,
    ),
    Row("somebody has claimed it", "requested", DELAY, HELD, PlanClaimed),
    Row("a stranger is alive on it", "requested", DELAY, None, PlanInUse, beats=True),
    Row("a rollback of it is planned", "requested", DELAY, None, Replan, is_undone=True),
    Row("begun by one of ours, who died", "inflight", DELAY, DEAD, Replan),
    Row(
        "begun by one of ours, whose last beat is there",
        "inflight",
        DELAY,
        DEAD,
        Replan,
        beats=True,
    ),
    Row("begun by one of ours, who is at it", "inflight", DELAY, HELD, PlanClaimed, beats=True),
    Row("begun by one of ours, who has only stopped", "inflight", OVERDUE, HELD, PlanClaimed),
    Row("begun by nobody knows whom, not long ago", "inflight", DELAY, None, PlanBegun),
    Row("begun by nobody knows whom, long ago", "inflight", OVERDUE, None, Replan),
    Row("begun by a stranger who is alive", "inflight", OVERDUE, None, PlanInUse, beats=True),
    Row("begun, and its rollback is planned", "inflight", DELAY, None, Replan, is_undone=True),
)


@pytest.mark.parametrize("service", [Service.LOG_COMPACTION, Service.CLUSTERING])
@pytest.mark.parametrize("row", REMOVABLE, ids=lambda row: row.because)
def test_a_plan_that_is_not_executed_twice(service: Service, row: Row) -> None:
    is_chosen = row.chosen in (Execute, Replan)
    if is_chosen:
        expected = row.chosen(instant_of(service, row.state))
        assert chosen(service, row, Mode.EXECUTE, named=True) == expected
        assert chosen(service, row, Mode.EXECUTE) == expected
        assert chosen(service, row, Mode.BOTH) == expected
    else:
        with pytest.raises(row.chosen) as raised:
            chosen(service, row, Mode.EXECUTE, named=True)
        assert raised.value.retryable
        assert PLAN in str(raised.value)
        assert isinstance(chosen(service, row, Mode.EXECUTE), NothingToDo)
    # Who only plans leaves what waits to others, but for what nobody will ever execute.
    planned = chosen(service, row, Mode.SCHEDULE)
    assert isinstance(planned, Replan) == (row.chosen is Replan)


@pytest.mark.parametrize(
    ("service", "policy"), [(Service.COMPACTION, DELAY), (Service.CLUSTERING, STAYS)]
)
@pytest.mark.parametrize("state", ["requested", "inflight"])
@pytest.mark.parametrize("is_undone", [False, True])
def test_a_plan_that_stays_is_executed_again(
    service: Service, policy: RollbackPolicy, state: str, is_undone: object
) -> None:
    for claim in (None, DEAD):
        row = Row("", state, policy, claim, Execute, is_undone=bool(is_undone))
        assert chosen(service, row, Mode.EXECUTE) == Execute(instant_of(service, state))
    with pytest.raises(PlanClaimed):
        chosen(service, Row("", state, policy, HELD, None), Mode.EXECUTE, named=True)
    assert isinstance(chosen(service, Row("", state, policy, HELD, None), Mode.BOTH), MakePlan)


def test_a_plan_that_was_begun_by_nobody_knows_whom_says_until_when_it_is_left() -> None:
    row = Row("", "inflight", DELAY, None, PlanBegun)
    with pytest.raises(PlanBegun) as raised:
        chosen(Service.CLUSTERING, row, Mode.EXECUTE, named=True)
    assert raised.value.until == EPOCH + timedelta(minutes=60)
    assert str(raised.value) == (
        f"clustering {PLAN} was begun by somebody who left neither a claim nor a heartbeat, and may"
        " be alive (Hudi's own jobs leave none); it is rolled back and planned anew from"
        " 2026-01-01 01:00:00 UTC on: try again then"
    )
