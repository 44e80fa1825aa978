# SPDX-License-Identifier: Apache-2.0
"""RFC-79: which pending instants a clean rolls back, which it leaves alone, and which it holds.

The RFC's first step as one pure decision; it is made under the table's lock, from what was loaded
under it. Where its text is silent:

- Who is alive is asked for ingestion, too (as Hudi's lazy policy does), and beside the heartbeat a
  claim of ours counts: an executor may be between two beats of a clock that is not ours.
- Cleans, rollbacks, restores, savepoints and index builds are no failed writes.
- A pending rollback of a plan that stays (a compaction) belongs to its next execution, which needs
  the plan: carried out from here, it would delete it.
- An instant whose plan cannot be read is left alone: it might be a plan that stays.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from airflow_hudi.core.instants import Action, Instant, InstantTime
from airflow_hudi.core.services.policies import RollbackPolicy
from airflow_hudi.core.services.view import PendingRollback, ServicesView

_INGESTION = (Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT)


@dataclass(frozen=True, slots=True)
class Hold:
    """A pending instant that is not rolled back (yet)."""

    instant: InstantTime
    action: str
    because: str
    until: datetime | None = None
    """When it will be looked at with other eyes; None: no time will do it."""

    def __str__(self) -> str:
        until = "" if self.until is None else f" until {self.until:%Y-%m-%d %H:%M:%S} UTC"
        return f"{self.action} {self.instant} is held{until}: {self.because}"


@dataclass(frozen=True, slots=True)
class RollbackDecision:
    """What becomes of every pending instant of a table."""

    schedule: tuple[Instant, ...] = ()
    """Dead writes and dead removable plans: a rollback is to be planned for each."""
    carry_out: tuple[PendingRollback, ...] = ()
    """Rollback plans that are there already."""
    holds: tuple[Hold, ...] = ()


def decide_rollbacks(
    view: ServicesView,
    policy: RollbackPolicy,
    *,
    claimed: Collection[InstantTime] = (),
) -> RollbackDecision:
    """Look at every pending instant and pending rollback, and decide.

    :param claimed: the instants that an executor of ours has claimed and is not proved dead
    """
    schedule: list[Instant] = []
    holds: list[Hold] = []
    carry_out: list[PendingRollback] = []
    for again in view.rollbacks:
        because = _why_left(view, policy, again, claimed)
        if because is None:
            carry_out.append(again)
        elif because:
            holds.append(Hold(again.instant.requested_at, Action.ROLLBACK.value, because))
    planned = {again.target for again in view.rollbacks}
    for instant in view.timeline.pending():
        if instant.action is Action.ROLLBACK and instant.requested_at in view.unreadable:
            holds.append(_unreadable_rollback(view, instant))
        if instant.requested_at in planned or not _is_undoable(view, instant):
            continue
        hold = _hold(view, policy, instant, is_claimed=instant.requested_at in claimed)
        if hold is None:
            schedule.append(instant)
        else:
            holds.append(hold)
    alive = [again for again in carry_out if view.live_beat(again.instant) is not None]
    holds += [_executed_elsewhere(view, again) for again in alive]
    return RollbackDecision(
        tuple(schedule), tuple(again for again in carry_out if again not in alive), tuple(holds)
    )


def _is_undoable(view: ServicesView, instant: Instant) -> bool:
    """Whether it is a write or a service plan at all."""
    return view.service_of(instant) is not None or instant.action in _INGESTION


def _why_left(
    view: ServicesView,
    policy: RollbackPolicy,
    again: PendingRollback,
    claimed: Collection[InstantTime],
) -> str | None:
    """Why a pending rollback is not carried out from here; None: it is, empty: it goes unsaid."""
    target = view.timeline.find(again.target)
    if target is None:  # its files are gone, and so are its instants: only the end is missing
        return "" if again.target_action == Action.COMPACTION.value else None
    if not target.is_pending:
        return (
            f"it would undo {again.target}, which is completed: somebody asked for that by hand,"
            " and by hand it is ended"
        )
    service = view.service_of(target)
    if service is not None and not policy.is_removable(service):
        return ""  # its next execution undoes the last one, and needs the plan
    if view.live_beat(target) is not None or again.target in claimed:
        return f"the writer of {again.target} is alive"
    return None


def _hold(
    view: ServicesView, policy: RollbackPolicy, instant: Instant, *, is_claimed: bool
) -> Hold | None:
    """Why it must not be rolled back, or None: it must."""

    def hold(because: str, until: datetime | None = None) -> Hold:
        action = service.noun if service is not None else instant.action.value
        return Hold(instant.requested_at, action, because, until)

    service = view.service_of(instant)
    defect = view.unreadable.get(instant.requested_at)
    if defect is not None:
        return hold(f"its plan cannot be read ({defect.because})")
    if service is not None and not policy.is_removable(service):
        return hold("its plan stays until it is executed")
    beat = view.live_beat(instant)
    if beat is not None:
        said = f"its writer is alive (heartbeat {beat.last_beat:%H:%M:%S} UTC)"
        return hold(said, view.signs.expires_at(beat))
    if is_claimed:
        return hold("a job of ours has claimed it and is not proved dead")
    if service is None:
        return None
    planned_at = view.zone.moment(instant.requested_at)
    if planned_at is None:
        return hold("its age is not known: its instant is no time")
    until = planned_at + policy.delay
    if view.now < until:
        minutes = policy.delay.total_seconds() / 60
        return hold(f"the plan is younger than the rollback delay of {minutes:g} min", until)
    return None


def _executed_elsewhere(view: ServicesView, again: PendingRollback) -> Hold:
    beat = view.live_beat(again.instant)
    until = None if beat is None else view.signs.expires_at(beat)
    because = f"somebody is carrying out this rollback of {again.target}"
    return Hold(again.instant.requested_at, Action.ROLLBACK.value, because, until)


def _unreadable_rollback(view: ServicesView, instant: Instant) -> Hold:
    defect = view.unreadable[instant.requested_at]
    because = f"nobody knows what it is to undo ({defect}); see to it by hand while nothing runs"
    return Hold(instant.requested_at, Action.ROLLBACK.value, because)
