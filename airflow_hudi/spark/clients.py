# SPDX-License-Identifier: Apache-2.0
"""The client with which a table service works: told what the table says, the lock, the policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.table import Table
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.versions import release
from airflow_hudi.spark.engine.locks import lock_options
from airflow_hudi.spark.engine.protocol import TableClient

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job


@contextmanager
def service_client(job: Job, work: ServiceWork | CleanWork, table: Table) -> Iterator[TableClient]:
    """Open it, and close it at the end; the user's own options win."""
    options = {
        **table_options(table.properties, release(job.spec.release)),
        **lock_options(job.spec.lock, job.spec.table),
        **work.policy.options(),
        **work.options,
    }
    with job.engine.client(job.spec.table, options) as client:
        yield client
