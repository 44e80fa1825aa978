# SPDX-License-Identifier: Apache-2.0
"""Which plan a service's job executes, or that it makes one, or why there is nothing to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from airflow_hudi.core.errors import ConcurrencyError
from airflow_hudi.core.instants import Instant, InstantTime, State
from airflow_hudi.core.job_errors import PlanNotFound
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.triggers import why_not_due
from airflow_hudi.core.services.view import ServicesView
from airflow_hudi.core.services.works import ServiceWork


class PlanInUse(ConcurrencyError):
    """Somebody is alive on the plan."""

    def __init__(self, service: Service, instant: str, last_beat: datetime) -> None:
        self.service = service
        self.instant = instant
        self.last_beat = last_beat
        super().__init__(
            f"somebody is executing {service.noun} {instant} (heartbeat {last_beat:%H:%M:%S} UTC);"
            " two executions of one plan would corrupt the table, so this one is not started; try"
            " again when that one has ended"
        )


@dataclass(frozen=True, slots=True)
class Execute:
    """This plan is to be executed."""

    instant: Instant


@dataclass(frozen=True, slots=True)
class MakePlan:
    """No plan is waiting: make one."""


@dataclass(frozen=True, slots=True)
class Replan:
    """This plan was begun by somebody who is dead, or is being undone, and is not executed again:
    roll it back, and plan anew."""

    instant: Instant


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """There is nothing to execute or to plan."""

    because: str
    instant: InstantTime | None = None


Choice: TypeAlias = Execute | MakePlan | Replan | NothingToDo


def choose(
    work: ServiceWork, view: ServicesView, *, left_behind: Collection[InstantTime] = ()
) -> Choice:
    """What this job has to do now; raises where the plan it names is not there or is in use.

    :param left_behind: instants whose claim is a dead executor's: a heartbeat on one is its last
    """
    if work.mode is Mode.SCHEDULE:
        return _plan(work, view)
    waiting = view.of(work.service).pending()
    free = [
        instant
        for instant in waiting
        if instant.requested_at in left_behind or view.live_beat(instant) is None
    ]
    if work.instant is not None:
        return _named(work, view, InstantTime(work.instant), free)
    if free:
        return _execution(work, view, free[0])
    if work.mode is Mode.BOTH:
        return _plan(work, view)
    if len(waiting):
        kind = f"{work.service.noun}s"
        return NothingToDo(f"somebody is alive on each of the {len(waiting)} pending {kind}")
    return NothingToDo(f"no {work.service.noun} is pending")


def _plan(work: ServiceWork, view: ServicesView) -> Choice:
    because = why_not_due(view, work.policy)
    return MakePlan() if because is None else NothingToDo(because)


def _execution(work: ServiceWork, view: ServicesView, instant: Instant) -> Choice:
    is_begun = instant.state is State.INFLIGHT
    is_lost = is_begun or view.rollback_of(instant.requested_at) is not None
    return Replan(instant) if is_lost and work.is_removable else Execute(instant)


def _named(
    work: ServiceWork, view: ServicesView, time: InstantTime, free: Sequence[Instant]
) -> Choice:
    for instant in view.timeline.where(lambda i: i.requested_at == time):
        if view.service_of(instant) is not work.service:
            because = f"that instant is a {instant.action.value}"
            raise PlanNotFound(view.table, time, because=because)
        if instant.state is State.COMPLETED:
            done = f"{work.service.noun} {time} was completed at {instant.completed_at}"
            return NothingToDo(done, time)
        beat = view.live_beat(instant)
        if beat is not None and instant not in free:
            raise PlanInUse(work.service, time, beat.last_beat)
        return _execution(work, view, instant)
    first = view.timeline.first()
    if first is not None and time < first.requested_at:
        because = "it is older than the active timeline; it was archived, or never there"
    else:
        because = "it was never scheduled, or it was rolled back"
    raise PlanNotFound(view.table, time, because=because)
