# SPDX-License-Identifier: Apache-2.0
"""RFC-79's steps 3 to 7: the whole table of what an executor is told about a plan."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_hudi.core.claims import Claim, Executor
from airflow_hudi.core.heartbeat import Heartbeat, HeartbeatPolicy
from airflow_hudi.core.hosts import Process
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.services.guard import (
    Attach,
    Done,
    MayExecute,
    Reason,
    Refuse,
    Verdict,
    guard,
)
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.policies import RollbackPolicy
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.storage.memory import InMemoryStorage
from tests.builders import EPOCH, a_table
from tests.core.service_builders import a_rollback_plan
from tests.scenarios.rfc79 import (
    ALIVE,
    ATTACH,
    BEGUN,
    BEING_UNDONE,
    COMPLETED,
    DONE,
    EARLIER,
    EXECUTE,
    GONE,
    GUARD,
    INFLIGHT,
    IS_GONE,
    LIVE,
    MAYBE,
    MISSING,
    NO_PLAN,
    NONE,
    UNDO_FIRST,
    UNREADABLE,
    Guarded,
)

PLAN = InstantTime("20")
CLAIM = Claim(Executor("a job", "jobs/a", 1, "elsewhere", (Process(7),)))
MINUTES = {LIVE: 1, "expired": 3}


def the_files(row: Guarded) -> dict[str, bytes]:
    service = Service(row.service)
    planned = "deltacommit" if row.is_another else service.action.value
    files = {} if row.plan == GONE else {f"{PLAN}.{planned}.requested": b"x"}
    if row.plan in (INFLIGHT, COMPLETED):
        files[f"{PLAN}.{planned}.inflight"] = b"x"
    if row.plan == COMPLETED:
        files[f"{PLAN}_29.{service.action.completes_as.value}"] = b"x"
    if row.rollback != NONE:
        time = 10 if row.rollback == EARLIER else 40
        is_damaged = row.rollback in (UNREADABLE, EARLIER)
        data = b"{damaged" if is_damaged else a_rollback_plan(PLAN, planned)
        files[f"{time}.rollback.requested"] = data
    return files


def the_view(row: Guarded) -> ServicesView:
    table = a_table(the_files(row))
    if row.heartbeat != MISSING:
        assert isinstance(table.storage, InMemoryStorage)
        then = EPOCH - timedelta(minutes=MINUTES[row.heartbeat])
        table.storage.put(f".hoodie/.heartbeat/{PLAN}", b"", modified_at=then)
    return load_view(table, HeartbeatPolicy(), now=EPOCH)


BEAT = Heartbeat(PLAN, EPOCH - timedelta(minutes=1))
SAYS: dict[str, Verdict] = {
    EXECUTE: MayExecute(),
    UNDO_FIRST: MayExecute(undoes=True),
    ATTACH: Attach(CLAIM),
    DONE: Done(InstantTime("29")),
    ALIVE: Refuse(Reason.ALIVE, BEAT, EPOCH + timedelta(minutes=1)),
    BEGUN: Refuse(Reason.BEGUN),
    BEING_UNDONE: Refuse(Reason.BEING_UNDONE),
    MAYBE: Refuse(Reason.MAYBE_BEING_UNDONE),
    IS_GONE: Refuse(Reason.GONE),
    NO_PLAN: Refuse(Reason.NO_PLAN),
}


@pytest.mark.parametrize("row", GUARD, ids=str)
def test_what_an_executor_is_told(row: Guarded) -> None:
    policy = RollbackPolicy(clustering_is_removable=row.clustering_is_removable)
    held_by = CLAIM if row.is_claimed else None
    verdict = guard(the_view(row), Service(row.service), PLAN, policy, held_by=held_by)
    assert verdict == SAYS[row.says]


def test_every_verdict_and_every_reason_has_its_row() -> None:
    assert {row.says for row in GUARD} == set(SAYS)
    reasons = {verdict.reason for verdict in SAYS.values() if isinstance(verdict, Refuse)}
    assert reasons == set(Reason)
    assert len({str(row) for row in GUARD}) == len(GUARD)


def test_only_a_plan_that_was_begun_or_is_being_undone_must_be_rolled_back() -> None:
    lost = {reason for reason in Reason if Refuse(reason).must_be_rolled_back}
    assert lost == {Reason.BEGUN, Reason.BEING_UNDONE}
