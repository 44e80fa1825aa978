# SPDX-License-Identifier: Apache-2.0
"""Log files into base files, and small log files into larger ones."""

from __future__ import annotations

from typing import Any

from airflow_hudi.core.services.policies import (
    CompactionPolicy,
    LogCompactionPolicy,
    ServicePolicy,
)
from airflow_hudi.operators.service import HudiServiceOperator


class HudiCompactionOperator(HudiServiceOperator):
    """Plans a compaction of a merge-on-read table, executes one, or both.

    A plan whose executor died is executed again once that is proved.

    :param mode: ``schedule``, ``execute`` or ``both``
    :param instant: the plan to execute; None: the oldest one that nobody works on
    :param policy: when a plan is worth making, and how large it may be
    :param dry_run: only say what would be done, by the plan itself; nothing is written
    """

    script = "compaction"

    def __init__(self, *, policy: CompactionPolicy | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.policy = policy or CompactionPolicy()

    def service_policy(self) -> ServicePolicy:
        """What was asked of the compaction."""
        return self.policy


class HudiLogCompactionOperator(HudiServiceOperator):
    """Plans a log compaction of a merge-on-read table, executes one, or both.

    A plan that was begun by an executor that died is not executed again (Hudi would delete it):
    once that is proved it is rolled back and a new one is made.

    :param mode: ``schedule``, ``execute`` or ``both``
    :param instant: the plan to execute; None: the oldest one that nobody works on
    :param policy: when a plan is worth making
    :param dry_run: only say what would be done, by the plan itself; nothing is written
    """

    script = "log_compaction"

    def __init__(self, *, policy: LogCompactionPolicy | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.policy = policy or LogCompactionPolicy()

    def service_policy(self) -> ServicePolicy:
        """What was asked of the log compaction."""
        return self.policy
