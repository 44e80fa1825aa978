# SPDX-License-Identifier: Apache-2.0
"""Looking at one table again and again: what the sensor does in its worker and the trigger in its.

A watch remembers which commit files it has read, and what it has already said in the log. It reads
the table's properties anew each time, for an upgrade moves the timeline to another folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from airflow_hudi.core.arrivals import Arrivals, Opened, Wait, format_after, load_arrivals
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.errors import AirflowHudiError, TableNotFound, TableUnreachable
from airflow_hudi.core.instants import Zone
from airflow_hudi.core.table import open_table

TOLERATED_HICCUPS = 5
"""How many failures of the storage in a row are waited out; the next one ends the watch."""


class Log(Protocol):
    """A logger, be it Python's own or structlog's."""

    def warning(self, event: str, /, *args: Any) -> Any:
        """Say what somebody should look at."""
        ...


class MissingTable(str, Enum):
    """What to do while there is no table."""

    WAIT = "wait"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Watched:
    """Which table is watched, and how."""

    uri: str
    wait: Wait
    missing_table: MissingTable = MissingTable.WAIT
    zone: Zone | None = None
    """Where the writers run, for tables that keep local time; None: as the table says."""

    def result(self, arrivals: Arrivals) -> dict[str, Any]:
        """What a task hands on, as small JSON."""
        return {"table": self.uri, "after": format_after(self.wait.after), **arrivals.as_json()}


class CommitWatch:
    """The memory between two looks at a table."""

    def __init__(self, watched: Watched, log: Log) -> None:
        self._watched = watched
        self._log = log
        self._opened: Opened = {}
        self._said: set[object] = set()
        self._hiccups = 0

    def look(self) -> Arrivals:
        """What has arrived by now, from one listing; nothing while the storage has a hiccup."""
        try:
            arrivals = self._load()
        except AirflowHudiError as error:
            if not error.retryable:
                raise
            self._count_hiccup(error)
            return Arrivals()
        self._hiccups = 0
        for defect in arrivals.defects:
            self._say_once(defect, _not_counted(defect))
        return arrivals

    def _load(self) -> Arrivals:
        watched = self._watched
        try:
            table = open_table(watched.uri, zone=watched.zone)
        except TableNotFound as error:
            if watched.missing_table is MissingTable.FAIL:
                raise
            self._say_once(TableNotFound, f"{error}; waiting for it to be made")
            return Arrivals()
        arrivals, self._opened = load_arrivals(table, watched.wait, self._opened)
        return arrivals

    def _count_hiccup(self, error: AirflowHudiError) -> None:
        self._hiccups += 1
        uri = self._watched.uri
        if self._hiccups > TOLERATED_HICCUPS:
            raise TableUnreachable(uri, f"{error} ({self._hiccups} times in a row)") from error
        self._log.warning(
            "%s could not be read (%d of %d times in a row that are waited out): %s",
            uri,
            self._hiccups,
            TOLERATED_HICCUPS,
            error,
        )

    def _say_once(self, what: object, sentence: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self._log.warning("%s", sentence)


class Ending(str, Enum):
    """How a watch in the triggerer ended."""

    ARRIVED = "arrived"
    TIMED_OUT = "timed_out"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class WatchEnd:
    """What the trigger tells the sensor; JSON both ways."""

    ending: Ending
    result: Mapping[str, Any] | None = None
    because: str = ""
    retryable: bool = False


def _not_counted(defect: Defect) -> str:
    return f"{defect}; whether that commit is new cannot be told, so it is not counted"
