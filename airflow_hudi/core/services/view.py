# SPDX-License-Identifier: Apache-2.0
"""Everything the decisions about table services look at, loaded at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from airflow_hudi.core.defects import Defect
from airflow_hudi.core.heartbeat import Heartbeat, HeartbeatPolicy, Signs, load_heartbeats
from airflow_hudi.core.instants import Action, Instant, InstantTime, State, Zone
from airflow_hudi.core.plans import ClusteringPlan, RollbackPlan, load_plan
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline, load_timeline

_SERVICES = {
    Action.COMPACTION: Service.COMPACTION,
    Action.LOGCOMPACTION: Service.LOG_COMPACTION,
    Action.CLUSTERING: Service.CLUSTERING,
}


@dataclass(frozen=True, slots=True)
class PendingRollback:
    """A rollback plan that is not carried out yet."""

    instant: Instant
    target: InstantTime
    target_action: str


@dataclass(frozen=True, slots=True)
class ServicesView:
    """A table's timeline, with what names alone do not tell, and who is alive on it."""

    table: str
    timeline: Timeline
    signs: Signs
    clusterings: frozenset[InstantTime] = frozenset()
    """The replacecommits of layout 1 that are clusterings."""
    rollbacks: tuple[PendingRollback, ...] = ()
    unreadable: Mapping[InstantTime, Defect] = field(default_factory=dict, hash=False)
    """Pending instants whose plan cannot be read: nobody knows what they would do."""
    zone: Zone = field(default_factory=Zone)

    def service_of(self, instant: Instant) -> Service | None:
        """Which service an instant belongs to, pending or done; None: it is no service's."""
        action = self.timeline.planned_as(instant)
        if action is Action.REPLACECOMMIT:
            return Service.CLUSTERING if instant.requested_at in self.clusterings else None
        return _SERVICES.get(action)

    def of(self, service: Service) -> Timeline:
        """The instants of one service, pending and done."""
        return self.timeline.where(lambda instant: self.service_of(instant) is service)

    def rollback_of(self, time: InstantTime) -> PendingRollback | None:
        """The pending rollback plan that targets an instant, if there is one."""
        return next((pending for pending in self.rollbacks if pending.target == time), None)

    def live_beat(self, instant: Instant) -> Heartbeat | None:
        """The heartbeat of whoever works on it, unless it has expired."""
        return self.signs.live_beat(instant)

    @property
    def now(self) -> datetime:
        """When it was looked at."""
        return self.signs.now


def load_view(
    table: Table, policy: HeartbeatPolicy, *, now: datetime | None = None
) -> ServicesView:
    """Load it: one listing of the timeline, one of the heartbeats, and the few plans that matter.

    Heartbeats come after the timeline: a writer beats before its instant is there.
    """
    timeline = load_timeline(table)
    heartbeats = load_heartbeats(table)
    signs = Signs(heartbeats, now=now or datetime.now(tz=timezone.utc), policy=policy)
    clusterings: set[InstantTime] = set()
    rollbacks: list[PendingRollback] = []
    unreadable: dict[InstantTime, Defect] = {}
    for instant in timeline:
        if not _must_be_read(timeline, instant):
            continue
        plan = load_plan(table, timeline, instant)
        if isinstance(plan, Defect):
            unreadable[instant.requested_at] = plan
        elif isinstance(plan, ClusteringPlan):
            clusterings.add(instant.requested_at)
        elif isinstance(plan, RollbackPlan) and instant.is_pending:
            rollbacks.append(PendingRollback(instant, plan.target, plan.target_action))
    return ServicesView(
        table=table.uri,
        timeline=timeline,
        signs=signs,
        clusterings=frozenset(clusterings),
        rollbacks=tuple(rollbacks),
        unreadable=unreadable,
        zone=table.zone,
    )


def _must_be_read(timeline: Timeline, instant: Instant) -> bool:
    action = timeline.planned_as(instant)
    if action is Action.ROLLBACK:
        return instant.is_pending
    if action is not Action.REPLACECOMMIT:
        return False
    requested = timeline.file_of(instant, State.REQUESTED)
    if requested is None:  # nobody knows what a pending one would do
        return instant.is_pending
    return requested.size > 0  # the request of an insert_overwrite is empty
