# SPDX-License-Identifier: Apache-2.0
"""Run the life of Apache Hudi tables from Airflow.

Nothing is loaded eagerly: a Spark driver without Airflow, and a command line that must start in
milliseconds, import this package too. A public name is resolved on first use.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_HOME = {
    "Instant": "airflow_hudi.core.instants",
    "Table": "airflow_hudi.core.table",
    "Timeline": "airflow_hudi.core.timeline",
    "load_history": "airflow_hudi.core.history",
    "load_timeline": "airflow_hudi.core.timeline",
    "open_table": "airflow_hudi.core.table",
}

__all__ = ["Instant", "Table", "Timeline", "load_history", "load_timeline", "open_table"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
