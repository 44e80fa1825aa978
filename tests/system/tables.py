# SPDX-License-Identifier: Apache-2.0
"""What is in a table after all: rows as a reader not of ours sees them, and who committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hudi
import pyarrow as pa

from airflow_hudi.core.commits import load_commit
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.errors import PropertiesUnreadable, TableNotFound
from airflow_hudi.core.ingestion import JOB_METADATA_KEY
from airflow_hudi.core.instants import State
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline

WRITTEN = [("a", 1, "placed"), ("b", 1, "placed")]
"""What a run of ``writes.py`` leaves, whatever happened to it."""


def rows(table: Path) -> list[tuple[Any, ...]]:
    """Read by hudi-rs, which knows nothing of this package."""
    seen = pa.Table.from_batches(hudi.HudiTable(str(table)).read())
    columns = seen.select(["id", "version", "status"]).to_pylist()
    return sorted((row["id"], row["version"], row["status"]) for row in columns)


def commits(table: Path) -> list[str | None]:
    """The job of every commit there is, oldest first."""
    opened = open_table(str(table))
    timeline = load_timeline(opened)
    made = []
    for instant in timeline.completed().writes():
        commit = load_commit(opened, timeline, instant)
        assert not isinstance(commit, Defect), commit
        made.append(commit.extra.get(JOB_METADATA_KEY))
    return made


def is_half_written(table: Path) -> bool:
    """Whether a write has left a data file, and no commit."""
    try:
        pending = load_timeline(open_table(str(table))).pending().writes()
    except (TableNotFound, PropertiesUnreadable):  # it is just coming into being
        return False
    is_writing = any(instant.state is State.INFLIGHT for instant in pending)
    return is_writing and any(table.glob("*.parquet"))
