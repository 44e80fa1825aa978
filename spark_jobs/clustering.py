# SPDX-License-Identifier: Apache-2.0
"""Plan or execute a clustering of a Hudi table; started by ``HudiClusteringOperator``."""

from __future__ import annotations

from airflow_hudi.spark.runner import main
from airflow_hudi.spark.services import serve

if __name__ == "__main__":
    main(serve)
