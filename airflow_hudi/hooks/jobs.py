# SPDX-License-Identifier: Apache-2.0
"""A job as the Airflow side sees it: looked at, attached to, asked to stop."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from airflow_hudi.core.attempts import Alive, Attempt, Dead, Life, Patience, judge_life
from airflow_hudi.core.control import AttemptFolder, JobFolder
from airflow_hudi.core.errors import StorageError
from airflow_hudi.core.job_errors import JobCancelled, JobStillRunning, JobSuperseded
from airflow_hudi.core.storage import open_storage
from airflow_hudi.hooks.processes import end_session, process_lives

log = logging.getLogger(__name__)

# Airflow's supervisor kills a task five seconds after it asked it to end.
_ASK_DRIVER = 2.0
_ASK_ALL = 1.0
_CANCELLED = (JobCancelled.__name__, JobSuperseded.__name__)


@dataclass(frozen=True, slots=True)
class JobHandle:
    """Where one attempt at a job is recorded; all that a trigger needs to know."""

    control: str
    folder: str
    attempt: int

    @property
    def files(self) -> AttemptFolder:
        """The attempt's files."""
        return JobFolder(open_storage(self.control), self.folder).attempt(self.attempt)

    def serialize(self) -> dict[str, Any]:
        """As arguments of a trigger."""
        return {"control": self.control, "folder": self.folder, "attempt": self.attempt}


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at an attempt."""

    attempt: Attempt
    life: Life

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.attempt.report is not None or isinstance(self.life, Dead)

    @property
    def was_cancelled(self) -> bool:
        """Whether it ended because somebody asked it to, and so did nothing."""
        report = self.attempt.report
        ended_so = report is None or (report.error is not None and report.error.kind in _CANCELLED)
        return self.attempt.is_cancelled and self.has_ended and ended_so


def look(files: AttemptFolder, patience: Patience) -> Sight:
    """What is known of an attempt, and whether its driver lives."""
    sight = _glance(files, patience)
    if isinstance(sight.life, Dead):
        return _glance(files, patience)  # a driver reports, and then it ends
    return sight


def _glance(files: AttemptFolder, patience: Patience) -> Sight:
    attempt = files.load()
    if attempt.report is not None:
        return Sight(attempt, Alive())
    lives = process_lives(attempt.launched)
    now = datetime.now(tz=timezone.utc)
    life = judge_life(attempt, process_lives=lives, now=now, patience=patience)
    return Sight(attempt, life)


class Watcher:
    """Looks at one attempt again and again, where the storage may be away for a moment."""

    def __init__(self, files: AttemptFolder, patience: Patience) -> None:
        self._files = files
        self._patience = patience
        self._blind_since: float | None = None

    def look(self) -> Sight | None:
        """One look; None where nothing can be seen, which says nothing about the job.

        A storage that stays away longer than a driver may be silent is an error.
        """
        try:
            sight = look(self._files, self._patience)
        except StorageError as error:
            now = time.monotonic()
            if self._blind_since is None:
                self._blind_since = now
                log.warning("could not look at %s, looking again: %s", self._files.path, error)
            if now - self._blind_since > self._patience.silence.total_seconds():
                raise
            return None
        self._blind_since = None
        return sight


def end_job(files: AttemptFolder) -> None:
    """Ask a driver to stop, make it stop where it runs on this host, and confirm it.

    A driver elsewhere finds the request at its next heartbeat; until it has ended, every new
    attempt waits for it. Raises :class:`JobStillRunning` where that could not be confirmed.
    """
    files.cancel()
    attempt = files.load()
    launched = attempt.launched
    lives = process_lives(launched)
    if launched is None or lives is False:
        return
    if lives is None:
        if attempt.report is not None:
            return
        raise JobStillRunning(files.path, where=f"on {launched.host.split()[0]}")
    seat = attempt.seat
    driver = seat.pid if seat is not None and seat.host == launched.host else None
    if not end_session(launched.pid, first=driver, patience=_ASK_DRIVER, last_wait=_ASK_ALL):
        raise JobStillRunning(files.path, where=f"process session {launched.pid} of this host")
