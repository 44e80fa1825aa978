# SPDX-License-Identifier: Apache-2.0
"""One executor per plan: who may act on an instant of a table, by a file in the control folder.

::

    <control>/claims/<table>/<instant>.json      created conditionally, renewed while its job lives

A claim is taken over only from the dead: the host (or the cluster manager) says that its process is
gone, or it has not been renewed for so long that its heartbeat has expired *and* the grace has
passed. The second is no proof: its owner may only have slept. That is why an executor looks at its
claim again right before it commits, under the table's lock, and why whoever took a claim over acts
only under that lock, after it: one of the two sees the other.

Every step is one conditional write, so of two who try one gets it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from airflow_hudi.core.cluster_managers import manager_says
from airflow_hudi.core.errors import (
    ConcurrencyError,
    ObjectExists,
    ObjectNotFound,
    OutcomeUnknown,
    VersionMismatch,
)
from airflow_hudi.core.hosts import Process, host_id, process_lives
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.locks import lock_key
from airflow_hudi.core.storage.base import Content, Storage, Version
from airflow_hudi.core.values import decode, encode

FOLDER = "claims"


@dataclass(frozen=True, slots=True)
class Executor:
    """Who claims: one attempt at one job, and the process that makes it."""

    job: str
    folder: str
    """The job's place in the control folder, so that others can watch it."""
    attempt: int
    host: str
    """Which machine, boot and process space: a pid means nothing elsewhere."""
    processes: tuple[Process, ...]
    """The driver's Python and its JVM; it is gone when both are."""
    application_id: str | None = None
    """The Spark application, for a cluster manager that is asked whether it is gone."""

    def __str__(self) -> str:
        where = f"process {self.processes[0].pid} on {self.host.split()[0]}"
        return f"{self.job} (attempt {self.attempt}, {where})"


@dataclass(frozen=True, slots=True)
class Claim:
    """What stands in a claim's file."""

    executor: Executor
    number: int = 1
    """How often it was written; a renewal is never equal to the one before."""
    renewed_at: datetime | None = None
    """By the storage's clock; told by the file, not written into it."""


@dataclass(frozen=True, slots=True)
class TakeoverPolicy:
    """When a claim whose owner cannot be asked counts as left behind."""

    silence: timedelta = timedelta(minutes=2)
    """How long a renewal may be awaited; claims are renewed with every heartbeat of the job."""
    grace: timedelta = timedelta(minutes=5)
    """How much longer it is left alone after that."""


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody has it, and is not proved dead."""

    claim: Claim
    until: datetime
    """When it may be taken over, if it is not renewed."""


@dataclass(frozen=True, slots=True)
class Free:
    """It may be taken (over)."""

    because: str


Standing: TypeAlias = Held | Free
Witness = Callable[[Executor], "bool | None"]
"""The word of the host or the cluster manager: lives, is gone, or None where neither can tell."""


def judge_claim(
    claim: Claim, *, lives: bool | None, now: datetime, policy: TakeoverPolicy
) -> Standing:
    """Whether a claim may be taken over.

    A process that is there may be stopped for ever, so its being there is no reason to wait longer
    than the policy says.

    :param lives: the witness's word on its executor
    """
    if lives is False:
        return Free(f"{claim.executor} is gone")
    renewed_at = claim.renewed_at or now
    until = renewed_at + policy.silence + policy.grace
    if now <= until:
        return Held(claim, until)
    silent = (now - renewed_at).total_seconds() / 60
    return Free(f"{claim.executor} has been silent for {silent:.0f} min")


def host_says(executor: Executor) -> bool | None:
    """Whether an executor lives, by the word of this host; None where only another one can tell."""
    if executor.host != host_id():
        return None
    return any(process_lives(process) for process in executor.processes)


def witness_of(manager: str) -> Witness:
    """The host's word, and where it has none, that of the cluster manager at this URL."""

    def says(executor: Executor) -> bool | None:
        said = host_says(executor)
        return manager_says(manager, executor.application_id) if said is None else said

    return says


class PlanClaimed(ConcurrencyError):
    """A job of ours is at it."""

    def __init__(self, uri: str, instant: str, held: Held) -> None:
        self.uri = uri
        self.instant = instant
        self.claim = held.claim
        self.until = held.until
        super().__init__(
            f"{instant} of {uri} is claimed by {held.claim.executor}, which is not proved dead; two"
            " executions of one plan would corrupt the table, so this one is not started: it may be"
            f" taken over at {held.until:%H:%M:%S} UTC, or as soon as that process is gone"
        )


