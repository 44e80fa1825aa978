# SPDX-License-Identifier: Apache-2.0
"""What the operators of the three table services have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import RollbackPolicy, ServicePolicy
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.operators.base import HudiJobOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


_NO_PLAN = "None"  # what a template makes of a report's missing instant


class HudiServiceOperator(HudiJobOperator):
    """Makes a plan of a table service, executes one, or both; one executor per plan.

    With nothing to plan or to execute the task is skipped. The report has the instant, so a task
    that schedules hands it to one that executes:
    ``instant="{{ ti.xcom_pull(task_ids='schedule')['instant'] }}"``.

    :param mode: ``schedule``, ``execute`` or ``both``
    :param instant: the plan to execute; None: the oldest one that nobody works on
    :param dry_run: only say what would be done, by the plan itself; nothing is written
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "mode", "instant")

    def __init__(
        self,
        *,
        mode: str = Mode.BOTH.value,
        instant: str | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant = instant
        self.only_dry = dry_run

    def execute(self, context: Context) -> Any:
        """Run the job, unless the task that was to hand a plan on had made none."""
        if str(self.instant).strip() == _NO_PLAN and self.instant is not None:
            return self.nothing_to_do(context, "the task that hands the plan on has made none")
        return super().execute(context)

    @abstractmethod
    def service_policy(self) -> ServicePolicy:
        """What was asked of the service."""

    def rollback_policy(self) -> RollbackPolicy:
        """Which begun plans are rolled back instead of being executed again."""
        return RollbackPolicy()

    def work(self) -> ServiceWork:
        """The service's work, checked as far as it can be without looking at anything."""
        modes = [mode.value for mode in Mode]
        if self.mode not in modes:
            raise InvalidWork(f"mode is {self.mode!r}", cure=f"choose one of {', '.join(modes)}")
        if self.instant is not None and not str(self.instant).strip():
            raise InvalidWork("instant is empty", cure="did a template render to nothing?")
        return ServiceWork(
            policy=self.service_policy(),
            mode=Mode(self.mode),
            instant=None if self.instant is None else str(self.instant),
            options=self.plain_options(),
            rollback=self.rollback_policy(),
            dry_run=self.only_dry,
        )
