# SPDX-License-Identifier: Apache-2.0
"""The words of a timeline: instant times, actions, states, and the instant made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from enum import Enum
from typing import NewType
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from airflow_hudi.core.errors import InvalidInstant, InvalidTimezone

InstantTime = NewType("InstantTime", str)
"""Digits, ``yyyyMMddHHmmssSSS`` on all but old or internal timelines; compares as text."""

_DIGITS = re.compile(r"[0-9]+")
_SECONDS_FORMAT = "%Y%m%d%H%M%S"
_SECONDS_DIGITS = 14
_MILLIS_DIGITS = 17


def instant_time(text: str) -> InstantTime:
    """The text as an instant time, or :class:`InvalidInstant`."""
    if not _DIGITS.fullmatch(text):
        raise InvalidInstant(text)
    return InstantTime(text)


class Action(str, Enum):
    """What an instant does to its table."""

    COMMIT = "commit"
    DELTACOMMIT = "deltacommit"
    REPLACECOMMIT = "replacecommit"
    CLUSTERING = "clustering"
    COMPACTION = "compaction"
    LOGCOMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"
    SCHEMACOMMIT = "schemacommit"

    @property
    def completes_as(self) -> Action:
        """The action its completed file has: a finished compaction is a commit, and so on."""
        return _COMPLETES_AS.get(self, self)


_COMPLETES_AS = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOGCOMPACTION: Action.DELTACOMMIT,
    Action.CLUSTERING: Action.REPLACECOMMIT,
}


class State(Enum):
    """How far an instant has come."""

    REQUESTED = "requested"
    INFLIGHT = "inflight"
    COMPLETED = "completed"

    @property
    def rank(self) -> int:
        """Its place in the order in which an instant passes through the states."""
        return _RANKS[self]


_RANKS = {state: rank for rank, state in enumerate(State)}


@dataclass(frozen=True, slots=True)
class Instant:
    """One action on one table, in one state. Knows nothing of file names; see ``layout``."""

    requested_at: InstantTime
    action: Action
    state: State
    completed_at: InstantTime | None = None
    """Layout 2: recorded by the writer. Layout 1: when the completed file was last written."""

    @property
    def is_pending(self) -> bool:
        """Whether it has not become visible (yet)."""
        return self.state is not State.COMPLETED

    def __str__(self) -> str:
        return f"{self.requested_at} {self.action.value} {self.state.value}"


@dataclass(frozen=True, slots=True)
class Zone:
    """The time zone a timeline's digits are written in; without a name, this machine's own."""

    name: str | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            _zone_info(self.name)

    def digits(self, moment: datetime) -> InstantTime:
        """The moment as an instant time of this zone, cut to milliseconds."""
        local = moment.astimezone(None if self.name is None else _zone_info(self.name))
        millis = local.microsecond // 1000
        return InstantTime(f"{local.strftime(_SECONDS_FORMAT).zfill(_SECONDS_DIGITS)}{millis:03}")

    def moment(self, time: InstantTime) -> datetime | None:
        """The instant time as a moment in UTC; None for Hudi's internal ones, which are no times.

        Fourteen digits (Hudi before 0.10) have no milliseconds and count as the second's last one;
        digits behind the seventeenth (the metadata table of 0.x appends some) carry no time.
        """
        if len(time) < _SECONDS_DIGITS:
            return None
        millis = time[_SECONDS_DIGITS:_MILLIS_DIGITS].ljust(3, "9")
        try:
            naive = datetime.strptime(time[:_SECONDS_DIGITS], _SECONDS_FORMAT)  # noqa: DTZ007 - zone follows
            moment = naive + timedelta(milliseconds=int(millis))
            local = (
                moment.astimezone()
                if self.name is None
                else moment.replace(tzinfo=_zone_info(self.name))
            )
            return local.astimezone(timezone.utc)
        except (ValueError, OverflowError):
            return None


def _zone_info(name: str) -> tzinfo:
    if name == "UTC":  # known even where the machine has no time zone database
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidTimezone(name) from error


LOCAL = Zone()
UTC = Zone("UTC")
