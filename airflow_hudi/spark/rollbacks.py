# SPDX-License-Identifier: Apache-2.0
"""RFC-79's rollback in two steps: planned under the table's lock, carried out outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_hudi.core.claims import HeldClaim, PlanClaimed
from airflow_hudi.core.engine_errors import InstantNotPending, SomebodyIsAlive
from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.jobs import RolledBack
from airflow_hudi.core.services.policies import RollbackPolicy
from airflow_hudi.core.services.rollback import Hold, RollbackDecision, decide_rollbacks
from airflow_hudi.core.services.view import PendingRollback, load_view
from airflow_hudi.core.table import Table
from airflow_hudi.spark.claiming import claimed, held_by_others
from airflow_hudi.spark.engine.protocol import TableClient

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job


def roll_back_the_dead(
    job: Job, client: TableClient, table: Table, policy: RollbackPolicy, beats: HeartbeatPolicy
) -> tuple[tuple[RolledBack, ...], tuple[Hold, ...]]:
    """Both steps for all that is pending; what was undone, and what is held until when and why."""
    with client.lock():
        decision = decide(job, table, policy, beats)
        for instant in decision.schedule:
            rollback = client.schedule_rollback(instant.requested_at)
            job.say(f"rollback {rollback} of {instant} is planned")
        pending = load_view(table, beats).rollbacks
    wanted = {again.instant.requested_at for again in decision.carry_out}
    wanted |= {
        again.instant.requested_at
        for again in pending
        if again.target in {instant.requested_at for instant in decision.schedule}
    }
    undone: list[RolledBack] = []
    holds = list(decision.holds)
    for again in pending:
        if again.instant.requested_at in wanted:
            result = _carry_out(job, client, table, again, beats)
            if isinstance(result, RolledBack):
                undone.append(result)
            else:
                holds.append(result)
    return tuple(undone), tuple(holds)


def decide(
    job: Job, table: Table, policy: RollbackPolicy, beats: HeartbeatPolicy
) -> RollbackDecision:
    """What is to be rolled back now; nothing is changed."""
    # Claims first: one that is given back meanwhile was completed, which the timeline shows.
    claims = held_by_others(job)
    return decide_rollbacks(load_view(table, beats), policy, claimed=claims)


def carry_out_for_execution(client: TableClient, again: PendingRollback) -> None:
    """Carry out the rollback of a plan that is about to be executed, and leave the plan."""
    rollback, action = again.instant.requested_at, again.target_action
    client.execute_rollback(rollback, again.target, action, keep_plan=True)


def roll_back(
    job: Job, client: TableClient, table: Table, held: HeldClaim, beats: HeartbeatPolicy
) -> RolledBack:
    """Both steps for one instant whose claim the caller holds."""
    time = held.instant
    with client.lock():
        held.renew()  # not only looked at: nobody may take it over between this and the plan
        view = load_view(table, beats)
        there = view.timeline.find(time)
        if there is None or not there.is_pending:
            raise InstantNotPending(table.uri, time)
        if view.live_beat(there) is not None:
            raise SomebodyIsAlive(table.uri, time)
        instant = there
        rollback = client.schedule_rollback(instant.requested_at)
        pending = {again.instant.requested_at: again for again in load_view(table, beats).rollbacks}
    result = _carry_out(job, client, table, pending[InstantTime(rollback)], beats)
    if isinstance(result, Hold):
        raise InstantNotPending(table.uri, instant.requested_at)
    return result


def _carry_out(
    job: Job, client: TableClient, table: Table, again: PendingRollback, beats: HeartbeatPolicy
) -> RolledBack | Hold:
    """The second step of one rollback, as its one executor; a hold where somebody else is at it."""
    rollback, target = again.instant.requested_at, again.target
    try:
        with claimed(job, rollback):
            with client.lock():
                view = load_view(table, beats)
                there = view.timeline.find(rollback)
                if there is None or not there.is_pending:
                    return Hold(rollback, "rollback", "somebody else has just carried it out")
                if view.live_beat(there) is not None:
                    return Hold(rollback, "rollback", "somebody is carrying it out")
                client.start_heartbeat(rollback)  # Hudi 1.2 looks for one, and leaves it alone
            try:
                job.check_seat()
                deleted = client.execute_rollback(rollback, target, again.target_action)
            finally:
                if not job.beating.is_told_to_stop:
                    client.stop_heartbeat(rollback)
    except PlanClaimed as error:
        return Hold(rollback, "rollback", str(error), error.until)
    job.say(f"{again.target_action} {target} is rolled back ({rollback}): {deleted} files deleted")
    return RolledBack(target, again.target_action, rollback, deleted)
