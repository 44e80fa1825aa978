# SPDX-License-Identifier: Apache-2.0
"""Count and check the rows of a Hudi table; started by ``HudiReadOperator``."""

from __future__ import annotations

from airflow_hudi.spark.reading import read
from airflow_hudi.spark.runner import main

if __name__ == "__main__":
    main(read)
