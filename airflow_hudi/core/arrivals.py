# SPDX-License-Identifier: Apache-2.0
"""What has arrived on a table since a point in time: the commits that are news to its readers.

Order and age go by completion, for that is when a commit becomes visible. Table services move rows
without changing them and are no news: a compaction or a clustering is known by what it was
requested as, and a replace commit of layout 1 only by the operation written inside it. So a commit
file is opened only where its name does not tell enough, or where partitions are asked for.

A file that is damaged where it has to tell something is a defect, and does not count: that a
partition has arrived cannot be concluded from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeAlias

from airflow_hudi.core.commits import CommitMetadata, decode_commit
from airflow_hudi.core.decoding import load_decoded
from airflow_hudi.core.defects import Defect, DefectKind, empty
from airflow_hudi.core.errors import InvalidWait
from airflow_hudi.core.instants import Action, Instant, InstantTime, State, Zone, instant_time
from airflow_hudi.core.layout import InstantFile
from airflow_hudi.core.plans import CLUSTER
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import JsonValue, to_json

LISTED = 100
"""How many commits, and partitions of one commit, a JSON result names; the counts are whole."""

_SERVICES = frozenset({Action.COMPACTION, Action.LOGCOMPACTION, Action.CLUSTERING})
_SERVICE_OPERATIONS = frozenset({CLUSTER, "COMPACT", "LOG_COMPACT"})


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for: so many new commits, or one in every one of these partitions."""

    after: InstantTime | datetime | None = None
    """An instant of the table, a moment, or None, for which every commit is new."""
    partitions: tuple[str, ...] | None = None
    """Partitions, or folders above some; a commit that changed none of them does not count."""
    every_partition: bool = False
    min_commits: int = 1

    def __post_init__(self) -> None:
        if self.partitions is not None and not self.partitions:
            raise InvalidWait("no partition at all is asked for; leave it out to accept any")
        if self.min_commits < 1:
            raise InvalidWait(f"{self.min_commits} commits are nothing to wait for")
        if isinstance(self.after, datetime) and self.after.tzinfo is None:
            raise InvalidWait(f"{self.after.isoformat()} has no time zone")


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What a commit file says that matters here; its write statistics may be megabytes."""

    operation: str | None = None
    partitions: tuple[str, ...] = ()
    """Those it wrote to or took files out of, sorted."""
    inserts: int = 0
    updates: int = 0
    deletes: int = 0


Opened: TypeAlias = Mapping[InstantFile, CommitFacts | Defect]
"""What was read from commit files; a file that has grown since is another key, and read again."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One commit that is news."""

    instant: Instant
    facts: CommitFacts | None = None
    """None where its file did not have to be opened."""
    partitions: tuple[str, ...] = ()
    """Those of its partitions that were asked for, or all where none was; sorted."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The news, in the order they became visible, and what could not be judged."""

    commits: tuple[Arrival, ...] = ()
    defects: tuple[Defect, ...] = ()
    """Commit files too damaged to tell whether they are news; they are not counted."""
    newest: InstantTime | None = None
    """The last commit to become visible of those counted: the next ``after``."""

    def satisfies(self, wait: Wait) -> bool:
        """Whether that is all that was waited for."""
        if len(self.commits) < wait.min_commits:
            return False
        if wait.partitions is None or not wait.every_partition:
            return True
        arrived = {partition for commit in self.commits for partition in commit.partitions}
        return all(any(_is_in(part, asked) for part in arrived) for asked in wait.partitions)

    def as_json(self) -> dict[str, JsonValue]:
        """The news in short, for an XCom; the newest commits are named."""
        return {
            "newest": self.newest,
            "commit_count": len(self.commits),
            "commits": [_arrival_json(arrival) for arrival in self.commits[-LISTED:]],
            "defects": to_json(self.defects[-LISTED:]),
        }


def parse_after(text: str) -> InstantTime | datetime | None:
    """The point a text names: an instant's digits, an ISO time (UTC without an offset), or none."""
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return instant_time(text)
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError as error:
        raise InvalidWait(
            f"{text!r} is neither an instant such as 20260131093000123 nor a time such as"
            " 2026-01-31T09:30:00+00:00"
        ) from error
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc)


def format_after(after: InstantTime | datetime | None) -> str:
    """The text that :func:`parse_after` reads back."""
    if after is None:
        return ""
    return after.isoformat() if isinstance(after, datetime) else after


def load_arrivals(
    table: Table, wait: Wait, opened: Opened | None = None
) -> tuple[Arrivals, Opened]:
    """What has arrived, from one listing, and what was read for it: pass that in the next time."""
    timeline = load_timeline(table)
    known = opened or {}
    facts: dict[InstantFile, CommitFacts | Defect] = {}
    for file in files_to_open(timeline, wait, zone=table.zone):
        facts[file] = known[file] if file in known else _load_facts(table, file)
    arrivals = find_arrivals(timeline, wait, zone=table.zone, opened=facts)
    return arrivals, {file: said for file, said in facts.items() if not _has_vanished(said)}


