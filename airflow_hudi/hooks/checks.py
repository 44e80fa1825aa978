# SPDX-License-Identifier: Apache-2.0
"""What the Test button looks at: each check tries the real thing and says what it saw."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from pathlib import Path

from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.errors import AirflowHudiError, EnvironmentProblem, StorageError
from airflow_hudi.core.locks import check_lock, probe_lock
from airflow_hudi.core.storage import open_storage
from airflow_hudi.core.uris import LOCAL, place
from airflow_hudi.hooks.spark_binary import find_spark_submit

SECONDS_PER_CHECK = 15.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    said: str

    def __str__(self) -> str:
        return f"{'✓' if self.passed else '✗'} {self.name}: {self.said}"


def summary(checks: Sequence[Check]) -> tuple[bool, str]:
    """Whether all is well, and one line for each check."""
    return all(check.passed for check in checks), "\n".join(map(str, checks))


def run_check(name: str, look: Callable[[], str], *, seconds: float = SECONDS_PER_CHECK) -> Check:
    """What `look` saw, or why it failed, or that it took too long."""
    pool = ThreadPoolExecutor(1, thread_name_prefix=f"check-{name}")
    try:
        return Check(name, passed=True, said=pool.submit(look).result(seconds))
    except AirflowHudiError as error:  # before the next: some of ours are TimeoutErrors too
        return Check(name, passed=False, said=str(error))
    except TookTooLong:
        too_long = f"no answer within {seconds:.0f} s; check address, network and credentials"
        return Check(name, passed=False, said=too_long)
    finally:
        pool.shutdown(wait=False)


def look_at_warehouse(settings: HudiSettings) -> str:
    """List the warehouse."""
    where = place(settings.warehouse)
    # A storage lists a missing folder as an empty one.
    if where.scheme == LOCAL and not Path(where.path or "/").is_dir():
        raise EnvironmentProblem(
            f"{settings.warehouse} is no folder on this machine",
            cure="create it, or correct the connection's host",
        )
    folders = open_storage(settings.warehouse).list_folder("").folders
    return f"{settings.warehouse} can be read (folders in it: {len(folders)})"


def look_at_control(settings: HudiSettings) -> str:
    """Create, read and delete an object of our own."""
    storage = open_storage(settings.control_uri)
    path, content = f"airflow-hudi-probe-{secrets.token_hex(8)}", b"may be deleted"
    version = storage.create(path, content)
    try:
        if storage.read(path) != content:
            raise StorageError(f"{path} in {storage.uri} was not read as it was written")
    finally:
        storage.delete(path, expected=version)
    return f"{settings.control_uri} can be written"


def look_at_lock(settings: HudiSettings) -> str:
    """Let two clients contend for a lock of our own."""
    check_lock(settings.lock, settings.warehouse)
    tried = probe_lock(settings.lock, open_storage(settings.control_uri))
    return f"{settings.lock.kind.value}, {tried}"


def look_at_spark_submit() -> str:
    """Find the command; Spark is not started."""
    found = find_spark_submit()
    if found is None:
        raise EnvironmentProblem(
            "not found on this machine (SPARK_HOME, PATH, package pyspark)",
            cure="pip install 'airflow-hudi[local]', or set SPARK_HOME",
        )
    return str(found)
