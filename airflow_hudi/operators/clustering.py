# SPDX-License-Identifier: Apache-2.0
"""Base files laid out anew."""

from __future__ import annotations

from typing import Any

from airflow_hudi.core.services.policies import (
    ClusteringPolicy,
    RollbackPolicy,
    ServicePolicy,
)
from airflow_hudi.operators.service import HudiServiceOperator


class HudiClusteringOperator(HudiServiceOperator):
    """Plans a clustering, executes one, or both.

    A clustering that was begun by an executor that died is not executed again: once that is proved
    it is rolled back, and a new one is planned and executed.

    :param mode: ``schedule``, ``execute`` or ``both``
    :param instant: the plan to execute; None: the oldest one that nobody works on
    :param policy: when a plan is worth making, which files it takes, and how they are laid out
    :param removable: False: a begun plan is executed again, as a compaction's is
    :param dry_run: only say what would be done, by the plan itself; nothing is written
    """

    script = "clustering"

    def __init__(
        self,
        *,
        policy: ClusteringPolicy | None = None,
        removable: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.policy = policy or ClusteringPolicy()
        self.removable = removable

    def service_policy(self) -> ServicePolicy:
        """What was asked of the clustering."""
        return self.policy

    def rollback_policy(self) -> RollbackPolicy:
        """Whether a begun plan is rolled back."""
        return RollbackPolicy(clustering_is_removable=self.removable)
