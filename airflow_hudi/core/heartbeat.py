# SPDX-License-Identifier: Apache-2.0
"""Hudi's heartbeats: a writer's proof of life for one instant, as a file's modification time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from airflow_hudi.core.config import HeartbeatKey
from airflow_hudi.core.instants import Instant, InstantTime
from airflow_hudi.core.layout import METADATA_FOLDER
from airflow_hudi.core.table import Table

HEARTBEAT_FOLDER = f"{METADATA_FOLDER}/.heartbeat"

_INSTANT = re.compile(r"[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class HeartbeatPolicy:
    """When a heartbeat counts as expired; every job on a table must use the same."""

    interval: timedelta = timedelta(seconds=60)
    tolerable_misses: int = 2

    @property
    def tolerance(self) -> timedelta:
        """How old a beat may be."""
        return self.interval * self.tolerable_misses


def heartbeat_policy(options: Mapping[str, str]) -> HeartbeatPolicy:
    """The policy that a job's settings for Hudi stand for; Hudi's own defaults where they say
    nothing."""
    usual = HeartbeatPolicy()
    millis = options.get(HeartbeatKey.INTERVAL_MILLIS.value)
    misses = options.get(HeartbeatKey.TOLERABLE_MISSES.value)
    return HeartbeatPolicy(
        usual.interval if millis is None else timedelta(milliseconds=int(millis)),
        usual.tolerable_misses if misses is None else int(misses),
    )


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The last sign of life for one instant."""

    instant: InstantTime
    last_beat: datetime
    """By the storage's clock."""

    def is_expired(self, policy: HeartbeatPolicy, *, now: datetime) -> bool:
        """Whether the writer has been silent for longer than the policy tolerates."""
        return now - self.last_beat > policy.tolerance


@dataclass(frozen=True, slots=True)
class Signs:
    """Who is alive on the table's instants, and when that was looked at."""

    heartbeats: Mapping[InstantTime, Heartbeat]
    now: datetime
    policy: HeartbeatPolicy = field(default_factory=HeartbeatPolicy)

    def live_beat(self, instant: Instant) -> Heartbeat | None:
        """The heartbeat of whoever works on it, unless it has expired."""
        beat = self.heartbeats.get(instant.requested_at)
        return None if beat is None or beat.is_expired(self.policy, now=self.now) else beat

    def expires_at(self, beat: Heartbeat) -> datetime:
        """When it will count as expired, if it is not renewed."""
        return beat.last_beat + self.policy.tolerance


def load_heartbeats(table: Table) -> dict[InstantTime, Heartbeat]:
    """Every heartbeat file of the table, by instant; a missing one is as good as an expired one."""
    listing = table.storage.list_folder(HEARTBEAT_FOLDER)
    beats = (
        Heartbeat(InstantTime(file.name), file.modified_at)
        for file in listing.files
        if _INSTANT.fullmatch(file.name)
    )
    return {beat.instant: beat for beat in beats}
