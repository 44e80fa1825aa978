# SPDX-License-Identifier: Apache-2.0
"""Plans as Hudi stored them on the timeline, decoded: what a service, clean or rollback would do.

These are facts read from a table. What *we* would do is decided elsewhere, from these. Stored plans
hold names, relative paths or whole URIs, by their version; here files are always names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from airflow_hudi.core.datafiles import FileGroupId
from airflow_hudi.core.decoding import Record, Undecodable, decode_record, load_decoded
from airflow_hudi.core.defects import Defect, DefectKind, missing
from airflow_hudi.core.instants import Action, Instant, InstantTime, State
from airflow_hudi.core.layout import format_name
from airflow_hudi.core.storage.base import file_name
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline

CLUSTER = "CLUSTER"


@dataclass(frozen=True, slots=True)
class PlannedSlice:
    """One file slice a plan takes as its input; files by name, without their folder."""

    partition: str
    file_id: str
    base_file: str | None = None
    log_files: tuple[str, ...] = ()
    base_instant: InstantTime | None = None

    @property
    def file_group(self) -> FileGroupId:
        """The file group the slice belongs to."""
        return FileGroupId(self.partition, self.file_id)


@dataclass(frozen=True, slots=True)
class _MergePlan:
    operations: tuple[PlannedSlice, ...]
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def file_groups(self) -> tuple[FileGroupId, ...]:
        """The file groups it would work on, sorted."""
        return _groups(self.operations)


@dataclass(frozen=True, slots=True)
class CompactionPlan(_MergePlan):
    """Merge log files into new base files."""

    KIND: ClassVar[str] = "compaction"


@dataclass(frozen=True, slots=True)
class LogCompactionPlan(_MergePlan):
    """Merge small log files into larger ones."""

    KIND: ClassVar[str] = "logcompaction"


@dataclass(frozen=True, slots=True)
class ClusteringGroup:
    """Slices that are rewritten together."""

    slices: tuple[PlannedSlice, ...]
    output_file_groups: int


@dataclass(frozen=True, slots=True)
class ClusteringPlan:
    """Replace file groups by better laid out ones."""

    KIND: ClassVar[str] = "clustering"
    groups: tuple[ClusteringGroup, ...]
    strategy: str | None = None
    strategy_params: Mapping[str, str] = field(default_factory=dict, hash=False)
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def file_groups(self) -> tuple[FileGroupId, ...]:
        """The file groups it would replace, sorted."""
        return _groups(tuple(piece for group in self.groups for piece in group.slices))


@dataclass(frozen=True, slots=True)
class ReplacePlan:
    """The request of an insert_overwrite or delete_partition; it names no file groups yet."""

    KIND: ClassVar[str] = "replace"
    operation: str | None = None
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class CleanerPlan:
    """Delete files no reader needs any more."""

    KIND: ClassVar[str] = "clean"
    policy: str
    retain_from: InstantTime | None
    """The earliest instant whose files stay."""
    files: Mapping[str, tuple[str, ...]] = field(hash=False)
    """By partition, the files to be deleted; by name, without their folder."""
    partitions: tuple[str, ...] = ()
    """Partitions to be deleted as a whole."""


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """What a rollback would undo in one file group or partition."""

    partition: str
    file_id: str | None
    base_instant: InstantTime | None
    delete_files: tuple[str, ...]
    rollback_log_files: tuple[str, ...]
    """Table version 6 and before: log files that get a command block instead of being deleted."""


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """Undo one instant."""

    KIND: ClassVar[str] = "rollback"
    target: InstantTime
    target_action: str
    requests: tuple[RollbackRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """Undo every instant after a savepoint, newest first."""

    KIND: ClassVar[str] = "restore"
    targets: tuple[InstantTime, ...]
    savepoint: InstantTime | None = None


@dataclass(frozen=True, slots=True)
class PlannedIndex:
    """One partition of the metadata table to be built, from all writes up to an instant."""

    partition: str
    up_to: InstantTime | None = None


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Build partitions of the metadata table."""

    KIND: ClassVar[str] = "indexing"
    indexes: tuple[PlannedIndex, ...]


Plan: TypeAlias = (
    CompactionPlan
    | LogCompactionPlan
    | ClusteringPlan
    | ReplacePlan
    | CleanerPlan
    | RollbackPlan
    | RestorePlan
    | IndexPlan
)


@dataclass(frozen=True, slots=True)
class PlannedInstant:
    """An instant with its plan, or with what keeps the plan from being read."""

    instant: Instant
    plan: Plan | Defect


def has_plan(action: Action) -> bool:
    """Whether instants of this action carry a plan in their requested file."""
    return action in _DECODERS


def load_plan(table: Table, timeline: Timeline, instant: Instant) -> Plan | Defect | None:
    """The instant's plan, from its requested file; None where the action has none."""
    action = timeline.planned_as(instant)
    if not has_plan(action):
        return None
    requested = timeline.file_of(instant, State.REQUESTED)
    if requested is None:
        planned = Instant(instant.requested_at, action, State.REQUESTED)
        name = format_name(table.properties.layout, planned)
        return missing(f"{table.properties.timeline_folder}/{name}")
    decoder = _DECODERS[action]
    plan = load_decoded(table.storage, requested.path, lambda data: decoder(decode_record(data)))
    is_empty = isinstance(plan, Defect) and plan.kind is DefectKind.EMPTY
    if is_empty and action is Action.REPLACECOMMIT:
        return ReplacePlan()  # writers of 0.x leave the request of an insert_overwrite empty
    return plan