def files_to_open(timeline: Timeline, wait: Wait, *, zone: Zone) -> tuple[InstantFile, ...]:
    """The commit files that must be read before :func:`find_arrivals` can judge them all."""
    return tuple(
        file
        for instant in _candidates(timeline, wait, zone)
        if (file := timeline.file_of(instant, State.COMPLETED)) is not None
        and file.size
        and (wait.partitions is not None or not _told_by_name(timeline, instant))
    )


def find_arrivals(timeline: Timeline, wait: Wait, *, zone: Zone, opened: Opened) -> Arrivals:
    """The commits that are news, judged by their names and by what was read from their files."""
    commits: list[Arrival] = []
    defects: list[Defect] = []
    for instant in _candidates(timeline, wait, zone):
        verdict = _judge(instant, _said_of(timeline, instant, opened), wait)
        if isinstance(verdict, Arrival):
            commits.append(verdict)
        elif verdict is not None:
            defects.append(verdict)
    newest = commits[-1].instant.requested_at if commits else None
    return Arrivals(tuple(commits), tuple(defects), newest)


def _candidates(timeline: Timeline, wait: Wait, zone: Zone) -> Iterator[Instant]:
    since = _since(timeline, wait.after, zone)
    for instant in timeline.completed().writes().by_completion():
        is_new = since is None or _place(instant) > since
        is_named = instant.requested_at == wait.after  # never news after itself
        if is_new and not is_named and timeline.planned_as(instant) not in _SERVICES:
            yield instant


def _since(
    timeline: Timeline, after: InstantTime | datetime | None, zone: Zone
) -> tuple[str, str] | None:
    if after is None:
        return None
    if isinstance(after, datetime):
        return zone.digits(after), _LAST
    # Times can be shared: of a savepoint and the write it keeps, of a write and its completion.
    named = timeline.completed().writes().find(after)
    if named is not None:
        return _place(named)
    # Archived, rolled back, pending, or no instant at all: taken as the moment its digits say.
    return after, _LAST


_LAST = "~"  # behind all digits: what completed at this very time is not new


def _place(instant: Instant) -> tuple[str, str]:
    # Storages that keep whole seconds give equal completion times; the requested time decides then.
    return instant.completed_at or "", instant.requested_at


def _told_by_name(timeline: Timeline, instant: Instant) -> bool:
    was_requested = timeline.file_of(instant, State.REQUESTED) is not None
    return was_requested and instant.action is not Action.REPLACECOMMIT


def _said_of(timeline: Timeline, instant: Instant, opened: Opened) -> CommitFacts | Defect | None:
    file = timeline.file_of(instant, State.COMPLETED)
    # Hudi writes something into every completed commit: it is damaged, or being written just now.
    if file is not None and not file.size:
        return empty(file.path)
    return None if file is None else opened.get(file)


def _judge(
    instant: Instant, said: CommitFacts | Defect | None, wait: Wait
) -> Arrival | Defect | None:
    if said is None:
        return Arrival(instant)
    if isinstance(said, Defect):
        return said
    if (said.operation or "").upper() in _SERVICE_OPERATIONS:
        return None
    if wait.partitions is None:
        return Arrival(instant, said, said.partitions)
    asked = wait.partitions
    found = tuple(part for part in said.partitions if any(_is_in(part, one) for one in asked))
    return Arrival(instant, said, found) if found else None


def _is_in(partition: str, folder: str) -> bool:
    return partition == folder or not folder or partition.startswith(f"{folder}/")


def _load_facts(table: Table, file: InstantFile) -> CommitFacts | Defect:
    return load_decoded(table.storage, file.path, lambda data: _facts(decode_commit(data)))


def _facts(commit: CommitMetadata) -> CommitFacts:
    return CommitFacts(
        operation=commit.operation,
        partitions=tuple(sorted({group.partition for group in commit.file_groups})),
        inserts=commit.inserts,
        updates=commit.updates,
        deletes=commit.deletes,
    )


def _has_vanished(said: CommitFacts | Defect) -> bool:
    return isinstance(said, Defect) and said.kind is DefectKind.VANISHED


def _arrival_json(arrival: Arrival) -> dict[str, JsonValue]:
    instant = arrival.instant
    data: dict[str, JsonValue] = {
        "requested_at": instant.requested_at,
        "completed_at": instant.completed_at,
        "action": instant.action.value,
    }
    if arrival.facts is None:
        return data
    facts = arrival.facts
    return data | {
        "operation": facts.operation,
        "partitions": list(arrival.partitions[:LISTED]),
        "partition_count": len(arrival.partitions),
        "inserts": facts.inserts,
        "updates": facts.updates,
        "deletes": facts.deletes,
    }
