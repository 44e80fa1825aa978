# SPDX-License-Identifier: Apache-2.0
"""Wait for new commits in the triggerer: one listing per look, and no worker held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timezone
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi.core.arrivals import Wait, format_after, parse_after
from airflow_hudi.core.errors import AirflowHudiError, TableUnreachable
from airflow_hudi.core.instants import Zone
from airflow_hudi.core.values import to_json
from airflow_hudi.triggers.watching import CommitWatch, Ending, MissingTable, Watched, WatchEnd


class HudiCommitTrigger(BaseTrigger):
    """Ends with one event: what has arrived, that it took too long, or why it cannot be told.

    The storage is opened with what the triggerer's machine offers; no argument holds a secret.

    :param table_uri: the table's base path or URI
    :param after: an instant, an ISO time with its offset, or empty: every commit is new
    :param partitions: partitions, or folders above some, of which a commit must have changed one
    :param every_partition: whether each of the partitions must have arrived
    :param min_commits: how many new commits there must be
    :param missing_table: ``wait`` until the table is made, or ``fail``
    :param table_timezone: where the writers run, for tables that keep local time
    :param poke_interval: seconds between two looks
    :param deadline: the ISO time after which it is too late; None: never
    """

    def __init__(  # noqa: PLR0913 - Airflow rebuilds a trigger from plain arguments
        self,
        *,
        table_uri: str,
        after: str = "",
        partitions: Sequence[str] | None = None,
        every_partition: bool = False,
        min_commits: int = 1,
        missing_table: str = MissingTable.WAIT.value,
        table_timezone: str | None = None,
        poke_interval: float = 60,
        deadline: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # Airflow has no annotation here
        self.watched = Watched(
            table_uri,
            Wait(
                parse_after(after),
                None if partitions is None else tuple(partitions),
                every_partition,
                min_commits,
            ),
            MissingTable(missing_table),
            Zone(table_timezone) if table_timezone else None,
        )
        self.poke_interval = poke_interval
        self.deadline = datetime.fromisoformat(deadline) if deadline else None

    @classmethod
    def of(
        cls, watched: Watched, *, poke_interval: float, deadline: datetime | None
    ) -> HudiCommitTrigger:
        """The trigger that watches this."""
        return cls(**_arguments(watched, poke_interval=poke_interval, deadline=deadline))

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its plain arguments."""
        arguments = _arguments(
            self.watched, poke_interval=self.poke_interval, deadline=self.deadline
        )
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look, sleep, look again."""
        end = to_json(await self._end())
        yield TriggerEvent(end)  # type: ignore[no-untyped-call] # nor here

    async def _end(self) -> WatchEnd:
        watch = CommitWatch(self.watched, self.log)
        while True:
            try:
                arrivals = await asyncio.to_thread(watch.look)
            except TableUnreachable as error:
                return WatchEnd(Ending.FAILED, because=error.because, retryable=True)
            except AirflowHudiError as error:
                return WatchEnd(Ending.FAILED, because=str(error))
            if arrivals.satisfies(self.watched.wait):
                return WatchEnd(Ending.ARRIVED, result=self.watched.result(arrivals))
            left = self._seconds_left()
            if left is not None and left <= 0:
                return WatchEnd(Ending.TIMED_OUT, because=self._too_late(len(arrivals.commits)))
            await asyncio.sleep(
                self.poke_interval if left is None else min(self.poke_interval, left)
            )

    def _seconds_left(self) -> float | None:
        if self.deadline is None:
            return None
        return (self.deadline - datetime.now(tz=timezone.utc)).total_seconds()

    def _too_late(self, arrived: int) -> str:
        wait = self.watched.wait
        since = format_after(wait.after) or "the table was made"
        return (
            f"{self.watched.uri} had {arrived} of {wait.min_commits} awaited commits after {since}"
            " when the sensor's timeout ended the wait"
        )


def _arguments(
    watched: Watched, *, poke_interval: float, deadline: datetime | None
) -> dict[str, Any]:
    wait = watched.wait
    return {
        "table_uri": watched.uri,
        "after": format_after(wait.after),
        "partitions": None if wait.partitions is None else list(wait.partitions),
        "every_partition": wait.every_partition,
        "min_commits": wait.min_commits,
        "missing_table": watched.missing_table.value,
        "table_timezone": watched.zone.name if watched.zone else None,
        "poke_interval": poke_interval,
        "deadline": deadline.isoformat() if deadline else None,
    }
