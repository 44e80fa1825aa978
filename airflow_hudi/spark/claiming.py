# SPDX-License-Identifier: Apache-2.0
"""A driver's claims: taken before anything is touched, renewed with every beat, given back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from airflow_hudi.core.claims import (
    Claim,
    ClaimFile,
    Executor,
    Free,
    Held,
    HeldClaim,
    Standing,
    judge_claim,
    standings,
    witness_of,
)
from airflow_hudi.core.hosts import host_id, process
from airflow_hudi.core.instants import InstantTime

if TYPE_CHECKING:
    from airflow_hudi.spark.runner import Job


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that is ours, and whether it was somebody's who is dead."""

    claim: HeldClaim
    taken_over: bool


@contextmanager
def claimed(job: Job, instant: str) -> Iterator[Claimed]:
    """Be the one executor of an instant of the job's table; :class:`PlanClaimed` if one lives.

    A driver that was told to stop keeps its claim: Java goes on with what it was asked for until
    the process is gone, and only then may somebody else begin.
    """
    file = ClaimFile(job.control, job.spec.table, InstantTime(instant))
    claim, because = file.take(_executor(job), lambda other: _judge(job, other))
    if because is not None:
        job.say(f"taking {instant} over: {because}")
    job.beating.keep(claim)
    try:
        yield Claimed(claim, taken_over=because is not None)
    finally:
        if not job.beating.is_told_to_stop:
            job.beating.let_go(claim)
            claim.release()


def held_by_others(job: Job) -> frozenset[InstantTime]:
    """The instants of the job's table that somebody has claimed who is not proved dead."""
    own = _executor(job)
    return frozenset(
        time
        for time, standing in claims_on(job).items()
        if isinstance(standing, Held) and standing.claim.executor != own
    )


def left_behind(job: Job) -> frozenset[InstantTime]:
    """The instants of the job's table whose claim is a dead executor's."""
    found = claims_on(job).items()
    return frozenset(time for time, standing in found if isinstance(standing, Free))


def discard(job: Job, instant: InstantTime) -> None:
    """Remove the claim of a dead executor on an instant that is done."""
    ClaimFile(job.control, job.spec.table, instant).discard(lambda claim: _judge(job, claim))


def claims_on(job: Job) -> dict[InstantTime, Standing]:
    """What each claim on the job's table is worth now."""
    now = datetime.now(tz=timezone.utc)
    witness = witness_of(job.spec.cluster_manager)
    return standings(job.control, job.spec.table, job.spec.takeover, now=now, witness=witness)


def _judge(job: Job, claim: Claim) -> Standing:
    now = datetime.now(tz=timezone.utc)
    lives = witness_of(job.spec.cluster_manager)(claim.executor)
    return judge_claim(claim, lives=lives, now=now, policy=job.spec.takeover)


def _executor(job: Job) -> Executor:
    return Executor(
        job=str(job.spec.key),
        folder=job.spec.key.folder,
        attempt=job.spec.attempt,
        host=host_id(),
        processes=(process(os.getpid()), process(job.engine.process_id)),
        application_id=job.beating.application_id,
    )
