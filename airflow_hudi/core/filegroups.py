# SPDX-License-Identifier: Apache-2.0
"""File groups and their slices, assembled as Hudi's own file system view does it.

Which slice a log file belongs to is the delicate part. Up to table version 7 its name carries the
slice's base instant. From 8 on it carries the write that made it, and the slice is the latest one
that began before that write *completed*; the newest one while the write is pending.

Hudi 1.x reads tables of version 6 by the second rule too, with the modification time of timeline
files for the completion: a table that was copied, and so got new times, then shows log files on
slices they were not written for. We stay with the name, as Hudi 0.x does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from airflow_hudi.core.datafiles import BaseFileName, FileGroupId
from airflow_hudi.core.instants import Action, InstantTime, State
from airflow_hudi.core.logfiles import LogFileName, parse_log_name, shipped_order
from airflow_hudi.core.timeline import WRITES, Timeline

_LAST_MILLISECOND = "999"
_WRITERS = (*WRITES, Action.COMPACTION, Action.LOGCOMPACTION)

NameT = TypeVar("NameT", BaseFileName, LogFileName)


@dataclass(frozen=True, slots=True)
class FileSlice:
    """One base file, or none yet, and the log files on it, in the order they are merged."""

    base_instant: InstantTime
    base_file: str | None = None
    log_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileGroup:
    """All slices of one file id that readers may see, newest first."""

    id: FileGroupId
    slices: tuple[FileSlice, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionFiles:
    """The data files of one partition, by their names."""

    partition: str
    base_files: tuple[BaseFileName, ...] = ()
    log_files: tuple[LogFileName, ...] = ()


@dataclass(frozen=True, slots=True)
class Visibility:
    """What a timeline says of the files on disk: which instants are there for readers."""

    slices: frozenset[InstantTime]
    """Where a visible slice may begin: completed writes, and compactions that are pending."""
    first_slice: InstantTime | None
    last_slice: InstantTime | None
    completions: Mapping[InstantTime, InstantTime]
    """When each completed instant of the active timeline became visible."""
    pending: frozenset[InstantTime]
    writes_from: InstantTime | None
    """Where the active writes begin; what is older was completed, or it would be here."""

    def shows_slice(self, time: InstantTime) -> bool:
        """Whether readers may see a slice that began at this instant."""
        if self.first_slice is None or self.last_slice is None or time > self.last_slice:
            return False
        if time in self.slices or time < self.first_slice:
            return True
        # An instant of seconds only may be known by its last millisecond.
        return time.endswith(_LAST_MILLISECOND) and time[: -len(_LAST_MILLISECOND)] in self.slices


def completion_times(timeline: Timeline) -> dict[InstantTime, InstantTime]:
    """When each completed instant became visible.

    A savepoint has its write's requested time and completes later; the write's own time counts,
    which comes first on the timeline.
    """
    times: dict[InstantTime, InstantTime] = {}
    for instant in timeline.completed():
        if instant.completed_at is not None:
            times.setdefault(instant.requested_at, instant.completed_at)
    return times


def visibility(timeline: Timeline) -> Visibility:
    """Judge a timeline once, for all the files of its table."""
    slices = [
        instant.requested_at
        for instant in timeline.of(*_WRITERS)
        if instant.state is State.COMPLETED or instant.action is Action.COMPACTION
    ]
    writes = timeline.of(*_WRITERS).first()
    return Visibility(
        slices=frozenset(slices),
        first_slice=min(slices, default=None),
        last_slice=max(slices, default=None),
        completions=completion_times(timeline),
        pending=frozenset(instant.requested_at for instant in timeline.pending()),
        writes_from=writes.requested_at if writes else None,
    )


@dataclass(frozen=True, slots=True)
class TableView:
    """Everything that decides how a table's files make file groups."""

    visibility: Visibility
    logs_name_their_write: bool
    """Table version 8 on; before, log files name their slice."""
    pending_compactions: Mapping[FileGroupId, InstantTime]
    replaced: frozenset[FileGroupId]
    archived_completions: Callable[[], Mapping[InstantTime, InstantTime]] = dict
    """Asked only for log files of writes that are not on the active timeline."""

    def completed_at(self, time: InstantTime) -> InstantTime | None:
        """When the write at this instant became visible; None while it is pending."""
        known = self.visibility.completions.get(time)
        if known is not None or time in self.visibility.pending:
            return known
        return self.archived_completions().get(time)

    def is_completed(self, time: InstantTime) -> bool:
        """Whether the write at this instant is completed, or older than every active write."""
        start = self.visibility.writes_from
        return (start is not None and time < start) or self.completed_at(time) is not None


def build_file_groups(view: TableView, files: PartitionFiles) -> tuple[FileGroup, ...]:
    """The partition's file groups, without the replaced ones, sorted by file id."""
    bases = _by_file_id(files.base_files)
    logs = _by_file_id(files.log_files)
    groups = []
    for file_id in sorted({*bases, *logs}):
        group_id = FileGroupId(files.partition, file_id)
        if group_id not in view.replaced:
            slices = _slices(view, group_id, bases.get(file_id, []), logs.get(file_id, []))
            groups.append(FileGroup(group_id, slices))
    return tuple(groups)


def latest_slice(view: TableView, group: FileGroup) -> FileSlice | None:
    """The group's newest slice, without files that a pending action is still writing."""
    if not group.slices:
        return None
    newest = group.slices[0]
    if not view.logs_name_their_write:
        is_being_compacted = view.pending_compactions.get(group.id) == newest.base_instant
        return replace(newest, base_file=None) if is_being_compacted else newest
    return FileSlice(
        newest.base_instant,
        newest.base_file if view.is_completed(newest.base_instant) else None,
        tuple(name for name in newest.log_files if view.is_completed(_log_time(name))),
    )


def _by_file_id(names: Iterable[NameT]) -> dict[str, list[NameT]]:
    found: dict[str, list[NameT]] = {}
    for name in names:
        found.setdefault(name.file_id, []).append(name)
    return found


def _slices(
    view: TableView,
    group: FileGroupId,
    bases: list[BaseFileName],
    logs: list[LogFileName],
) -> tuple[FileSlice, ...]:
    base_files: dict[InstantTime, str] = {base.instant: str(base) for base in bases}
    logs_of: dict[InstantTime, list[str]] = {time: [] for time in base_files}
    if group in view.pending_compactions:
        logs_of.setdefault(view.pending_compactions[group], [])
    for log in sorted(logs, key=shipped_order):
        logs_of.setdefault(_base_instant(view, log, logs_of), []).append(str(log))
    return tuple(
        FileSlice(time, base_files.get(time), tuple(logs_of[time]))
        for time in sorted(logs_of, reverse=True)
        if view.visibility.shows_slice(time)
    )


def _base_instant(view: TableView, log: LogFileName, slices: Iterable[InstantTime]) -> InstantTime:
    known = list(slices)
    if not view.logs_name_their_write or not known:
        return log.time
    newest = max(known)
    completed_at = view.completed_at(log.time)
    if completed_at is None:
        return newest
    if len(completed_at) != len(newest):  # times of different resolution do not compare as text
        completed_at = log.time
    return max((time for time in known if time <= completed_at), default=log.time)


def _log_time(name: str) -> InstantTime:
    parsed = parse_log_name(name)
    return parsed.time if parsed else InstantTime("")
