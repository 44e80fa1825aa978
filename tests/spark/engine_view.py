# SPDX-License-Identifier: Apache-2.0
"""What Hudi's own Java says about a table, as JSON: the yardstick for our own readers.

The metadata table is never asked: all is read from the timeline and by listing files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from tests.spark.jvm import Hudi, entries, items, strings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Json = dict[str, Any]

_LAST_INSTANT = "99999999999999999"
_WRITES = ("commit", "deltacommit", "replacecommit")


def engine_view(spark: SparkSession, base: str) -> Json:
    """Everything at once."""
    hudi = Hudi(spark)
    meta_client = hudi.meta_client(base)
    config = meta_client.getTableConfig()
    timeline = meta_client.getActiveTimeline()
    return {
        "release": hudi.release,
        "timezone": str(hudi.jvm.java.util.TimeZone.getDefault().getID()),
        "properties": {key: str(value) for key, value in entries(config.getProps())},
        "table_version": int(config.getTableVersion().versionCode()),
        "instants": _instants(hudi, timeline),
        "archived": _instants(hudi, meta_client.getArchivedTimeline()),
        "plans": _plans(hudi, meta_client),
        "schema": _schema(hudi, base),
        "commit_metadata": _commit_metadata(hudi, timeline),
        **_files(hudi, meta_client, base),
        "heartbeats": _heartbeats(hudi, meta_client, base),
        "markers": _markers(hudi, base),
    }


def _instants(hudi: Hudi, timeline: Any) -> list[Json]:
    """In Java's order."""
    return [
        {
            "requested_at": hudi.requested_at(instant),
            "completed_at": hudi.completed_at(instant),
            "action": str(instant.getAction()),
            "state": str(instant.getState().toString()).lower(),
        }
        for instant in items(timeline.getInstants())
    ]


def _schema(hudi: Hudi, base: str) -> Any:
    try:
        return json.loads(hudi.table_schema(base))
    except Py4JJavaError as error:
        if "No schema found" not in str(error.java_exception):
            raise
        return None


# --- plans -----------------------------------------------------------------------------------


def _plans(hudi: Hudi, meta_client: Any) -> Json:
    """The content of every pending plan, by Hudi's own readers."""
    pending = meta_client.getActiveTimeline().filterInflightsAndRequested()
    plans = {}
    for instant in items(pending.getInstants()):
        plan = _plan(hudi, meta_client, instant)
        if plan is not None:
            plans[hudi.requested_at(instant)] = {"action": str(instant.getAction()), **plan}
    return plans


def _plan(hudi: Hudi, meta_client: Any, instant: Any) -> Json | None:
    util = hudi.packages.common.util
    action = hudi.packages.table.action
    requested_at = hudi.requested_at(instant)
    match str(instant.getAction()):
        case "compaction":
            return _compaction(util.CompactionUtils.getCompactionPlan(meta_client, requested_at))
        case "logcompaction":
            return _compaction(util.CompactionUtils.getLogCompactionPlan(meta_client, requested_at))
        case "clustering" | "replacecommit":
            found = util.ClusteringUtils.getClusteringPlan(meta_client, instant)
            return _clustering(found.get().getRight()) if found.isPresent() else None
        case "clean":
            return _clean(util.CleanerUtils.getCleanerPlan(meta_client, instant))
        case "rollback":
            return _rollback(action.rollback.RollbackUtils.getRollbackPlan(meta_client, instant))
        case "restore":
            return _restore(action.restore.RestoreUtils.getRestorePlan(meta_client, instant))
        case "indexing":
            return _indexing(_index_plan(hudi, meta_client.getActiveTimeline(), instant))
    return None


def _index_plan(hudi: Hudi, timeline: Any, instant: Any) -> Any:
    if hudi.before("1.0"):
        content = timeline.readIndexPlanAsBytes(instant).get()
        read = hudi.packages.common.table.timeline.TimelineMetadataUtils.deserializeIndexPlan
        return read(content)
    return timeline.readIndexPlan(instant)


def _indexing(plan: Any) -> Json:
    return {
        "indexes": sorted(
            [str(each.getMetadataPartitionPath()), str(each.getIndexUptoInstant())]
            for each in items(plan.getIndexPartitionInfos())
        )
    }


