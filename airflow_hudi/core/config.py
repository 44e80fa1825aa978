# SPDX-License-Identifier: Apache-2.0
"""Every configuration key of Hudi that this package reads or writes; their only home."""

from __future__ import annotations

from enum import Enum


class TableKey(str, Enum):
    """Keys of a table's own ``hoodie.properties``."""

    NAME = "hoodie.table.name"
    DATABASE = "hoodie.database.name"
    TYPE = "hoodie.table.type"
    VERSION = "hoodie.table.version"
    CHECKSUM = "hoodie.table.checksum"
    LAYOUT_VERSION = "hoodie.timeline.layout.version"
    TIMELINE_PATH = "hoodie.timeline.path"
    HISTORY_PATH = "hoodie.timeline.history.path"
    ARCHIVE_FOLDER = "hoodie.archivelog.folder"
    TIMELINE_TIMEZONE = "hoodie.table.timeline.timezone"
    RECORD_KEY_FIELDS = "hoodie.table.recordkey.fields"
    PARTITION_FIELDS = "hoodie.table.partition.fields"
    PRECOMBINE_FIELD = "hoodie.table.precombine.field"
    ORDERING_FIELDS = "hoodie.table.ordering.fields"
    CREATE_SCHEMA = "hoodie.table.create.schema"
    DROP_PARTITION_COLUMNS = "hoodie.datasource.write.drop.partition.columns"
    KEY_GENERATOR_CLASS = "hoodie.table.keygenerator.class"
    HIVE_STYLE_PARTITIONING = "hoodie.datasource.write.hive_style_partitioning"
    KEY_GENERATOR_TYPE = "hoodie.table.keygenerator.type"
    URL_ENCODED_PARTITIONS = "hoodie.datasource.write.partitionpath.urlencode"
    PAYLOAD_CLASS = "hoodie.compaction.payload.class"
    LEGACY_PAYLOAD_CLASS = "hoodie.table.legacy.payload.class"
    METADATA_PARTITIONS = "hoodie.table.metadata.partitions"


class WriteKey(str, Enum):
    """Keys a Hudi write or table service takes."""

    TABLE_NAME = TableKey.NAME.value
    TABLE_TYPE = "hoodie.datasource.write.table.type"
    OPERATION = "hoodie.datasource.write.operation"
    RECORD_KEY_FIELD = "hoodie.datasource.write.recordkey.field"
    PARTITION_FIELD = "hoodie.datasource.write.partitionpath.field"
    PRECOMBINE_FIELD = "hoodie.datasource.write.precombine.field"
    COMPACT_INLINE = "hoodie.compact.inline"
    COMPACT_SCHEDULE_INLINE = "hoodie.compact.schedule.inline"
    COMPACT_AFTER_DELTA_COMMITS = "hoodie.compact.inline.max.delta.commits"
    KEY_GENERATOR_CLASS = "hoodie.datasource.write.keygenerator.class"
    HIVE_STYLE_PARTITIONING = TableKey.HIVE_STYLE_PARTITIONING.value
    ORDERING_FIELDS = TableKey.ORDERING_FIELDS.value
    TABLE_VERSION = "hoodie.write.table.version"
    AUTO_UPGRADE = "hoodie.write.auto.upgrade"
    COMPACTION_TARGET_IO = "hoodie.compaction.target.io"
    PARTITIONS_TO_DELETE = "hoodie.datasource.write.partitions.to.delete"
    KEY_GENERATOR_TYPE = "hoodie.datasource.write.keygenerator.type"
    PAYLOAD_CLASS = "hoodie.datasource.write.payload.class"
    ROW_WRITER = "hoodie.datasource.write.row.writer.enable"
    STREAMING_METADATA = "hoodie.metadata.streaming.write.enabled"
    TABLE_SERVICES = "hoodie.table.services.enabled"
    KEEP_DUPLICATES = "hoodie.merge.allow.duplicate.on.inserts"
    LOG_COMPACTION = "hoodie.log.compaction.enable"
    LOG_COMPACTION_BLOCKS = "hoodie.log.compaction.blocks.threshold"
    LOG_COMPACTION_INLINE = "hoodie.log.compaction.inline"
    METADATA = "hoodie.metadata.enable"


class ClusteringKey(str, Enum):
    """Keys of a clustering."""

    INLINE = "hoodie.clustering.inline"
    SCHEDULE_INLINE = "hoodie.clustering.schedule.inline"
    ASYNC = "hoodie.clustering.async.enabled"
    TARGET_FILE_BYTES = "hoodie.clustering.plan.strategy.target.file.max.bytes"
    SMALL_FILE_BYTES = "hoodie.clustering.plan.strategy.small.file.limit"
    SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"
    PARTITIONS = "hoodie.clustering.plan.strategy.partition.selected"
    MAX_GROUPS = "hoodie.clustering.plan.strategy.max.num.groups"


class CleanKey(str, Enum):
    """Keys of a clean, by the names of 0.x, which 1.x still reads."""

    AUTOMATIC = "hoodie.clean.automatic"
    POLICY = "hoodie.cleaner.policy"
    COMMITS = "hoodie.cleaner.commits.retained"
    HOURS = "hoodie.cleaner.hours.retained"
    VERSIONS = "hoodie.cleaner.fileversions.retained"
    INCREMENTAL = "hoodie.cleaner.incremental.mode"


class LockKey(str, Enum):
    """Keys that let several writers work on one table, one commit at a time."""

    CONCURRENCY_MODE = "hoodie.write.concurrency.mode"
    # The name of 0.x; 1.x calls it hoodie.clean.failed.writes.policy and still reads this one.
    FAILED_WRITES_POLICY = "hoodie.cleaner.policy.failed.writes"
    AUTO_ADJUST = "hoodie.auto.adjust.lock.configs"
    PROVIDER = "hoodie.write.lock.provider"
    TRY_MILLIS = "hoodie.write.lock.wait_time_ms"
    RETRIES = "hoodie.write.lock.client.num_retries"
    PAUSE_MILLIS = "hoodie.write.lock.client.wait_time_ms_between_retry"
    FILESYSTEM_EXPIRY_MINUTES = "hoodie.write.lock.filesystem.expire"
    ZOOKEEPER_URL = "hoodie.write.lock.zookeeper.url"
    ZOOKEEPER_BASE_PATH = "hoodie.write.lock.zookeeper.base_path"
    ZOOKEEPER_KEY = "hoodie.write.lock.zookeeper.lock_key"
    ZOOKEEPER_SESSION_MILLIS = "hoodie.write.lock.zookeeper.session_timeout_ms"
    ZOOKEEPER_CONNECTION_MILLIS = "hoodie.write.lock.zookeeper.connection_timeout_ms"


class HeartbeatKey(str, Enum):
    """Keys that say when a writer's silence means its death; the same in all jobs on a table."""

    INTERVAL_MILLIS = "hoodie.client.heartbeat.interval_in_ms"
    TOLERABLE_MISSES = "hoodie.client.heartbeat.tolerable.misses"
