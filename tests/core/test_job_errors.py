# SPDX-License-Identifier: Apache-2.0
"""Errors of jobs: drawn in the tree, with their facts, in words that say what to do."""

from __future__ import annotations

import re

import pytest

from airflow_hudi.core import job_errors
from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.hosts import host_id
from airflow_hudi.core.job_errors import (
    DriverDied,
    FirstWriteInProgress,
    JobCancelled,
    JobScriptNotFound,
    JobStillRunning,
    JobSuperseded,
    SourceEmpty,
    SourceMissing,
    VersionSkew,
)


def test_every_error_is_ours_and_drawn_in_the_tree() -> None:
    classes = [value for value in vars(job_errors).values() if isinstance(value, type)]
    ours = [cls for cls in classes if cls.__module__ == job_errors.__name__]
    assert all(issubclass(cls, AirflowHudiError) for cls in ours)
    drawn = set(re.findall(r"[A-Z][A-Za-z]+", job_errors.__doc__ or ""))
    assert {cls.__name__ for cls in ours} <= drawn


@pytest.mark.parametrize(
    ("error", "retryable", "what_to_do"),
    [
        (SourceMissing("/in"), False, "check the path"),
        (SourceEmpty("/in"), False, "pass when_source_empty='skip'"),
        (FirstWriteInProgress("/lake/t", "10"), True, "try again when it is done"),
        (JobScriptNotFound("ingestion", ["/a", "/b"]), False, "none of /a, /b; install"),
        (VersionSkew(asked_by="0.1.0", here="0.2.0"), False, "install one major.minor"),
        (JobSuperseded("d/r/t", because="begun anew"), True, "this driver stops"),
        (JobCancelled("d/r/t"), True, "A retry starts anew"),
        (DriverDied("d/r/t", because="gone"), True, "A retry starts a new driver."),
        (JobStillRunning("d/r/t", where="on host"), True, "it will stop at its next heartbeat"),
    ],
)
def test_an_error_says_what_to_do(
    error: AirflowHudiError,
    retryable: bool,  # noqa: FBT001
    what_to_do: str,
) -> None:
    assert what_to_do in str(error)
    assert error.retryable == retryable


def test_a_dead_driver_is_shown_with_its_last_words() -> None:
    assert str(DriverDied("d/r/t", because="gone", output="OOM")).endswith("Its last output:\nOOM")


def test_a_host_is_the_same_within_a_process() -> None:
    assert host_id() == host_id() != ""