def _compaction(plan: Any) -> Json:
    operations = [
        {
            "partition": str(operation.getPartitionPath()),
            "file_id": str(operation.getFileId()),
            "base_instant": str(operation.getBaseInstantTime()),
            "base_file": _name(operation.getDataFilePath()),
            "log_files": [_name(path) for path in items(operation.getDeltaFilePaths())],
        }
        for operation in items(plan.getOperations())
    ]
    return _sliced(operations)


def _clustering(plan: Any) -> Json:
    groups = items(plan.getInputGroups())
    slices = [
        {
            "partition": str(file_slice.getPartitionPath()),
            "file_id": str(file_slice.getFileId()),
            "base_file": _name(file_slice.getDataFilePath()),
            "log_files": [_name(path) for path in items(file_slice.getDeltaFilePaths())],
        }
        for group in groups
        for file_slice in items(group.getSlices())
    ]
    return {
        **_sliced(slices),
        "strategy": str(plan.getStrategy().getStrategyClassName()),
        "output_groups": [int(group.getNumOutputFileGroups()) for group in groups],
    }


def _sliced(slices: list[Json]) -> Json:
    ordered = sorted(slices, key=lambda each: (each["partition"], each["file_id"]))
    groups = [[each["partition"], each["file_id"]] for each in ordered]
    return {"file_groups": groups, "slices": ordered}


def _clean(plan: Any) -> Json:
    retained = plan.getEarliestInstantToRetain()
    files = entries(plan.getFilePathsToBeDeletedPerPartition())
    return {
        "policy": str(plan.getPolicy()),
        "retain_from": None if retained is None else str(retained.getTimestamp()),
        "last_completed": _text(plan.getLastCompletedCommitTimestamp()),
        "files": {
            partition: sorted(str(info.getFilePath()) for info in items(infos))
            for partition, infos in files
        },
        "partitions": sorted(strings(plan.getPartitionsToBeDeleted())),
    }


def _rollback(plan: Any) -> Json:
    target = plan.getInstantToRollback()
    requests = [
        {
            "partition": str(request.getPartitionPath()),
            "file_id": _text(request.getFileId()),
            "base_instant": _text(request.getLatestBaseInstant()),
            "files": sorted(strings(request.getFilesToBeDeleted())),
            "log_blocks": [path for path, _ in entries(request.getLogBlocksToBeDeleted())],
        }
        for request in items(plan.getRollbackRequests())
    ]
    requests.sort(key=lambda each: (each["partition"], each["file_id"] or "", each["files"]))
    return {
        "target": {"requested_at": str(target.getCommitTime()), "action": str(target.getAction())},
        "requests": requests,
    }


def _restore(plan: Any) -> Json:
    return {
        "savepoint": _text(plan.getSavepointToRestoreTimestamp()),
        "targets": [
            {"requested_at": str(each.getCommitTime()), "action": str(each.getAction())}
            for each in items(plan.getInstantsToRollback())
        ],
    }


# --- commits ---------------------------------------------------------------------------------


def _commit_metadata(hudi: Hudi, timeline: Any) -> Json:
    read = hudi.packages.common.table.timeline.TimelineUtils.getCommitMetadata
    writes = timeline.getCommitsTimeline().filterCompletedInstants()
    return {
        hudi.requested_at(instant): _commit(read(instant, timeline), str(instant.getAction()))
        for instant in items(writes.getInstants())
        if str(instant.getAction()) in _WRITES
    }


def _commit(metadata: Any, action: str) -> Json:
    replaced = metadata.getPartitionToReplaceFileIds() if action == "replacecommit" else None
    return {
        "action": action,
        "operation": _text(metadata.getOperationType()),
        "stats": sorted(
            [
                partition,
                str(stat.getFileId()),
                str(stat.getPath()),
                int(stat.getNumWrites()),
                int(stat.getNumDeletes()),
                int(stat.getNumUpdateWrites()),
                int(stat.getNumInserts()),
            ]
            for partition, stats in entries(metadata.getPartitionToWriteStats())
            for stat in items(stats)
        ),
        "replaced": {partition: sorted(strings(ids)) for partition, ids in entries(replaced)},
        "extra_keys": [key for key, _ in entries(metadata.getExtraMetadata())],
        "schema": _text(metadata.getMetadata("schema")),
    }


