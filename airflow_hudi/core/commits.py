# SPDX-License-Identifier: Apache-2.0
"""Commit metadata: what one write did, file by file, and what it wrote down beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_hudi.core.datafiles import FileGroupId
from airflow_hudi.core.decoding import Record, decode_record, load_decoded
from airflow_hudi.core.defects import Defect, missing
from airflow_hudi.core.instants import Instant
from airflow_hudi.core.layout import format_name
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline

SCHEMA = "schema"
"""The extra metadata under which a writer records the table's Avro schema."""


@dataclass(frozen=True, slots=True)
class WriteStat:
    """What one write did to one file."""

    partition: str
    file_id: str
    path: str
    """Relative to the table's base path."""
    writes: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    errors: int = 0
    bytes_written: int = 0
    file_size: int = 0
    previous_instant: str | None = None
    base_file: str | None = None
    log_files: tuple[str, ...] = ()

    @property
    def file_group(self) -> FileGroupId:
        """The file group it wrote to."""
        return FileGroupId(self.partition, self.file_id)


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """What a commit, delta commit or replace commit recorded."""

    operation: str | None
    stats: tuple[WriteStat, ...] = ()
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """By partition, the ids of the file groups this commit took out of the table."""
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def schema(self) -> str | None:
        """The Avro schema recorded by the writer, as text."""
        return self.extra.get(SCHEMA) or None

    @property
    def inserts(self) -> int:
        """How many rows it added, over all files."""
        return sum(stat.inserts for stat in self.stats)

    @property
    def updates(self) -> int:
        """How many rows it changed, over all files."""
        return sum(stat.updates for stat in self.stats)

    @property
    def deletes(self) -> int:
        """How many rows it removed, over all files."""
        return sum(stat.deletes for stat in self.stats)

    @property
    def file_groups_replaced(self) -> int:
        """How many file groups it took out of the table."""
        return sum(len(ids) for ids in self.replaced.values())

    @property
    def file_groups(self) -> tuple[FileGroupId, ...]:
        """The file groups it wrote to or replaced, sorted."""
        written = {stat.file_group for stat in self.stats}
        gone = {
            FileGroupId(part, file_id) for part, ids in self.replaced.items() for file_id in ids
        }
        return tuple(sorted(written | gone))


def load_commit(table: Table, timeline: Timeline, instant: Instant) -> CommitMetadata | Defect:
    """The metadata of a commit, delta commit or replace commit, from the file of its state."""
    file = timeline.file_of(instant, instant.state)
    if file is None:
        name = format_name(table.properties.layout, instant)
        return missing(f"{table.properties.timeline_folder}/{name}")
    return load_decoded(table.storage, file.path, decode_commit)


def decode_commit(data: bytes) -> CommitMetadata:
    """Commit metadata from its bytes, JSON (layout 1) or Avro (layout 2)."""
    record = decode_record(data)
    by_partition = record.mapping("partitionToWriteStats")
    return CommitMetadata(
        operation=record.text("operationType"),
        stats=tuple(
            _stat(stat, partition)
            for partition, stats in sorted(by_partition.items())
            for stat in Record({"stats": stats}).records("stats")
        ),
        replaced={
            partition: Record({"ids": ids}).texts("ids")
            for partition, ids in record.mapping("partitionToReplaceFileIds").items()
        },
        extra=record.text_mapping("extraMetadata"),
    )


def _stat(record: Record, partition: str) -> WriteStat:
    return WriteStat(
        partition=record.text("partitionPath") or partition,
        file_id=record.text("fileId") or "",
        path=record.text("path") or "",
        writes=record.number("numWrites") or 0,
        inserts=record.number("numInserts") or 0,
        updates=record.number("numUpdateWrites") or 0,
        deletes=record.number("numDeletes") or 0,
        errors=record.number("totalWriteErrors") or 0,
        bytes_written=record.number("totalWriteBytes") or 0,
        file_size=record.number("fileSizeInBytes") or 0,
        previous_instant=_known(record.text("prevCommit")),
        base_file=record.text("baseFile") or None,
        log_files=record.texts("logFiles"),
    )


def _known(previous: str | None) -> str | None:
    return None if previous in (None, "", "null") else previous  # Hudi writes "null" as text
