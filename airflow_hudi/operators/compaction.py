# SPDX-License-Identifier: Apache-2.0
"""Log files into base files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_hudi.core.compaction import CompactionPolicy, CompactionWork, Mode
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.operators.base import HudiJobOperator


class HudiCompactionOperator(HudiJobOperator):
    """Plans a compaction of a merge-on-read table, executes one, or both.

    With nothing to plan or to execute the task is skipped. The report has the instant, so a task
    that schedules hands it to one that executes:
    ``instant="{{ ti.xcom_pull(task_ids='schedule')['instant'] }}"``.

    :param mode: ``schedule``, ``execute`` or ``both``
    :param instant: the plan to execute; None: the oldest one that nobody works on
    :param policy: when a plan is worth making, and how large it may be
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "mode", "instant")
    script = "compaction"

    def __init__(
        self,
        *,
        mode: str = Mode.BOTH.value,
        instant: str | None = None,
        policy: CompactionPolicy | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant = instant
        self.policy = policy or CompactionPolicy()

    def work(self) -> CompactionWork:
        """The compaction, checked as far as it can be without looking at anything."""
        modes = [mode.value for mode in Mode]
        if self.mode not in modes:
            raise InvalidWork(f"mode is {self.mode!r}", cure=f"choose one of {', '.join(modes)}")
        if self.instant is not None and not str(self.instant).strip():
            raise InvalidWork("instant is empty", cure="did a template render to nothing?")
        return CompactionWork(
            mode=Mode(self.mode),
            instant=None if self.instant is None else str(self.instant),
            policy=self.policy,
            options=self.plain_options(),
        )
