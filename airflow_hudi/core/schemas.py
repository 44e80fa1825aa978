# SPDX-License-Identifier: Apache-2.0
"""The table's schema as its writers recorded it: Avro, in the newest commit that has one.

Table services are passed over, for they evolve nothing; so do Hudi 0.15 to 1.1. Hudi 1.2 looks at
their commits too, which differs only where a service ran with an outdated schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_hudi.core.commits import load_commit
from airflow_hudi.core.config import TableKey
from airflow_hudi.core.defects import Defect, DefectKind, unreadable
from airflow_hudi.core.instants import Action, InstantTime
from airflow_hudi.core.properties import PROPERTIES_PATH
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline

META_FIELDS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
    "_hoodie_operation",
)

# A table service rewrites rows under the schema it was started with; it evolves nothing.
_SERVICE_OPERATIONS = frozenset({"CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT"})
_RECORDERS = (Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """An Avro record schema without Hudi's own fields, and the commit that recorded it."""

    avro: Mapping[str, Any] = field(hash=False)
    recorded_by: InstantTime | None = None
    """None: the schema the table was created with."""

    @property
    def field_names(self) -> tuple[str, ...]:
        """The table's columns, in their order."""
        return tuple(column["name"] for column in self.avro["fields"])


def load_schema(table: Table, timeline: Timeline) -> TableSchema | Defect | None:
    """The schema of the newest write that recorded one, else the one from the table's creation.

    Newest means last *requested*, for this is what Hudi's readers go by. None where no writer has
    recorded a schema: then only the data files know it.
    """
    for instant in reversed(timeline.completed().of(*_RECORDERS).instants):
        commit = load_commit(table, timeline, instant)
        if isinstance(commit, Defect):
            if commit.kind is DefectKind.EMPTY:  # Hudi reads it as a commit that recorded nothing
                continue
            return commit
        if commit.schema is not None and commit.operation not in _SERVICE_OPERATIONS:
            return parse_schema(table, commit.schema, instant.requested_at)
    created_with = table.properties.get(TableKey.CREATE_SCHEMA)
    return None if created_with is None else parse_schema(table, created_with, None)


def parse_schema(table: Table, text: str, recorded_by: InstantTime | None) -> TableSchema | Defect:
    """A recorded schema as a value: Hudi's own fields off, dropped partition columns back on."""
    source = PROPERTIES_PATH if recorded_by is None else recorded_by
    try:
        avro = json.loads(text)
        fields = [column for column in avro["fields"] if column["name"] not in META_FIELDS]
        names = {column["name"] for column in fields}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return unreadable(source, f"the schema in it is no Avro record ({error})")
    dropped = _dropped_columns(table)
    missing = [name for name in dropped if name not in names]
    if missing and len(missing) < len(dropped):
        return unreadable(source, f"of the partition columns only {', '.join(missing)} are dropped")
    fields.extend({"name": name, "type": ["null", "string"], "default": None} for name in missing)
    return TableSchema({**avro, "fields": fields}, recorded_by)


def _dropped_columns(table: Table) -> tuple[str, ...]:
    is_dropping = table.properties.get(TableKey.DROP_PARTITION_COLUMNS) == "true"
    return table.properties.partition_fields if is_dropping else ()
