# SPDX-License-Identifier: Apache-2.0
"""What all jobs on a table must share, by a record that each leaves in the control folder.

::

    <control>/terms/<table>/<task>.<when>.json      written before a job of the task is launched

Two jobs with two locks have none, one with a short heartbeat takes a living writer for dead, and
one without the metadata table lets it go stale. A job records its own terms first and looks at
those of the others then: of two that start at once, one at least sees the other. What stays is the
last record of each task, and those of jobs that run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from airflow_hudi.core.config import HeartbeatKey, LockKey, TableKey, WriteKey
from airflow_hudi.core.errors import InvalidInput, InvalidSetting, ObjectExists, ObjectNotFound
from airflow_hudi.core.heartbeat import heartbeat_policy
from airflow_hudi.core.ingestion import IngestWork
from airflow_hudi.core.job_errors import MetadataTableLeftBehind, TermsDisagree
from airflow_hudi.core.jobs import JobKey, Work
from airflow_hudi.core.locks import LockSettings, lock_key, lock_path, multi_writer_options
from airflow_hudi.core.properties import TableProperties
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.values import decode, encode

FOLDER = "terms"
REMEMBERED = timedelta(days=30)
"""How long the terms of a task count that has not been started again."""

_LOCK = "lock"
_SERVICES = "table services run by"
_OF_CONNECTION = (_LOCK, LockKey.CONCURRENCY_MODE.value)
_LOOKED_AT = 8


@dataclass(frozen=True, slots=True)
class Terms:
    """What one job tells Hudi of all that must be the same in every job on its table."""

    lock: str
    """Which one it is; not how long it is waited for."""
    concurrency_mode: str
    heartbeat_interval: timedelta
    tolerable_misses: int
    metadata_table: bool
    services: str = ""
    """Who runs the table's services; empty: neither this job nor, as far as it knows, another."""

    def said(self) -> dict[str, str]:
        """Each under the name its owner knows."""
        millis = self.heartbeat_interval // timedelta(milliseconds=1)
        return {
            _LOCK: self.lock,
            LockKey.CONCURRENCY_MODE.value: self.concurrency_mode,
            HeartbeatKey.INTERVAL_MILLIS.value: str(millis),
            HeartbeatKey.TOLERABLE_MISSES.value: str(self.tolerable_misses),
            WriteKey.METADATA.value: str(self.metadata_table).lower(),
            _SERVICES: self.services,
        }


def terms_of(work: Work, lock: LockSettings, uri: str) -> Terms:
    """The terms of a job on the table at `uri`; Hudi's own defaults where its options are silent.

    :param lock: as :meth:`HudiSettings.lock_for` gives it
    """
    for key in HeartbeatKey:
        said = work.options.get(key.value, "1")
        if not said.isdecimal():
            raise InvalidSetting(key.value, said, allowed="a whole number")
    beats = heartbeat_policy(work.options)
    return Terms(
        lock=_identity(lock, uri),
        concurrency_mode=multi_writer_options()[LockKey.CONCURRENCY_MODE.value],
        heartbeat_interval=beats.interval,
        tolerable_misses=beats.tolerable_misses,
        # As Java reads it: whatever is not "true" is false.
        metadata_table=work.options.get(WriteKey.METADATA.value, "true").lower() == "true",
        services=_services(work),
    )


def _services(work: Work) -> str:
    if isinstance(work, (ServiceWork, CleanWork)):
        return "operators"
    return "writes" if isinstance(work, IngestWork) and work.inline_services else ""


def _identity(lock: LockSettings, uri: str) -> str:
    if lock.zookeeper is None:
        return lock.kind.value
    hosts, slash, root = lock.zookeeper.hosts.partition("/")
    ensemble = ",".join(sorted(hosts.lower().split(",")))
    path = f"{slash}{root}".rstrip("/") + lock_path(lock.zookeeper, lock_key(uri))
    return f"{lock.kind.value} {ensemble} {path}"


def check_metadata_table(terms: Terms, table: TableProperties, uri: str) -> None:
    """Raise where the table has a metadata table that the job would not keep up."""
    partitions = table.listed(TableKey.METADATA_PARTITIONS)
    if partitions and not terms.metadata_table:
        raise MetadataTableLeftBehind(uri, partitions, option=WriteKey.METADATA.value)


# --- the decision --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Record:
    """The terms of one job, and where to look whether it runs."""

    task: str
    """``dag/task``: neither the run nor the map index."""
    job: str
    folder: str
    attempt: int
    conn_id: str
    terms: Terms
    recorded_at: datetime


