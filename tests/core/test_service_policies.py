# SPDX-License-Identifier: Apache-2.0
"""What a user may ask of a service, and what Hudi is told of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_hudi.core.errors import InvalidInstant
from airflow_hudi.core.instants import Action
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import (
    CleanPolicy,
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    RollbackPolicy,
    ServicePolicy,
)
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.values import from_json, to_json

COUNTS: list[tuple[Callable[..., Any], str]] = [
    (CompactionPolicy, "after_delta_commits"),
    (CompactionPolicy, "at_most_megabytes"),
    (LogCompactionPolicy, "after_commits"),
    (LogCompactionPolicy, "log_blocks"),
    (ClusteringPolicy, "after_commits"),
    (ClusteringPolicy, "target_file_megabytes"),
    (ClusteringPolicy, "small_file_megabytes"),
    (ClusteringPolicy, "at_most_groups"),
    (CleanPolicy, "keep_commits"),
    (CleanPolicy, "keep_hours"),
    (CleanPolicy, "keep_versions"),
]


@pytest.mark.parametrize(("policy", "name"), COUNTS)
def test_every_count_begins_at_one(policy: Callable[..., Any], name: str) -> None:
    assert getattr(policy(**{name: 1}), name) == 1
    for value in (0, -1):
        with pytest.raises(InvalidWork, match=f"{name} is {value}; it must be at least 1"):
            policy(**{name: value})


@pytest.mark.parametrize("policy", [CompactionPolicy, LogCompactionPolicy, ClusteringPolicy])
def test_a_while_is_longer_than_nothing(policy: Callable[..., Any]) -> None:
    policy(or_after=timedelta(seconds=1))
    with pytest.raises(InvalidWork, match="or_after is 0:00:00; it must be longer than nothing"):
        policy(or_after=timedelta())


def test_a_delay_may_be_nothing_and_has_an_end() -> None:
    assert RollbackPolicy().delay == timedelta(hours=1)
    RollbackPolicy(timedelta())
    RollbackPolicy(timedelta(days=3650))
    for wrong in (timedelta(days=-1), timedelta(days=3651)):
        with pytest.raises(InvalidWork, match=rf"rollback_delay is {wrong}; it may be nothing to"):
            RollbackPolicy(wrong)


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (CompactionPolicy(), {"hoodie.compact.inline.max.delta.commits": "1"}),
        (
            CompactionPolicy(4, 512),
            {
                "hoodie.compact.inline.max.delta.commits": "1",
                "hoodie.compaction.target.io": "512",
            },
        ),
        (
            LogCompactionPolicy(log_blocks=7),
            {
                "hoodie.log.compaction.enable": "true",
                "hoodie.log.compaction.blocks.threshold": "7",
            },
        ),
        (ClusteringPolicy(), {}),
        (
            ClusteringPolicy(
                target_file_megabytes=2,
                small_file_megabytes=1,
                sort_columns=("a", "b"),
                partitions=("p", "q/r"),
                at_most_groups=3,
            ),
            {
                "hoodie.clustering.plan.strategy.target.file.max.bytes": "2097152",
                "hoodie.clustering.plan.strategy.small.file.limit": "1048576",
                "hoodie.clustering.plan.strategy.sort.columns": "a,b",
                "hoodie.clustering.plan.strategy.partition.selected": "p,q/r",
                "hoodie.clustering.plan.strategy.max.num.groups": "3",
            },
        ),
        (CleanPolicy(), {}),
        (
            CleanPolicy(keep_commits=5),
            {
                "hoodie.cleaner.policy": "KEEP_LATEST_COMMITS",
                "hoodie.cleaner.commits.retained": "5",
            },
        ),
        (
            CleanPolicy(keep_hours=24),
            {
                "hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS",
                "hoodie.cleaner.hours.retained": "24",
            },
        ),
        (
            CleanPolicy(keep_versions=2),
            {
                "hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS",
                "hoodie.cleaner.fileversions.retained": "2",
            },
        ),
    ],
    ids=repr,
)
def test_what_hudi_is_told(policy: Any, options: dict[str, str]) -> None:
    assert policy.options() == options


@pytest.mark.parametrize(
    "given",
    [
        {"keep_commits": 1, "keep_hours": 1},
        {"keep_commits": 1, "keep_versions": 1},
        {"keep_hours": 1, "keep_versions": 1},
        {"keep_commits": 1, "keep_hours": 1, "keep_versions": 1},
    ],
)
def test_a_clean_keeps_by_one_measure(given: dict[str, int]) -> None:
    with pytest.raises(InvalidWork, match=r"more than one of keep_commits.*; choose one"):
        CleanPolicy(**given)


@pytest.mark.parametrize(
    ("service", "by_default", "where_clustering_stays"),
    [
        (Service.COMPACTION, False, False),
        (Service.LOG_COMPACTION, True, True),
        (Service.CLUSTERING, True, False),
        (None, False, False),
    ],
)
def test_which_plans_are_removable(
    service: Service | None,
    by_default: bool,  # noqa: FBT001
    where_clustering_stays: bool,  # noqa: FBT001
) -> None:
    assert RollbackPolicy().is_removable(service) is by_default
    kept = RollbackPolicy(clustering_is_removable=False)
    assert kept.is_removable(service) is where_clustering_stays


@pytest.mark.parametrize(
    ("policy", "service", "noun", "is_removable"),
    [
        (CompactionPolicy(3), Service.COMPACTION, "compaction", False),
        (LogCompactionPolicy(3), Service.LOG_COMPACTION, "log compaction", True),
        (ClusteringPolicy(3), Service.CLUSTERING, "clustering", True),
    ],
)
def test_the_policy_says_which_service_it_is(
    policy: ServicePolicy,
    service: Service,
    noun: str,
    is_removable: bool,  # noqa: FBT001
) -> None:
    work = ServiceWork(policy, Mode.BOTH)
    assert work.service is service
    assert (service.noun, service.action) == (noun, Action(service.value))
    assert work.is_removable is is_removable
    assert policy.after_commits == 3
    assert from_json(ServiceWork, to_json(work)) == work


def test_an_instant_is_named_to_be_executed() -> None:
    assert ServiceWork(CompactionPolicy(), Mode.EXECUTE, "20").instant == "20"
    for mode in (Mode.SCHEDULE, Mode.BOTH):
        with pytest.raises(InvalidWork, match=f"mode '{mode.value}' makes its own plan"):
            ServiceWork(CompactionPolicy(), mode, "20")
    with pytest.raises(InvalidInstant):
        ServiceWork(CompactionPolicy(), Mode.EXECUTE, "the newest")


def test_a_clean_goes_through_json() -> None:
    work = CleanWork(CleanPolicy(keep_hours=3), RollbackPolicy(timedelta(minutes=5)), dry_run=True)
    assert from_json(CleanWork, to_json(work)) == work
