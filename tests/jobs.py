# SPDX-License-Identifier: Apache-2.0
"""Specs, reports and attempts with everything that a test does not care about filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_hudi.core.attempts import Attempt
from airflow_hudi.core.ingestion import IngestWork, Operation, QuerySource
from airflow_hudi.core.jobs import JobKey, JobReport, JobSpec, Outcome, ReportedError, Work
from airflow_hudi.core.locks import LockSettings
from tests.builders import EPOCH

KEY = JobKey("daily", "scheduled__2026-01-01", "ingest")
JOB = str(KEY)
WORK = IngestWork(Operation.UPSERT, QuerySource("SELECT 1 AS id"))


def a_spec(number: int = 1, work: Work = WORK, **changes: Any) -> JobSpec:
    spec = JobSpec(KEY, number, "/lake/orders", "1.2.0", work, LockSettings(), EPOCH)
    return replace(spec, **changes)


def a_report(outcome: Outcome = Outcome.DONE, number: int = 1, **changes: Any) -> JobReport:
    report = JobReport(outcome, outcome.value, "/lake/orders", JOB, number, "1.2.0")
    return replace(report, **changes)


def a_failure(number: int = 1, *, retryable: bool = False, kind: str = "TestError") -> JobReport:
    error = ReportedError(kind, "it went wrong", retryable=retryable)
    return a_report(Outcome.FAILED, number, error=error)


def an_attempt(number: int = 1, **changes: Any) -> Attempt:
    return replace(Attempt(number, EPOCH), **changes)
