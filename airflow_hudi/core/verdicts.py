# SPDX-License-Identifier: Apache-2.0
"""How a job really ended: from its report *and* the table's timeline, never from an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from airflow_hudi.core.commits import CommitMetadata, load_commit
from airflow_hudi.core.compaction import CompactionWork, Mode
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.errors import TableNotFound
from airflow_hudi.core.history import load_history
from airflow_hudi.core.ingestion import JOB_METADATA_KEY, IngestWork
from airflow_hudi.core.instants import Action, Instant, InstantTime, State
from airflow_hudi.core.job_errors import JobFailed, OutcomeContradicted
from airflow_hudi.core.jobs import JobReport, Outcome, PlanSize, RowCounts, Work
from airflow_hudi.core.plans import CompactionPlan, Plan, load_plan
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.table import Table, load_table
from airflow_hudi.core.timeline import Timeline, load_timeline


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the timeline shows of one job: the instant that does what the job was to do."""

    instant: Instant
    rows: RowCounts | None = None
    plan: PlanSize | None = None
    is_archived: bool = False


def load_evidence(
    storage: Storage,
    work: Work,
    job: str,
    reports: Iterable[JobReport] = (),
    *,
    attempt: int | None = None,
) -> Evidence | None:
    """The trace this job has left on its table's timeline, if any.

    A write is made once by a job, whichever attempt made it. A compaction may be run again when its
    task is cleared, so what an earlier attempt did is no evidence for a later one.

    :param reports: what its attempts reported, oldest first: the instants they name may have been
        archived since, or have been planned by somebody else
    :param attempt: the attempt that is asked about; None: the one that reported last
    """
    if isinstance(work, ReadWork):
        return None
    try:
        table = load_table(storage)
    except TableNotFound:
        return None
    timeline = load_timeline(table)
    reports = tuple(reports)
    if isinstance(work, CompactionWork):
        number = attempt or max((report.attempt for report in reports), default=0)
        own = tuple(report for report in reports if report.attempt == number)
        others = tuple(report for report in reports if report.attempt != number)
        asked = _Asked(work, job, _instants(own), _instants(others))
        return _compaction_evidence(table, timeline, asked) or _archived(table, timeline, own)
    return _commit_of(table, timeline, job) or _archived(table, timeline, reports)


def _commit_of(table: Table, timeline: Timeline, job: str) -> Evidence | None:
    for instant in reversed(timeline.completed().writes().instants):
        commit = load_commit(table, timeline, instant)
        if not isinstance(commit, Defect) and commit.extra.get(JOB_METADATA_KEY) == job:
            return Evidence(instant, rows=row_counts(commit))
    return None


def _archived(table: Table, timeline: Timeline, reports: Iterable[JobReport]) -> Evidence | None:
    committed = _instants(report for report in reports if report.outcome is Outcome.DONE)
    # Not by age: behind a savepoint, old instants stay and later ones are archived.
    gone = committed - {instant.requested_at for instant in timeline}
    if not gone:
        return None
    history = load_history(table).completed().writes()
    archived = history.where(lambda instant: instant.requested_at in gone).latest()
    return None if archived is None else Evidence(archived, is_archived=True)