def decode_plan(action: Action, data: bytes) -> Plan:
    """A plan from its bytes, Avro or Hudi's own JSON; damage is :class:`Undecodable`."""
    record = decode_record(data)
    # A plan that was not published stands for itself, without the request around it.
    return _clustering(record) if action is Action.CLUSTERING else _DECODERS[action](record)


def load_pending_plans(table: Table, timeline: Timeline) -> tuple[PlannedInstant, ...]:
    """Every pending instant that has a plan, with it."""
    return load_plans(table, timeline.pending())


def load_plans(table: Table, timeline: Timeline) -> tuple[PlannedInstant, ...]:
    """Every instant of a timeline that has a plan, with it."""
    planned = ((instant, load_plan(table, timeline, instant)) for instant in timeline)
    return tuple(PlannedInstant(instant, plan) for instant, plan in planned if plan is not None)


def _groups(slices: tuple[PlannedSlice, ...]) -> tuple[FileGroupId, ...]:
    return tuple(sorted({piece.file_group for piece in slices}))


def _time(text: str | None) -> InstantTime | None:
    return InstantTime(text) if text else None


def _slice(record: Record) -> PlannedSlice:
    base_file = record.text("dataFilePath")
    return PlannedSlice(
        partition=record.text("partitionPath") or "",
        file_id=record.text("fileId") or "",
        base_file=file_name(base_file) if base_file else None,
        log_files=tuple(file_name(path) for path in record.texts("deltaFilePaths")),
        base_instant=_time(record.text("baseInstantTime")),
    )


def _compaction(record: Record) -> Plan:
    return CompactionPlan(*_merge(record))


def _log_compaction(record: Record) -> Plan:
    return LogCompactionPlan(*_merge(record))


def _merge(record: Record) -> tuple[tuple[PlannedSlice, ...], dict[str, str]]:
    operations = tuple(map(_slice, record.records("operations")))
    return operations, record.text_mapping("extraMetadata")


def _replace(record: Record) -> Plan:
    plan = record.record("clusteringPlan")
    operation = record.text("operationType")
    if plan is None or operation != CLUSTER:
        return ReplacePlan(operation, record.text_mapping("extraMetadata"))
    # What the planner was given stands in the request; a strategy adds to the plan itself.
    return _clustering(plan, extra=record.text_mapping("extraMetadata"))


def _clustering(plan: Record, extra: Mapping[str, str] | None = None) -> ClusteringPlan:
    strategy = plan.record("strategy")
    return ClusteringPlan(
        groups=tuple(map(_clustering_group, plan.records("inputGroups"))),
        strategy=strategy.text("strategyClassName") if strategy else None,
        strategy_params=strategy.text_mapping("strategyParams") if strategy else {},
        extra={**(extra or {}), **plan.text_mapping("extraMetadata")},
    )


def _clustering_group(record: Record) -> ClusteringGroup:
    slices = tuple(map(_slice, record.records("slices")))
    return ClusteringGroup(slices, record.number("numOutputFileGroups") or 0)


def _clean(record: Record) -> Plan:
    retain = record.record("earliestInstantToRetain")
    return CleanerPlan(
        policy=record.text("policy") or "",
        retain_from=_time(retain.text("timestamp")) if retain else None,
        files=_files_to_clean(record),
        partitions=record.texts("partitionsToBeDeleted"),
    )


def _files_to_clean(record: Record) -> dict[str, tuple[str, ...]]:
    by_path = record.mapping("filePathsToBeDeletedPerPartition")
    if by_path:
        return {
            partition: tuple(
                file_name(path)
                for info in Record({"infos": infos}).records("infos")
                if (path := info.text("filePath"))
            )
            for partition, infos in by_path.items()
        }
    by_name = record.mapping("filesToBeDeletedPerPartition")  # Hudi before 0.6
    return {
        partition: Record({"names": names}).texts("names") for partition, names in by_name.items()
    }


def _rollback(record: Record) -> Plan:
    target = record.record("instantToRollback")
    time = target.text("commitTime") if target else None
    if target is None or not time:
        raise Undecodable("a rollback plan that does not say what it rolls back")
    return RollbackPlan(
        target=InstantTime(time),
        target_action=target.text("action") or "",
        requests=tuple(map(_rollback_request, record.records("RollbackRequests"))),
    )


def _rollback_request(record: Record) -> RollbackRequest:
    return RollbackRequest(
        partition=record.text("partitionPath") or "",
        file_id=record.text("fileId") or None,
        base_instant=_time(record.text("latestBaseInstant")),
        delete_files=tuple(file_name(path) for path in record.texts("filesToBeDeleted")),
        rollback_log_files=tuple(
            sorted(file_name(path) for path in record.mapping("logBlocksToBeDeleted"))
        ),
    )


def _restore(record: Record) -> Plan:
    targets = (target.text("commitTime") for target in record.records("instantsToRollback"))
    return RestorePlan(
        targets=tuple(InstantTime(time) for time in targets if time),
        savepoint=_time(record.text("savepointToRestoreTimestamp")),
    )


def _indexing(record: Record) -> Plan:
    return IndexPlan(
        tuple(
            PlannedIndex(
                info.text("metadataPartitionPath") or "", _time(info.text("indexUptoInstant"))
            )
            for info in record.records("indexPartitionInfos")
        )
    )


_DECODERS: dict[Action, Callable[[Record], Plan]] = {
    Action.COMPACTION: _compaction,
    Action.LOGCOMPACTION: _log_compaction,
    Action.CLUSTERING: _replace,
    Action.REPLACECOMMIT: _replace,
    Action.CLEAN: _clean,
    Action.ROLLBACK: _rollback,
    Action.RESTORE: _restore,
    Action.INDEXING: _indexing,
}
