# SPDX-License-Identifier: Apache-2.0
"""How a job really ended: its report against the table's timeline, real ones and made ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.history import load_history
from airflow_hudi.core.ingestion import JOB_METADATA_KEY
from airflow_hudi.core.instants import Action, Instant
from airflow_hudi.core.job_errors import JobFailed, OutcomeContradicted
from airflow_hudi.core.jobs import JobReport, Outcome, PlanSize, RowCounts, Work
from airflow_hudi.core.plans import ReplacePlan
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.storage import InMemoryStorage
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.verdicts import Evidence, load_evidence, plan_size, settle
from tests.builders import a_table
from tests.jobs import JOB, WORK, a_failure, a_report
from tests.tables.fixtures import StoredTable

RELEASES = ("0.15.0", "1.0.2", "1.1.1", "1.2.0")
SCHEDULE, EXECUTE, BOTH = (ServiceWork(CompactionPolicy(), mode) for mode in Mode)


def a_commit(job: str | None = JOB, *, inserts: int = 2) -> bytes:
    stat = {"fileId": "f", "numInserts": inserts, "numWrites": 5, "numUpdateWrites": 3}
    extra = {} if job is None else {JOB_METADATA_KEY: job}
    data = {"partitionToWriteStats": {"eu": [stat, {**stat, "numDeletes": 1}]}}
    return json.dumps({**data, "extraMetadata": extra}).encode()


def a_plan(job: str | None = JOB) -> bytes:
    piece = {"partitionPath": "eu", "fileId": "f1", "deltaFilePaths": ["a.log", "b.log"]}
    operations = [piece, {**piece, "fileId": "f2", "partitionPath": "us"}]
    extra = {} if job is None else {JOB_METADATA_KEY: job}
    return json.dumps({"operations": operations, "extraMetadata": extra}).encode()


def a_written(time: str, job: str | None = JOB, action: str = "deltacommit") -> dict[str, bytes]:
    return {f"{time}_{time}9.{action}": a_commit(job)}


def a_compaction(time: str, job: str | None = JOB, *, done: bool) -> dict[str, bytes]:
    files = {f"{time}.compaction.requested": a_plan(job)}
    return {**files, f"{time}_{time}9.commit": a_commit(None)} if done else files


def evidence_of(table: Table, work: Work, *reports: JobReport, **more: Any) -> str | None:
    found = load_evidence(table.storage, work, JOB, reports, **more)
    return None if found is None else str(found.instant)


# --- writes ---------------------------------------------------------------------------------------


def test_a_jobs_commit_is_known_by_its_name_in_the_metadata() -> None:
    table = a_table(a_written("10", "another/job") | a_written("20") | a_written("30", None))
    found = load_evidence(table.storage, WORK, JOB)
    assert found is not None
    assert found.instant.requested_at == "20"
    assert found.rows == RowCounts(inserted=4, updated=6, deleted=1, written=10)
    assert not found.is_archived


@pytest.mark.parametrize("job", [None, "", "daily/scheduled__2026-01-01/ingest/0", "another"])
def test_another_jobs_commit_is_no_evidence(job: str | None) -> None:
    assert evidence_of(a_table(a_written("10", job)), WORK) is None


def test_a_write_that_is_not_completed_is_no_evidence() -> None:
    assert evidence_of(a_table({"10.deltacommit.inflight": a_commit()}), WORK) is None


def test_a_replaced_partition_is_evidence_too() -> None:
    table = a_table(a_written("10", action="replacecommit"))
    assert evidence_of(table, WORK) == "10 replacecommit completed"


def test_file_groups_that_a_write_replaced_are_counted() -> None:
    data = {**json.loads(a_commit()), "partitionToReplaceFileIds": {"eu": ["f", "g"], "us": ["h"]}}
    table = a_table({"10_109.replacecommit": json.dumps(data).encode()})
    found = load_evidence(table.storage, WORK, JOB)
    assert found is not None
    assert found.replaced == 3


def test_damaged_commits_are_passed_over() -> None:
    table = a_table(a_written("10") | {"20_209.deltacommit": b"{damaged"})
    assert evidence_of(table, WORK) == "10 deltacommit completed"


def test_where_there_is_no_table_there_is_no_evidence() -> None:
    assert load_evidence(InMemoryStorage(), WORK, JOB) is None


def test_a_read_leaves_no_trace_and_looks_for_none() -> None:
    assert load_evidence(InMemoryStorage(), ReadWork(), JOB) is None


@pytest.mark.parametrize("release", RELEASES)
def test_a_commit_that_was_archived_since_is_found_by_its_report(
    release: str, tmp_path: Path
) -> None:
    table = open_table(str(StoredTable(release, "archived").unpack(tmp_path)))
    archived = load_history(table).completed().writes().latest()
    assert archived is not None
    done = a_report(instant=archived.requested_at)
    found = load_evidence(table.storage, WORK, JOB, [done])
    assert found == Evidence(archived, is_archived=True)
    assert settle(done, WORK, found) == done
    failed = a_report(Outcome.FAILED, instant=archived.requested_at)
    assert load_evidence(table.storage, WORK, JOB, [failed]) is None
    assert load_evidence(table.storage, WORK, JOB, [a_report(instant="10")]) is None
    assert load_evidence(table.storage, WORK, JOB, [a_report()]) is None


def test_a_report_of_a_visible_commit_that_is_another_jobs_is_no_evidence() -> None:
    table = a_table(a_written("10", "another/job"))
    assert evidence_of(table, WORK, a_report(instant="10")) is None


# --- compactions ----------------------------------------------------------------------------------


def the_compaction(timeline: Timeline) -> Instant:
    done = timeline.completed().where(lambda i: timeline.planned_as(i) is Action.COMPACTION)
    instant = done.latest()
    assert instant is not None
    return instant


@pytest.mark.parametrize("release", RELEASES)
def test_a_real_compaction_that_was_executed_is_evidence(release: str, tmp_path: Path) -> None:
    table = open_table(str(StoredTable(release, "mor_done").unpack(tmp_path)))
    instant = the_compaction(load_timeline(table))
    named = ServiceWork(CompactionPolicy(), Mode.EXECUTE, instant.requested_at)
    found = load_evidence(table.storage, named, JOB)
    assert found is not None
    assert found.instant == instant
    assert found.rows is not None
    assert found.rows.written > 0
    done = a_report(instant=instant.requested_at)
    for work in (EXECUTE, BOTH):
        assert evidence_of(table, work, done) == str(instant)
        assert evidence_of(table, work) is None, "nobody has said which one"
    assert evidence_of(table, SCHEDULE, done) is None, "this plan is not of this job"


@pytest.mark.parametrize("release", RELEASES)
def test_real_plans_that_wait_are_no_executed_compactions(release: str, tmp_path: Path) -> None:
    table = open_table(str(StoredTable(release, "mor_pending").unpack(tmp_path)))
    for instant in load_timeline(table).of(Action.COMPACTION).pending():
        named = ServiceWork(CompactionPolicy(), Mode.EXECUTE, instant.requested_at)
        assert evidence_of(table, named) is None


@pytest.mark.parametrize(
    ("work", "done", "found"),
    [
        (SCHEDULE, False, "10 compaction requested"),
        (SCHEDULE, True, "10 commit completed"),
        (BOTH, False, None),
        (BOTH, True, "10 commit completed"),
        (EXECUTE, False, None),
        (EXECUTE, True, None),
    ],
)
def test_a_plan_is_known_by_its_jobs_name(work: Work, done: bool, found: str | None) -> None:  # noqa: FBT001
    table = a_table(a_compaction("10", done=done) | a_compaction("20", "another", done=True))
    assert evidence_of(table, work) == found


def test_evidence_of_a_plan_has_its_size() -> None:
    found = load_evidence(a_table(a_compaction("10", done=False)).storage, SCHEDULE, JOB)
    assert found is not None
    assert found.plan == PlanSize(file_groups=2, partitions=2, log_files=4)
    assert found.rows is None
    assert plan_size(ReplacePlan()) is None


def test_a_commit_that_was_no_compaction_is_no_executed_plan() -> None:
    table = a_table(a_written("10", None))
    assert evidence_of(table, ServiceWork(CompactionPolicy(), Mode.EXECUTE, "10")) is None


def test_a_damaged_commit_of_a_compaction_is_evidence_without_rows() -> None:
    table = a_table({"10.compaction.requested": a_plan(), "10_109.commit": b"{damaged"})
    found = load_evidence(table.storage, ServiceWork(CompactionPolicy(), Mode.EXECUTE, "10"), JOB)
    assert found is not None
    assert found.rows is None


@pytest.mark.parametrize("work", [SCHEDULE, EXECUTE, BOTH])
def test_what_an_earlier_attempt_did_is_no_evidence_for_a_later_one(work: Work) -> None:
    table = a_table(a_compaction("10", done=True))
    earlier = a_report(instant="10", number=1)
    assert evidence_of(table, work, earlier) == "10 commit completed"
    assert evidence_of(table, work, earlier, a_failure(2)) is None
    assert evidence_of(table, work, earlier, attempt=2) is None, "the second died unheard"


def test_the_plan_of_the_later_attempt_is_found_beside_the_earlier_ones() -> None:
    table = a_table(a_compaction("10", done=True) | a_compaction("20", done=False))
    assert evidence_of(table, SCHEDULE, a_report(instant="10"), attempt=2) == (
        "20 compaction requested"
    )


def test_a_compaction_that_was_archived_since_is_found_by_its_report(tmp_path: Path) -> None:
    table = open_table(str(StoredTable("1.2.0", "mor_archived").unpack(tmp_path)))
    archived = load_history(table).completed().latest()
    assert archived is not None
    for work in (SCHEDULE, EXECUTE, BOTH):
        assert evidence_of(table, work, a_report(instant=archived.requested_at)) == str(archived)


# --- the verdict ----------------------------------------------------------------------------------

SEEN = Evidence(next(iter(load_timeline(a_table(a_written("10"))))), rows=RowCounts(1, 2, 3, 6))


def test_a_report_that_the_timeline_bears_out_stands() -> None:
    for report in (a_report(instant="10"), a_report()):
        assert settle(report, WORK, SEEN) == report


def test_a_success_that_left_no_trace_is_a_contradiction() -> None:
    with pytest.raises(OutcomeContradicted) as raised:
        settle(a_report(instant="10", summary="5 rows"), WORK, None)
    assert not raised.value.retryable
    assert str(raised.value) == (
        f"{JOB} reported done (5 rows), but the table's timeline shows nothing of this job; look at"
        " the table before anything is run again"
    )


def test_a_success_at_another_instant_is_a_contradiction() -> None:
    with pytest.raises(OutcomeContradicted, match=r"reported instant 20, but .* 10 deltacommit"):
        settle(a_report(instant="20"), WORK, SEEN)


def test_a_job_that_failed_after_its_commit_is_done() -> None:
    settled = settle(a_failure(), WORK, SEEN)
    assert settled.outcome is Outcome.DONE
    assert settled.instant == "10"
    assert settled.rows == SEEN.rows
    assert settled.error is None
    assert settled.notes == ("the driver itself had reported: it went wrong",)


def test_a_write_that_found_itself_done_is_done_and_not_skipped() -> None:
    found = settle(a_report(Outcome.NOTHING_TO_DO, summary="already there"), WORK, SEEN)
    assert (found.outcome, found.instant) == (Outcome.DONE, "10")


def test_a_schedule_that_failed_after_its_plan_is_done() -> None:
    table = a_table(a_compaction("10", done=False))
    evidence = load_evidence(table.storage, SCHEDULE, JOB, [a_failure()])
    settled = settle(a_failure(), SCHEDULE, evidence)
    assert (settled.outcome, settled.instant) == (Outcome.DONE, "10")
    assert settled.plan == PlanSize(2, 2, 4)


@pytest.mark.parametrize("retryable", [True, False])
def test_a_failure_without_a_trace_is_raised_as_the_job_judged_it(
    retryable: bool,  # noqa: FBT001
) -> None:
    with pytest.raises(JobFailed, match="it went wrong") as raised:
        settle(a_failure(retryable=retryable), WORK, None)
    assert raised.value.retryable == retryable
    assert raised.value.kind == "TestError"


def test_a_failure_that_says_nothing_may_be_tried_again() -> None:
    with pytest.raises(JobFailed) as raised:
        settle(a_report(Outcome.FAILED, summary="no idea"), WORK, None)
    assert (str(raised.value), raised.value.kind, raised.value.retryable) == (
        "no idea",
        "unknown",
        True,
    )


def test_nothing_to_do_needs_no_trace() -> None:
    nothing = a_report(Outcome.NOTHING_TO_DO)
    assert settle(nothing, WORK, None) == nothing
    assert settle(nothing, EXECUTE, SEEN) == nothing


def test_a_read_needs_no_trace() -> None:
    assert settle(a_report(), ReadWork(), None) == a_report()
