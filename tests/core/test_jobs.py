# SPDX-License-Identifier: Apache-2.0
"""The contract between operator and driver: what goes in comes out, whoever wrote it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_hudi import __version__
from airflow_hudi.core.errors import InvalidInput
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    SourceFormat,
    WhenEmpty,
)
from airflow_hudi.core.job_errors import InvalidWork, VersionSkew
from airflow_hudi.core.jobs import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_NOT_WORTH_RETRYING,
    EXIT_NOTHING_TO_DO,
    NOT_MAPPED,
    Cleaning,
    JobArguments,
    JobKey,
    JobReport,
    JobSpec,
    Outcome,
    PlanSize,
    ReportedError,
    RolledBack,
    RowCounts,
    Work,
    decode_spec,
)
from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.reading import Reading, ReadWork
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import (
    CleanPolicy,
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    RollbackPolicy,
)
from airflow_hudi.core.services.rollback import Hold
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.storage.base import checked_path
from airflow_hudi.core.values import decode, encode
from tests.jobs import a_failure, a_report, a_spec

TEXTS = st.text(max_size=20)
NAMES = st.text(min_size=1, max_size=20)
OPTIONS = st.dictionaries(NAMES, TEXTS, max_size=3)
MOMENTS = st.datetimes(timezones=st.just(timezone.utc))
TUPLES = st.lists(NAMES, max_size=3).map(tuple)
SOME = st.lists(NAMES, min_size=1, max_size=3).map(tuple)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


TABLES = st.builds(
    NewTable, SOME, st.sampled_from(TableType), TUPLES, TUPLES, maybe(st.integers(0, 9))
)
SOURCES = st.builds(QuerySource, TEXTS) | st.builds(
    FileSource, TEXTS, st.sampled_from(SourceFormat), OPTIONS
)
WRITES = st.builds(
    IngestWork,
    st.sampled_from([operation for operation in Operation if operation.takes_rows]),
    SOURCES,
    maybe(TABLES),
    st.just(()),
    OPTIONS,
    st.sampled_from(WhenEmpty),
    st.booleans(),
    st.booleans(),
)
DROPS = st.builds(IngestWork, st.just(Operation.DELETE_PARTITION), partitions=SOME, options=OPTIONS)
DURATIONS = st.timedeltas(timedelta(seconds=1), timedelta(days=9))
NUMBERS = st.integers(1, 99)
POLICIES = (
    st.builds(CompactionPolicy, NUMBERS, maybe(NUMBERS), maybe(DURATIONS))
    | st.builds(LogCompactionPolicy, NUMBERS, NUMBERS, maybe(DURATIONS))
    | st.builds(ClusteringPolicy, NUMBERS, maybe(NUMBERS), maybe(NUMBERS), TUPLES, TUPLES)
)
ROLLBACKS = st.builds(RollbackPolicy, DURATIONS, st.booleans())
SERVICES = st.builds(
    ServiceWork,
    POLICIES,
    st.just(Mode.EXECUTE),
    maybe(st.from_regex(r"[0-9]{17}", fullmatch=True)),
    OPTIONS,
    ROLLBACKS,
    st.booleans(),
) | st.builds(ServiceWork, POLICIES, st.sampled_from(Mode))
CLEANS = st.builds(
    CleanWork, st.builds(CleanPolicy, maybe(NUMBERS)), ROLLBACKS, OPTIONS, st.booleans()
)
READS = st.builds(ReadWork, TUPLES, maybe(TEXTS), st.integers(0, 1000), OPTIONS)
WORKS: st.SearchStrategy[Work] = WRITES | DROPS | SERVICES | CLEANS | READS
LOCKS = st.sampled_from(
    [
        LockSettings(),
        LockSettings(LockKind.IN_PROCESS, patience=timedelta(seconds=90.5)),
        LockSettings(LockKind.ZOOKEEPER, zookeeper=ZooKeeper("zk1:2181,zk2:2181")),
    ]
)
KEYS = st.builds(JobKey, NAMES, NAMES, NAMES, st.integers(-1, 9999))
SPECS = st.builds(
    JobSpec, KEYS, st.integers(1, 99999), TEXTS, TEXTS, WORKS, LOCKS, MOMENTS, st.floats(0.1, 60)
)
COUNTS = st.builds(RowCounts, *[st.integers(0)] * 4)
CLEANINGS = st.builds(
    Cleaning,
    st.lists(st.builds(RolledBack, TEXTS, TEXTS, TEXTS, NUMBERS), max_size=2).map(tuple),
    st.lists(st.builds(Hold, TEXTS, TEXTS, TEXTS, maybe(MOMENTS)), max_size=2).map(tuple),
    NUMBERS,
    maybe(TEXTS),
    TUPLES,
)
REPORTS = st.builds(
    JobReport,
    st.sampled_from(Outcome),
    *[TEXTS] * 3,
    st.integers(1, 99),
    TEXTS,
    maybe(TEXTS),
    maybe(COUNTS),
    maybe(st.builds(PlanSize, *[st.integers(0)] * 3)),
    maybe(st.builds(Reading, st.integers(0), TEXTS, st.lists(OPTIONS, max_size=2).map(tuple))),
    maybe(CLEANINGS),
    TUPLES,
    maybe(st.builds(ReportedError, TEXTS, TEXTS, st.booleans())),
    maybe(TEXTS),
    maybe(TEXTS),
    maybe(MOMENTS),
    maybe(MOMENTS),
)


@given(SPECS)
@settings(max_examples=60)
def test_a_spec_comes_back_as_it_was(spec: JobSpec) -> None:
    again = decode_spec(encode(spec))
    assert again == spec
    assert encode(again) == encode(spec)


@given(REPORTS)
@settings(max_examples=60)
def test_a_report_comes_back_as_it_was(report: JobReport) -> None:
    assert decode(JobReport, encode(report)) == report


def test_a_report_of_rows_that_json_has_no_words_for_can_be_written() -> None:
    day = datetime(2026, 1, 1, tzinfo=timezone.utc).date()
    report = a_report(reading=Reading(1, "00", ({"day": day, "raw": b"\x00", "tags": {1: "a"}},)))
    again = decode(JobReport, encode(report))
    assert again == report
    assert again.reading is not None
    assert again.reading.sample == ({"day": "2026-01-01", "raw": "b'\\x00'", "tags": {"1": "a"}},)


# --- who wrote it -------------------------------------------------------------------------------


def spec_by(version: object) -> bytes:
    data = json.loads(encode(a_spec()))
    data["package"] = version
    return json.dumps(data).encode()


def test_a_spec_of_another_patch_is_read() -> None:
    major, minor, _ = __version__.split(".")
    assert decode_spec(spec_by(f"{major}.{minor}.999")).package == f"{major}.{minor}.999"


@pytest.mark.parametrize("version", ["0.0.1", "99.1.0", "", "nonsense"])
def test_a_spec_of_another_version_line_is_refused_before_anything_else_is_read(
    version: str,
) -> None:
    data = json.loads(spec_by(version))
    data["work"] = {"kind": "of the future"}
    with pytest.raises(VersionSkew) as raised:
        decode_spec(json.dumps(data).encode())
    assert (raised.value.asked_by, raised.value.here) == (version, __version__)
    assert "ship='zip'" in str(raised.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"5", b"\xff", spec_by(2)])
def test_what_is_no_spec_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        decode_spec(data)


def test_fields_of_a_later_patch_are_passed_over() -> None:
    data = {**json.loads(encode(a_report())), "of_the_future": [1]}
    assert decode(JobReport, json.dumps(data).encode()) == a_report()


@pytest.mark.parametrize("data", [b"", b"[]", b'{"outcome": "unheard of"}'])
def test_a_damaged_report_is_an_error_of_ours(data: bytes) -> None:
    with pytest.raises(InvalidInput):
        decode(JobReport, data)


# --- where it is kept ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "folder"),
    [
        (JobKey("dag", "run", "task"), "jobs/dag/run/task"),
        (JobKey("dag", "run", "task", 3), "jobs/dag/run/task%233"),
        (
            JobKey("dag", "scheduled__2026-01-01T00:00:00+00:00", "group.task"),
            "jobs/dag/scheduled__2026-01-01T00%3A00%3A00%2B00%3A00/group.task",
        ),
        (JobKey("a/b", "..", "."), "jobs/a%2Fb/%2E%2E/%2E"),
        (JobKey("größe", "a b", "~"), "jobs/gr%C3%B6%C3%9Fe/a b/~"),
    ],
)
def test_a_jobs_folder_is_named_so_that_every_storage_takes_it(key: JobKey, folder: str) -> None:
    assert key.folder == folder


def test_long_names_are_cut_and_stay_different() -> None:
    one, other = JobKey("d", "r" * 300 + "1", "t").folder, JobKey("d", "r" * 300 + "2", "t").folder
    assert one != other
    assert all(len(part) <= 150 for part in (*one.split("/"), *other.split("/")))


@given(KEYS, KEYS)
@settings(max_examples=60)
def test_two_jobs_never_share_a_folder(one: JobKey, other: JobKey) -> None:
    folders = [one.folder, other.folder]
    assert [checked_path(folder) for folder in folders] == folders
    assert all(len(folder.split("/")) == 4 for folder in folders)
    is_mapped_by_name = "#" in one.task_id + other.task_id  # Airflow allows no such name
    assert (one.folder == other.folder) == (one == other) or is_mapped_by_name


def test_a_mapped_task_is_told_apart_in_words_too() -> None:
    assert str(JobKey("d", "r", "t")) == "d/r/t"
    assert str(JobKey("d", "r", "t", NOT_MAPPED)) == "d/r/t"
    assert str(JobKey("d", "r", "t", 0)) == "d/r/t/0"


# --- the command line ---------------------------------------------------------------------------


@given(TEXTS, TEXTS, st.integers(1, 10**6))
@settings(max_examples=60)
def test_the_arguments_of_a_script_come_back_as_they_were(
    control: str, folder: str, attempt: int
) -> None:
    arguments = JobArguments(control, folder, attempt)
    assert JobArguments.from_argv(arguments.to_argv()) == arguments


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--control", "c", "--job", "j"],
        ["--job", "j", "--control", "c", "--attempt", "1"],
        ["--control", "c", "--job", "j", "--attempt", "one"],
        ["--control", "c", "--job", "j", "--attempt", "0"],
        ["--control", "c", "--job", "j", "--attempt", "-1"],
        ["--control", "c", "--job", "j", "--attempt", "²"],
        ["--control", "c", "--job", "j", "--attempt", "1", "more"],
    ],
)
def test_wrong_arguments_are_refused(argv: list[str]) -> None:
    with pytest.raises(InvalidInput, match="attempt"):
        JobArguments.from_argv(argv)


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (a_report(Outcome.DONE), EXIT_DONE),
        (a_report(Outcome.NOTHING_TO_DO), EXIT_NOTHING_TO_DO),
        (a_failure(retryable=True), EXIT_FAILED),
        (a_failure(retryable=False), EXIT_NOT_WORTH_RETRYING),
        (a_report(Outcome.FAILED), EXIT_NOT_WORTH_RETRYING),
    ],
)
def test_the_exit_code_repeats_the_report(report: JobReport, code: int) -> None:
    assert report.exit_code == code


def test_sizes_are_said_in_words() -> None:
    assert str(PlanSize(2, 1, 5)) == "2 file groups in 1 partitions, 5 log files"
    assert str(RowCounts(1, 2, 3, 6)) == "1 inserted, 2 updated, 3 deleted"


@pytest.mark.parametrize("show", [-1, 1001])
def test_a_report_is_not_the_place_for_a_table(show: int) -> None:
    with pytest.raises(InvalidWork, match="0 to 1000"):
        ReadWork(show=show)
