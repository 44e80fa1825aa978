# SPDX-License-Identifier: Apache-2.0
"""Short texts and plain arguments to values: what tests build their worlds from."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import fastavro

from airflow_hudi.core.instants import UTC, Action, Instant, InstantTime, State
from airflow_hudi.core.layout import Layout, format_name
from airflow_hudi.core.properties import format_properties
from airflow_hudi.core.storage.memory import InMemoryStorage
from airflow_hudi.core.table import Table, load_table
from airflow_hudi.core.timeline import Timeline

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)


def an_instant(text: str) -> Instant:
    """``"10 commit"`` is completed, ``"20 clean inflight"`` is not, ``"10-15 commit"`` has both."""
    times, action, *state = text.split()
    requested, _, completed = times.partition("-")
    return Instant(
        InstantTime(requested),
        Action(action),
        State(state[0]) if state else State.COMPLETED,
        InstantTime(completed) if completed else None,
    )


def a_timeline(*texts: str) -> Timeline:
    return Timeline(tuple(an_instant(text) for text in texts))


def the_properties(**changes: str) -> dict[str, str]:
    version = changes.pop("version", "9")
    values = {
        "hoodie.table.name": "orders",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.version": version,
        "hoodie.timeline.layout.version": "2" if int(version) >= 8 else "1",
        "hoodie.table.timeline.timezone": "UTC",
    }
    return values | {f"hoodie.{key.replace('__', '.')}": value for key, value in changes.items()}


def a_table(files: Mapping[str, bytes], **changes: str) -> Table:
    """A table in memory: the files of its timeline folder, and properties that differ."""
    storage = InMemoryStorage()
    properties = the_properties(**changes)
    storage.put(".hoodie/hoodie.properties", format_properties(properties))
    table = load_table(storage)
    for number, (name, data) in enumerate(files.items()):
        is_path = "/" in name or name.startswith(".hoodie_")
        path = name if is_path else f"{table.properties.timeline_folder}/{name}"
        storage.put(path, data, modified_at=EPOCH + timedelta(seconds=number))
    return table


def avro_file(name: str, fields: Mapping[str, Any], record: Mapping[str, Any]) -> bytes:
    """An Avro container with one record, as Hudi writes its plans."""
    schema = {
        "type": "record",
        "name": name,
        "fields": [{"name": key, "type": kind} for key, kind in fields.items()],
    }
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(schema), [dict(record)])
    return buffer.getvalue()


def a_log_block(schema: str, records: list[bytes]) -> bytes:
    """One Avro block of Hudi's log format."""
    content = struct.pack(">ii", 3, len(records))
    content += b"".join(struct.pack(">i", len(record)) + record for record in records)
    header = struct.pack(">iii", 1, 2, len(schema)) + schema.encode()
    body = struct.pack(">ii", 1, 3) + header + struct.pack(">q", len(content)) + content
    body += struct.pack(">i", 0)
    size = len(body) + 8
    return b"#HUDI#" + struct.pack(">q", size) + body + struct.pack(">q", size + 6)


def names_of(layout: Layout, *texts: str) -> dict[str, bytes]:
    """Empty timeline files for the instants these texts name."""
    return {format_name(layout, an_instant(text)): b"x" for text in texts}


def at(seconds: float) -> InstantTime:
    """The instant time so many seconds after the builders' epoch."""
    return UTC.digits(EPOCH + timedelta(seconds=seconds))
