# SPDX-License-Identifier: Apache-2.0
"""Terms of jobs on one table, and the folder they are in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from airflow_hudi.core.jobs import JobKey
from airflow_hudi.core.storage import InMemoryStorage, Storage
from airflow_hudi.core.terms import Record, Terms, TermsFolder, record_of
from airflow_hudi.core.values import decode
from tests.builders import EPOCH

URI = "/lake/orders"
INTERVAL = "hoodie.client.heartbeat.interval_in_ms"
MISSES = "hoodie.client.heartbeat.tolerable.misses"
METADATA = "hoodie.metadata.enable"
USUAL = Terms(
    "filesystem", "OPTIMISTIC_CONCURRENCY_CONTROL", timedelta(seconds=60), 2, metadata_table=True
)
QUICK = replace(USUAL, heartbeat_interval=timedelta(seconds=30))
LOCKED = replace(USUAL, lock="zookeeper zk:2181 /hudi/locks/orders")
BOTH = replace(LOCKED, tolerable_misses=9, metadata_table=False)


def a_record(
    task: str = "ingest", terms: Terms = USUAL, *, run: str = "1", age: timedelta = timedelta()
) -> Record:
    key = JobKey("shop", run, task)
    return record_of(key, 1, "hudi_default", terms, now=EPOCH - age)


def never(_: Record) -> bool:
    return False


def always(_: Record) -> bool:
    return True


def a_folder(runs: Callable[[Record], bool] = never, storage: Storage | None = None) -> TermsFolder:
    return TermsFolder(storage or InMemoryStorage("/lake/.hudi_control"), URI, runs)


def records(folder: TermsFolder) -> list[Record]:
    path = folder.path_of(a_record()).rpartition("/")[0]
    files = folder.storage.list_folder(path).files
    return [decode(Record, folder.storage.read(file.path)) for file in files]
