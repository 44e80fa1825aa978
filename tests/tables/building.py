# SPDX-License-Identifier: Apache-2.0
"""A small real table under construction: writes and table services, on all four releases.

Every effect adds one line to `steps`, so a table can always tell how it came to be.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.spark.jvm import Hudi, items

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COW = "COPY_ON_WRITE"
MOR = "MERGE_ON_READ"
COLUMNS = "id string, region string, day string, ts long, v string"
EVOLVED = f"{COLUMNS}, note string"

Row = tuple[str | int | None, ...]
Settings = Mapping[str, str]

_KEYS = "org.apache.hudi.keygen"
_PAYLOADS = "org.apache.hudi.common.model"

BY_REGION = {"hoodie.datasource.write.partitionpath.field": "region"}
BY_REGION_HIVE_STYLE = {
    **BY_REGION,
    "hoodie.datasource.write.hive_style_partitioning": "true",
}
BY_REGION_AND_DAY = {
    # Two key fields: with one, the complex key generator is known to differ between releases.
    "hoodie.datasource.write.recordkey.field": "id,region",
    "hoodie.datasource.write.partitionpath.field": "region,day",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.keygenerator.class": f"{_KEYS}.ComplexKeyGenerator",
}
NOT_PARTITIONED = {
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": f"{_KEYS}.NonpartitionedKeyGenerator",
}

# Each recipe calls the services it wants, when it wants them.
NO_SERVICES = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
}
_DEFAULTS = {
    **NO_SERVICES,
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.keygenerator.class": f"{_KEYS}.SimpleKeyGenerator",
    "hoodie.metadata.enable": "false",
    # Small and quick.
    "hoodie.embed.timeline.server": "false",
    "hoodie.time.generator.max_expected_clock_skew_ms": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
}
_CLIENT = {
    "hoodie.datasource.write.payload.class": f"{_PAYLOADS}.DefaultHoodieRecordPayload",
}


def rows(ids: str, *, region: str = "eu", ts: int = 1, v: str = "a", day: str = "d1") -> list[Row]:
    """One row per letter or digit of `ids`."""
    return [(key, region, day, ts, v) for key in ids]


def table_version(version: int) -> dict[str, str]:
    """Settings of a 1.x writer that makes, and keeps, a table of an older version."""
    return {"hoodie.write.table.version": str(version), "hoodie.write.auto.upgrade": "false"}


@dataclass
class TableInProgress:
    """One table, the settings of all its writers, and what was done to it."""

    spark: SparkSession
    base: str
    kind: str
    settings: Settings = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hudi = Hudi(self.spark)
        self.name = self.base.rpartition("/")[2]

    @property
    def options(self) -> dict[str, str]:
        return {
            **_DEFAULTS,
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.table.type": self.kind,
            **self.settings,
        }

    # --- writes ------------------------------------------------------------------------------

    def write(
        self,
        records: Sequence[Row],
        operation: str = "upsert",
        *,
        columns: str = COLUMNS,
        extra: Settings | None = None,
    ) -> str:
        """Write and return the instant."""
        frame = self.spark.createDataFrame(list(records), columns)
        return self.write_frame(frame.coalesce(1), operation, extra=extra, of=len(records))

    def write_frame(
        self, frame: Any, operation: str, *, extra: Settings | None = None, of: int
    ) -> str:
        options = {
            **self.options,
            "hoodie.datasource.write.operation": operation,
            **(extra or {}),
        }
        frame.write.format("hudi").options(**options).mode("append").save(self.base)
        return self._done(f"{operation} of {of} rows")

    def delete_partition(self, partition: str) -> str:
        extra = {"hoodie.datasource.write.partitions.to.delete": partition}
        frame = self.spark.createDataFrame([], COLUMNS)
        return self.write_frame(frame, "delete_partition", extra=extra, of=0)

    # --- instants ----------------------------------------------------------------------------

    def last_completed(self) -> str:
        """The write completed last, which need not be the one requested last."""
        return self.hudi.requested_at(self._last_completed())

    def _last_completed(self) -> Any:
        timeline = self.hudi.meta_client(self.base).getActiveTimeline()
        writes = items(timeline.getCommitsTimeline().filterCompletedInstants().getInstants())
        return max(writes, key=lambda instant: self.hudi.completed_at(instant) or "")

    def _done(self, step: str) -> str:
        instant = self.last_completed()
        self.steps.append(f"{step}: {instant}")
        return instant

    def _note(self, step: str, instant: str) -> str:
        self.steps.append(f"{step}: {instant}")
        return instant

    # --- services ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def client(self, extra: Settings | None = None) -> Iterator[Any]:
        """Hudi's own write client with this table's settings."""
        options = {**self.options, **_CLIENT, **(extra or {})}
        create = self.hudi.packages.DataSourceUtils.createHoodieClient
        schema = self.hudi.table_schema(self.base)
        context = self.hudi.java_context
        client = create(context, schema, self.base, self.name, self.hudi.map(options))
        try:
            yield client
        finally:
            client.close()

    def schedule_compaction(self) -> str:
        extra = {"hoodie.compact.inline.max.delta.commits": "1"}
        with self.client(extra) as client:
            instant = _present(client.scheduleCompaction(self.hudi.empty()))
        return self._note("compaction scheduled", instant)

    def begin_compaction(self, instant: str) -> None:
        """Write its files, and stop before the commit."""
        with self.client() as client:
            if self.hudi.before("1.1"):
                client.compact(instant)
            else:
                client.compact(instant, False).getWriteStatuses().count()  # noqa: FBT003
        self._note("compaction begun and left inflight", instant)

    def compact(self, instant: str) -> None:
        with self.client() as client:
            if self.hudi.before("1.1"):
                metadata = client.compact(instant).getCommitMetadata().get()
                client.commitCompaction(instant, metadata, self.hudi.empty())
            else:
                client.compact(instant, True)  # noqa: FBT003
        self._note("compaction executed", instant)

    def schedule_log_compaction(self) -> str:
        extra = {
            "hoodie.log.compaction.blocks.threshold": "2",
            "hoodie.log.compaction.enable": "true",
        }
        with self.client(extra) as client:
            instant = _present(client.scheduleLogCompaction(self.hudi.empty()))
        return self._note("log compaction scheduled", instant)

    def log_compact(self) -> None:
        instant = self.schedule_log_compaction()
        with self.client() as client:
            if self.hudi.before("1.1"):
                metadata = client.logCompact(instant).getCommitMetadata().get()
                client.commitLogCompaction(instant, metadata, self.hudi.empty())
            else:
                client.logCompact(instant, True)  # noqa: FBT003
        self._note("log compaction executed", instant)

    def begin_log_compaction(self, instant: str) -> None:
        """Write its log file, and stop before the commit."""
        with self.client() as client:
            if self.hudi.before("1.1"):
                client.logCompact(instant)
            else:
                client.logCompact(instant, False).getWriteStatuses().count()  # noqa: FBT003
        self._note("log compaction begun and left inflight", instant)

    def schedule_clustering(self, partition: str | None = None) -> str:
        chosen = {"hoodie.clustering.plan.strategy.partition.selected": partition}
        with self.client({k: v for k, v in chosen.items() if v}) as client:
            instant = _present(client.scheduleClustering(self.hudi.empty()))
        return self._note(f"clustering of {partition or 'all'} scheduled", instant)

    def begin_clustering(self, instant: str) -> None:
        with self.client() as client:
            client.cluster(instant, False)  # noqa: FBT003
        self._note("clustering begun and left inflight", instant)

    def cluster(self) -> None:
        instant = self.schedule_clustering()
        with self.client() as client:
            client.cluster(instant, True)  # noqa: FBT003
        self._note("clustering executed", instant)

    def schedule_clean(self) -> str:
        kind = self.hudi.packages.common.model.TableServiceType.CLEAN
        with self.client(RETAIN_ONE_COMMIT) as client:
            instant = _present(client.scheduleTableService(self.hudi.empty(), kind))
        return self._note("clean scheduled", instant)

    def clean(self) -> None:
        instant = self.schedule_clean()
        with self.client(RETAIN_ONE_COMMIT) as client:
            client.clean()
        self._note("clean executed", instant)

    def schedule_indexing(self, index: str) -> str:
        """Plan to build one more index of the metadata table."""
        kinds = self.hudi.jvm.java.util.ArrayList()
        kinds.add(getattr(self.hudi.packages.metadata.MetadataPartitionType, index))
        # From 1.0 on also the paths, which only indexes made by SQL have.
        paths = [] if self.hudi.before("1.0") else [self.hudi.jvm.java.util.ArrayList()]
        with self.client(INDEXING) as client:
            instant = _present(client.scheduleIndexing(kinds, *paths))
        return self._note(f"indexing {index} scheduled", instant)

    def index(self, instant: str) -> None:
        with self.client(INDEXING) as client:
            client.index(instant)
        self._note("indexing executed", instant)

    def upgrade(self) -> None:
        """To the release's own table version, under the table's lock; its writers follow."""
        kept = {key: self.settings[key] for key in self.settings.keys() - table_version(6).keys()}
        self.settings = kept
        meta_client = self.hudi.meta_client(self.base)
        # Not a write client's: on 1.0 that one leaves the upgrade's own compaction uncommitted.
        builder = self.hudi.packages.config.HoodieWriteConfig.newBuilder().withPath(self.base)
        properties = self.hudi.map({**self.options, **LOCKED})
        config = builder.forTable(self.name).withProps(properties).build()
        locks = self.hudi.packages.client.transaction.lock
        lock = locks.LockManager(config, meta_client.getStorage())
        version = self.hudi.packages.common.table.HoodieTableVersion.current()
        upgrade = self.hudi.packages.table.upgrade
        helper = upgrade.SparkUpgradeDowngradeHelper.getInstance()
        lock.lock()
        try:
            steps = upgrade.UpgradeDowngrade(meta_client, config, self.hudi.context, helper)
            steps.run(version, None)
        finally:
            lock.unlock()
            lock.close()
        self._note("upgraded to table version", str(version.versionCode()))

    # --- undoing -----------------------------------------------------------------------------

    def rollback(self, instant: str) -> None:
        with self.client() as client:
            client.rollback(instant)
        self._note("rolled back", instant)

    def schedule_rollback_of_last(self) -> str:
        """A rollback plan of the newest completed write, not executed."""
        target = self._last_completed()
        with self.client() as client:
            table = self.hudi.table(self.base, client.getConfig())
            instant = self._new_instant(client)
            context = self.hudi.context
            table.scheduleRollback(context, instant, target, False, False, False)  # noqa: FBT003
        return self._note(f"rollback of {self.hudi.requested_at(target)} scheduled", instant)

    def savepoint(self, instant: str | None = None) -> str:
        """Of the newest completed write, unless told which."""
        instant = instant or self.last_completed()
        with self.client() as client:
            client.savepoint(instant, "tests", "kept")
        return self._note("savepoint", instant)

    def restore(self, savepoint: str) -> None:
        with self.client() as client:
            client.restoreToSavepoint(savepoint)
        self._note("restored to", savepoint)

    def schedule_restore(self, savepoint: str) -> str:
        with self.client() as client:
            table = self.hudi.table(self.base, client.getConfig())
            instant = self._new_instant(client)
            table.scheduleRestore(self.hudi.context, instant, savepoint)
        return self._note(f"restore to {savepoint} scheduled", instant)

    def _new_instant(self, client: Any) -> str:
        if self.hudi.before("1.0"):
            timeline = self.hudi.packages.common.table.timeline.HoodieActiveTimeline
            return str(timeline.createNewInstantTime())
        if self.hudi.before("1.1"):
            return str(self.hudi.meta_client(self.base).createNewInstantTime(False))  # noqa: FBT003
        return str(client.createNewInstantTime(False))  # noqa: FBT003


INDEXING = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.metadata.index.async": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}
LOCKED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    ),
}
RETAIN_ONE_COMMIT = {
    "hoodie.cleaner.commits.retained": "1",  # 0.x
    "hoodie.clean.commits.retained": "1",
    "hoodie.cleaner.policy.failed.writes": "NEVER",
    "hoodie.clean.failed.writes.policy": "NEVER",  # or clean would roll back what we left pending
}
ARCHIVING = {
    **RETAIN_ONE_COMMIT,
    "hoodie.cleaner.policy.failed.writes": "EAGER",
    "hoodie.clean.failed.writes.policy": "EAGER",
    "hoodie.clean.automatic": "true",
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.timeline.compaction.batch.size": "3",
}
COMPACT_TWO_LOGS = {
    # A slice with one log file is left alone.
    "hoodie.compaction.strategy": (
        "org.apache.hudi.table.action.compact.strategy.LogFileNumBasedCompactionStrategy"
    ),
    "hoodie.compaction.logfile.num.threshold": "2",
}


def _present(option: Any) -> str:
    if not option.isPresent():
        msg = "nothing was scheduled"
        raise RuntimeError(msg)
    return str(option.get())
