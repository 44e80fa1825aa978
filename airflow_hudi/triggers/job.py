# SPDX-License-Identifier: Apache-2.0
"""Waits for a job in the triggerer: by its report and its heartbeat, wherever the job runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi.core.attempts import Dead, Patience
from airflow_hudi.core.job_errors import JobStillRunning
from airflow_hudi.hooks.jobs import JobHandle, Sight, Watcher, end_job

ENDED = "ended"
TIMED_OUT = "timed_out"


class HudiJobTrigger(BaseTrigger):
    """Fires once, when the job has a report, when its driver is dead, or when its time is up.

    :param control: URI of the control folder
    :param folder: the job's folder in it
    :param attempt: the attempt's number
    :param poll_interval: seconds between two looks
    :param deadline: ISO time at which the job is to be given up, or None
    :param is_own: False: it is another task's job, which is waited for and never ended
    """

    def __init__(
        self,
        *,
        control: str,
        folder: str,
        attempt: int,
        poll_interval: float,
        deadline: str | None = None,
        is_own: bool = True,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.handle = JobHandle(control, folder, attempt)
        self.poll_interval = poll_interval
        self.deadline = deadline
        self.is_own = is_own

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and plain arguments; there is no secret among them."""
        arguments = {
            **self.handle.serialize(),
            "poll_interval": self.poll_interval,
            "deadline": self.deadline,
            "is_own": self.is_own,
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until there is something to say."""
        watcher = await asyncio.to_thread(self._watcher)
        said = ""
        while True:
            sight = await asyncio.to_thread(watcher.look)
            if sight is not None and sight.has_ended:
                because = sight.life.because if isinstance(sight.life, Dead) else ""
                yield self._event(ENDED, because)
                return
            progress = _progress(sight)
            if progress not in ("", said):
                said = progress
                self.log.info("%s: %s", self.handle.folder, progress)
            if self._is_late():
                yield self._event(TIMED_OUT, f"its time was up at {self.deadline}")
                return
            await asyncio.sleep(self.poll_interval)

    async def on_kill(self) -> None:
        """The task was cleared or marked while deferred (Airflow 3.3): its job is to end."""
        if not self.is_own:
            return
        try:
            await asyncio.to_thread(lambda: end_job(self.handle.files))
        except JobStillRunning as error:
            self.log.warning("%s", error)

    def _watcher(self) -> Watcher:
        # Opening a storage may import and connect, and nothing may block the triggerer.
        return Watcher(self.handle.files, Patience())

    def _is_late(self) -> bool:
        if self.deadline is None:
            return False
        return datetime.now(tz=timezone.utc) > datetime.fromisoformat(self.deadline)

    def _event(self, event: str, because: str) -> TriggerEvent:
        said = {"event": event, "because": because, "attempt": self.handle.attempt}
        said["is_own"] = self.is_own
        return TriggerEvent(said)  # type: ignore[no-untyped-call]


def _progress(sight: Sight | None) -> str:
    beat = None if sight is None else sight.attempt.beat
    return "" if beat is None else beat.progress
