# SPDX-License-Identifier: Apache-2.0
"""Reads Hudi tables and judges them, in plain Python: no Airflow, no Spark, no JVM.

Names are resolved on first use, so that asking for one does not load the others.
"""

from __future__ import annotations

import importlib

_PUBLIC = {
    "commits": ("CommitMetadata", "WriteStat", "load_commit"),
    "datafiles": ("BaseFileName", "FileGroupId", "parse_base_name"),
    "defects": ("Defect", "DefectKind"),
    "filegroups": ("FileGroup", "FileSlice"),
    "fileviews": ("TableFiles", "load_file_groups", "load_partitions"),
    "heartbeat": ("Heartbeat", "HeartbeatPolicy", "load_heartbeats"),
    "history": ("load_history",),
    "instants": ("Action", "Instant", "InstantTime", "State", "Zone", "instant_time"),
    "layout": ("Layout",),
    "logfiles": ("LogFileName", "parse_log_name", "rfc61_order", "shipped_order"),
    "markers": ("Marker", "Markers", "load_marked_instants", "load_markers"),
    "plans": (
        "CleanerPlan",
        "ClusteringPlan",
        "CompactionPlan",
        "IndexPlan",
        "LogCompactionPlan",
        "Plan",
        "PlannedInstant",
        "ReplacePlan",
        "RestorePlan",
        "RollbackPlan",
        "load_pending_plans",
        "load_plan",
    ),
    "properties": ("TableProperties", "TableType", "load_properties"),
    "schemas": ("TableSchema", "load_schema"),
    "storage": ("Storage", "open_storage"),
    "table": ("Table", "load_table", "open_table"),
    "timeline": ("Timeline", "load_timeline"),
    "values": ("from_json", "to_json"),
    "versions": ("Feature", "Release", "TableVersion", "release", "table_version"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605 - one list, not two: the mapping above is the source


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
