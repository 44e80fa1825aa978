# SPDX-License-Identifier: Apache-2.0
"""What this package asks of a Hudi release, and nothing more: one small protocol, four adapters.

No Java name is in here, so that whoever drives a table (:mod:`airflow_hudi.spark.ingestion`,
:mod:`airflow_hudi.spark.compaction`) reads as plain Python and is blind to the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from airflow_hudi.core.services.kinds import Service

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Options = Mapping[str, str]
"""Hudi's settings by key, as strings."""


class CommitInProgress(Protocol):
    """A write right before its commit, under the table's lock: look at it, add to it, or raise."""

    @property
    def extra(self) -> Mapping[str, str]:
        """The extra metadata that will be recorded, the schema among it."""
        ...

    def record(self, key: str, value: str) -> None:
        """Add to, or replace in, the extra metadata."""
        ...

    def as_json(self) -> str:
        """Hudi's own JSON of the commit metadata."""
        ...


BeforeCommit = Callable[[CommitInProgress], None]
"""Called under the table's lock; what it raises ends the write, whose instant stays pending."""


@dataclass(frozen=True, slots=True)
class Executed:
    """A plan that was carried out and is not yet committed: its files are there, unseen."""

    service: Service
    instant: str
    files: tuple[str, ...]
    """Paths of the data files it wrote, relative to the table's base path."""
    result: Any = field(repr=False, compare=False, default=None)
    """Hudi's own handle for the commit; only the adapter looks inside."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A write whose data files are there and whose instant is pending; another process may commit
    or roll it back from these facts alone."""

    instant: str
    action: str
    operation: str
    metadata: str
    """Hudi's own JSON of the commit metadata."""


class TableClient(Protocol):
    """One open write client of Hudi on one table. Locks and heartbeats belong to its thread."""

    def lock(self) -> AbstractContextManager[None]:
        """Hold the table's own lock; what Hudi cannot get in time is :class:`LockNotAcquired`."""
        ...

    def start_heartbeat(self, instant: str) -> None:
        """Prove life on an instant until :meth:`stop_heartbeat`, from a thread of Hudi's."""
        ...

    def stop_heartbeat(self, instant: str) -> None:
        """End the proof of life and remove its file."""
        ...

    def is_heartbeat_expired(self, instant: str) -> bool:
        """Whether nobody has proved life on the instant for longer than this client tolerates."""
        ...

    def schedule(self, service: Service, *, extra: Mapping[str, str] | None = None) -> str | None:
        """Put a plan with this extra metadata on the timeline; None: Hudi made none, whyever."""
        ...

    def execute(self, service: Service, instant: str) -> Executed:
        """Carry a plan out without committing it."""
        ...

    def commit(self, executed: Executed, *, check: Callable[[], None] | None = None) -> None:
        """Commit what :meth:`execute` wrote.

        The check is called under the table's lock, which is held until the commit is done: what it
        has seen still holds then. What it raises ends the commit, and nothing was committed.
        """
        ...

    def preview(self, service: Service) -> str | None:
        """The plan that :meth:`schedule` would make now, as Hudi's own JSON; nothing is written."""
        ...

    def schedule_rollback(self, instant: str) -> str:
        """Put a rollback plan for a pending instant on the timeline; the caller holds the lock."""
        ...

    def execute_rollback(
        self, rollback: str, instant: str, action: str | None = None, *, keep_plan: bool = False
    ) -> int:
        """Carry out a rollback plan and remove the heartbeat; the number of files deleted.

        With its action, an instant may be gone already: somebody died between that and the end.

        :param keep_plan: what was written is deleted, and the plan stays, to be executed again
        """
        ...

    def schedule_clean(self) -> str | None:
        """Put a clean plan on the timeline; None where there is nothing to clean.

        The caller holds the lock. Nothing is rolled back behind the caller's back.
        """
        ...

    def preview_clean(self) -> str | None:
        """The plan that :meth:`schedule_clean` would make now, as Hudi's own JSON."""
        ...

    def clean(self, instant: str) -> int | None:
        """Carry out the pending clean plans, the one of this instant among them; files deleted."""
        ...

    def stage(self, frame: DataFrame, operation: str, *, extra: Mapping[str, str]) -> Staged:
        """Write data files under a pending instant with a heartbeat; no lock is held meanwhile."""
        ...

    def commit_staged(self, staged: Staged, *, before_commit: BeforeCommit | None = None) -> None:
        """Commit a write that was staged here or, if its owner is dead, in another process."""
        ...


class Engine(Protocol):
    """One Hudi release in one Spark session."""

    @property
    def release(self) -> str:
        """The release's name."""
        ...

    @property
    def process_id(self) -> int:
        """The process that Java runs in."""
        ...

    def client(self, base: str, options: Options) -> AbstractContextManager[TableClient]:
        """A write client on an existing table, closed at the end."""
        ...

    def write(
        self,
        frame: DataFrame,
        base: str,
        options: Options,
        *,
        before_commit: BeforeCommit | None = None,
    ) -> str:
        """One write through Hudi's own data source, creating the table if it is not there.

        Returns the instant. An error raised by `before_commit` comes out as it went in.
        """
        ...
