# SPDX-License-Identifier: Apache-2.0
"""What all jobs on a table share: what a job's terms are, who counts, what is said and kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_hudi.core.errors import InvalidInput, InvalidSetting, OutcomeUnknown
from airflow_hudi.core.ingestion import IngestWork, Operation, QuerySource
from airflow_hudi.core.job_errors import MetadataTableLeftBehind, TermsDisagree
from airflow_hudi.core.jobs import JobKey
from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper
from airflow_hudi.core.properties import TableProperties
from airflow_hudi.core.services.works import CleanWork
from airflow_hudi.core.storage import InMemoryStorage, Listing, Version
from airflow_hudi.core.terms import (
    REMEMBERED,
    Record,
    Terms,
    TermsFolder,
    check_metadata_table,
    disagreements,
    record_of,
    terms_of,
)
from airflow_hudi.core.values import decode, encode
from tests.builders import EPOCH, the_properties
from tests.terms import (
    BOTH,
    INTERVAL,
    LOCKED,
    METADATA,
    MISSES,
    QUICK,
    URI,
    USUAL,
    a_folder,
    a_record,
    always,
    never,
    records,
)

EXACTLY = REMEMBERED
OF_SERVICES = replace(USUAL, services="operators")
LONGER = REMEMBERED + timedelta(seconds=1)


def zookeeper(hosts: str = "zk1:2181,zk2:2181", **more: Any) -> LockSettings:
    return LockSettings(LockKind.ZOOKEEPER, zookeeper=ZooKeeper(hosts, **more))


def told(options: dict[str, str], lock: LockSettings | None = None, uri: str = URI) -> Terms:
    return terms_of(CleanWork(options=options), lock or LockSettings(), uri)


# --- the terms of a job ---------------------------------------------------------------------------


def test_a_job_that_says_nothing_has_hudis_defaults() -> None:
    assert told({}) == OF_SERVICES
    assert terms_of(IngestWork(Operation.INSERT, QuerySource("q")), LockSettings(), URI) == USUAL


def test_options_of_its_own_are_its_terms() -> None:
    assert told({INTERVAL: "30000", MISSES: "5", METADATA: "FALSE"}).said() == {
        "lock": "filesystem",
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        INTERVAL: "30000",
        MISSES: "5",
        METADATA: "false",
        "table services run by": "operators",
    }
    assert told({INTERVAL: "60000", MISSES: "2", METADATA: "True"}) == OF_SERVICES


def test_a_table_has_one_owner_of_its_services() -> None:
    source = QuerySource("q")
    plain = IngestWork(Operation.INSERT, source)
    alone = IngestWork(Operation.INSERT, source, inline_services=True)
    writer, owner = (terms_of(work, LockSettings(), URI) for work in (plain, alone))
    folder = a_folder()
    declare(folder, a_record("ingest", writer))
    declare(folder, a_record("alone", owner))  # it owns them; the plain writer does not mind

    error = refused(folder, a_record("clean", OF_SERVICES))

    assert "shop/clean (connection hudi_default) has table services run by=operators" in str(error)
    assert "has table services run by=writes. Together" in str(error)
    assert "shop/ingest" not in str(error)


@pytest.mark.parametrize("key", [INTERVAL, MISSES])
@pytest.mark.parametrize("value", ["", "-1", "1m", "60.0"])
def test_a_heartbeat_that_is_no_number_is_refused(key: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{key} cannot be '{value}'; .* a whole number"):
        told({key: value})


SAME_LOCK = {
    "patience": (LockSettings(), LockSettings(patience=timedelta(hours=1))),
    "expiry": (LockSettings(), LockSettings(expiry_minutes=5)),
    "order of hosts": (zookeeper(), zookeeper("zk2:2181,zk1:2181")),
    "case of hosts": (zookeeper(), zookeeper("ZK1:2181,zk2:2181")),
    "sessions": (zookeeper(), zookeeper(session_timeout=timedelta(seconds=5))),
    "root": (zookeeper("z:1/a", base_path="/b"), zookeeper("z:1", base_path="/a/b")),
    "empty root": (zookeeper("z:1/"), zookeeper("z:1")),
}
OTHER_LOCK = {
    "kind": (LockSettings(), zookeeper()),
    "memory": (LockSettings(), LockSettings(LockKind.IN_PROCESS)),
    "hosts": (zookeeper(), zookeeper("zk3:2181")),
    "ports": (zookeeper("z:1"), zookeeper("z:2")),
    "base path": (zookeeper(), zookeeper(base_path="/hudi/others")),
    "root": (zookeeper("z:1/a"), zookeeper("z:1/A")),
}


@pytest.mark.parametrize("case", SAME_LOCK)
def test_what_names_one_lock_is_the_same(case: str) -> None:
    one, other = SAME_LOCK[case]
    assert told({}, one) == told({}, other)


@pytest.mark.parametrize("case", OTHER_LOCK)
def test_what_names_two_locks_is_not(case: str) -> None:
    one, other = OTHER_LOCK[case]
    assert told({}, one).lock != told({}, other).lock


def test_a_lock_in_zookeeper_is_named_by_its_place_there() -> None:
    lock = zookeeper("zk2:2181,zk1:2181/root", base_path="/locks")
    assert told({}, lock, "s3a://b/orders") == told({}, lock, "s3://b/orders")
    assert told({}, lock).lock.startswith("zookeeper zk1:2181,zk2:2181 /root/locks/orders-")


# --- the metadata table ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("partitions", "enable"), [("", "false"), ("files", "true"), ("files,record_index", "TRUE")]
)
def test_a_metadata_table_that_is_kept_up_is_fine(partitions: str, enable: str) -> None:
    table = TableProperties(the_properties(table__metadata__partitions=partitions))
    check_metadata_table(told({METADATA: enable}), table, URI)


def test_a_metadata_table_is_not_left_behind() -> None:
    values = the_properties(table__metadata__partitions="files,column_stats")
    with pytest.raises(MetadataTableLeftBehind) as raised:
        check_metadata_table(told({METADATA: "false"}), TableProperties(values), URI)
    assert str(raised.value) == (
        "/lake/orders has a metadata table (files, column_stats), and the job says"
        " hoodie.metadata.enable=false: the metadata table would go stale, and Hudi would delete"
        " it. Nothing was started: say hoodie.metadata.enable=true or drop the option, or delete"
        " the metadata table first if that is meant"
    )
    assert not raised.value.retryable


# --- who counts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    because: str
    terms: Terms
    age: timedelta = timedelta(hours=1)
    task: str = "ingest"
    conn_id: str = "hudi_default"
    is_running: bool = False
    names: tuple[str, ...] = ()
    lasts: bool = False


ANCIENT = timedelta(days=400)
CASES = (
    Case("equal terms never disagree", USUAL, is_running=True),
    Case("other options are said again", QUICK, names=(INTERVAL,), lasts=True),
    Case("other options of one that runs", QUICK, is_running=True, names=(INTERVAL,), lasts=True),
    Case("a changed connection is changed for all", LOCKED),
    Case("but not for one that runs", LOCKED, is_running=True, names=("lock",)),
    Case("and not for other connections", LOCKED, conn_id="b", names=("lock",), lasts=True),
    Case("another connection, other options", QUICK, conn_id="b", names=(INTERVAL,), lasts=True),
    Case("both change, one stays", BOTH, names=(MISSES, METADATA), lasts=True),
    Case("all of it", BOTH, is_running=True, names=("lock", MISSES, METADATA), lasts=True),
    Case("a month is remembered", QUICK, EXACTLY, names=(INTERVAL,), lasts=True),
    Case("not more", QUICK, LONGER),
    Case("not more, of another connection", LOCKED, LONGER, conn_id="b"),
    Case("one that runs counts however old", QUICK, ANCIENT, is_running=True, names=(INTERVAL,)),
    Case("a task that was changed", QUICK, task="clean"),
    Case("its job of before that runs", QUICK, task="clean", is_running=True, names=(INTERVAL,)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.because)
def test_who_counts(case: Case) -> None:
    theirs = replace(a_record(case.task, case.terms, age=case.age), conn_id=case.conn_id)
    found = disagreements(a_record("clean"), {theirs: case.is_running}, now=EPOCH)
    assert [(one.theirs, one.names, one.lasts) for one in found] == (
        [(theirs, case.names, case.lasts)] if case.names else []
    )


def test_of_what_has_ended_only_the_last_word_of_a_task_counts() -> None:
    before = a_record(terms=QUICK, run="1", age=timedelta(days=2))
    since = a_record(run="2", age=timedelta(days=1))
    mine = a_record("clean")
    assert disagreements(mine, {before: False, since: False}, now=EPOCH) == ()
    (running,) = disagreements(mine, {since: False, before: True}, now=EPOCH)
    assert (running.theirs, running.lasts) == (before, False)


# --- what is said ---------------------------------------------------------------------------------


def declare(folder: TermsFolder, mine: Record) -> None:
    with folder.declared(mine, now=EPOCH):
        pass


def refused(folder: TermsFolder, mine: Record) -> TermsDisagree:
    with pytest.raises(TermsDisagree) as raised:
        declare(folder, mine)
    return raised.value


def test_a_lasting_disagreement_says_both_sides_and_the_cure() -> None:
    folder = a_folder()
    theirs = a_record(terms=replace(QUICK, metadata_table=False))
    declare(folder, theirs)
    error = refused(folder, replace(a_record("clean"), conn_id="other"))
    assert str(error) == (
        "the jobs on /lake/orders do not agree: shop/clean (connection other) has"
        f" {INTERVAL}=60000, {METADATA}=true, and shop/ingest (connection hudi_default, last"
        f" started 2026-01-01 00:00 UTC) has {INTERVAL}=30000, {METADATA}=false. Together they"
        " could undo each other's work or lose data, so nothing was started: make them equal, or"
        " remove the record of a task that is no more"
        f" (/lake/.hudi_control/{folder.path_of(theirs)})"
    )
    assert not error.retryable


def test_one_that_only_runs_is_to_be_waited_for() -> None:
    folder = a_folder(always)
    declare(folder, a_record(terms=LOCKED))
    error = refused(folder, a_record("clean"))
    assert str(error) == (
        "the jobs on /lake/orders do not agree: shop/clean (connection hudi_default) has"
        " lock=filesystem, and shop/ingest (connection hudi_default, running: shop/1/ingest) has"
        " lock=zookeeper zk:2181 /hudi/locks/orders. Together they could undo each other's work or"
        " lose data, so nothing was started: try again when shop/1/ingest has ended"
    )
    assert error.retryable


def test_everybody_who_disagrees_is_named() -> None:
    folder = a_folder(lambda one: one.task == "shop/write")
    declare(folder, a_record("write", LOCKED))
    for task in ("ingest", "compact"):
        with_options = a_record(task, QUICK)
        folder.storage.create(folder.path_of(with_options), encode(with_options))
    error = refused(folder, a_record("clean"))
    assert len(error.disagreements) == 3
    assert not error.retryable
    assert str(error).count(".json") == 2


# --- the records ----------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was() -> None:
    folder = a_folder()
    mine = a_record("clean", BOTH)
    declare(folder, mine)
    assert records(folder) == [mine]
    assert decode(Record, encode(mine)) == mine


def test_a_record_has_a_place_that_every_storage_takes_and_no_other_task_has() -> None:
    folder = a_folder()
    long, odd = a_record("t" * 250), a_record("größe/a b")
    paths = {folder.path_of(one) for one in (long, odd, a_record(), a_record(run="2"))}
    assert len(paths) == 4
    assert all(len(path.rpartition("/")[2]) < 200 and path.isascii() for path in paths)
    assert folder.path_of(a_record()).startswith("terms/orders-")
    spelled = replace(folder, uri="file:///lake/orders/")
    assert spelled.path_of(odd) == folder.path_of(odd)
    dotted = [record_of(JobKey(*ids), 1, "c", USUAL, now=EPOCH) for ids in SPLIT_ELSEWHERE]
    assert len({folder.path_of(one) for one in dotted}) == 2


SPLIT_ELSEWHERE = (("shop.a", "1", "b"), ("shop", "1", "a.b"))


def test_a_refused_start_leaves_nothing_and_the_others_stay() -> None:
    folder = a_folder()
    theirs = a_record(terms=QUICK)
    declare(folder, theirs)
    refused(folder, a_record("clean"))
    assert records(folder) == [theirs]


def test_a_launch_that_fails_leaves_nothing() -> None:
    folder = a_folder()
    with pytest.raises(OSError, match="no spark"), folder.declared(a_record(), now=EPOCH):
        raise OSError("no spark")
    assert records(folder) == []


def test_a_task_leaves_its_last_record_and_those_of_jobs_that_run() -> None:
    running = {"1", "4"}
    folder = a_folder(lambda one: one.job.split("/")[1] in running)
    for run in "12345":
        declare(folder, a_record(run=run, age=timedelta(minutes=10 - int(run))))
    assert [one.job.split("/")[1] for one in records(folder)] == ["1", "4", "5"]


def test_a_mapped_task_whose_early_job_still_runs_holds_a_changed_connection_back() -> None:
    folder = a_folder(lambda one: one.job == "shop/1/ingest")
    for run in "123":
        declare(folder, a_record(run=run, age=timedelta(minutes=10 - int(run))))
    assert refused(folder, a_record("ingest", LOCKED, run="4")).retryable
    assert refused(folder, a_record("clean", LOCKED)).retryable
    declare(replace(folder, runs=never), a_record("clean", LOCKED))


def test_two_tasks_that_change_together_come_through_after_one_refusal_each() -> None:
    folder = a_folder()
    for task in ("ingest", "clean"):
        declare(folder, a_record(task))
    refused(folder, a_record("ingest", QUICK, run="2"))
    declare(folder, a_record("clean", QUICK, run="2"))
    declare(folder, a_record("ingest", QUICK, run="3"))
    assert {(one.task, one.terms) for one in records(folder)} == {
        ("shop/ingest", QUICK),
        ("shop/clean", QUICK),
    }


def test_records_of_other_tables_do_not_count() -> None:
    folder = a_folder()
    declare(folder, a_record(terms=QUICK))
    declare(replace(folder, uri="/lake/clicks"), a_record("clean"))


def test_a_record_that_cannot_be_read_is_named() -> None:
    folder = a_folder()
    path = folder.path_of(a_record())
    folder.storage.create(path, b"{")
    with pytest.raises(InvalidInput, match=rf"/lake/.hudi_control/{path}: .* damaged.*; remove it"):
        declare(folder, a_record("clean"))
    folder.storage.delete(path)
    declare(folder, a_record("clean"))


def test_a_record_that_vanishes_between_listing_and_reading_was_never_there() -> None:
    class Forgetful(InMemoryStorage):
        def list_folder(self, path: str) -> Listing:
            listing = super().list_folder(path)
            for file in listing.files:
                if "ingest" in file.name:
                    self.delete(file.path)
            return listing

    folder = a_folder(always, Forgetful())
    declare(folder, a_record(terms=QUICK))
    declare(folder, a_record("clean"))


@pytest.mark.parametrize("is_written", [True, False])
def test_a_record_in_doubt_is_withdrawn(is_written: bool) -> None:  # noqa: FBT001
    class Unreliable(InMemoryStorage):
        def create(self, path: str, data: bytes) -> Version:
            if is_written:
                super().create(path, data)
            raise OutcomeUnknown(path, "the connection was lost")

    folder = a_folder(storage=Unreliable())
    with pytest.raises(OutcomeUnknown):
        declare(folder, a_record())
    assert records(folder) == []


def test_a_create_that_was_tried_twice_is_ours() -> None:
    class Repeating(InMemoryStorage):
        def create(self, path: str, data: bytes) -> Version:
            super().create(path, data)
            return super().create(path, data)

    folder = a_folder(storage=Repeating())
    declare(folder, a_record())
    assert records(folder) == [a_record()]
