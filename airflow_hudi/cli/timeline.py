# SPDX-License-Identifier: Apache-2.0
"""``timeline``: a table's instants, those of the archive if asked for, and the pending plans."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_hudi.cli.plans import summary
from airflow_hudi.cli.shared import (
    MARK,
    defect_lines,
    duration,
    head_line,
    heartbeat_text,
    instant_json,
    table_json,
)
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.heartbeat import Heartbeat, load_heartbeats
from airflow_hudi.core.instants import Instant, InstantTime, State, Zone
from airflow_hudi.core.plans import Plan, load_pending_plans
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import to_json

_LEGEND = "  ".join(f"{mark} {state.value}" for state, mark in MARK.items())

_ZONE_HINT = (
    "Some instants end before they begin: do the writers run in another time zone?"
    " Name it with --timezone."
)


@dataclass(frozen=True, slots=True)
class TimelineReport:
    """What was read, and when."""

    table: Table
    active: Timeline
    history: Timeline
    plans: Mapping[Instant, Plan | Defect]
    heartbeats: Mapping[InstantTime, Heartbeat]
    now: datetime

    def as_json(self) -> dict[str, Any]:
        """One object; every instant carries its times, action and state, and a plan if pending."""
        instants = [
            *(instant_json(self.history, i) | {"archived": True} for i in self.history),
            *(self._active_json(instant) for instant in self.active),
        ]
        return {
            "table": table_json(self.table),
            # sorted, for an old pending instant stays active while later ones are archived
            "instants": sorted(instants, key=lambda instant: str(instant["requested_at"])),
            "defects": to_json((*self.history.defects, *self.active.defects)),
        }

    def as_text(self) -> str:
        """One line per instant in the order they were requested, pending plans in short."""
        lines = [head_line(self.table)]
        if not len(self.active) and not len(self.history):
            lines.extend(["", "  no instants: the table has been created and never written"])
        else:
            lines.extend(self._instant_lines())
        lines.extend(defect_lines((*self.history.defects, *self.active.defects)))
        return "\n".join(lines)

    def _active_json(self, instant: Instant) -> dict[str, Any]:
        beat = self.heartbeats.get(instant.requested_at)
        last_beat = {"last_beat": to_json(beat.last_beat)} if beat and instant.is_pending else {}
        plan = self.plans.get(instant)
        return instant_json(self.active, instant, plan=plan) | {"archived": False} | last_beat

    def _instant_lines(self) -> list[str]:
        lines: list[str] = []
        for timeline in (self.history, self.active):
            day = None
            for instant in timeline:
                if day != (day := _day(self.table.zone, instant.requested_at)):
                    lines.extend(["", f"  {day}"])
                lines.append(self._line(timeline, instant))
            if timeline is self.history and len(self.history):
                lines.extend(["", f"  ···· archived up to here: {len(self.history)} instants ····"])
        lines.extend(["", f"  {_LEGEND}"])
        return [*lines, *self._zone_hint()]

    def _line(self, timeline: Timeline, instant: Instant) -> str:
        zone = self.table.zone
        times = f"{_clock(zone, instant.requested_at):>12} → {self._end(instant)}"
        planned = timeline.planned_as(instant)
        action = instant.action.value
        if instant.is_pending:
            action += f" {instant.state.value}"
        elif planned is not instant.action:
            action += f" ({planned.value})"
        notes = [action, *self._notes(instant)]
        return f"{MARK[instant.state]} {instant.requested_at:<17}  {times:<37}" + " · ".join(notes)

    def _end(self, instant: Instant) -> str:
        zone = self.table.zone
        begin = zone.moment(instant.requested_at)
        if instant.completed_at is None:
            return f"{'…':<12}"
        end = zone.moment(instant.completed_at)
        took = duration((end - begin).total_seconds()) if begin and end and end >= begin else ""
        return f"{_clock(zone, instant.completed_at):<12}{took:>8}  "

    def _notes(self, instant: Instant) -> Iterator[str]:
        if instant in self.plans:
            yield summary(self.plans[instant])
        if instant.is_pending:
            begun = self.table.zone.moment(instant.requested_at)
            if begun is not None and begun <= self.now:
                yield f"for {duration((self.now - begun).total_seconds())}"
            if instant.state is State.INFLIGHT:
                yield heartbeat_text(self.heartbeats.get(instant.requested_at), now=self.now)

    def _zone_hint(self) -> list[str]:
        ends_first = any(
            instant.completed_at is not None
            and len(instant.completed_at) == len(instant.requested_at)
            and instant.completed_at < instant.requested_at
            for instant in self.active
        )
        return ["", f"  {_ZONE_HINT}"] if ends_first else []


def load_report(table: Table, options: argparse.Namespace) -> TimelineReport:
    """Read the timeline, the pending plans, and the archive where it is asked for."""
    active = load_timeline(table)
    pending = active.pending()
    return TimelineReport(
        table,
        active,
        _history(table, active) if options.history else Timeline(),
        {planned.instant: planned.plan for planned in load_pending_plans(table, active)},
        load_heartbeats(table) if len(pending) else {},
        datetime.now(tz=timezone.utc),
    )


def _history(table: Table, active: Timeline) -> Timeline:
    from airflow_hudi.core.history import load_history  # noqa: PLC0415 - most calls need none

    # While instants are being archived, or after a crash there, they are in both places.
    still_active = {(i.requested_at, i.action.completes_as) for i in active}
    return load_history(table).where(
        lambda i: (i.requested_at, i.action.completes_as) not in still_active
    )


def _day(zone: Zone, time: InstantTime) -> str:
    is_time = zone.moment(time) is not None
    return f"{time[:4]}-{time[4:6]}-{time[6:8]}" if is_time else "before time"


def _clock(zone: Zone, time: InstantTime) -> str:
    if zone.moment(time) is None:
        return "-"
    clock = f"{time[8:10]}:{time[10:12]}:{time[12:14]}"
    return f"{clock}.{time[14:17]}" if time[14:] else clock
