# SPDX-License-Identifier: Apache-2.0
"""Loads a table's file groups: its partitions, their files, and what the timeline says of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from airflow_hudi.core.commits import load_commit
from airflow_hudi.core.datafiles import (
    PARTITION_METAFILE,
    BaseFileName,
    FileGroupId,
    parse_base_name,
)
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.filegroups import (
    FileGroup,
    FileSlice,
    PartitionFiles,
    TableView,
    build_file_groups,
    completion_times,
    latest_slice,
    visibility,
)
from airflow_hudi.core.history import load_history
from airflow_hudi.core.instants import Action, InstantTime
from airflow_hudi.core.layout import METADATA_FOLDER
from airflow_hudi.core.logfiles import LogFileName, parse_log_name
from airflow_hudi.core.plans import CompactionPlan, load_pending_plans
from airflow_hudi.core.storage.base import Listing, checked_path
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline
from airflow_hudi.core.versions import Feature


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The file groups of a table, partition by partition, and what could not be read for them."""

    groups: tuple[FileGroup, ...]
    latest: Mapping[FileGroupId, FileSlice]
    """Each group's newest slice as a reader sees it now."""
    defects: tuple[Defect, ...] = ()


def load_file_groups(table: Table, timeline: Timeline) -> TableFiles:
    """Every file group of the table, from a listing of its folders."""
    view, defects = load_table_view(table, timeline)
    groups = tuple(
        group for files in load_partitions(table) for group in build_file_groups(view, files)
    )
    newest = ((group.id, latest_slice(view, group)) for group in groups)
    return TableFiles(groups, {id_: piece for id_, piece in newest if piece}, defects)


def load_partitions(table: Table) -> tuple[PartitionFiles, ...]:
    """Every partition of the table with its data files, sorted by path."""
    return tuple(sorted(walk_partitions(table), key=lambda files: files.partition))


def walk_partitions(table: Table) -> Iterator[PartitionFiles]:
    """The same one by one, as they are listed."""
    return _walk(table, "")


def load_partition(table: Table, path: str) -> PartitionFiles | None:
    """The partition of that path with its data files, from one listing; None where there is none.

    The path comes back in its normal form.
    """
    path = checked_path(path)
    listing = table.storage.list_folder(path)
    return _partition(path, listing) if _is_partition(listing) else None


def load_table_view(table: Table, timeline: Timeline) -> tuple[TableView, tuple[Defect, ...]]:
    """What decides how files make file groups: visibility, pending compactions, replaced groups."""
    compacting: dict[FileGroupId, InstantTime] = {}
    replaced: set[FileGroupId] = set()
    defects: list[Defect] = []
    for planned in load_pending_plans(table, timeline.of(Action.COMPACTION)):
        if isinstance(planned.plan, CompactionPlan):
            for group in planned.plan.file_groups:
                compacting[group] = planned.instant.requested_at
        elif isinstance(planned.plan, Defect):
            defects.append(planned.plan)
    for instant in timeline.completed().of(Action.REPLACECOMMIT):
        commit = load_commit(table, timeline, instant)
        if isinstance(commit, Defect):
            defects.append(commit)
            continue
        replaced.update(
            FileGroupId(partition, file_id)
            for partition, ids in commit.replaced.items()
            for file_id in ids
        )
    view = TableView(
        visibility=visibility(timeline),
        logs_name_their_write=table.properties.version.supports(Feature.LOG_FILE_PER_WRITE),
        pending_compactions=compacting,
        replaced=frozenset(replaced),
        archived_completions=_archived_completions(table),
    )
    return view, tuple(defects)


def _archived_completions(table: Table) -> Callable[[], Mapping[InstantTime, InstantTime]]:
    @functools.cache
    def load() -> Mapping[InstantTime, InstantTime]:
        return completion_times(load_history(table))

    return load


def _walk(table: Table, folder: str) -> Iterator[PartitionFiles]:
    listing = table.storage.list_folder(folder)
    if _is_partition(listing):
        yield _partition(folder, listing)
        if folder:  # partitions do not nest, but the root of a table that has none may hold folders
            return
    for name in listing.folders:
        if name != METADATA_FOLDER:
            yield from _walk(table, f"{folder}/{name}" if folder else name)


def _is_partition(listing: Listing) -> bool:
    return any(file.name.startswith(PARTITION_METAFILE) for file in listing.files)


def _partition(folder: str, listing: Listing) -> PartitionFiles:
    bases: list[BaseFileName] = []
    logs: list[LogFileName] = []
    for file in listing.files:
        base = parse_base_name(file.name)
        log = parse_log_name(file.name)
        if base is not None:
            bases.append(base)
        elif log is not None and log.extension == "log":
            logs.append(log)
    return PartitionFiles(folder, tuple(bases), tuple(logs))
