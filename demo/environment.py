# SPDX-License-Identifier: Apache-2.0
"""An Airflow of this checkout's own: its folder, its connections, and nothing of the user's."""

from __future__ import annotations

import json
import os
from pathlib import Path

from airflow_hudi.spark.session import QUICK_START

ROOT = Path(__file__).resolve().parents[1]


def airflow_environment(home: Path, warehouse: Path, *, spark: str = "local[*]") -> dict[str, str]:
    """The variables that make Airflow use `home`, the example DAGs and the two connections."""
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags_examples"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
        "AIRFLOW_CONN_HUDI_DEFAULT": json.dumps({"conn_type": "hudi", "host": str(warehouse)}),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": spark}),
        # Small data: a JVM that starts quickly is worth more than one that runs fast.
        "SPARK_SUBMIT_OPTS": " ".join(filter(None, (os.environ.get("SPARK_SUBMIT_OPTS"), QUICK_START))),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
