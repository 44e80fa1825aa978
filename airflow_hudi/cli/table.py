# SPDX-License-Identifier: Apache-2.0
"""``table``: what a table says of itself, and how its timeline stands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_hudi.cli.shared import (
    defect_lines,
    head_line,
    heartbeat_text,
    instant_json,
    table_json,
)
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.heartbeat import Heartbeat, load_heartbeats
from airflow_hudi.core.instants import Instant, InstantTime
from airflow_hudi.core.schemas import TableSchema, load_schema
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import to_json


@dataclass(frozen=True, slots=True)
class TableReport:
    """What was read."""

    table: Table
    timeline: Timeline
    schema: TableSchema | Defect | None
    heartbeats: Mapping[InstantTime, Heartbeat]
    now: datetime

    def as_json(self) -> dict[str, Any]:
        """One object: the head, keys, schema, counts, and all properties as they are."""
        properties = self.table.properties
        latest = self._latest_write()
        return {
            "table": table_json(self.table),
            "record_key_fields": to_json(properties.record_key_fields),
            "partition_fields": to_json(properties.partition_fields),
            "ordering_fields": to_json(properties.ordering_fields),
            "schema": to_json(self.schema),
            "instants": {
                "completed": len(self.timeline.completed()),
                "inflight": len(self.timeline.inflight()),
                "requested": len(self.timeline.requested()),
            },
            "latest_write": None if latest is None else instant_json(self.timeline, latest),
            "heartbeats": to_json(tuple(self.heartbeats.values())),
            "defects": to_json(self.timeline.defects),
            "properties": to_json(properties.values),
        }

    def as_text(self) -> str:
        """The same, for people."""
        properties = self.table.properties
        latest = self._latest_write()
        zone = self.table.zone.name or "local (that of its writers, taken as this machine's)"
        rows = [
            ("record key", ", ".join(properties.record_key_fields) or "none"),
            ("partitioned by", ", ".join(properties.partition_fields) or "nothing"),
            ("ordered by", ", ".join(properties.ordering_fields) or "nothing"),
            ("columns", self._columns()),
            ("instants", self._counts()),
            ("latest write", "none" if latest is None else str(latest)),
            *self._beats(),
            ("time zone", zone),
            ("properties", f"{properties.source.value} file"),
        ]
        lines = [head_line(self.table), "", *(f"  {name:<16}{value}" for name, value in rows)]
        return "\n".join([*lines, *defect_lines(self.timeline.defects)])

    def _latest_write(self) -> Instant | None:
        return self.timeline.completed().writes().latest()

    def _beats(self) -> list[tuple[str, str]]:
        if not self.heartbeats:
            return [("heartbeats", "none")]
        return [
            ("heartbeat", f"{instant}: {heartbeat_text(beat, now=self.now)}")
            for instant, beat in sorted(self.heartbeats.items())
        ]

    def _columns(self) -> str:
        if isinstance(self.schema, TableSchema):
            return ", ".join(self.schema.field_names)
        return "not recorded by any writer" if self.schema is None else str(self.schema)

    def _counts(self) -> str:
        timeline = self.timeline
        pending = f"{len(timeline.inflight())} inflight, {len(timeline.requested())} requested"
        return f"{len(timeline.completed())} completed, {pending}"


def load_report(table: Table, _: argparse.Namespace) -> TableReport:
    """Read the timeline, the newest schema, and who is alive."""
    timeline = load_timeline(table)
    return TableReport(
        table,
        timeline,
        load_schema(table, timeline),
        load_heartbeats(table),
        datetime.now(tz=timezone.utc),
    )
