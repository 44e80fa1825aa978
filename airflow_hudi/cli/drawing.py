# SPDX-License-Identifier: Apache-2.0
"""Timelines, plans and tables as text that a person reads at three in the morning."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from airflow_hudi.core.defects import Defect
from airflow_hudi.core.instants import Instant, InstantTime, State, Zone
from airflow_hudi.core.plans import (
    CleanerPlan,
    ClusteringPlan,
    CompactionPlan,
    IndexPlan,
    LogCompactionPlan,
    Plan,
    PlannedInstant,
    PlannedSlice,
    ReplacePlan,
    RestorePlan,
    RollbackPlan,
)
from airflow_hudi.core.schemas import TableSchema
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline

_MARK = {State.REQUESTED: "○", State.INFLIGHT: "◐", State.COMPLETED: "●"}
_PLAIN = str.maketrans({"○": "o", "◐": "~", "●": "*", "·": "-", "│": "|", "…": "."})
_LEGEND = "  ".join(f"{mark} {state.value}" for state, mark in _MARK.items())


def printable(text: str) -> str:
    """The text as this terminal can show it."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode("ascii", "replace").decode()
    return text


def draw_timeline(
    table: Table, active: Timeline, history: Timeline, plans: Iterable[PlannedInstant]
) -> str:
    """One line per instant in the order they were requested, pending plans in short."""
    notes = {planned.instant: planned.plan for planned in plans}
    lines = [_head(table), ""]
    if not len(active) and not len(history):
        lines.append("  no instants: the table has been created and never written")
    else:
        lines.append(f"  {'requested':<25}{'completed':<25}{'took':>9}  action")
        lines.extend(_line(table.zone, instant, notes) for instant in history)
        if len(history):
            lines.append(f"  ···· archived up to here, {len(history)} instants ····")
        lines.extend(_line(table.zone, instant, notes) for instant in active)
        lines.extend(["", f"  {_LEGEND}"])
    lines.extend(_defects((*history.defects, *active.defects)))
    return "\n".join(lines)


def draw_plans(table: Table, plans: Iterable[PlannedInstant]) -> str:
    """Every plan with what it would touch."""
    lines = [_head(table)]
    for planned in plans:
        instant = planned.instant
        lines.extend(["", f"{_MARK[instant.state]} {instant}", f"  {_summary(planned.plan)}"])
        lines.extend(f"    {detail}" for detail in _details(planned.plan))
    if len(lines) == 1:
        lines.extend(["", "  no plans"])
    return "\n".join(lines)


def draw_table(
    table: Table,
    timeline: Timeline,
    schema: TableSchema | Defect | None,
    heartbeats: tuple[str, ...],
) -> str:
    """What the table is, what is in it, and how its timeline stands."""
    properties = table.properties
    latest = timeline.completed().writes().latest()
    rows = [
        ("record key", ", ".join(properties.record_key_fields) or "none"),
        ("partitioned by", ", ".join(properties.partition_fields) or "nothing"),
        ("ordered by", ", ".join(properties.ordering_fields) or "nothing"),
        ("columns", _columns(schema)),
        ("instants", _counts(timeline)),
        ("latest write", "none" if latest is None else str(latest)),
        ("heartbeats", ", ".join(heartbeats) or "none"),
        ("time zone", table.zone.name or "local (that of its writers, taken as this machine's)"),
        ("properties", f"{properties.source.value} file"),
    ]
    lines = [_head(table), ""]
    lines.extend(f"  {name:<16}{value}" for name, value in rows)
    lines.extend(_defects(timeline.defects))
    return "\n".join(lines)


def _head(table: Table) -> str:
    properties = table.properties
    kind = properties.type.value.lower().replace("_", "-")
    version = f"table version {properties.version_number} (layout {int(properties.layout)})"
    return f"{properties.name} · {kind} · {version} · {table.uri}"


def _line(zone: Zone, instant: Instant, notes: dict[Instant, Plan | Defect]) -> str:
    mark = _MARK[instant.state]
    completed = _readable(instant.completed_at) if instant.completed_at else "-"
    line = (
        f"{mark} {_readable(instant.requested_at):<25}{completed:<25}"
        f"{_took(zone, instant):>9}  {instant.action.value}"
    )
    if instant.is_pending:
        line += f" {instant.state.value}"
    return f"{line} · {_summary(notes[instant])}" if instant in notes else line


def _readable(time: InstantTime) -> str:
    if len(time) not in (14, 17):
        return time
    date = f"{time[:4]}-{time[4:6]}-{time[6:8]}"
    clock = f"{time[8:10]}:{time[10:12]}:{time[12:14]}"
    return f"{date} {clock}.{time[14:]}" if time[14:] else f"{date} {clock}"


def _took(zone: Zone, instant: Instant) -> str:
    begin = zone.moment(instant.requested_at)
    end = zone.moment(instant.completed_at) if instant.completed_at else None
    if begin is None or end is None or end < begin:
        return ""
    seconds = (end - begin).total_seconds()
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.0f} h"


def _summary(plan: Plan | Defect) -> str:
    if isinstance(plan, Defect):
        return f"plan not readable: {plan.because}"
    if isinstance(plan, (CompactionPlan, LogCompactionPlan, ClusteringPlan)):
        partitions = {group.partition for group in plan.file_groups}
        groups = _count(len(plan.file_groups), "file group")
        return f"{groups} in {_count(len(partitions), 'partition')}"
    if isinstance(plan, CleanerPlan):
        deleted = _count(sum(map(len, plan.files.values())), "file")
        return f"{deleted} to delete, everything from {plan.retain_from or 'now'} on kept"
    if isinstance(plan, RollbackPlan):
        return f"of {plan.target} {plan.target_action}"
    if isinstance(plan, RestorePlan):
        back_to = f", back to {plan.savepoint}" if plan.savepoint else ""
        return f"of {_count(len(plan.targets), 'instant')}{back_to}"
    if isinstance(plan, IndexPlan):
        return f"of {', '.join(plan.partitions)}"
    return (plan.operation or "operation not recorded").lower()


def _details(plan: Plan | Defect) -> Iterator[str]:
    if isinstance(plan, (CompactionPlan, LogCompactionPlan)):
        yield from map(_slice_line, plan.operations)
    elif isinstance(plan, ClusteringPlan):
        for number, group in enumerate(plan.groups, 1):
            yield f"group {number}, to become {_count(group.output_file_groups, 'file group')}:"
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
    elif isinstance(plan, ReplacePlan):
        yield from ()


def _slice_line(piece: PlannedSlice) -> str:
    base = piece.base_file or "no base file"
    return f"{_in(piece.partition)}{base} + {_count(len(piece.log_files), 'log file')}"


def _in(partition: str) -> str:
    return f"{partition}/" if partition else ""


def _columns(schema: TableSchema | Defect | None) -> str:
    if isinstance(schema, TableSchema):
        return ", ".join(schema.field_names)
    return "not recorded by any writer" if schema is None else str(schema)


def _counts(timeline: Timeline) -> str:
    pending = f"{len(timeline.inflight())} inflight, {len(timeline.requested())} requested"
    return f"{len(timeline.completed())} completed, {pending}"


def _defects(defects: tuple[Defect, ...]) -> list[str]:
    if not defects:
        return []
    return ["", "  Not as it should be:", *(f"  ! {defect}" for defect in defects)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
