# SPDX-License-Identifier: Apache-2.0
"""Which plan a compaction job executes, or why there is none: two tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from airflow_hudi.core.errors import InvalidInstant
from airflow_hudi.core.heartbeat import Heartbeat, Signs
from airflow_hudi.core.instants import UTC, InstantTime
from airflow_hudi.core.job_errors import InvalidWork, PlanNotFound
from airflow_hudi.core.layout import Layout
from airflow_hudi.core.services.choice import (
    Choice,
    Execute,
    MakePlan,
    NothingToDo,
    PlanInUse,
    choose,
)
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.core.services.triggers import why_no_plan, why_not_due
from airflow_hudi.core.services.view import ServicesView
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.storage.base import FileInfo
from airflow_hudi.core.timeline import Timeline, build_timeline
from tests.builders import EPOCH, an_instant, names_of

SCHEDULE, EXECUTE, BOTH = (ServiceWork(CompactionPolicy(), mode) for mode in Mode)
WRITTEN = "10-11 deltacommit"
WAITING = "20 compaction requested"
BEGUN = "20 compaction inflight"
DONE = ("20 compaction requested", "20-29 commit")


def timeline_of(*texts: str) -> Timeline:
    """From file names, so that a completed compaction is known by its plan."""
    names = names_of(Layout.V2, *texts)
    files = tuple(FileInfo(f".hoodie/timeline/{name}", 1, EPOCH) for name in sorted(names))
    return build_timeline(Layout.V2, files, UTC)


def view_of(texts: tuple[str, ...], signs: Signs) -> ServicesView:
    return ServicesView("/lake/orders", timeline_of(*texts), signs, zone=UTC)


def signs_of(**minutes: float) -> Signs:
    """``_20=1``: the last beat on instant 20 came a minute ago."""
    beats = {
        InstantTime(name[1:]): Heartbeat(InstantTime(name[1:]), EPOCH - timedelta(minutes=ago))
        for name, ago in minutes.items()
    }
    return Signs(beats, EPOCH)


def named(time: str) -> ServiceWork:
    return ServiceWork(CompactionPolicy(), Mode.EXECUTE, time)


@dataclass(frozen=True)
class Row:
    why: str
    work: ServiceWork
    texts: tuple[str, ...]
    signs: Signs
    choice: Choice


def execute(text: str) -> Execute:
    return Execute(an_instant(text))


NOBODY = signs_of()
ALIVE = signs_of(_20=1)
EXPIRED = signs_of(_20=3)
BUSY = NothingToDo("somebody is alive on each of the 1 pending compactions")

CHOICES = [
    Row("a plan is made whatever waits", SCHEDULE, (WRITTEN, WAITING), NOBODY, MakePlan()),
    Row(
        "nothing was written since the last one",
        SCHEDULE,
        (WRITTEN, *DONE),
        NOBODY,
        NothingToDo("0 delta commits since the last compaction, and the policy asks for 1"),
    ),
    Row("a plan waits", EXECUTE, (WAITING,), NOBODY, execute(WAITING)),
    Row("a plan that somebody left", EXECUTE, (BEGUN,), NOBODY, execute(BEGUN)),
    Row("a plan whose executor died", EXECUTE, (BEGUN,), EXPIRED, execute(BEGUN)),
    Row("somebody is at it", EXECUTE, (BEGUN,), ALIVE, BUSY),
    Row("somebody has just taken it", EXECUTE, (WAITING,), ALIVE, BUSY),
    Row(
        "the oldest that is free",
        EXECUTE,
        (BEGUN, "30 compaction requested", "40 compaction requested"),
        ALIVE,
        execute("30 compaction requested"),
    ),
    Row(
        "nothing waits",
        EXECUTE,
        ("10-11 deltacommit",),
        NOBODY,
        NothingToDo("no compaction is pending"),
    ),
    Row("a waiting plan comes before a new one", BOTH, (WAITING,), NOBODY, execute(WAITING)),
    Row("nothing waits, so one is made", BOTH, ("10-11 deltacommit",), NOBODY, MakePlan()),
    Row("somebody is at it, so another one is made", BOTH, (WRITTEN, BEGUN), ALIVE, MakePlan()),
    Row(
        "other services are not ours",
        EXECUTE,
        ("20 logcompaction requested",),
        NOBODY,
        NothingToDo("no compaction is pending"),
    ),
    Row(
        "the named one",
        named("30"),
        (WAITING, "30 compaction requested"),
        NOBODY,
        execute("30 compaction requested"),
    ),
    Row("the named one, left behind", named("20"), (BEGUN,), EXPIRED, execute(BEGUN)),
    Row(
        "the named one was executed",
        named("20"),
        DONE,
        NOBODY,
        NothingToDo("compaction 20 was completed at 29", InstantTime("20")),
    ),
]


@pytest.mark.parametrize("row", CHOICES, ids=lambda row: row.why)
def test_what_a_compaction_job_has_to_do(row: Row) -> None:
    assert choose(row.work, view_of(row.texts, row.signs)) == row.choice


@pytest.mark.parametrize("state", ["requested", "inflight"])
def test_a_named_plan_that_somebody_is_alive_on_is_left_to_them(state: str) -> None:
    with pytest.raises(PlanInUse) as raised:
        choose(named("20"), view_of((f"20 compaction {state}",), ALIVE))
    assert raised.value.retryable
    assert str(raised.value) == (
        "somebody is executing compaction 20 (heartbeat 23:59:00 UTC); two executions of one plan"
        " would corrupt the table, so this one is not started; try again when that one has ended"
    )


@pytest.mark.parametrize(
    ("time", "because"),
    [
        ("10", "that instant is a deltacommit"),
        ("05", "it is older than the active timeline; it was archived, or never there"),
        ("15", "it was never scheduled, or it was rolled back"),
        ("99", "it was never scheduled, or it was rolled back"),
    ],
)
def test_a_plan_that_is_not_there_is_said_to_be_missing_and_why(time: str, because: str) -> None:
    with pytest.raises(PlanNotFound) as raised:
        choose(named(time), view_of(("10-11 deltacommit", WAITING), NOBODY))
    assert not raised.value.retryable
    assert str(raised.value) == (
        f"there is no plan {time} to execute on /lake/orders: {because}. Nothing was changed:"
        " schedule a plan, or name none to execute the oldest one"
    )


def test_on_an_empty_timeline_nothing_was_ever_scheduled() -> None:
    with pytest.raises(PlanNotFound, match="never scheduled"):
        choose(named("10"), view_of((), NOBODY))


# --- no plan --------------------------------------------------------------------------------------

THREE = CompactionPolicy(after_delta_commits=3)
ONE = CompactionPolicy()


@pytest.mark.parametrize(
    ("policy", "texts", "because"),
    [
        (ONE, (), "0 delta commits since the last compaction, and the policy asks for 1"),
        (
            THREE,
            ("10-11 deltacommit", "12-13 deltacommit"),
            "2 delta commits since the last compaction, and the policy asks for 3",
        ),
        (
            ONE,
            ("10-11 deltacommit", *DONE),
            "0 delta commits since the last compaction, and the policy asks for 1",
        ),
        (
            THREE,
            ("10-11 deltacommit", WAITING, "30-31 deltacommit"),
            "2 delta commits since the last compaction, and the policy asks for 3",
        ),
        (
            ONE,
            ("10-11 deltacommit", WAITING, "30-31 deltacommit"),
            "compaction 20 is pending and holds the file groups",
        ),
        (
            ONE,
            ("10-11 deltacommit", "20 clustering inflight"),
            "clustering 20 is pending and holds the file groups",
        ),
        (ONE, ("10-11 deltacommit",), "no file group has log files to merge"),
        (ONE, (*DONE, "30-31 deltacommit"), "no file group has log files to merge"),
    ],
)
def test_why_hudi_made_no_plan(
    policy: CompactionPolicy, texts: tuple[str, ...], because: str
) -> None:
    view = view_of(texts, NOBODY)
    assert (why_not_due(view, policy) or why_no_plan(view, policy)) == because


# --- what makes no sense --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.SCHEDULE, Mode.BOTH])
def test_who_makes_a_plan_cannot_name_one(mode: Mode) -> None:
    with pytest.raises(InvalidWork, match="takes no instant; use mode='execute'"):
        ServiceWork(CompactionPolicy(), mode, "20")


def test_an_instant_is_digits() -> None:
    with pytest.raises(InvalidInstant):
        ServiceWork(CompactionPolicy(), Mode.EXECUTE, "None")


def test_a_policy_counts_from_one() -> None:
    with pytest.raises(InvalidWork, match="after_delta_commits is 0; it must be at least 1"):
        CompactionPolicy(after_delta_commits=0)
    with pytest.raises(InvalidWork, match="at_most_megabytes is 0; it must be at least 1"):
        CompactionPolicy(at_most_megabytes=0)


def test_a_policy_is_told_in_hudis_settings() -> None:
    assert ONE.options() == {"hoodie.compact.inline.max.delta.commits": "1"}
    assert CompactionPolicy(3, 500).options() == {
        "hoodie.compact.inline.max.delta.commits": "1",  # we count; Hudi is asked when it is due
        "hoodie.compaction.target.io": "500",
    }
