# SPDX-License-Identifier: Apache-2.0
"""Which plan a service's job executes, or that it makes one, or why there is nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from airflow_hudi.core.claims import Held, PlanClaimed, Standing
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


class PlanBegun(ConcurrencyError):
    """A plan that is never executed twice was begun, and nobody can say by whom."""

    def __init__(self, service: Service, instant: str, until: datetime) -> None:
        self.service = service
        self.instant = instant
        self.until = until
        super().__init__(
            f"{service.noun} {instant} was begun by somebody who left neither a claim nor a"
            " heartbeat, and may be alive (Hudi's own jobs leave none); it is rolled back and"
            f" planned anew from {until:%Y-%m-%d %H:%M:%S} UTC on: try again then"
        )


class PlanRefused(ConcurrencyError):
    """The guard does not let the plan be executed; nobody is at it."""

    def __init__(self, service: Service, instant: str, *, because: str) -> None:
        self.service = service
        self.instant = instant
        super().__init__(
            f"{service.noun} {instant} is not executed: {because}; nothing was changed, a retry"
            " looks at the table anew"
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


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody works on the plan, or may: it is left to them."""

    error: ConcurrencyError


Claims: TypeAlias = Mapping[InstantTime, Standing]
_NO_CLAIMS: Claims = {}
Choice: TypeAlias = Execute | MakePlan | Replan | NothingToDo


def choose(work: ServiceWork, view: ServicesView, *, claims: Claims = _NO_CLAIMS) -> Choice:
    """What this job has to do now; raises where the plan it names is not there or is in use.

    :param claims: what each claim on an instant is worth now
    """
    if work.instant is not None:
        return _named(work, view, InstantTime(work.instant), claims)
    waiting = view.of(work.service).pending()
    ways = [_way(work, view, instant, claims) for instant in waiting]
    open_ways = [way for way in ways if not isinstance(way, Busy)]
    if work.mode is Mode.SCHEDULE:
        open_ways = [way for way in open_ways if isinstance(way, Replan)]
    if open_ways:
        return open_ways[0]
    if work.mode is not Mode.EXECUTE:
        because = why_not_due(view, work.policy)
        return MakePlan() if because is None else NothingToDo(because)
    if ways:
        kind = f"{work.service.noun}s"
        return NothingToDo(f"somebody is alive on each of the {len(waiting)} pending {kind}")
    return NothingToDo(f"no {work.service.noun} is pending")


def _way(
    work: ServiceWork, view: ServicesView, instant: Instant, claims: Claims
) -> Execute | Replan | Busy:
    """What can be done about a pending plan."""
    time = instant.requested_at
    claim, beat = claims.get(time), view.live_beat(instant)
    if isinstance(claim, Held):
        return Busy(PlanClaimed(view.table, time, claim))
    is_left_behind = claim is not None  # and the heartbeat on it is the last one of the dead
    if beat is not None and not is_left_behind:
        return Busy(PlanInUse(work.service, time, beat.last_beat))
    if not work.is_removable:
        return Execute(instant)
    if view.rollback_of(time) is not None:
        return Replan(instant)
    if instant.state is State.REQUESTED:
        return Execute(instant)
    until = _given_up_at(work, view, time)
    if is_left_behind or until is None or view.now >= until:
        return Replan(instant)
    return Busy(PlanBegun(work.service, time, until))


def _given_up_at(work: ServiceWork, view: ServicesView, time: InstantTime) -> datetime | None:
    """When a begun plan counts as left behind although nobody claimed it: Hudi's own executors
    leave no claim, and before 1.2 no heartbeat either."""
    planned_at = view.zone.moment(time)
    return None if planned_at is None else planned_at + work.rollback.delay


def _named(work: ServiceWork, view: ServicesView, time: InstantTime, claims: Claims) -> Choice:
    for instant in view.timeline.where(lambda i: i.requested_at == time):
        if view.service_of(instant) is not work.service:
            because = f"that instant is a {instant.action.value}"
            raise PlanNotFound(view.table, time, because=because)
        if instant.state is State.COMPLETED:
            done = f"{work.service.noun} {time} was completed at {instant.completed_at}"
            return NothingToDo(done, time)
        way = _way(work, view, instant, claims)
        if isinstance(way, Busy):
            raise way.error
        return way
    first = view.timeline.first()
    if first is not None and time < first.requested_at:
        because = "it is older than the active timeline; it was archived, or never there"
    else:
        because = "it was never scheduled, or it was rolled back"
    raise PlanNotFound(view.table, time, because=because)
