# SPDX-License-Identifier: Apache-2.0
"""``plans``: what the plans on a table's timeline would do, or have done."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_hudi.cli.shared import MARK, count, defect_lines, head_line, instant_json, table_json
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.plans import (
    CleanerPlan,
    ClusteringPlan,
    CompactionPlan,
    IndexPlan,
    LogCompactionPlan,
    Plan,
    PlannedInstant,
    PlannedSlice,
    RestorePlan,
    RollbackPlan,
    load_plans,
)
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import to_json


@dataclass(frozen=True, slots=True)
class PlansReport:
    """What was read."""

    table: Table
    timeline: Timeline
    planned: tuple[PlannedInstant, ...]

    def as_json(self) -> dict[str, Any]:
        """One object; every instant with its plan."""
        return {
            "table": table_json(self.table),
            "instants": [
                instant_json(self.timeline, item.instant, plan=item.plan) for item in self.planned
            ],
            "defects": to_json(self.timeline.defects),
        }

    def as_text(self) -> str:
        """Every plan with what it touches."""
        lines = [head_line(self.table)]
        for item in self.planned:
            lines.extend(["", f"{MARK[item.instant.state]} {item.instant}"])
            lines.append(f"  {summary(item.plan)}")
            lines.extend(f"    {detail}" for detail in _details(item.plan))
        if not self.planned:
            lines.extend(["", "  no plans"])
        return "\n".join([*lines, *defect_lines(self.timeline.defects)])


def load_report(table: Table, options: argparse.Namespace) -> PlansReport:
    """Read the plans of pending instants, or of all."""
    timeline = load_timeline(table)
    wanted = timeline if options.all else timeline.pending()
    return PlansReport(table, timeline, load_plans(table, wanted))


def summary(plan: Plan | Defect) -> str:
    """A plan in a few words."""
    if isinstance(plan, Defect):
        return f"plan not readable: {plan.because}"
    if isinstance(plan, (CompactionPlan, LogCompactionPlan, ClusteringPlan)):
        partitions = {group.partition for group in plan.file_groups}
        groups = count(len(plan.file_groups), "file group")
        return f"{groups} in {count(len(partitions), 'partition')}"
    if isinstance(plan, CleanerPlan):
        deleted = count(sum(map(len, plan.files.values())), "file")
        return f"{deleted} to delete, everything from {plan.retain_from or 'now'} on kept"
    if isinstance(plan, RollbackPlan):
        return f"of {plan.target} {plan.target_action}"
    if isinstance(plan, RestorePlan):
        back_to = f", back to {plan.savepoint}" if plan.savepoint else ""
        return f"of {count(len(plan.targets), 'instant')}{back_to}"
    if isinstance(plan, IndexPlan):
        return f"of {', '.join(index.partition for index in plan.indexes)}"
    return (plan.operation or "operation not recorded").lower()


def _details(plan: Plan | Defect) -> Iterator[str]:
    if isinstance(plan, (CompactionPlan, LogCompactionPlan)):
        yield from map(_slice_line, plan.operations)
    elif isinstance(plan, ClusteringPlan):
        for number, group in enumerate(plan.groups, 1):
            yield f"group {number}, to become {count(group.output_file_groups, 'file group')}:"
            yield from (f"  {_slice_line(piece)}" for piece in group.slices)
    elif isinstance(plan, CleanerPlan):
        for partition, names in sorted(plan.files.items()):
            yield from (f"{_in(partition)}{name}" for name in names)
        yield from (f"{partition}/ as a whole" for partition in plan.partitions)
    elif isinstance(plan, RollbackPlan):
        for request in plan.requests:
            yield from (f"delete {_in(request.partition)}{f}" for f in request.delete_files)
            yield from (f"undo in {_in(request.partition)}{f}" for f in request.rollback_log_files)
    elif isinstance(plan, RestorePlan):
        yield from plan.targets


def _slice_line(piece: PlannedSlice) -> str:
    base = piece.base_file or "no base file"
    return f"{_in(piece.partition)}{base} + {count(len(piece.log_files), 'log file')}"


def _in(partition: str) -> str:
    return f"{partition}/" if partition else ""