def record_of(key: JobKey, attempt: int, conn_id: str, terms: Terms, *, now: datetime) -> Record:
    """What is recorded before an attempt is launched."""
    return Record(f"{key.dag_id}/{key.task_id}", str(key), key.folder, attempt, conn_id, terms, now)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Another job's record that says something else."""

    mine: Record
    theirs: Record
    names: tuple[str, ...]
    """What differs."""
    is_running: bool
    lasts: bool
    """Whether it is still there when that job has ended."""

    def __str__(self) -> str:
        last = f"last started {self.theirs.recorded_at:%Y-%m-%d %H:%M} UTC"
        doing = f"running: {self.theirs.job}" if self.is_running else last
        return f"{self._side(self.mine)}, and {self._side(self.theirs, f', {doing}')}"

    def _side(self, record: Record, doing: str = "") -> str:
        said = ", ".join(f"{name}={record.terms.said()[name]}" for name in self.names)
        return f"{record.task} (connection {record.conn_id}{doing}) has {said}"


def disagreements(
    mine: Record, others: Mapping[Record, bool], *, now: datetime
) -> tuple[Disagreement, ...]:
    """The records that count and differ, with what differs.

    All terms of a job that runs count. Of one that has ended, only what its task will say again: of
    another task, its last record, not older than a month; and nothing that comes from a connection
    both share, for once that is changed, everybody's next start is.

    :param others: by record, whether its job is running
    """
    newest = {one.task: one for one in sorted(others, key=lambda one: one.recorded_at)}
    found = []
    for theirs, is_running in others.items():
        said = theirs.terms.said()
        differ = tuple(name for name, own in mine.terms.said().items() if _differ(own, said[name]))
        is_past = theirs.task == mine.task or newest[theirs.task] != theirs
        shared = _OF_CONNECTION if theirs.conn_id == mine.conn_id else ()
        lasting = tuple(name for name in differ if name not in shared)
        if is_past or now - theirs.recorded_at > REMEMBERED:
            lasting = ()
        names = differ if is_running else lasting
        if names:
            found.append(Disagreement(mine, theirs, names, is_running, lasts=bool(lasting)))
    return tuple(found)


def _differ(own: str, said: str) -> bool:
    return own != said and "" not in (own, said)


# --- load, and apply -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TermsFolder:
    """The terms of all jobs on one table."""

    storage: Storage
    """Rooted at the control folder."""
    uri: str
    """The table."""
    runs: Callable[[Record], bool]
    """Whether a job runs, or is not known to be dead."""

    @contextmanager
    def declared(self, mine: Record, *, now: datetime) -> Iterator[None]:
        """Record what a job is about to be launched with, or raise :class:`TermsDisagree`.

        The record is withdrawn where it is refused, and where the job is not launched after all.
        """
        with ExitStack() as undo:
            undo.callback(self._withdraw, mine)
            with suppress(ObjectExists):  # a try whose answer was lost: the name is nobody else's
                self.storage.create(self.path_of(mine), encode(mine))
            others = self._load_others(mine)
            judged = {one: one.terms != mine.terms and self.runs(one) for one in others}
            found = disagreements(mine, judged, now=now)
            if found:
                raise self._refusal(found)
            self._remove_ended([one for one in others if one.task == mine.task][:_LOOKED_AT])
            yield
            undo.pop_all()

    def path_of(self, record: Record) -> str:
        """Where a record is: below one place for all spellings of the table's own."""
        name = re.sub(r"[^A-Za-z0-9_-]+", ".", record.task)[:80]
        which = _digest(record.task), f"{record.recorded_at:%Y%m%dT%H%M%S%f}", _digest(record.job)
        return f"{FOLDER}/{lock_key(self.uri)}/{name}.{'.'.join(which)}.json"

    def _withdraw(self, mine: Record) -> None:
        """With what its task said before: whoever was refused has no say until it starts again, or
        two tasks could never be changed together."""
        self.storage.delete(self.path_of(mine))
        self._remove_ended([one for one in self._load_others(mine) if one.task == mine.task])

    def _remove_ended(self, records: Iterable[Record]) -> None:
        for record in records:
            if not self.runs(record):
                self.storage.delete(self.path_of(record))

    def _load_others(self, mine: Record) -> list[Record]:
        """By task, oldest first."""
        own = self.path_of(mine)
        listing = self.storage.list_folder(own.rpartition("/")[0])
        records = (self._load(file.path) for file in listing.files if file.path != own)
        return [record for record in records if record is not None]

    def _load(self, path: str) -> Record | None:
        try:
            return decode(Record, self.storage.read(path))
        except ObjectNotFound:
            return None
        except InvalidInput as error:
            cure = "remove it: its task's next start writes another"
            raise InvalidInput(f"{self.storage.uri}/{path}: {error}; {cure}") from error

    def _refusal(self, found: tuple[Disagreement, ...]) -> TermsDisagree:
        lasting = [f"{self.storage.uri}/{self.path_of(one.theirs)}" for one in found if one.lasts]
        cure = f"try again when {', '.join(one.theirs.job for one in found)} has ended"
        if lasting:
            paths = ", ".join(lasting)
            cure = f"make them equal, or remove the record of a task that is no more ({paths})"
        return TermsDisagree(self.uri, map(str, found), cure=cure, retryable=not lasting)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
