# SPDX-License-Identifier: Apache-2.0
"""Whether a new plan of a service is due.

Asked before a driver is started, and for every service alike: Hudi counts for compactions only, and
what it answers ("nothing") does not say why.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_hudi.core.instants import Action, Instant, InstantTime
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.policies import CompactionPolicy, ServicePolicy
from airflow_hudi.core.services.view import ServicesView
from airflow_hudi.core.timeline import Timeline

_HOLDERS = (Service.COMPACTION, Service.LOG_COMPACTION, Service.CLUSTERING)


def why_not_due(view: ServicesView, policy: ServicePolicy) -> str | None:
    """Why a new plan is not worth making yet; None: it is."""
    service = Service(policy.KIND)
    last = view.of(service).completed().latest()
    writes = _writes_since(view, service, last)
    asked = _after(policy)
    if len(writes) >= asked:
        return None
    word = "commits" if service is Service.CLUSTERING else "delta commits"
    came = f"{len(writes)} {word} since the last {service.noun}"
    if len(writes) and policy.or_after is not None:
        since = _elapsed(view, last or writes.first())
        if since is not None and since >= policy.or_after:
            return None
        return f"{came}, and the policy asks for {asked}, or for {policy.or_after} to have passed"
    return f"{came}, and the policy asks for {asked}"


def why_no_plan(view: ServicesView, policy: ServicePolicy) -> str:
    """Why Hudi made no plan although one was due: it only says that it made none."""
    holders = view.timeline.where(lambda i: i.is_pending and view.service_of(i) in _HOLDERS)
    holder = holders.latest()
    if holder is not None:
        service = view.service_of(holder)
        noun = service.noun if service is not None else holder.action.value
        return f"{noun} {holder.requested_at} is pending and holds the file groups"
    return {
        Service.COMPACTION: "no file group has log files to merge",
        Service.LOG_COMPACTION: "no file slice has as many log blocks as the policy asks for",
        Service.CLUSTERING: "Hudi's strategy selects no file groups",
    }[Service(policy.KIND)]


def _after(policy: ServicePolicy) -> int:
    return (
        policy.after_delta_commits if isinstance(policy, CompactionPolicy) else policy.after_commits
    )


def _writes_since(view: ServicesView, service: Service, last: Instant | None) -> Timeline:
    """What writers have committed since the service was last done, services left out."""
    writes = view.timeline.completed().writes().where(lambda i: view.service_of(i) is None)
    if service is not Service.CLUSTERING:
        writes = writes.of(Action.DELTACOMMIT)
    # By when they became visible: one that was under way then is in no plan yet.
    return writes if last is None else writes.completed_after(last.requested_at)


def _elapsed(view: ServicesView, since: Instant | None) -> timedelta | None:
    began: datetime | None = None if since is None else _moment(view, since.requested_at)
    return None if began is None else view.now - began


def _moment(view: ServicesView, time: InstantTime) -> datetime | None:
    return view.zone.moment(time)
