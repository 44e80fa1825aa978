# SPDX-License-Identifier: Apache-2.0
"""What the tests of the adapters let a real engine do, and what is seen after each step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.commits import decode_commit
from airflow_hudi.core.engine_errors import InstantNotPending, WriteConflict
from airflow_hudi.core.errors import (
    EnvironmentProblem,
    LockNotAcquired,
    UnknownRelease,
    UnsupportedFeature,
)
from airflow_hudi.core.instants import Action
from airflow_hudi.core.plans import decode_plan
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.spark.engine.adapters import engine_of
from airflow_hudi.spark.engine.protocol import (
    BeforeCommit,
    CommitInProgress,
    Executed,
    Staged,
    TableClient,
)
from tests.spark.adapted import COW, MOR, WITHOUT_METADATA, Adapted, Row, engine_here, some_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Seen = dict[str, Any]


class Refused(Exception):
    """Raised by a check before a commit."""


def _error(action: Any, *kinds: type[Exception]) -> str:
    try:
        action()
    except kinds as error:
        return type(error).__name__
    return "none"


# --- releases ----------------------------------------------------------------------------------


def refuse_releases(spark: SparkSession, base: str) -> Seen:
    here = engine_here(spark).release
    other = next(name for name in RELEASE_NAMES if name != here)
    return {
        "here": here,
        "no table": not Path(base).exists(),
        "unknown": _error(lambda: engine_of(spark, "0.14.1"), UnknownRelease),
        "other": _error(lambda: engine_of(spark, other), EnvironmentProblem),
    }


# --- lock and heartbeat ------------------------------------------------------------------------


def lock_and_beat(spark: SparkSession, base: str) -> Seen:
    table = Adapted(spark, base, MOR, WITHOUT_METADATA)
    table.create(some_rows("12"))
    lock_file = Path(base, ".hoodie/lock")
    seen: Seen = {}
    with table.client() as holder, table.client() as waiter:
        with holder.lock():
            started = time.monotonic()
            seen["while held"] = _error(lambda: _lock_once(waiter), LockNotAcquired)
            seen["waited"] = time.monotonic() - started
            seen["still held"] = lock_file.exists()
        seen["freed"] = not lock_file.exists()
        seen["after it"] = _error(lambda: _lock_once(waiter), LockNotAcquired)
        with holder.lock():
            seen["schedule while held"] = _error(
                lambda: waiter.schedule(Service.COMPACTION), LockNotAcquired
            )
        seen["beats"] = _beats(table, holder, waiter)
    return seen


def _lock_once(client: TableClient) -> None:
    with client.lock():
        pass


def _beats(table: Adapted, owner: TableClient, other: TableClient) -> list[Any]:
    instant = "20990101000000000"
    seen: list[Any] = [other.is_heartbeat_expired(instant)]
    owner.start_heartbeat(instant)
    seen += [table.beats() == [instant], other.is_heartbeat_expired(instant)]
    owner.stop_heartbeat(instant)
    seen += [table.heartbeat_files(), owner.is_heartbeat_expired(instant)]
    return seen


# --- services ----------------------------------------------------------------------------------

_SERVICES = (Service.LOG_COMPACTION, Service.COMPACTION, Service.CLUSTERING)
_EAGER_PLANS = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.log.compaction.enable": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
}


def serve_merge_on_read(spark: SparkSession, base: str) -> Seen:
    """All three services, with a metadata table as Hudi has it by default."""
    table = Adapted(spark, base, MOR)
    table.create(some_rows("1234"))
    seen: Seen = {}
    table.upsert(*some_rows("13", ts=2, v="first"))
    for number, service in enumerate(_SERVICES, 3):
        table.upsert(*some_rows("12", ts=number, v=service.value))
        with table.client(**_EAGER_PLANS) as client:
            seen[service.value] = _serve(table, client, service)
    with table.client(**_EAGER_PLANS) as client:
        seen["nothing to compact"] = client.schedule(Service.COMPACTION)
    table.upsert(*some_rows("35", ts=99, v="later"))
    seen["a later write"] = table.is_as_modelled_either_way()
    return seen


def cluster_copy_on_write(spark: SparkSession, base: str) -> Seen:
    table = Adapted(spark, base, COW)
    table.create(some_rows("1234"))
    table.upsert(*some_rows("15", ts=2, v="b"))
    with table.client() as client:
        seen = _serve(table, client, Service.CLUSTERING)
    table.upsert(*some_rows("26", ts=3, v="later"))
    return {**seen, "a later write": table.is_as_modelled_either_way()}


def _serve(table: Adapted, client: TableClient, service: Service) -> Seen:
    text = client.preview(service)
    assert text is not None
    previewed: Any = decode_plan(service.action, text.encode())
    instant = client.schedule(service, extra={"planned_by": "tests"})
    assert instant is not None
    requested, before = table.state(instant), table.files()
    planned = table.plan(instant)
    executed = client.execute(service, instant)
    seen = {
        "as previewed": previewed.file_groups == planned.file_groups,
        "requested": requested,
        "executed": table.state(instant),
        "files are there": table.has(executed.files),
        "and no others": table.files() - before == set(executed.files),
        "rows while inflight": table.is_as_modelled(),
    }
    seen["refused"] = _refused(client, executed)
    seen["still inflight"] = table.state(instant)
    saw: list[bool] = []
    client.commit(executed, check=lambda: saw.append(_is_locked(table)))
    seen["checked under the lock"] = saw
    committed = {stat.path for stat in table.commit(instant).stats}
    return {
        **seen,
        "committed": table.state(instant),
        "committed its files": committed == set(executed.files),
        "rows after it": table.is_as_modelled(),
    }


def _refused(client: TableClient, executed: Executed) -> str:
    def refuse() -> None:
        raise Refused

    return _error(lambda: client.commit(executed, check=refuse), Refused)


def _is_locked(table: Adapted) -> bool:
    return Path(table.base, ".hoodie/lock").exists()


# --- writes with a check before the commit -----------------------------------------------------

_OPERATIONS: tuple[tuple[str, list[Row], str], ...] = (
    # operation, rows, what becomes of the model
    ("upsert", some_rows("1", ts=2, v="u") + some_rows("8", region="us", ts=2, v="u"), "merge"),
    ("insert", some_rows("i", ts=2, v="i"), "merge"),
    ("bulk_insert", some_rows("b", ts=2, v="b"), "merge"),
    ("delete", some_rows("2", ts=3) + some_rows("5", region="us", ts=3), "remove"),
    ("insert_overwrite", some_rows("o", region="us", ts=4, v="o"), "replace partition"),
    ("delete_partition", [], "drop us"),
    ("insert_overwrite_table", some_rows("t", ts=5, v="t"), "replace table"),
)


def _apply(table: Adapted, rows: list[Row], effect: str) -> None:
    ids, regions = {row[0] for row in rows}, {row[1] for row in rows}
    keeps: dict[str, Callable[[Row], bool]] = {
        "merge": lambda _row: True,
        "remove": lambda row: row[0] not in ids,
        "replace partition": lambda row: row[1] not in regions,
        "drop us": lambda row: row[1] != "us",
        "replace table": lambda _row: False,
    }
    table.model = {key: row for key, row in table.model.items() if keeps[effect](row)}
    if effect not in ("remove", "drop us"):
        table.expect(rows)


def write_checked(spark: SparkSession, base: str, kind: str) -> Seen:
    table = Adapted(spark, base, kind, WITHOUT_METADATA)
    table.create(some_rows("1234") + some_rows("567", region="us"))
    seen: Seen = {}
    for operation, rows, effect in _OPERATIONS:
        saw: list[Any] = []
        more = (
            {"hoodie.datasource.write.partitions.to.delete": "us"}
            if operation == "delete_partition"
            else {}
        )
        instant = table.write(rows, operation, before_commit=_looking(saw), **more)
        _apply(table, rows, effect)
        recorded = table.commit(instant).extra.get("checked_by")
        seen[operation] = {"saw": saw, "recorded": recorded, "rows": table.is_as_modelled()}
    seen["not checkable"] = _error(
        lambda: table.write([], "compact", before_commit=_looking([])), UnsupportedFeature
    )
    return seen


def _looking(saw: list[Any]) -> BeforeCommit:
    def check(commit: CommitInProgress) -> None:
        found = decode_commit(commit.as_json().encode())
        saw.append(["schema" in commit.extra, found.operation])
        commit.record("checked_by", "tests")

    return check


# --- rollback ----------------------------------------------------------------------------------


def refuse_and_roll_back(spark: SparkSession, base: str) -> Seen:
    """A write that its own check refuses, then the two steps that remove it."""
    table = Adapted(spark, base, COW, WITHOUT_METADATA)
    table.create(some_rows("1234"))
    known = {instant.requested_at for instant in table.timeline()}

    def refuse(_commit: CommitInProgress) -> None:
        raise Refused("not this one")

    refused = _error(lambda: table.write(some_rows("1", ts=2), before_commit=refuse), Refused)
    failed = next(i.requested_at for i in table.timeline() if i.requested_at not in known)
    left = table.files_of(failed)
    seen: Seen = {
        "error": refused,
        "state": table.state(failed),
        "left files": len(left),
        "rows": table.is_as_modelled(),
    }
    with table.client() as client:
        with client.lock():
            rollback = client.schedule_rollback(failed)
            seen["planned once"] = client.schedule_rollback(failed) == rollback
        seen["planned"] = [table.state(rollback), table.has(left)]
        seen["deleted"] = client.execute_rollback(rollback, failed)
        seen["again"] = _error(lambda: client.schedule_rollback(failed), InstantNotPending)
    seen["done"] = [table.state(rollback), table.state(failed), table.files_of(failed)]
    seen["heartbeat files"] = table.heartbeat_files()
    table.upsert(*some_rows("14", ts=5, v="later"))
    seen["a later write"] = table.is_as_modelled_either_way()
    return seen


# --- clean -------------------------------------------------------------------------------------


def clean(spark: SparkSession, base: str) -> Seen:
    table = Adapted(spark, base, COW, WITHOUT_METADATA)
    first = table.create(some_rows("1234"))
    old = table.files_of(first)
    settings = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.commits.retained": "1"}
    with table.client(**settings) as client:
        seen: Seen = {"too early": [_schedule_clean(client), _previewed_clean(client)]}
    for number in (2, 3):
        table.upsert(*some_rows("1", ts=number, v=str(number)))
    with table.client(**settings) as client:
        previewed = _previewed_clean(client)
        planned = _schedule_clean(client)
        assert planned is not None
        seen["as previewed"] = previewed == table.plan(planned).files
        seen["planned"] = [table.state(planned), table.has(old)]
        seen["deleted"] = [client.clean(planned), table.state(planned), table.has(old)]
        seen["nothing left"] = _schedule_clean(client)
    seen["rows"] = table.is_as_modelled()
    return seen


def _previewed_clean(client: TableClient) -> Any:
    plan: Any = decode_plan(Action.CLEAN, (client.preview_clean() or "").encode())
    return plan.files


def _schedule_clean(client: TableClient) -> str | None:
    with client.lock():
        return client.schedule_clean()


# --- staged writes -----------------------------------------------------------------------------


def stage_and_commit(
    spark: SparkSession, base: str, kind: str, operations: list[str], metadata: str
) -> Seen:
    table = Adapted(spark, base, kind, {"hoodie.metadata.enable": metadata})
    table.create(some_rows("1234") + some_rows("567", region="us"))
    seen: Seen = {}
    for operation, rows, effect in _OPERATIONS:
        if operation not in operations:
            continue
        with table.client() as client:
            staged = client.stage(table.frame(rows), operation, extra={"txn": "7"})
            before = [table.is_as_modelled(), table.beats() == [staged.instant]]
            state = table.state(staged.instant)
            client.commit_staged(staged)
        _apply(table, rows, effect)
        commit = table.commit(staged.instant)
        seen[operation] = {
            "while staged": [state == f"{staged.action} inflight", *before],
            "state": table.state(staged.instant) == f"{staged.action} completed",
            "extra": commit.extra.get("txn"),
            "is what was staged": commit.stats == decode_commit(staged.metadata.encode()).stats,
            "heartbeat files": table.heartbeat_files(),
            "rows": table.is_as_modelled(),
        }
    table.upsert(*some_rows("19", ts=9, v="later"))
    seen["a later write"] = table.is_as_modelled_either_way()
    return seen


def commit_when_free(spark: SparkSession, base: str) -> Seen:
    """The lock is taken at first; the same staged write is committed by the second attempt."""
    table = Adapted(spark, base, COW, WITHOUT_METADATA)
    table.create(some_rows("1234"))
    rows = some_rows("15", ts=2, v="staged")
    with table.client() as client, table.client() as holder:
        staged = client.stage(table.frame(rows), "upsert", extra={})
        with holder.lock():
            error = _error(lambda: client.commit_staged(staged), LockNotAcquired)
        seen: Seen = {"while held": [error, table.state(staged.instant), table.is_as_modelled()]}
        client.commit_staged(staged)
    table.expect(rows)
    return {**seen, "after it": [table.state(staged.instant), table.is_as_modelled()]}


def conflict_of_staged(spark: SparkSession, base: str) -> Seen:
    """Somebody else changes the same file group between the two steps."""
    table = Adapted(spark, base, COW, WITHOUT_METADATA)
    table.create(some_rows("1234"))
    with table.client() as client:
        staged = client.stage(table.frame(some_rows("1", ts=8, v="ours")), "upsert", extra={})
        table.upsert(*some_rows("2", ts=9, v="theirs"))
        seen: Seen = {
            "error": _error(lambda: client.commit_staged(staged), WriteConflict),
            "state": table.state(staged.instant),
        }
        with client.lock():
            rollback = client.schedule_rollback(staged.instant)
        client.execute_rollback(rollback, staged.instant)
        seen["again"] = _error(lambda: client.commit_staged(staged), InstantNotPending)
    seen["left"] = [table.files_of(staged.instant), table.heartbeat_files()]
    seen["rows"] = table.is_as_modelled()
    return seen


def commit_for_another(spark: SparkSession, base: str) -> Seen:
    """The client that staged a write is gone; only the facts of it are left."""
    table = Adapted(spark, base, MOR)
    table.create(some_rows("1234") + some_rows("567", region="us"))
    rows = some_rows("1", ts=2, v="u") + some_rows("8", region="us", ts=2, v="u")
    with table.client() as gone:
        facts = asdict(gone.stage(table.frame(rows), "upsert", extra={"txn": "8"}))
    staged = Staged(**json.loads(json.dumps(facts)))
    told: list[str] = []
    seen: Seen = {"left": [table.is_as_modelled(), table.beats() == [staged.instant]]}
    with table.client() as client:
        refusing = _refusing(told)
        refused = _error(lambda: client.commit_staged(staged, before_commit=refusing), Refused)
        seen["refused"] = [refused, told, table.state(staged.instant), table.is_as_modelled()]
        client.commit_staged(staged)
        seen["again"] = _error(lambda: client.commit_staged(staged), InstantNotPending)
    table.expect(rows)
    seen["after"] = [table.is_as_modelled(), table.state(staged.instant), table.heartbeat_files()]
    table.upsert(*some_rows("19", ts=9, v="later"))
    seen["a later write"] = table.is_as_modelled_either_way()
    return seen


def _refusing(told: list[str]) -> BeforeCommit:
    def refuse(commit: CommitInProgress) -> None:
        told.append(commit.extra["txn"])
        raise Refused("not yet")

    return refuse