def _instants(reports: Iterable[JobReport]) -> frozenset[str]:
    return frozenset(report.instant for report in reports if report.instant is not None)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The compaction that evidence is looked for."""

    work: CompactionWork
    job: str
    reported: frozenset[str]
    """The instant its own report names."""
    of_others: frozenset[str]
    """The instants that other attempts reported."""


def _compaction_evidence(table: Table, timeline: Timeline, asked: _Asked) -> Evidence | None:
    mode = asked.work.mode
    times = frozenset({asked.work.instant}) if asked.work.instant else asked.reported
    if mode is not Mode.SCHEDULE and times:
        return _executed(table, timeline, times)
    planned = None if mode is Mode.EXECUTE else _planned_by(table, timeline, asked)
    if planned is None or (mode is Mode.BOTH and planned.instant.is_pending):
        return None
    return planned


def _executed(table: Table, timeline: Timeline, times: frozenset[str]) -> Evidence | None:
    for instant in timeline.completed().where(lambda i: i.requested_at in times):
        if timeline.planned_as(instant) is Action.COMPACTION:
            return _with_commit(table, timeline, instant)
    return None


def _planned_by(table: Table, timeline: Timeline, asked: _Asked) -> Evidence | None:
    compactions = timeline.where(
        lambda i: (
            timeline.planned_as(i) is Action.COMPACTION and i.requested_at not in asked.of_others
        )
    )
    for instant in reversed(compactions.instants):
        plan = load_plan(table, timeline, instant)
        if isinstance(plan, CompactionPlan) and plan.extra.get(JOB_METADATA_KEY) == asked.job:
            evidence = _with_commit(table, timeline, instant)
            return replace(evidence, plan=plan_size(plan))
    return None


def _with_commit(table: Table, timeline: Timeline, instant: Instant) -> Evidence:
    if instant.state is not State.COMPLETED:
        return Evidence(instant)
    commit = load_commit(table, timeline, instant)
    return Evidence(instant, rows=None if isinstance(commit, Defect) else row_counts(commit))


def row_counts(commit: CommitMetadata) -> RowCounts:
    """What a commit did to rows, summed over its files."""
    return RowCounts(
        inserted=commit.inserts,
        updated=commit.updates,
        deleted=commit.deletes,
        written=sum(stat.writes for stat in commit.stats),
    )


def plan_size(plan: Plan) -> PlanSize | None:
    """How much a plan would rewrite, as far as the plan itself tells."""
    if not isinstance(plan, CompactionPlan):
        return None
    return PlanSize(
        file_groups=len(plan.file_groups),
        partitions=len({group.partition for group in plan.file_groups}),
        log_files=sum(len(piece.log_files) for piece in plan.operations),
    )


def settle(report: JobReport, work: Work, evidence: Evidence | None) -> JobReport:
    """The report as the timeline bears it out; raises where it does not, or where the job failed.

    A job that failed after its commit (in a service Hudi runs behind it, say) has done its work:
    the commit is visible to every reader, and doing it again would do it twice. So has one whose
    plan somebody else has executed, and one that found the commit of an attempt nobody heard of.
    """
    if evidence is not None and _is_done_all_the_same(report, work):
        return _from_evidence(report, evidence)
    if report.outcome is Outcome.FAILED:
        raise failure(report)
    if report.outcome is Outcome.NOTHING_TO_DO or isinstance(work, ReadWork):
        return report
    if evidence is None:
        raise OutcomeContradicted(
            report.job, said=f"done ({report.summary})", seen="nothing of this job"
        )
    if report.instant not in (None, evidence.instant.requested_at):
        raise OutcomeContradicted(
            report.job, said=f"instant {report.instant}", seen=str(evidence.instant)
        )
    return report


def failure(report: JobReport) -> JobFailed:
    """The error of a failed report."""
    error = report.error
    if error is None:
        return JobFailed(report.summary, kind="unknown", retryable=True)
    return JobFailed(error.message, kind=error.kind, retryable=error.retryable)


def _is_done_all_the_same(report: JobReport, work: Work) -> bool:
    if report.outcome is Outcome.NOTHING_TO_DO:
        return isinstance(work, IngestWork)
    return report.outcome is Outcome.FAILED


def _from_evidence(report: JobReport, evidence: Evidence) -> JobReport:
    said = report.error.message if report.error else report.summary
    return replace(
        report,
        outcome=Outcome.DONE,
        summary=f"{evidence.instant} is on the timeline",
        instant=InstantTime(evidence.instant.requested_at),
        rows=evidence.rows,
        plan=evidence.plan,
        error=None,
        notes=(*report.notes, f"the driver itself had reported: {said}"),
    )
