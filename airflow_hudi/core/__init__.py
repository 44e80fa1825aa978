# SPDX-License-Identifier: Apache-2.0
"""Reads Hudi tables and judges them, in plain Python: no Airflow, no Spark, no JVM.

Names are resolved on first use, so that asking for one does not load the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers; a test holds it equal to the list below
    from airflow_hudi.core.commits import CommitMetadata as CommitMetadata
    from airflow_hudi.core.commits import WriteStat as WriteStat
    from airflow_hudi.core.commits import load_commit as load_commit
    from airflow_hudi.core.datafiles import BaseFileName as BaseFileName
    from airflow_hudi.core.datafiles import FileGroupId as FileGroupId
    from airflow_hudi.core.datafiles import parse_base_name as parse_base_name
    from airflow_hudi.core.defects import Defect as Defect
    from airflow_hudi.core.defects import DefectKind as DefectKind
    from airflow_hudi.core.filegroups import FileGroup as FileGroup
    from airflow_hudi.core.filegroups import FileSlice as FileSlice
    from airflow_hudi.core.fileviews import TableFiles as TableFiles
    from airflow_hudi.core.fileviews import load_file_groups as load_file_groups
    from airflow_hudi.core.fileviews import load_partitions as load_partitions
    from airflow_hudi.core.heartbeat import Heartbeat as Heartbeat
    from airflow_hudi.core.heartbeat import HeartbeatPolicy as HeartbeatPolicy
    from airflow_hudi.core.heartbeat import load_heartbeats as load_heartbeats
    from airflow_hudi.core.history import load_history as load_history
    from airflow_hudi.core.ingestion import FileSource as FileSource
    from airflow_hudi.core.ingestion import IngestWork as IngestWork
    from airflow_hudi.core.ingestion import NewTable as NewTable
    from airflow_hudi.core.ingestion import Operation as Operation
    from airflow_hudi.core.ingestion import QuerySource as QuerySource
    from airflow_hudi.core.ingestion import SourceFormat as SourceFormat
    from airflow_hudi.core.ingestion import WhenEmpty as WhenEmpty
    from airflow_hudi.core.instants import Action as Action
    from airflow_hudi.core.instants import Instant as Instant
    from airflow_hudi.core.instants import InstantTime as InstantTime
    from airflow_hudi.core.instants import State as State
    from airflow_hudi.core.instants import Zone as Zone
    from airflow_hudi.core.instants import instant_time as instant_time
    from airflow_hudi.core.jobs import JobReport as JobReport
    from airflow_hudi.core.jobs import Outcome as Outcome
    from airflow_hudi.core.jobs import PlanSize as PlanSize
    from airflow_hudi.core.jobs import ReportedError as ReportedError
    from airflow_hudi.core.jobs import RowCounts as RowCounts
    from airflow_hudi.core.layout import Layout as Layout
    from airflow_hudi.core.logfiles import LogFileName as LogFileName
    from airflow_hudi.core.logfiles import parse_log_name as parse_log_name
    from airflow_hudi.core.logfiles import rfc61_order as rfc61_order
    from airflow_hudi.core.logfiles import shipped_order as shipped_order
    from airflow_hudi.core.markers import Marker as Marker
    from airflow_hudi.core.markers import Markers as Markers
    from airflow_hudi.core.markers import load_marked_instants as load_marked_instants
    from airflow_hudi.core.markers import load_markers as load_markers
    from airflow_hudi.core.plans import CleanerPlan as CleanerPlan
    from airflow_hudi.core.plans import ClusteringPlan as ClusteringPlan
    from airflow_hudi.core.plans import CompactionPlan as CompactionPlan
    from airflow_hudi.core.plans import IndexPlan as IndexPlan
    from airflow_hudi.core.plans import LogCompactionPlan as LogCompactionPlan
    from airflow_hudi.core.plans import Plan as Plan
    from airflow_hudi.core.plans import PlannedInstant as PlannedInstant
    from airflow_hudi.core.plans import ReplacePlan as ReplacePlan
    from airflow_hudi.core.plans import RestorePlan as RestorePlan
    from airflow_hudi.core.plans import RollbackPlan as RollbackPlan
    from airflow_hudi.core.plans import load_pending_plans as load_pending_plans
    from airflow_hudi.core.plans import load_plan as load_plan
    from airflow_hudi.core.properties import TableProperties as TableProperties
    from airflow_hudi.core.properties import TableType as TableType
    from airflow_hudi.core.properties import load_properties as load_properties
    from airflow_hudi.core.reading import Reading as Reading
    from airflow_hudi.core.reading import ReadWork as ReadWork
    from airflow_hudi.core.schemas import TableSchema as TableSchema
    from airflow_hudi.core.schemas import load_schema as load_schema
    from airflow_hudi.core.services.kinds import Mode as Mode
    from airflow_hudi.core.services.kinds import Service as Service
    from airflow_hudi.core.services.policies import CleanPolicy as CleanPolicy
    from airflow_hudi.core.services.policies import ClusteringPolicy as ClusteringPolicy
    from airflow_hudi.core.services.policies import CompactionPolicy as CompactionPolicy
    from airflow_hudi.core.services.policies import LogCompactionPolicy as LogCompactionPolicy
    from airflow_hudi.core.services.policies import RollbackPolicy as RollbackPolicy
    from airflow_hudi.core.services.works import CleanWork as CleanWork
    from airflow_hudi.core.services.works import ServiceWork as ServiceWork
    from airflow_hudi.core.storage import Storage as Storage
    from airflow_hudi.core.storage import open_storage as open_storage
    from airflow_hudi.core.table import Table as Table
    from airflow_hudi.core.table import load_table as load_table
    from airflow_hudi.core.table import open_table as open_table
    from airflow_hudi.core.timeline import Timeline as Timeline
    from airflow_hudi.core.timeline import load_timeline as load_timeline
    from airflow_hudi.core.values import from_json as from_json
    from airflow_hudi.core.values import to_json as to_json
    from airflow_hudi.core.versions import Feature as Feature
    from airflow_hudi.core.versions import Release as Release
    from airflow_hudi.core.versions import TableVersion as TableVersion
    from airflow_hudi.core.versions import release as release
    from airflow_hudi.core.versions import table_version as table_version

_PUBLIC = {
    "commits": ("CommitMetadata", "WriteStat", "load_commit"),
    "datafiles": ("BaseFileName", "FileGroupId", "parse_base_name"),
    "defects": ("Defect", "DefectKind"),
    "filegroups": ("FileGroup", "FileSlice"),
    "fileviews": ("TableFiles", "load_file_groups", "load_partitions"),
    "heartbeat": ("Heartbeat", "HeartbeatPolicy", "load_heartbeats"),
    "history": ("load_history",),
    "ingestion": (
        "FileSource",
        "IngestWork",
        "NewTable",
        "Operation",
        "QuerySource",
        "SourceFormat",
        "WhenEmpty",
    ),
    "instants": ("Action", "Instant", "InstantTime", "State", "Zone", "instant_time"),
    "jobs": ("JobReport", "Outcome", "PlanSize", "ReportedError", "RowCounts"),
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
    "reading": ("Reading", "ReadWork"),
    "schemas": ("TableSchema", "load_schema"),
    "services.kinds": ("Mode", "Service"),
    "services.policies": (
        "CleanPolicy",
        "ClusteringPolicy",
        "CompactionPolicy",
        "LogCompactionPolicy",
        "RollbackPolicy",
    ),
    "services.works": ("CleanWork", "ServiceWork"),
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
