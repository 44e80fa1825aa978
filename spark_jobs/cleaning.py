# SPDX-License-Identifier: Apache-2.0
"""Roll back what the dead left on a Hudi table, and clean it; started by ``HudiCleanOperator``."""

from __future__ import annotations

from airflow_hudi.spark.cleaning import clean
from airflow_hudi.spark.runner import main

if __name__ == "__main__":
    main(clean)