class ClaimLost(ConcurrencyError):
    """The claim was taken over; whoever held it must stop at once."""

    def __init__(self, path: str, holder: Executor | None) -> None:
        self.path = path
        self.holder = holder
        """Who has it now; None: whoever took it over has ended and given it back."""
        because = "it is gone" if holder is None else f"it is now {holder}'s"
        super().__init__(
            f"this executor no longer holds the claim {path} ({because}); it took too long to show"
            " that it lives, and somebody else may be at the plan: nothing of it is committed"
        )


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """The place of one claim."""

    storage: Storage
    """Rooted at the control folder."""
    uri: str
    """The table."""
    instant: InstantTime

    @property
    def path(self) -> str:
        """Where it is in the control folder."""
        return f"{claims_folder(self.uri)}/{self.instant}.json"

    def load(self) -> Claim | None:
        """Who has claimed it, if anybody has."""
        content = self._content()
        return None if content is None else _claim(content)

    def take(
        self, executor: Executor, judge: Callable[[Claim], Standing]
    ) -> tuple[HeldClaim, str | None]:
        """Become its one executor, or raise :class:`PlanClaimed`.

        Also returns why it could be taken over, None where nobody had it.
        """
        because: str | None = None
        while True:
            content = self._content()
            if content is None:
                version = self._create(Claim(executor))
                if version is not None:
                    return HeldClaim(self, Claim(executor), version), None
                continue
            claim = _claim(content)
            if claim.executor == executor:  # our own, of a write whose answer was lost
                return HeldClaim(self, claim, content.version), because
            standing = judge(claim)
            if isinstance(standing, Held):
                raise PlanClaimed(self.uri, self.instant, standing)
            taken = Claim(executor, claim.number + 1)
            version = self._replace(taken, content.version)
            because = standing.because
            if version is not None:
                return HeldClaim(self, taken, version), because

    def discard(self, judge: Callable[[Claim], Standing]) -> None:
        """Remove it, unless somebody has it or takes it just now."""
        content = self._content()
        if content is not None and isinstance(judge(_claim(content)), Free):
            with suppress(VersionMismatch, OutcomeUnknown):
                self.storage.delete(self.path, expected=content.version)

    def _create(self, claim: Claim) -> Version | None:
        try:
            return self.storage.create(self.path, _data(claim))
        except (ObjectExists, OutcomeUnknown):
            return None  # it is looked at again

    def _replace(self, claim: Claim, expected: Version) -> Version | None:
        try:
            return self.storage.replace(self.path, _data(claim), expected=expected)
        except (VersionMismatch, OutcomeUnknown):
            return None

    def _content(self) -> Content | None:
        try:
            return self.storage.read_versioned(self.path)
        except ObjectNotFound:
            return None


class HeldClaim:
    """A claim of ours: renewed by the thread that beats, looked at by the one that works."""

    def __init__(self, file: ClaimFile, claim: Claim, version: Version) -> None:
        self._file = file
        self._claim = claim
        self._version = version

    @property
    def instant(self) -> InstantTime:
        """What is claimed."""
        return self._file.instant

    def renew(self) -> None:
        """Show that we live, or raise :class:`ClaimLost`."""
        renewed = replace(self._claim, number=self._claim.number + 1)
        try:
            version = self._file.storage.replace(
                self._file.path, _data(renewed), expected=self._version
            )
        except (VersionMismatch, OutcomeUnknown) as error:
            there = self._file._content()  # noqa: SLF001 - its other half
            if there is None or _claim(there).executor != self._claim.executor:
                raise ClaimLost(self._file.path, _holder(there)) from error
            renewed, version = _claim(there), there.version
        self._claim, self._version = renewed, version

    def check(self) -> None:
        """Raise :class:`ClaimLost` unless it is still ours; asked under the table's lock."""
        there = self._file._content()  # noqa: SLF001 - its other half
        if there is None or _claim(there).executor != self._claim.executor:
            raise ClaimLost(self._file.path, _holder(there))

    def release(self) -> None:
        """Give it back; one that was taken over is not ours to give.

        Where it is not known whether that was done, it stays until this process has ended.
        """
        there = self._file._content()  # noqa: SLF001 - its other half
        if there is None or _claim(there).executor != self._claim.executor:
            return
        try:
            self._file.storage.delete(self._file.path, expected=there.version)
        except (VersionMismatch, OutcomeUnknown):
            return


def load_claims(storage: Storage, uri: str) -> dict[InstantTime, Claim]:
    """Every claim on a table, by instant."""
    claims: dict[InstantTime, Claim] = {}
    for file in storage.list_folder(claims_folder(uri)).files:
        if file.name.endswith(".json"):
            time = InstantTime(file.name.removesuffix(".json"))
            claim = ClaimFile(storage, uri, time).load()
            if claim is not None:
                claims[time] = claim
    return claims


def standings(
    storage: Storage,
    uri: str,
    policy: TakeoverPolicy,
    *,
    now: datetime,
    witness: Witness = host_says,
) -> dict[InstantTime, Standing]:
    """What each claim on a table is worth now, by a witness's word and by the clock."""
    return {
        time: judge_claim(claim, lives=witness(claim.executor), now=now, policy=policy)
        for time, claim in load_claims(storage, uri).items()
    }


def claims_folder(uri: str) -> str:
    """Where the claims on a table are: one place for all spellings of its own."""
    return f"{FOLDER}/{lock_key(uri)}"


def _data(claim: Claim) -> bytes:
    return encode(replace(claim, renewed_at=None))


def _claim(content: Content) -> Claim:
    return replace(decode(Claim, content.data), renewed_at=content.modified_at)


def _holder(there: Content | None) -> Executor | None:
    return None if there is None else _claim(there).executor
