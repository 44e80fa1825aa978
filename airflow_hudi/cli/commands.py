# SPDX-License-Identifier: Apache-2.0
"""What each command reads, and the one JSON object it says it with."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

from airflow_hudi.cli import drawing
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.heartbeat import load_heartbeats
from airflow_hudi.core.history import load_history
from airflow_hudi.core.instants import Instant, Zone
from airflow_hudi.core.plans import Plan, PlannedInstant, load_pending_plans, load_plans
from airflow_hudi.core.schemas import TableSchema, load_schema
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import to_json


@dataclass(frozen=True, slots=True)
class TimelineReport:
    """A table's instants, those of the archive if asked for, and the pending plans."""

    table: Table
    active: Timeline
    history: Timeline
    plans: tuple[PlannedInstant, ...]

    def as_json(self) -> dict[str, Any]:
        """One object; every instant carries its times, action and state, and a plan if pending."""
        plans = {planned.instant: planned.plan for planned in self.plans}
        return {
            "table": _table_head(self.table),
            "instants": [
                *(_instant(instant, is_archived=True) for instant in self.history),
                *(_instant(instant, plan=plans.get(instant)) for instant in self.active),
            ],
            "defects": to_json((*self.history.defects, *self.active.defects)),
        }

    def as_text(self) -> str:
        """The timeline as a drawing."""
        return drawing.draw_timeline(self.table, self.active, self.history, self.plans)


@dataclass(frozen=True, slots=True)
class PlansReport:
    """The plans of a table."""

    table: Table
    plans: tuple[PlannedInstant, ...]

    def as_json(self) -> dict[str, Any]:
        """One object; every instant with its plan."""
        return {
            "table": _table_head(self.table),
            "instants": [_instant(planned.instant, plan=planned.plan) for planned in self.plans],
        }

    def as_text(self) -> str:
        """The plans, file group by file group."""
        return drawing.draw_plans(self.table, self.plans)


@dataclass(frozen=True, slots=True)
class TableReport:
    """What a table says of itself and how it stands."""

    table: Table
    timeline: Timeline
    schema: TableSchema | Defect | None
    heartbeats: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """One object: the head, keys, schema, counts, and all properties as they are."""
        properties = self.table.properties
        latest = self.timeline.completed().writes().latest()
        return {
            "table": _table_head(self.table),
            "record_key_fields": to_json(properties.record_key_fields),
            "partition_fields": to_json(properties.partition_fields),
            "ordering_fields": to_json(properties.ordering_fields),
            "schema": to_json(self.schema),
            "instants": {
                "completed": len(self.timeline.completed()),
                "inflight": len(self.timeline.inflight()),
                "requested": len(self.timeline.requested()),
            },
            "latest_write": None if latest is None else _instant(latest),
            "heartbeats": to_json(self.heartbeats),
            "defects": to_json(self.timeline.defects),
            "properties": to_json(properties.values),
        }

    def as_text(self) -> str:
        """The same, for people."""
        return drawing.draw_table(self.table, self.timeline, self.schema, self.heartbeats)


def run(options: argparse.Namespace) -> str:
    """What the command prints."""
    zone = Zone(options.timezone) if options.timezone else None
    table = open_table(options.path, zone=zone)
    report = _REPORTS[options.command](table, options)
    if options.json:
        return json.dumps(report.as_json(), indent=2, ensure_ascii=False)
    return drawing.printable(report.as_text())


def _timeline(table: Table, options: argparse.Namespace) -> TimelineReport:
    active = load_timeline(table)
    history = load_history(table) if options.history else Timeline()
    return TimelineReport(table, active, history, load_pending_plans(table, active))


def _plans(table: Table, options: argparse.Namespace) -> PlansReport:
    timeline = load_timeline(table)
    wanted = timeline if options.all else timeline.pending()
    return PlansReport(table, load_plans(table, timeline, wanted))


def _table(table: Table, _: argparse.Namespace) -> TableReport:
    timeline = load_timeline(table)
    beats = tuple(load_heartbeats(table))
    return TableReport(table, timeline, load_schema(table, timeline), beats)


_REPORTS: dict[str, Any] = {"timeline": _timeline, "plans": _plans, "table": _table}


def _table_head(table: Table) -> dict[str, Any]:
    properties = table.properties
    return {
        "uri": table.uri,
        "name": properties.name,
        "type": properties.type.value,
        "version": properties.version_number,
        "layout": int(properties.layout),
        "timezone": table.zone.name or "local",
        "properties_from": properties.source.value,
    }


def _instant(
    instant: Instant, *, plan: Plan | Defect | None = None, is_archived: bool = False
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "requested_at": instant.requested_at,
        "completed_at": instant.completed_at,
        "action": instant.action.value,
        "state": instant.state.value,
        "archived": is_archived,
    }
    if isinstance(plan, Defect):
        data["plan"] = None
        data["plan_defect"] = to_json(plan)
    elif plan is not None:
        groups = getattr(plan, "file_groups", None)
        data["plan"] = to_json(plan)
        if groups is not None:
            data["plan"]["file_groups"] = to_json(groups)
    return data
