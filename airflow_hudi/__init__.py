# SPDX-License-Identifier: Apache-2.0
"""Run the life of Apache Hudi tables from Airflow.

Nothing is loaded eagerly: a Spark driver without Airflow, and a command line that must start in
milliseconds, import this package too. A public name is resolved on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers; a test holds it equal to the list below
    from airflow_hudi.core.history import load_history as load_history
    from airflow_hudi.core.ingestion import NewTable as NewTable
    from airflow_hudi.core.instants import Instant as Instant
    from airflow_hudi.core.services.policies import CleanPolicy as CleanPolicy
    from airflow_hudi.core.services.policies import ClusteringPolicy as ClusteringPolicy
    from airflow_hudi.core.services.policies import CompactionPolicy as CompactionPolicy
    from airflow_hudi.core.services.policies import LogCompactionPolicy as LogCompactionPolicy
    from airflow_hudi.core.table import Table as Table
    from airflow_hudi.core.table import open_table as open_table
    from airflow_hudi.core.timeline import Timeline as Timeline
    from airflow_hudi.core.timeline import load_timeline as load_timeline
    from airflow_hudi.hooks.hudi import HudiHook as HudiHook
    from airflow_hudi.operators.cleaning import HudiCleanOperator as HudiCleanOperator
    from airflow_hudi.operators.clustering import HudiClusteringOperator as HudiClusteringOperator
    from airflow_hudi.operators.compaction import HudiCompactionOperator as HudiCompactionOperator
    from airflow_hudi.operators.compaction import (
        HudiLogCompactionOperator as HudiLogCompactionOperator,
    )
    from airflow_hudi.operators.ingestion import HudiIngestOperator as HudiIngestOperator
    from airflow_hudi.operators.reading import HudiReadOperator as HudiReadOperator
    from airflow_hudi.operators.table_services import hudi_table_services as hudi_table_services
    from airflow_hudi.sensors.commit import HudiCommitSensor as HudiCommitSensor

__version__ = "0.3.0"

_HOME = {
    "CleanPolicy": "airflow_hudi.core.services.policies",
    "ClusteringPolicy": "airflow_hudi.core.services.policies",
    "CompactionPolicy": "airflow_hudi.core.services.policies",
    "HudiCleanOperator": "airflow_hudi.operators.cleaning",
    "HudiClusteringOperator": "airflow_hudi.operators.clustering",
    "HudiCommitSensor": "airflow_hudi.sensors.commit",
    "HudiCompactionOperator": "airflow_hudi.operators.compaction",
    "HudiHook": "airflow_hudi.hooks.hudi",
    "HudiIngestOperator": "airflow_hudi.operators.ingestion",
    "HudiLogCompactionOperator": "airflow_hudi.operators.compaction",
    "HudiReadOperator": "airflow_hudi.operators.reading",
    "Instant": "airflow_hudi.core.instants",
    "LogCompactionPolicy": "airflow_hudi.core.services.policies",
    "NewTable": "airflow_hudi.core.ingestion",
    "Table": "airflow_hudi.core.table",
    "Timeline": "airflow_hudi.core.timeline",
    "hudi_table_services": "airflow_hudi.operators.table_services",
    "load_history": "airflow_hudi.core.history",
    "load_timeline": "airflow_hudi.core.timeline",
    "open_table": "airflow_hudi.core.table",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - one list, not two: the mapping above is the source


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
