# SPDX-License-Identifier: Apache-2.0
"""What dead writers left, and file slices that no reader needs any more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow_hudi.core.services.policies import CleanPolicy, RollbackPolicy
from airflow_hudi.core.services.works import CleanWork
from airflow_hudi.operators.base import HudiJobOperator
from airflow_hudi.operators.settings import rollback_delay_of


class HudiCleanOperator(HudiJobOperator):
    """Rolls back what dead writers left, then deletes old file slices.

    A writer is dead when its heartbeat has expired; a compaction's plan is never rolled back; a
    plan of a log compaction or clustering only once it is older than the delay. No file that a
    pending plan names is deleted. The report says what was rolled back, what is held until when and
    why, and what was deleted.

    :param policy: which file slices stay; None: Hudi's own policy, the last ten commits
    :param rollback_delay: how old a plan must be before it is rolled back, as a timedelta or in
        minutes; None: Airflow's setting ``[hudi] table_service_rollback_delay``, usually 60
    :param clustering_is_removable: False: plans of clusterings stay, as compactions' do
    :param dry_run: only say what would be done; nothing is written
    """

    script = "cleaning"

    def __init__(
        self,
        *,
        policy: CleanPolicy | None = None,
        rollback_delay: timedelta | float | None = None,
        clustering_is_removable: bool = True,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.policy = policy or CleanPolicy()
        self.rollback_delay = rollback_delay
        if rollback_delay is not None:
            RollbackPolicy(
                rollback_delay_of(rollback_delay)
            )  # nonsense is to be seen where it is written
        self.clustering_is_removable = clustering_is_removable
        self.only_dry = dry_run

    def work(self) -> CleanWork:
        """The cleaning, checked as far as it can be without looking at anything."""
        rollback = RollbackPolicy(
            rollback_delay_of(self.rollback_delay), self.clustering_is_removable
        )
        return CleanWork(self.policy, rollback, self.plain_options(), self.only_dry)
