# SPDX-License-Identifier: Apache-2.0
"""How a job really ended: from its report *and* the table's timeline, never from an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from airflow_hudi.core.commits import CommitMetadata, load_commit
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.errors import TableNotFound
from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.history import load_history
from airflow_hudi.core.ingestion import JOB_METADATA_KEY, IngestWork
from airflow_hudi.core.instants import Instant, InstantTime, State
from airflow_hudi.core.job_errors import JobFailed, OutcomeContradicted
from airflow_hudi.core.jobs import JobReport, Outcome, PlanSize, RowCounts, Work
from airflow_hudi.core.plans import (
    ClusteringPlan,
    CompactionPlan,
    LogCompactionPlan,
    Plan,
    load_plan,
)
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.services.works import CleanWork, ServiceWork
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
    replaced: int = 0
    """How many file groups a write took out of the table."""


def load_evidence(
    storage: Storage,
    work: Work,
    job: str,
    reports: Iterable[JobReport] = (),
    *,
    attempt: int | None = None,
) -> Evidence | None:
    """The trace this job has left on its table's timeline, if any.

    A write is made once by a job, whichever attempt made it. A service may be run again when its
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
    reports = tuple(reports)
    if isinstance(work, IngestWork):
        timeline = load_timeline(table)
        return _commit_of(table, timeline, job) or _archived(table, timeline, reports)
    number = attempt or max((report.attempt for report in reports), default=0)
    own = tuple(report for report in reports if report.attempt == number)
    if isinstance(work, CleanWork):
        return _clean_evidence(load_timeline(table), own)
    others = tuple(report for report in reports if report.attempt != number)
    view = load_view(table, HeartbeatPolicy())
    asked = _Asked(work, job, _instants(own), _instants(others))
    return _service_evidence(table, view, asked) or _archived(table, view.timeline, own)


def _commit_of(table: Table, timeline: Timeline, job: str) -> Evidence | None:
    for instant in reversed(timeline.completed().writes().instants):
        commit = load_commit(table, timeline, instant)
        if not isinstance(commit, Defect) and commit.extra.get(JOB_METADATA_KEY) == job:
            replaced = commit.file_groups_replaced
            return Evidence(instant, rows=row_counts(commit), replaced=replaced)
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


def _clean_evidence(timeline: Timeline, reports: Iterable[JobReport]) -> Evidence | None:
    """Every instant that the report names must be there and completed."""
    named = [time for report in reports for time in _instants_of_clean(report)]
    found = [timeline.completed().find(InstantTime(time)) for time in named]
    instants = [instant for instant in found if instant is not None]
    if not named or len(instants) < len(named):
        return None
    return Evidence(instants[0])


def _instants_of_clean(report: JobReport) -> Iterable[str]:
    if report.instant is not None:
        yield report.instant
    if report.cleaning is not None:
        yield from (undone.rollback for undone in report.cleaning.rolled_back)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The service's plan that evidence is looked for."""

    work: ServiceWork
    job: str
    reported: frozenset[str]
    """The instant its own report names."""
    of_others: frozenset[str]
    """The instants that other attempts reported."""


def _service_evidence(table: Table, view: ServicesView, asked: _Asked) -> Evidence | None:
    mode = asked.work.mode
    # What it reports comes first: a begun clustering is planned anew, under another instant.
    named = frozenset({asked.work.instant}) if asked.work.instant else frozenset[str]()
    times = asked.reported or named
    if mode is not Mode.SCHEDULE and times:
        return _executed(table, view, asked.work, times)
    planned = None if mode is Mode.EXECUTE else _planned_by(table, view, asked)
    if planned is None or (mode is Mode.BOTH and planned.instant.is_pending):
        return None
    return planned


def _executed(
    table: Table, view: ServicesView, work: ServiceWork, times: frozenset[str]
) -> Evidence | None:
    for instant in view.of(work.service).completed().where(lambda i: i.requested_at in times):
        return _with_commit(table, view.timeline, instant)
    return None


def _planned_by(table: Table, view: ServicesView, asked: _Asked) -> Evidence | None:
    own = view.of(asked.work.service).where(lambda i: i.requested_at not in asked.of_others)
    for instant in reversed(own.instants):
        plan = load_plan(table, view.timeline, instant)
        if _planner(plan) == asked.job:
            evidence = _with_commit(table, view.timeline, instant)
            return replace(evidence, plan=plan_size(plan))
    return None


def _planner(plan: Plan | Defect | None) -> str | None:
    if isinstance(plan, (CompactionPlan, LogCompactionPlan, ClusteringPlan)):
        return plan.extra.get(JOB_METADATA_KEY)
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


def plan_size(plan: Plan | Defect | None) -> PlanSize | None:
    """How much a plan would rewrite, as far as the plan itself tells."""
    if isinstance(plan, (CompactionPlan, LogCompactionPlan)):
        slices = plan.operations
    elif isinstance(plan, ClusteringPlan):
        slices = tuple(piece for group in plan.groups for piece in group.slices)
    else:
        return None
    return PlanSize(
        file_groups=len(plan.file_groups),
        partitions=len({group.partition for group in plan.file_groups}),
        log_files=sum(len(piece.log_files) for piece in slices),
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
    if report.outcome is Outcome.NOTHING_TO_DO or isinstance(work, ReadWork) or _is_dry(work):
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


def _is_dry(work: Work) -> bool:
    return isinstance(work, (ServiceWork, CleanWork)) and work.dry_run


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
