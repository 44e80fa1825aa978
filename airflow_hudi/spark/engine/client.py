# SPDX-License-Identifier: Apache-2.0
"""One open write client of Hudi on one table: its lock, heartbeats, services and rollbacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from airflow_hudi.core.config import LockKey
from airflow_hudi.core.engine_errors import InstantNotPending
from airflow_hudi.core.heartbeat import HEARTBEAT_FOLDER
from airflow_hudi.core.locks import LockKind
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.spark.engine.dialects import Hudi015
from airflow_hudi.spark.engine.failures import translated
from airflow_hudi.spark.engine.jvm import items
from airflow_hudi.spark.engine.locks import lock_provider
from airflow_hudi.spark.engine.protocol import BeforeCommit, Executed, Options, Staged
from airflow_hudi.spark.engine.staging import Staging

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEDULE = {
    Service.COMPACTION: "scheduleCompaction",
    Service.LOG_COMPACTION: "scheduleLogCompaction",
    Service.CLUSTERING: "scheduleClustering",
}
_PUBLISHED = False  # the plan is written to the timeline, not only made
_NOT_A_RESTORE = False
_WITH_LOCK = False  # "skip locking" is Hudi's question
_ALL_ACTIONS = False  # compactions and clusterings among them


class HudiTableClient:
    """Hudi's ``SparkRDDWriteClient`` behind the words of :class:`TableClient`."""

    def __init__(self, dialect: Hudi015, base: str, options: Options, client: Any) -> None:
        self._dialect = dialect
        self._jvm = dialect.jvm
        self._base = base
        self._client = client
        self._config = client.getConfig()
        self._staging = Staging(dialect, base, options)

    # --- lock --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the table's own lock, if its settings name one; not re-entrant.

        What locks by itself must not be called inside: schedule, commit, execute_rollback, clean.
        """
        transactions = self._jvm.hudi.client.transaction
        manager = transactions.TransactionManager(self._config, self._storage())
        with translated(self._base):
            try:
                self._dialect.begin(manager)
            except Py4JJavaError:
                self._close_unlocked(manager)
                raise
        try:
            yield
        finally:
            try:
                self._dialect.end(manager)
            finally:
                manager.close()

    def _close_unlocked(self, manager: Any) -> None:
        # Closing a file system lock removes the lock file, whoever made it; nothing else is open.
        if not str(self._config.getLockProviderClass()).endswith("FileSystemBasedLockProvider"):
            manager.close()

    # --- heartbeats --------------------------------------------------------------------------

    def start_heartbeat(self, instant: str) -> None:
        """Prove life on an instant until :meth:`stop_heartbeat`, from a thread of Hudi's."""
        self._client.getHeartbeatClient().start(instant)

    def stop_heartbeat(self, instant: str) -> None:
        """End the proof of life and remove its file."""
        self._client.getHeartbeatClient().stop(instant)
        self._remove_heartbeat(instant)

    def is_heartbeat_expired(self, instant: str) -> bool:
        """Whether nobody has proved life on the instant for longer than this client tolerates."""
        # Not by the client's own: 0.15 remembers beats of its own that were stopped since.
        stranger = self._jvm.hudi.client.heartbeat.HoodieHeartbeatClient(
            self._storage(),
            self._base,
            self._config.getHoodieClientHeartbeatIntervalInMs(),
            self._config.getHoodieClientHeartbeatTolerableMisses(),
        )
        return bool(stranger.isHeartbeatExpired(instant))

    def _remove_heartbeat(self, instant: str) -> None:
        """Also what a beat that came late left behind, and its checksum on a local disk."""
        storage = self._storage()
        for name in (instant, f".{instant}.crc"):
            path = self._jvm.hudi.storage.StoragePath(f"{self._base}/{HEARTBEAT_FOLDER}/{name}")
            if storage.exists(path):
                storage.deleteFile(path)

    # --- services ----------------------------------------------------------------------------

    def schedule(self, service: Service, *, extra: Mapping[str, str] | None = None) -> str | None:
        """Put a plan on the timeline; None means that Hudi made none, for whatever reason."""
        told = self._jvm.option(self._jvm.map(extra) if extra else None)
        with translated(self._base):
            return _present(getattr(self._client, _SCHEDULE[service])(told))

    def execute(self, service: Service, instant: str) -> Executed:
        """Carry a plan out without committing it."""
        with translated(self._base):
            result, stats = self._dialect.execute(self._client, service, instant)
        return Executed(service, instant, tuple(str(stat.getPath()) for stat in stats), result)

    def commit(self, executed: Executed, *, check: Callable[[], None] | None = None) -> None:
        """Commit what :meth:`execute` of this same client wrote, if the check does not raise."""
        with self.lock():
            if check is not None:
                check()
            with self._lock_in_hand(), translated(self._base):
                self._dialect.commit(
                    self._client, executed.service, executed.instant, executed.result
                )

    def preview(self, service: Service) -> str | None:
        """The plan that :meth:`schedule` would make now, as Hudi's own JSON."""
        with translated(self._base):
            plan = self._dialect.preview(self._client, service)
        return None if plan is None else str(plan.toString())

    @contextlib.contextmanager
    def _lock_in_hand(self) -> Iterator[None]:
        """Inside, Hudi's own steps do not ask for the table's lock, which we hold.

        Hudi locks for the commit alone, so nothing could be looked at under that same lock; and it
        has no lock that can be taken twice. All else stays as the settings say.
        """
        properties = self._jvm.hudi.common.config.TypedProperties()
        properties.putAll(self._config.getProps())
        properties.put(LockKey.PROVIDER.value, lock_provider(LockKind.IN_PROCESS))
        builder = self._jvm.hudi.config.HoodieWriteConfig.newBuilder()
        config = builder.withProperties(properties).build()
        transactions = self._jvm.hudi.client.transaction
        manager = transactions.TransactionManager(config, self._storage())
        services = self._client.getTableServiceClient()
        try:
            with self._jvm.exchanged(services, "txnManager", manager):
                yield
        finally:
            manager.close()

    # --- rollback ----------------------------------------------------------------------------

    def schedule_rollback(self, instant: str) -> str:
        """Put a rollback plan for a pending instant on the timeline; the caller holds the lock.

        A plan that is already there is taken: two for one instant would undo each other's work.
        """
        meta_client = self._jvm.meta_client(self._base)
        target = self._pending(instant, meta_client)
        services = self._client.getTableServiceClient()
        planned = services.getPendingRollbackInfo(meta_client, instant, _ALL_ACTIONS)
        if planned.isPresent():
            return self._dialect.requested_at(planned.get().getRollbackInstant())
        rollback = self._dialect.new_instant(self._client)
        by_markers = self._config.shouldRollbackUsingMarkers()
        self._jvm.table(self._base, self._config).scheduleRollback(
            self._jvm.context, rollback, target, _PUBLISHED, by_markers, _NOT_A_RESTORE
        )
        return rollback

    def execute_rollback(
        self, rollback: str, instant: str, action: str | None = None, *, keep_plan: bool = False
    ) -> int:
        """Carry out a rollback plan and remove the heartbeat; the number of files deleted.

        With its action, an instant may be gone already: somebody died between that and the end.
        """
        target, is_gone = self._target(instant, action)
        self._staging.abandon(instant)  # or its client would go on proving life
        # 0.15 fails on instants that it is to delete and that are not there.
        deletes = not (keep_plan or is_gone)
        table = self._jvm.table(self._base, self._config)
        context = self._jvm.context
        with translated(self._base):
            metadata = table.rollback(context, rollback, target, deletes, _WITH_LOCK)
        if not keep_plan:  # else its executor beats on
            self.stop_heartbeat(instant)
        return int(metadata.getTotalFilesDeleted())

    def _target(self, instant: str, action: str | None) -> tuple[Any, bool]:
        """What is to be rolled back, and whether it is gone already."""
        try:
            return self._pending(instant), False
        except InstantNotPending:
            meta_client = self._jvm.meta_client(self._base)
            completed = meta_client.getActiveTimeline().filterCompletedInstants()
            if action is None or completed.containsInstant(instant):
                raise
            return self._dialect.instant(meta_client, action, instant), True

    def _pending(self, instant: str, meta_client: Any = None) -> Any:
        seen = self._jvm.meta_client(self._base) if meta_client is None else meta_client
        pending = seen.getActiveTimeline().filterInflightsAndRequested().getInstants()
        for found in items(pending):
            if self._dialect.requested_at(found) == instant:
                return found
        raise InstantNotPending(self._base, instant)

    # --- clean -------------------------------------------------------------------------------

    def schedule_clean(self) -> str | None:
        """Put a clean plan on the timeline; the caller holds the lock."""
        with self._lock_in_hand(), translated(self._base):
            return self._dialect.schedule_clean(self._client)

    def preview_clean(self) -> str | None:
        """The plan that :meth:`schedule_clean` would make now, as Hudi's own JSON."""
        with translated(self._base):
            plan = self._dialect.preview_clean(self._client)
        return None if plan is None else str(plan.toString())

    def clean(self, instant: str) -> int | None:
        """Carry out the pending clean plans, the one of this instant among them; files deleted.

        By the table and not by the client, which rolls dead writes back first, whatever it is told:
        with several writers Hudi takes the policy "never" for "lazy".
        """
        with translated(self._base):
            table = self._jvm.table(self._base, self._config)
            metadata = table.clean(self._jvm.context, instant)
        return None if metadata is None else int(metadata.getTotalFilesDeleted())

    # --- staged writes -----------------------------------------------------------------------

    def stage(self, frame: DataFrame, operation: str, *, extra: Mapping[str, str]) -> Staged:
        """Write data files under a pending instant with a heartbeat; no lock is held meanwhile."""
        return self._staging.stage(frame, operation, extra)

    def commit_staged(self, staged: Staged, *, before_commit: BeforeCommit | None = None) -> None:
        """Commit a write that was staged here or, if its owner is dead, in another process.

        One that is no longer pending is :class:`InstantNotPending`, found under the table's lock.
        """
        self._staging.commit(staged, check_pending=self._pending, before_commit=before_commit)
        self._remove_heartbeat(staged.instant)

    def close(self) -> None:
        """Close Hudi's clients; what they left pending stays so."""
        self._staging.close()
        self._client.close()

    def _storage(self) -> Any:
        return self._jvm.meta_client(self._base).getStorage()


@contextlib.contextmanager
def open_client(dialect: Hudi015, base: str, options: Options) -> Iterator[HudiTableClient]:
    """A client on an existing table, closed at the end."""
    schema = dialect.table_schema(dialect.jvm.meta_client(base))
    text = str(schema.get().toString()) if schema.isPresent() else ""
    client = HudiTableClient(dialect, base, options, dialect.open_client(base, options, text))
    try:
        yield client
    finally:
        client.close()


def _present(option: Any) -> str | None:
    return str(option.get()) if option.isPresent() else None
