# SPDX-License-Identifier: Apache-2.0
"""The lock of our settings is the lock that Hudi's own jobs take: who holds one holds the other."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_hudi.core import load_timeline, open_table
from airflow_hudi.core.config import LockKey
from airflow_hudi.core.locks import LockKind, LockSettings, lock_key, lock_path
from airflow_hudi.core.locks.zookeeper import ZooKeeperLock, zookeeper_session
from airflow_hudi.core.values import from_json, to_json
from airflow_hudi.spark.engine.adapters import engine_of
from airflow_hudi.spark.engine.locks import lock_options
from tests.spark.engines import Engines
from tests.tables.building import BY_REGION, COW, TableInProgress, rows
from tests.zookeeper import ZooKeeperServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HERE = "tests.spark.test_zookeeper_lock"
RELEASES = ("1.2.0", "0.15.0")
SECONDS = 120.0


# --- on the engine --------------------------------------------------------------------------------


def table(spark: SparkSession, base: str, lock: Any) -> TableInProgress:
    options = lock_options(from_json(LockSettings, lock), base)
    return TableInProgress(spark, base, COW, {**BY_REGION, **options})


def write(spark: SparkSession, base: str, lock: Any, ids: str) -> str:
    return table(spark, base, lock).write(rows(ids))


def understood(spark: SparkSession, base: str, lock: Any, extra: dict[str, str]) -> dict[str, str]:
    """What Hudi's own configuration makes of our options."""
    with table(spark, base, lock).client(extra) as client:
        config = client.getConfig()
        return {
            "mode": str(config.getWriteConcurrencyMode().name()),
            "failed writes": str(config.getFailedWritesCleanPolicy().name()),
            "lock": str(config.getLockProviderClass()).rpartition(".")[2],
        }


def others_get_it(spark: SparkSession, base: str, lock: Any, release: str) -> list[bool]:
    """Whether another client gets the lock while a client of Hudi holds it, and afterwards."""
    options = table(spark, base, lock).options
    zookeeper = from_json(LockSettings, lock).zookeeper
    assert zookeeper is not None
    with ExitStack() as open_things:
        session = open_things.enter_context(zookeeper_session(zookeeper))
        client = open_things.enter_context(engine_of(spark, release).client(base, options))
        other = ZooKeeperLock(session, lock_path(zookeeper, lock_key(base)))
        with client.lock():
            meanwhile = other.acquire()
        return [meanwhile, other.acquire()]


# --- the tests ------------------------------------------------------------------------------------


@pytest.fixture
def lock(zookeeper_server: ZooKeeperServer) -> LockSettings:
    return LockSettings(LockKind.ZOOKEEPER, zookeeper=zookeeper_server.settings())


def completed(base: str) -> int:
    return len(load_timeline(open_table(base)).completed().writes().instants)


@pytest.mark.parametrize("release", RELEASES)
def test_hudi_waits_for_whoever_holds_the_lock_of_our_name(
    release: str, lock: LockSettings, engines: Engines, tmp_path: Path
) -> None:
    engine, base = engines[release], str(tmp_path / "orders")
    arguments: dict[str, Any] = {"base": base, "lock": to_json(lock)}
    assert lock.zookeeper is not None
    path = lock_path(lock.zookeeper, lock_key(f"file://{base}/"))  # another spelling, one lock

    engine.call(f"{HERE}:write", **arguments, ids="a")  # the table is there from here on
    assert completed(base) == 1

    with zookeeper_session(lock.zookeeper) as client:
        holder = ZooKeeperLock(client, path)
        assert holder.acquire()
        hudi_waits = threading.Event()

        def look(contenders: list[str]) -> None:
            if len(contenders) > 1:
                hudi_waits.set()

        client.ChildrenWatch(path, look)
        written: Future[str] = engine.begin(f"{HERE}:write", **arguments, ids="b")
        assert hudi_waits.wait(SECONDS), engine.log_tail()
        assert not written.done()
        assert completed(base) == 1
        holder.release()
        assert written.result(SECONDS)
        assert completed(base) == 2
        assert holder.acquire()  # Hudi has given it back
        holder.release()


@pytest.mark.parametrize("release", RELEASES)
def test_nobody_gets_the_lock_that_hudi_holds(
    release: str, lock: LockSettings, engines: Engines, tmp_path: Path
) -> None:
    engine, base = engines[release], str(tmp_path / "orders")
    arguments: dict[str, Any] = {"base": base, "lock": to_json(lock)}
    engine.call(f"{HERE}:write", **arguments, ids="a")
    assert engine.call(f"{HERE}:others_get_it", **arguments, release=release) == [False, True]


@pytest.mark.parametrize("release", RELEASES)
def test_hudi_understands_that_it_is_not_alone(
    release: str, lock: LockSettings, engines: Engines, tmp_path: Path
) -> None:
    engine, base = engines[release], str(tmp_path / "orders")
    arguments: dict[str, Any] = {"base": base, "lock": to_json(lock)}
    engine.call(f"{HERE}:write", **arguments, ids="a")
    expected = {
        "mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "failed writes": "LAZY",
        "lock": "ZookeeperBasedLockProvider",
    }
    assert engine.call(f"{HERE}:understood", **arguments, extra={}) == expected
    # Lazy because we said so under a name that this release reads, not because of the mode.
    alone = {LockKey.CONCURRENCY_MODE.value: "SINGLE_WRITER"}
    seen = engine.call(f"{HERE}:understood", **arguments, extra=alone)
    assert seen == {**expected, "mode": "SINGLE_WRITER"}


@pytest.mark.parametrize("release", RELEASES)
def test_the_file_of_a_dead_jobs_filesystem_lock_is_taken_over_once_it_has_expired(
    release: str, engines: Engines, tmp_path: Path
) -> None:
    engine, base = engines[release], tmp_path / "orders"
    arguments: dict[str, Any] = {"base": str(base), "lock": to_json(LockSettings(expiry_minutes=1))}
    engine.call(f"{HERE}:write", **arguments, ids="a")
    left_behind = base / ".hoodie" / "lock"
    assert not left_behind.exists()
    left_behind.touch()
    two_minutes_ago = time.time() - 120
    os.utime(left_behind, (two_minutes_ago, two_minutes_ago))
    engine.call(f"{HERE}:write", **arguments, ids="b")
    assert completed(str(base)) == 2
    assert not left_behind.exists()
