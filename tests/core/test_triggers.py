# SPDX-License-Identifier: Apache-2.0
"""Whether a new plan is due, for each service; and why Hudi made none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.layout import Layout
from airflow_hudi.core.services.policies import (
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    ServicePolicy,
)
from airflow_hudi.core.services.triggers import why_no_plan, why_not_due
from airflow_hudi.core.services.view import ServicesView, load_view
from tests.builders import EPOCH, a_table, at, names_of
from tests.core.service_builders import a_clustering_plan

HOUR = timedelta(hours=1)
COMPACTED = ("20 compaction requested", "20-29 commit")
LOGS_COMPACTED = ("20 logcompaction requested", "20-29 deltacommit")
CLUSTERED = ("20 clustering requested", "20-29 replacecommit")


def view_of(*texts: str) -> ServicesView:
    return load_view(a_table(names_of(Layout.V2, *texts)), HeartbeatPolicy(), now=EPOCH + 2 * HOUR)


@dataclass(frozen=True)
class Row:
    policy: ServicePolicy
    texts: tuple[str, ...]
    said: str | None
    because: str

    def __str__(self) -> str:
        return f"{self.policy.KIND}: {self.because}"


def deltas(*times: int) -> tuple[str, ...]:
    return tuple(f"{time}-{time + 1} deltacommit" for time in times)


COMPACT, TWO = CompactionPolicy(), CompactionPolicy(2)
MERGE, MERGE_TWO = LogCompactionPolicy(), LogCompactionPolicy(2)
CLUSTER, CLUSTER_TWO = ClusteringPolicy(), ClusteringPolicy(2)

DUE = [
    Row(COMPACT, deltas(10), None, "one is enough"),
    Row(COMPACT, (), "0 delta commits since the last compaction", "an empty table"),
    Row(COMPACT, ("10-11 commit",), "0 delta commits", "a commit has no logs"),
    Row(COMPACT, ("10 deltacommit inflight",), "0 delta commits", "not yet completed"),
    Row(TWO, deltas(10), "1 delta commits since the last compaction, and", "one is not two"),
    Row(TWO, deltas(10, 12), None, "two are two"),
    Row(TWO, (*deltas(10, 12), *COMPACTED), "0 delta commits", "they were compacted"),
    Row(TWO, (*deltas(10), *COMPACTED, *deltas(30)), "1 delta commits", "one has come since"),
    Row(TWO, (*COMPACTED, *deltas(30, 40)), None, "two have come since"),
    Row(COMPACT, LOGS_COMPACTED, "0 delta commits", "a log compaction is no write"),
    Row(COMPACT, CLUSTERED, "0 delta commits", "a clustering is no write"),
    Row(TWO, (*deltas(10, 12), "20 compaction requested"), None, "a plan is no compaction"),
    Row(MERGE, deltas(10), None, "one is enough"),
    Row(MERGE, (*deltas(10), *LOGS_COMPACTED), "0 delta commits since the last log compaction", ""),
    Row(MERGE_TWO, (*LOGS_COMPACTED, *deltas(30)), "1 delta commits", "one has come since"),
    Row(MERGE_TWO, (*LOGS_COMPACTED, *deltas(30, 40)), None, "two have come since"),
    Row(MERGE, (*deltas(10), *COMPACTED), None, "a compaction is none of it"),
    Row(CLUSTER, ("10-11 commit",), None, "a commit is enough"),
    Row(CLUSTER, deltas(10), None, "a delta commit is enough"),
    Row(CLUSTER, (), "0 commits since the last clustering", "an empty table"),
    Row(CLUSTER, (*deltas(10), *CLUSTERED), "0 commits since", "it was clustered"),
    Row(CLUSTER_TWO, (*CLUSTERED, *COMPACTED[:1], *deltas(30)), "1 commits", "plans do not count"),
    Row(CLUSTER_TWO, (*CLUSTERED, *deltas(30), "40-41 replacecommit"), None, "overwrites count"),
    Row(CLUSTER_TWO, (*COMPACTED, "40-41 commit"), "1 commits", "compactions are no writes"),
]


@pytest.mark.parametrize("row", DUE, ids=str)
def test_a_plan_is_due_when_enough_was_written(row: Row) -> None:
    said = why_not_due(view_of(*row.texts), row.policy)
    assert (said is None) == (row.said is None)
    assert (said or "").startswith(row.said or "")


@pytest.mark.parametrize(
    ("policy", "noun"),
    [
        (CompactionPolicy(5, or_after=HOUR), "delta commits since the last compaction"),
        (LogCompactionPolicy(5, or_after=HOUR), "delta commits since the last log compaction"),
        (ClusteringPolicy(5, or_after=HOUR), "commits since the last clustering"),
    ],
)
def test_after_a_while_one_write_will_do(policy: ServicePolicy, noun: str) -> None:
    """An hour has passed since instants of the first hour; now is the end of the second."""
    long_ago, just_now = f"{at(3600)}-{at(3601)}", f"{at(3601)}-{at(3602)}"
    assert why_not_due(view_of(f"{long_ago} deltacommit"), policy) is None
    assert why_not_due(view_of(f"{just_now} deltacommit"), policy) == (
        f"1 {noun}, and the policy asks for 5, or for 1:00:00 to have passed"
    )
    assert why_not_due(view_of(), policy) == f"0 {noun}, and the policy asks for 5"


def test_the_while_is_counted_from_the_last_one() -> None:
    policy = CompactionPolicy(5, or_after=HOUR)
    write = f"{at(7000)}-{at(7001)} deltacommit"
    for second, is_due in ((3600, True), (3601, False)):
        done = (f"{at(second)} compaction requested", f"{at(second)}-{at(second + 5)} commit")
        view = view_of(f"{at(0)}-{at(1)} deltacommit", *done, write)
        assert (why_not_due(view, policy) is None) == is_due
        assert why_not_due(view_of(*done), policy) is not None  # nothing was written since


def test_an_instant_that_is_no_time_makes_nothing_due() -> None:
    said = why_not_due(view_of("10-11 deltacommit"), CompactionPolicy(5, or_after=HOUR))
    assert said is not None


def test_a_clustering_of_layout_1_is_one() -> None:
    files = {
        "10.replacecommit.requested": a_clustering_plan(),
        "10.replacecommit": b"x",
        "20.deltacommit": b"x",
        "30.replacecommit.requested": b"",
        "30.replacecommit": b"x",
    }
    view = load_view(a_table(files, version="6"), HeartbeatPolicy(), now=EPOCH)
    said = why_not_due(view, ClusteringPolicy(3))
    assert said == "2 commits since the last clustering, and the policy asks for 3"


@pytest.mark.parametrize(
    ("policy", "texts", "said"),
    [
        (COMPACT, (), "no file group has log files to merge"),
        (MERGE, (), "no file slice has as many log blocks as the policy asks for"),
        (CLUSTER, (), "Hudi's strategy selects no file groups"),
        (MERGE, ("20 compaction inflight",), "compaction 20 is pending and holds"),
        (COMPACT, ("20 logcompaction requested",), "log compaction 20 is pending and holds"),
        (CLUSTER, ("20 clustering requested", "30 compaction requested"), "compaction 30 is"),
        (CLUSTER, ("20 deltacommit inflight", "30 clean requested"), "Hudi's strategy selects"),
        (COMPACT, COMPACTED, "no file group has log files to merge"),
    ],
)
def test_why_hudi_made_no_plan(policy: ServicePolicy, texts: tuple[str, ...], said: str) -> None:
    assert why_no_plan(view_of(*texts), policy).startswith(said)