# --- files -----------------------------------------------------------------------------------


def _files(hudi: Hudi, meta_client: Any, base: str) -> Json:
    view = _file_view(hudi, meta_client)
    partitions = sorted(_partitions(hudi, meta_client, base))
    try:
        return {
            "partitions": partitions,
            "file_groups": {p: _groups(hudi, view.getAllFileGroups(p)) for p in partitions},
            "file_slices": {p: _slices(hudi, view.getAllFileSlices(p)) for p in partitions},
            "latest_file_slices": {
                p: _slices(hudi, view.getLatestFileSlices(p)) for p in partitions
            },
            "replaced_file_groups": {
                p: _groups(hudi, view.getReplacedFileGroupsBeforeOrOn(_LAST_INSTANT, p))
                for p in partitions
            },
        }
    finally:
        view.close()


def _file_view(hudi: Hudi, meta_client: Any) -> Any:
    """The view a table gives to its readers and services, by listing files."""
    common = hudi.packages.common
    no_metadata_table = common.config.HoodieMetadataConfig.newBuilder().enable(False).build()  # noqa: FBT003
    timeline = meta_client.getActiveTimeline().filterCompletedAndCompactionInstants()
    manager = common.table.view.FileSystemViewManager
    create = manager.createInMemoryFileSystemViewWithTimeline
    return create(hudi.context, meta_client, no_metadata_table, timeline)


def _partitions(hudi: Hudi, meta_client: Any, base: str) -> list[str]:
    find = hudi.packages.common.fs.FSUtils.getAllPartitionPaths
    storage = meta_client.getStorage()
    if hudi.before("1.0"):
        return strings(find(hudi.context, storage, base, False, False))  # noqa: FBT003
    if hudi.before("1.1"):
        return strings(find(hudi.context, storage, base, False))  # noqa: FBT003
    return strings(find(hudi.context, meta_client, False))  # noqa: FBT003


def _groups(hudi: Hudi, stream: Any) -> list[str]:
    return sorted(str(group.getFileGroupId().getFileId()) for group in hudi.listed(stream))


def _slices(hudi: Hudi, stream: Any) -> list[Json]:
    """Java gives the groups in no order, but each one's slices newest first and logs as merged."""
    found = [_slice(hudi, each) for each in hudi.listed(stream)]
    return sorted(found, key=lambda each: str(each["file_id"]))


def _slice(hudi: Hudi, file_slice: Any) -> Json:
    base_file = file_slice.getBaseFile()
    return {
        "file_id": str(file_slice.getFileId()),
        "base_instant": str(file_slice.getBaseInstantTime()),
        "base_file": str(base_file.get().getFileName()) if base_file.isPresent() else None,
        "log_files": [str(log.getFileName()) for log in hudi.listed(file_slice.getLogFiles())],
    }


# --- proofs of life --------------------------------------------------------------------------


def _heartbeats(hudi: Hudi, meta_client: Any, base: str) -> dict[str, int]:
    """Instant -> time of its last beat, in milliseconds since 1970."""
    last = hudi.packages.common.heartbeat.HoodieHeartbeatUtils.getLastHeartbeatTime
    storage = meta_client.getStorage()
    folder = Path(base, ".hoodie", ".heartbeat")
    names = sorted(path.name for path in folder.glob("[0-9]*"))
    return {name: int(last(storage, base, name)) for name in names}


def _markers(hudi: Hudi, base: str) -> dict[str, list[str]]:
    """Instant -> the files it was about to write."""
    find = hudi.packages.table.marker.MarkerBasedRollbackUtils.getAllMarkerPaths
    instants = sorted(path.name for path in Path(base, ".hoodie", ".temp").glob("[0-9]*"))
    return {
        instant: sorted(strings(find(hudi.table(base), hudi.context, instant, 1)))
        for instant in instants
    }


def _name(path: Any) -> str | None:
    """Plans of different releases name files with or without their folder."""
    return None if not path else str(path).rpartition("/")[2]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
