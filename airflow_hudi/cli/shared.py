# SPDX-License-Identifier: Apache-2.0
"""What the commands share: how a table, an instant and a defect are said, in JSON and in text."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

from airflow_hudi.core.defects import Defect
from airflow_hudi.core.heartbeat import Heartbeat, HeartbeatPolicy
from airflow_hudi.core.instants import Instant, State
from airflow_hudi.core.plans import Plan
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline
from airflow_hudi.core.values import to_json

MARK = {State.REQUESTED: "○", State.INFLIGHT: "◐", State.COMPLETED: "●"}
_PLAIN = str.maketrans({"○": "o", "◐": "~", "●": "*", "·": "-", "…": ".", "→": ">"})


def printable(text: str) -> str:
    """The text as this terminal can show it."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode("ascii", "replace").decode()
    return text


def table_json(table: Table) -> dict[str, Any]:
    """Which table this is, in short."""
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


def instant_json(
    timeline: Timeline, instant: Instant, *, plan: Plan | Defect | None = None
) -> dict[str, Any]:
    """An instant, with its plan or with what keeps the plan from being read."""
    data: dict[str, Any] = {
        "requested_at": instant.requested_at,
        "completed_at": instant.completed_at,
        "action": instant.action.value,
        "state": instant.state.value,
        "planned_as": timeline.planned_as(instant).value,
    }
    if isinstance(plan, Defect):
        data["plan"] = None
        data["plan_defect"] = to_json(plan)
    elif plan is not None:
        data["plan"] = _plan_json(plan)
    return data


def heartbeat_text(beat: Heartbeat | None, *, now: datetime) -> str:
    """Whether somebody is alive on an instant, as far as a heartbeat can tell."""
    if beat is None:
        return "no heartbeat"
    age = duration((now - beat.last_beat).total_seconds())
    if beat.is_expired(HeartbeatPolicy(), now=now):
        return f"heartbeat expired, silent for {age}"
    return f"alive, last heartbeat {age} ago"


def duration(seconds: float) -> str:
    """A length of time, with the precision a person wants at that length."""
    if seconds < 100:
        return f"{max(seconds, 0):.1f} s"
    for unit, size in (("min", 60), ("h", 3600)):
        if seconds / size < 100:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} days"


def head_line(table: Table) -> str:
    """Which table this is, in one line."""
    properties = table.properties
    kind = properties.type.value.lower().replace("_", "-")
    version = f"table version {properties.version_number} (layout {int(properties.layout)})"
    return f"{properties.name} · {kind} · {version} · {table.uri}"


def defect_lines(defects: tuple[Defect, ...]) -> list[str]:
    """What is not as it should be, if anything."""
    if not defects:
        return []
    return ["", "  Not as it should be:", *(f"  ! {defect}" for defect in defects)]


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plan_json(plan: Plan) -> dict[str, Any]:
    groups = getattr(plan, "file_groups", None)
    data = to_json(plan)
    said = data if isinstance(data, dict) else {}
    return said if groups is None else {**said, "file_groups": to_json(groups)}
