# SPDX-License-Identifier: Apache-2.0
"""``timeline``: a table's instants, those of the archive if asked for, and the pending plans."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from airflow_hudi.cli.plans import summary
from airflow_hudi.cli.shared import MARK, defect_lines, head_line, instant_json, table_json
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.instants import Instant, InstantTime, Zone
from airflow_hudi.core.plans import Plan, PlannedInstant, load_pending_plans
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import to_json

_LEGEND = "  ".join(f"{mark} {state.value}" for state, mark in MARK.items())


@dataclass(frozen=True, slots=True)
class TimelineReport:
    """What was read."""

    table: Table
    active: Timeline
    history: Timeline
    planned: tuple[PlannedInstant, ...]

    def as_json(self) -> dict[str, Any]:
        """One object; every instant carries its times, action and state, and a plan if pending."""
        plans = self._plans()
        return {
            "table": table_json(self.table),
            "instants": [
                *(instant_json(instant, is_archived=True) for instant in self.history),
                *(instant_json(instant, plan=plans.get(instant)) for instant in self.active),
            ],
            "defects": to_json((*self.history.defects, *self.active.defects)),
        }

    def as_text(self) -> str:
        """One line per instant in the order they were requested, pending plans in short."""
        lines = [head_line(self.table), ""]
        if not len(self.active) and not len(self.history):
            lines.append("  no instants: the table has been created and never written")
        else:
            lines.extend(self._instant_lines())
        lines.extend(defect_lines((*self.history.defects, *self.active.defects)))
        return "\n".join(lines)

    def _instant_lines(self) -> list[str]:
        plans = self._plans()
        zone = self.table.zone
        lines = [f"  {'requested':<25}{'completed':<25}{'took':>9}  action"]
        lines.extend(_line(zone, instant, plans) for instant in self.history)
        if len(self.history):
            lines.append(f"  ···· archived up to here, {len(self.history)} instants ····")
        lines.extend(_line(zone, instant, plans) for instant in self.active)
        return [*lines, "", f"  {_LEGEND}"]

    def _plans(self) -> dict[Instant, Plan | Defect]:
        return {planned.instant: planned.plan for planned in self.planned}


def load_report(table: Table, options: argparse.Namespace) -> TimelineReport:
    """Read the timeline, the pending plans, and the archive where it is asked for."""
    active = load_timeline(table)
    history = _history(table) if options.history else Timeline()
    return TimelineReport(table, active, history, load_pending_plans(table, active))


def _history(table: Table) -> Timeline:
    from airflow_hudi.core.history import load_history  # noqa: PLC0415 - most calls need none

    return load_history(table)


def _line(zone: Zone, instant: Instant, plans: dict[Instant, Plan | Defect]) -> str:
    completed = _readable(instant.completed_at) if instant.completed_at else "-"
    line = (
        f"{MARK[instant.state]} {_readable(instant.requested_at):<25}{completed:<25}"
        f"{_took(zone, instant):>9}  {instant.action.value}"
    )
    if instant.is_pending:
        line += f" {instant.state.value}"
    return f"{line} · {summary(plans[instant])}" if instant in plans else line


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
