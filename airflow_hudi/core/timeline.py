# SPDX-License-Identifier: Apache-2.0
"""The ordered instants of one table, and the one listing they are read from."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from airflow_hudi.core.defects import Defect, DefectKind, empty
from airflow_hudi.core.instants import Action, Instant, InstantTime, State, Zone
from airflow_hudi.core.layout import InstantFile, Layout, comparable_action, parse_name
from airflow_hudi.core.storage.base import FileInfo
from airflow_hudi.core.table import Table

WRITES = (Action.COMMIT, Action.DELTACOMMIT, Action.REPLACECOMMIT, Action.CLUSTERING)
"""Actions that put rows into a table or take them out (Hudi's "commits timeline")."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Instants ordered by the time they were requested; filters return new timelines and chain."""

    instants: tuple[Instant, ...] = ()
    files: tuple[InstantFile, ...] = ()
    """Every file the instants were read from, also of states that were passed; sorted alike."""
    defects: tuple[Defect, ...] = ()

    def __iter__(self) -> Iterator[Instant]:
        return iter(self.instants)

    def __len__(self) -> int:
        return len(self.instants)

    def completed(self) -> Timeline:
        """Only what has become visible."""
        return self.where(lambda instant: instant.state is State.COMPLETED)

    def pending(self) -> Timeline:
        """Only what is requested or inflight."""
        return self.where(lambda instant: instant.is_pending)

    def requested(self) -> Timeline:
        """Only what nobody has begun to execute."""
        return self.where(lambda instant: instant.state is State.REQUESTED)

    def inflight(self) -> Timeline:
        """Only what somebody has begun and not ended."""
        return self.where(lambda instant: instant.state is State.INFLIGHT)

    def of(self, *actions: Action) -> Timeline:
        """Only these actions."""
        return self.where(lambda instant: instant.action in actions)

    def writes(self) -> Timeline:
        """Only actions that change rows: commits, delta commits, replace commits, clustering."""
        return self.of(*WRITES)

    def requested_after(self, time: InstantTime) -> Timeline:
        """Only what was requested later than this."""
        return self.where(lambda instant: instant.requested_at > time)

    def requested_before(self, time: InstantTime) -> Timeline:
        """Only what was requested earlier than this."""
        return self.where(lambda instant: instant.requested_at < time)

    def completed_after(self, time: InstantTime) -> Timeline:
        """Only what became visible later than this."""
        return self.where(lambda i: i.completed_at is not None and i.completed_at > time)

    def by_completion(self) -> Timeline:
        """The completed ones in the order they became visible."""
        visible = [instant for instant in self.instants if instant.completed_at is not None]
        return replace(self, instants=tuple(sorted(visible, key=_completion_order)))

    def where(self, keep: Callable[[Instant], bool]) -> Timeline:
        """Only the instants that satisfy the condition."""
        return replace(self, instants=tuple(instant for instant in self.instants if keep(instant)))

    def first(self) -> Instant | None:
        """The earliest of these, if there is any."""
        return self.instants[0] if self.instants else None

    def latest(self) -> Instant | None:
        """The last of these, if there is any."""
        return self.instants[-1] if self.instants else None

    def find(self, time: InstantTime, action: Action | None = None) -> Instant | None:
        """The instant requested at this time; give the action where two may share it."""
        for instant in self.instants:
            if instant.requested_at == time and action in (None, instant.action):
                return instant
        return None

    def files_of(self, instant: Instant) -> tuple[InstantFile, ...]:
        """Every file of one instant, from its first state to its last."""
        group = instant.action.completes_as
        same_time = slice(
            bisect_left(self.files, instant.requested_at, key=_requested_at),
            bisect_right(self.files, instant.requested_at, key=_requested_at),
        )
        return tuple(f for f in self.files[same_time] if f.instant.action.completes_as is group)

    def file_of(self, instant: Instant, state: State) -> InstantFile | None:
        """The file of one state of an instant, if it was listed."""
        files = [file for file in self.files_of(instant) if file.instant.state is state]
        return files[0] if files else None

    def planned_as(self, instant: Instant) -> Action:
        """The action it was requested as: a completed commit may have been a compaction.

        On layout 1 a clustering is requested as a replacecommit; only its plan tells them apart.
        """
        requested = self.file_of(instant, State.REQUESTED)
        return instant.action if requested is None else requested.instant.action


def load_timeline(table: Table) -> Timeline:
    """The active timeline, from one listing of its folder; no file is opened."""
    listing = table.storage.list_folder(table.properties.timeline_folder)
    return build_timeline(table.properties.layout, listing.files, table.zone)


def build_timeline(layout: Layout, files: tuple[FileInfo, ...], zone: Zone) -> Timeline:
    """The timeline a listing stands for: for each instant its highest state wins."""
    found: list[InstantFile] = []
    defects: list[Defect] = []
    for file in files:
        instant = parse_name(layout, file.name)
        if instant is None:
            defects.extend(_unknown(file))
            continue
        if instant.state is State.COMPLETED:
            instant = replace(
                instant, completed_at=instant.completed_at or zone.digits(file.modified_at)
            )
            if file.size == 0:
                defects.append(empty(file.path))
        found.append(InstantFile(file.path, instant, file.size))
    found.sort(key=functools.partial(_file_order, layout))
    winners, twice = _winners(layout, found)
    return Timeline(winners, tuple(found), (*defects, *twice))


def _winners(
    layout: Layout, ordered: list[InstantFile]
) -> tuple[tuple[Instant, ...], list[Defect]]:
    best: dict[tuple[InstantTime, Action], InstantFile] = {}
    defects: list[Defect] = []
    for file in ordered:
        key = (file.instant.requested_at, comparable_action(layout, file.instant.action))
        seen = best.get(key)
        if seen is not None and seen.instant.state is State.COMPLETED:
            defects.append(_completed_twice(seen, file))
            continue
        best[key] = file
    return tuple(file.instant for file in best.values()), defects


def _file_order(layout: Layout, file: InstantFile) -> tuple[str, str, int, str, str]:
    instant = file.instant
    return (
        instant.requested_at,
        comparable_action(layout, instant.action).value,
        instant.state.rank,
        instant.completed_at or "",
        instant.action.value,
    )


def _requested_at(file: InstantFile) -> InstantTime:
    return file.instant.requested_at


def _completion_order(instant: Instant) -> tuple[str, str, str]:
    return instant.completed_at or "", instant.requested_at, instant.action.completes_as.value


def _unknown(file: FileInfo) -> Iterator[Defect]:
    # The folder of layout 1 holds other things too; only a name that begins as an instant's is odd.
    if file.name[:1].isdigit():
        yield Defect(
            file.path,
            DefectKind.UNKNOWN_NAME,
            "the name is no instant's; perhaps a file that was being written, or a newer Hudi's",
        )


def _completed_twice(seen: InstantFile, file: InstantFile) -> Defect:
    # Which of the two Hudi takes depends on the order of the listing; we take the earlier one.
    return Defect(
        file.path,
        DefectKind.COMPLETED_TWICE,
        f"{seen.name} completed this instant already: it was executed twice, or moved half-way",
    )
