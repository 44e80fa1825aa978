# SPDX-License-Identifier: Apache-2.0
"""Write the rows of a source into a Hudi table; started by ``HudiIngestOperator``."""

from __future__ import annotations

from airflow_hudi.spark.ingestion import ingest
from airflow_hudi.spark.runner import main

if __name__ == "__main__":
    main(ingest)
