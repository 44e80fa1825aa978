# SPDX-License-Identifier: Apache-2.0
"""RFC-79's clean, step 1: the whole table of what becomes of a pending instant."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.instants import Instant, InstantTime, State, Zone
from airflow_hudi.core.services.policies import RollbackPolicy
from airflow_hudi.core.services.rollback import Hold, RollbackDecision, decide_rollbacks
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.storage.memory import InMemoryStorage
from tests.builders import EPOCH, a_table
from tests.core.service_builders import a_clustering_plan, a_rollback_plan
from tests.scenarios.rfc79 import (
    CARRIED_OUT,
    CLUSTERING,
    COMMIT,
    COMPLETED,
    EXPIRED,
    GONE,
    HELD,
    INFLIGHT,
    LEFT,
    LIVE,
    NONE,
    REPLACECOMMIT,
    ROLLBACKS,
    SCHEDULED,
    UNREADABLE,
    Pending,
)

NOW = EPOCH + timedelta(days=30)
MINUTES = {LIVE: 1, EXPIRED: 3}
COMPLETES_AS = {"compaction": COMMIT, "logcompaction": "deltacommit", CLUSTERING: REPLACECOMMIT}


def the_instant(row: Pending) -> InstantTime:
    planned_at = NOW - timedelta(minutes=row.minutes)
    return InstantTime(row.instant) if row.instant else Zone(row.zone).digits(planned_at)


def the_rollback(row: Pending) -> InstantTime:
    return Zone(row.zone).digits(NOW - timedelta(minutes=2))


def the_files(row: Pending) -> dict[str, bytes]:
    """Its own files on the timeline, and its rollback's."""
    time = the_instant(row)
    is_layout_1 = row.layout == 1
    action = REPLACECOMMIT if is_layout_1 and row.action == CLUSTERING else row.action
    files: dict[str, bytes] = {}
    if row.state != GONE and action != "savepoint":
        files[f"{time}.{action}.requested"] = the_request(row)
    if row.state in (INFLIGHT, COMPLETED):
        files[f"{time}.inflight" if action == COMMIT else f"{time}.{action}.inflight"] = b"x"
    if row.state == COMPLETED:
        files[f"{time}_{time}.{COMPLETES_AS.get(action, action)}"] = b"x"
    if row.rollback != NONE:
        plan = a_rollback_plan(time, action)
        data = b"{damaged" if row.rollback == UNREADABLE else plan
        files[f"{the_rollback(row)}.rollback.requested"] = data
    return files


def the_request(row: Pending) -> bytes:
    if row.is_damaged:
        return b"{damaged"
    if row.action == CLUSTERING:
        return a_clustering_plan()
    return b"" if row.action == REPLACECOMMIT else b"x"


def the_view(row: Pending) -> ServicesView:
    table = a_table(the_files(row), version="9" if row.layout == 2 else "6")
    assert isinstance(table.storage, InMemoryStorage)
    for time, beat in ((the_instant(row), row.heartbeat), (the_rollback(row), row.carrier)):
        if beat in MINUTES:
            then = NOW - timedelta(minutes=MINUTES[beat])
            table.storage.put(f".hoodie/.heartbeat/{time}", b"", modified_at=then)
    return load_view(replace(table, zone=Zone(row.zone)), HeartbeatPolicy(), now=NOW)


def decide(row: Pending) -> RollbackDecision:
    policy = RollbackPolicy(timedelta(minutes=row.delay), row.clustering_is_removable)
    claimed = {the_instant(row)} if row.is_claimed else set()
    return decide_rollbacks(the_view(row), policy, claimed=claimed)


@pytest.mark.parametrize("row", ROLLBACKS, ids=str)
def test_what_becomes_of_a_pending_instant(row: Pending) -> None:
    decision = decide(row)
    scheduled = [instant.requested_at for instant in decision.schedule]
    carried_out = [again.target for again in decision.carry_out]
    assert scheduled == ([the_instant(row)] if row.becomes == SCHEDULED else [])
    assert carried_out == ([the_instant(row)] if row.becomes == CARRIED_OUT else [])
    assert len(decision.holds) == (row.becomes == HELD)
    for hold in decision.holds:
        until = None if row.until is None else NOW + timedelta(minutes=row.until)
        assert row.said
        assert row.said in hold.because
        assert hold.until == until
        about_it = row.rollback == NONE
        assert hold.instant == (the_instant(row) if about_it else the_rollback(row))


def test_every_outcome_has_its_row() -> None:
    assert {row.becomes for row in ROLLBACKS} == {SCHEDULED, CARRIED_OUT, HELD, LEFT}
    assert len({str(row) for row in ROLLBACKS}) == len(ROLLBACKS)


def test_what_is_decided_is_in_the_state_it_was_seen_in() -> None:
    row = Pending("deltacommit", INFLIGHT, SCHEDULED, "its writer is dead")
    (instant,) = decide(row).schedule
    assert isinstance(instant, Instant)
    assert instant.state is State.INFLIGHT


def test_an_inflight_replacement_without_its_request_might_be_a_plan_that_stays() -> None:
    time = Zone("UTC").digits(NOW - timedelta(hours=9))
    table = a_table({f"{time}.replacecommit.inflight": b"x"}, version="6")
    decision = decide_rollbacks(load_view(table, HeartbeatPolicy(), now=NOW), RollbackPolicy())
    assert decision.schedule == ()
    assert [hold.instant for hold in decision.holds] == [time]


def test_one_look_decides_about_all_of_them() -> None:
    dead = Pending("deltacommit", INFLIGHT, SCHEDULED, "dead", minutes=90)
    old = Pending(CLUSTERING, "requested", SCHEDULED, "old", minutes=80)
    young = Pending("logcompaction", "requested", HELD, "young", minutes=30)
    undone = Pending(
        COMMIT, INFLIGHT, CARRIED_OUT, "planned before", minutes=70, rollback="pending"
    )
    files: dict[str, bytes] = {}
    for row in (dead, old, young, undone):
        files.update(the_files(row))
    decision = decide_rollbacks(
        load_view(a_table(files), HeartbeatPolicy(), now=NOW), RollbackPolicy()
    )
    assert [i.requested_at for i in decision.schedule] == [the_instant(dead), the_instant(old)]
    assert [again.target for again in decision.carry_out] == [the_instant(undone)]
    assert [hold.instant for hold in decision.holds] == [the_instant(young)]


def test_a_hold_explains_itself() -> None:
    young = Pending("logcompaction", "requested", HELD, "young", minutes=15.5)
    (hold,) = decide(young).holds
    assert str(hold) == (
        "log compaction 20260130234430000 is held until 2026-01-31 00:44:30 UTC: the plan is"
        " younger than the rollback delay of 60 min"
    )
    assert str(Hold(InstantTime("10"), "commit", "so")) == "commit 10 is held: so"
