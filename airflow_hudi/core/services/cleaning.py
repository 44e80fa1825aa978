# SPDX-License-Identifier: Apache-2.0
"""Which files a clean plan must leave alone: every file that a pending plan names.

Hudi plans a clean against its file view, which loses sight of what a pending plan needs (#19290:
log files of a pending compaction). The plan is looked at before it is carried out, and what is
needed is taken out of it. Those files are due again once the plan that names them is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_hudi.core.decoding import decode_avro_file, encode_avro_file
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.plans import (
    CleanerPlan,
    ClusteringPlan,
    CompactionPlan,
    LogCompactionPlan,
    Plan,
    PlannedSlice,
    load_pending_plans,
)
from airflow_hudi.core.storage.base import file_name
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline

NeededFiles = Mapping[str, frozenset[str]]
"""By partition, the names of the files that pending plans will read."""


@dataclass(frozen=True, slots=True)
class Spared:
    """A clean plan without what must stay."""

    data: bytes
    files: tuple[str, ...]
    """What was taken out of it, as paths."""
    left: int
    """How many files it still deletes."""


def needed_files(plans: Iterable[Plan | Defect]) -> NeededFiles:
    """What the pending plans among these name."""
    needed: dict[str, set[str]] = {}
    for plan in plans:
        for piece in _slices(plan):
            names = needed.setdefault(piece.partition, set())
            names.update(piece.log_files)
            if piece.base_file is not None:
                names.add(piece.base_file)
    return {partition: frozenset(names) for partition, names in needed.items()}


def load_needed_files(table: Table, timeline: Timeline) -> NeededFiles:
    """The same, from the table's pending plans."""
    return needed_files(planned.plan for planned in load_pending_plans(table, timeline))


def overlap(plan: CleanerPlan, needed: NeededFiles) -> tuple[str, ...]:
    """The files that a clean would delete and a pending plan names, as paths."""
    whole = {
        f"{partition}/{name}" if partition else name
        for partition in plan.partitions
        for name in needed.get(partition, ())
    }
    named = {
        f"{partition}/{name}" if partition else name
        for partition, names in plan.files.items()
        for name in names
        if name in needed.get(partition, ())
    }
    return tuple(sorted(whole | named))


def spare(data: bytes, needed: NeededFiles) -> Spared:
    """The clean plan in these bytes without the needed files; all else stays as Hudi wrote it."""
    record, schema, meta = decode_avro_file(data)
    spared: list[str] = []
    left = 0
    for field in _FIELDS:
        for partition, items in (record.get(field) or {}).items():
            kept = []
            for item in items:
                name = file_name(item if isinstance(item, str) else item["filePath"] or "")
                if name in needed.get(partition, ()):
                    spared.append(f"{partition}/{name}" if partition else name)
                else:
                    kept.append(item)
            record[field][partition] = kept
            left += len(kept)
    whole = record.get("partitionsToBeDeleted") or []
    record["partitionsToBeDeleted"] = [name for name in whole if not needed.get(name)]
    return Spared(encode_avro_file(record, schema, meta), tuple(sorted(spared)), left)


# The second is what Hudi before 0.6 wrote.
_FIELDS = ("filePathsToBeDeletedPerPartition", "filesToBeDeletedPerPartition")


def _slices(plan: Plan | Defect) -> Iterable[PlannedSlice]:
    if isinstance(plan, (CompactionPlan, LogCompactionPlan)):
        return plan.operations
    if isinstance(plan, ClusteringPlan):
        return tuple(piece for group in plan.groups for piece in group.slices)
    return ()
