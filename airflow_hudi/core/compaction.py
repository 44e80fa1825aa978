# SPDX-License-Identifier: Apache-2.0
"""Compaction as an orchestrator sees it: which plan is to be executed, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import ClassVar, TypeAlias

from airflow_hudi.core.config import WriteKey
from airflow_hudi.core.errors import ConcurrencyError
from airflow_hudi.core.heartbeat import Heartbeat, HeartbeatPolicy
from airflow_hudi.core.instants import Action, Instant, InstantTime, instant_time
from airflow_hudi.core.job_errors import InvalidWork, PlanNotFound
from airflow_hudi.core.timeline import Timeline


class Mode(str, Enum):
    """Which half of a compaction a job does."""

    SCHEDULE = "schedule"
    EXECUTE = "execute"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When a compaction is worth a plan, and how large one plan may be."""

    after_delta_commits: int = 1
    """How many delta commits must have come since the last one. One: the DAG's schedule decides."""
    at_most_megabytes: int | None = None
    """How much one plan may read and write; None is Hudi's own limit."""

    def __post_init__(self) -> None:
        if self.after_delta_commits < 1:
            raise InvalidWork(
                f"after_delta_commits is {self.after_delta_commits}", cure="it must be at least 1"
            )
        if self.at_most_megabytes is not None and self.at_most_megabytes < 1:
            raise InvalidWork(
                f"at_most_megabytes is {self.at_most_megabytes}", cure="it must be at least 1"
            )

    def options(self) -> dict[str, str]:
        """The same in Hudi's settings."""
        options = {WriteKey.COMPACT_AFTER_DELTA_COMMITS.value: str(self.after_delta_commits)}
        if self.at_most_megabytes is not None:
            options[WriteKey.COMPACTION_TARGET_IO.value] = str(self.at_most_megabytes)
        return options


@dataclass(frozen=True, slots=True)
class CompactionWork:
    """Plan a compaction, execute one, or both."""

    KIND: ClassVar[str] = "compaction"
    mode: Mode
    instant: str | None = None
    """The plan to execute; None: the oldest one that nobody works on."""
    policy: CompactionPolicy = field(default_factory=CompactionPolicy)
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.instant is None:
            return
        instant_time(self.instant)
        if self.mode is not Mode.EXECUTE:
            raise InvalidWork(
                f"mode {self.mode.value!r} makes its own plan and takes no instant",
                cure="use mode='execute' to execute this one",
            )


class PlanInUse(ConcurrencyError):
    """Somebody is alive on the plan."""

    def __init__(self, instant: str, last_beat: datetime) -> None:
        self.instant = instant
        self.last_beat = last_beat
        super().__init__(
            f"somebody is executing compaction {instant} (heartbeat {last_beat:%H:%M:%S} UTC); two"
            " executions of one plan would corrupt the table, so this one is not started; try again"
            " when that one has ended"
        )


@dataclass(frozen=True, slots=True)
class Execute:
    """This plan is to be executed."""

    instant: Instant


@dataclass(frozen=True, slots=True)
class MakePlan:
    """No plan is waiting: make one."""


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """There is nothing to execute or to plan."""

    because: str
    instant: InstantTime | None = None


Choice: TypeAlias = Execute | MakePlan | NothingToDo


@dataclass(frozen=True, slots=True)
class Signs:
    """Who is alive on the table's instants, and when that was looked at."""

    heartbeats: Mapping[InstantTime, Heartbeat]
    now: datetime
    policy: HeartbeatPolicy = field(default_factory=HeartbeatPolicy)

    def live_beat(self, instant: Instant) -> Heartbeat | None:
        """The heartbeat of whoever works on it, unless it has expired."""
        beat = self.heartbeats.get(instant.requested_at)
        return None if beat is None or beat.is_expired(self.policy, now=self.now) else beat


def choose(work: CompactionWork, table: str, timeline: Timeline, signs: Signs) -> Choice:
    """What this job has to do now; raises where the plan it names is not there or is in use."""
    if work.mode is Mode.SCHEDULE:
        return MakePlan()
    if work.instant is not None:
        return _named(table, timeline, InstantTime(work.instant), signs)
    waiting = timeline.of(Action.COMPACTION).pending()
    free = [instant for instant in waiting if signs.live_beat(instant) is None]
    if free:
        return Execute(free[0])
    if work.mode is Mode.BOTH:
        return MakePlan()
    if len(waiting):
        return NothingToDo(f"somebody is alive on each of the {len(waiting)} pending compactions")
    return NothingToDo("no compaction is pending")


def _named(table: str, timeline: Timeline, time: InstantTime, signs: Signs) -> Choice:
    for instant in timeline.where(lambda i: i.requested_at == time):
        if instant.action is Action.COMPACTION:
            beat = signs.live_beat(instant)
            if beat is not None:
                raise PlanInUse(time, beat.last_beat)
            return Execute(instant)
        if timeline.planned_as(instant) is Action.COMPACTION:
            return NothingToDo(f"compaction {time} was completed at {instant.completed_at}", time)
        raise PlanNotFound(table, time, because=f"that instant is a {instant.action.value}")
    first = timeline.first()
    if first is not None and time < first.requested_at:
        because = "it is older than the active timeline; it was archived, or never there"
    else:
        because = "it was never scheduled, or it was rolled back"
    raise PlanNotFound(table, time, because=because)


def why_no_plan(timeline: Timeline, policy: CompactionPolicy) -> str:
    """Why Hudi made no plan: it only says that it made none."""
    compacted = timeline.completed().where(lambda i: timeline.planned_as(i) is Action.COMPACTION)
    last = compacted.latest()
    deltas = timeline.completed().of(Action.DELTACOMMIT)
    since = deltas if last is None else deltas.requested_after(last.requested_at)
    if len(since) < policy.after_delta_commits:
        came = f"{len(since)} delta commits since the last compaction"
        return f"{came}, and the policy asks for {policy.after_delta_commits}"
    holders = timeline.of(Action.COMPACTION, Action.CLUSTERING, Action.REPLACECOMMIT).pending()
    holder = holders.latest()
    if holder is not None:
        return f"{holder.action.value} {holder.requested_at} is pending and holds the file groups"
    return "no file group has log files to merge"
