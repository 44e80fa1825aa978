# SPDX-License-Identifier: Apache-2.0
"""The three table services that carry out a plan."""

from __future__ import annotations

from enum import Enum

from airflow_hudi.core.instants import Action


class Service(str, Enum):
    """A table service that first makes a plan and then carries it out."""

    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    CLUSTERING = "clustering"

    @property
    def action(self) -> Action:
        """What its pending instants are; a clustering on layout 1 is a replacecommit instead."""
        return Action(self.value)

    @property
    def noun(self) -> str:
        """Its name in a sentence."""
        return "log compaction" if self is Service.LOG_COMPACTION else self.value

    def is_removable(self, *, clustering_is: bool) -> bool:
        """Whether a plan that was begun is rolled back for good, and never executed again.

        A compaction's plan must stay: later log files were written for the slice it is to make.
        """
        return self is Service.LOG_COMPACTION or (self is Service.CLUSTERING and clustering_is)


class Mode(str, Enum):
    """Which half of a service a job does."""

    SCHEDULE = "schedule"
    EXECUTE = "execute"
    BOTH = "both"
