# SPDX-License-Identifier: Apache-2.0
"""RFC-79: whether a service plan may be executed now, and by us.

The RFC's steps 3 to 5, decided under the table's lock from what was loaded under it; the effects
(lock, heartbeat, execution) are in ``spark/services``. Three things go beyond its text:

- A claim in the control folder comes first. A heartbeat tells that somebody lives; it keeps nobody
  from waking up again, and RFC-79 alone lets a compactor that was stopped for a while and then
  woke up corrupt the table (its step 5 admits the second executor).
- Completed, and gone: the RFC takes the plan for granted.
- A later rollback that nobody can read may be of this plan: step 4 cannot be answered, so a plan
  that does not outlive its rollback is not executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from airflow_hudi.core.claims import Claim
from airflow_hudi.core.heartbeat import Heartbeat
from airflow_hudi.core.instants import Action, InstantTime, State
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.policies import RollbackPolicy
from airflow_hudi.core.services.view import ServicesView


class Reason(Enum):
    """Why a plan may not be executed."""

    ALIVE = "somebody's heartbeat on it is alive"
    BEGUN = "it was begun, and a plan of this kind is not executed twice"
    BEING_UNDONE = "a rollback of it is planned, and a plan of this kind does not outlive that"
    MAYBE_BEING_UNDONE = (
        "a rollback that was planned after it cannot be read, and may be of it; see to that one"
        " by hand while nothing runs"
    )
    GONE = "it is not on the timeline: never scheduled, archived, or rolled back"
    NO_PLAN = "that instant is no plan of this service"


@dataclass(frozen=True, slots=True)
class MayExecute:
    """Start a heartbeat, and execute."""

    undoes: bool = False
    """Whether an earlier attempt is rolled back first; Hudi does so itself."""


@dataclass(frozen=True, slots=True)
class Attach:
    """A job of ours is at it, and lives: whoever wants it done waits for that one."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Done:
    """It was completed."""

    at: InstantTime | None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do not touch it."""

    reason: Reason
    beat: Heartbeat | None = None
    until: datetime | None = None
    """When the heartbeat expires, if it is not renewed."""

    @property
    def must_be_rolled_back(self) -> bool:
        """Whether only a rollback helps: the plan is lost, its service is planned anew."""
        return self.reason in (Reason.BEGUN, Reason.BEING_UNDONE)


Verdict: TypeAlias = MayExecute | Attach | Done | Refuse


def guard(
    view: ServicesView,
    service: Service,
    time: InstantTime,
    policy: RollbackPolicy,
    *,
    held_by: Claim | None = None,
) -> Verdict:
    """Whether the plan may be executed now.

    :param held_by: the claim of another executor that is not proved dead
    """
    instant = view.timeline.find(time)
    if instant is None:
        return Refuse(Reason.GONE)
    if view.service_of(instant) is not service:
        return Refuse(Reason.NO_PLAN)
    if instant.state is State.COMPLETED:
        return Done(instant.completed_at)
    if held_by is not None:
        return Attach(held_by)
    beat = view.live_beat(instant)
    if beat is not None:  # step 3
        return Refuse(Reason.ALIVE, beat, view.signs.expires_at(beat))
    is_begun = instant.state is State.INFLIGHT
    is_targeted = view.rollback_of(time) is not None
    if policy.is_removable(service):  # step 4
        if is_begun:
            return Refuse(Reason.BEGUN)
        if is_targeted:
            return Refuse(Reason.BEING_UNDONE)
        if _is_maybe_targeted(view, time):
            return Refuse(Reason.MAYBE_BEING_UNDONE)
    return MayExecute(undoes=is_begun or is_targeted)  # steps 5 to 7


def _is_maybe_targeted(view: ServicesView, time: InstantTime) -> bool:
    rollbacks = view.timeline.pending().of(Action.ROLLBACK).requested_after(time)
    return any(rollback.requested_at in view.unreadable for rollback in rollbacks)
