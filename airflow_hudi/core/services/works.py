# SPDX-License-Identifier: Apache-2.0
"""What a job of a table service is to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from airflow_hudi.core.instants import instant_time
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import CleanPolicy, RollbackPolicy, ServicePolicy


@dataclass(frozen=True, slots=True)
class ServiceWork:
    """Make a plan of a service, carry one out, or both; the policy says which service."""

    KIND: ClassVar[str] = "service"
    policy: ServicePolicy
    mode: Mode
    instant: str | None = None
    """The plan to execute; None: the oldest one that nobody works on."""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    rollback: RollbackPolicy = field(default_factory=RollbackPolicy)
    """Which begun plans are rolled back instead of being executed again."""
    dry_run: bool = False
    """Say what would be done, and do nothing."""

    def __post_init__(self) -> None:
        if self.instant is None:
            return
        instant_time(self.instant)
        if self.mode is not Mode.EXECUTE:
            raise InvalidWork(
                f"mode {self.mode.value!r} makes its own plan and takes no instant",
                cure="use mode='execute' to execute this one",
            )

    @property
    def service(self) -> Service:
        """Which service it is."""
        return Service(self.policy.KIND)

    @property
    def is_removable(self) -> bool:
        """Whether a plan of it that was begun is never executed again."""
        return self.rollback.is_removable(self.service)


@dataclass(frozen=True, slots=True)
class CleanWork:
    """Roll back what dead writers left, then delete the file slices that no reader needs."""

    KIND: ClassVar[str] = "clean"
    policy: CleanPolicy = field(default_factory=CleanPolicy)
    rollback: RollbackPolicy = field(default_factory=RollbackPolicy)
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    dry_run: bool = False
