# SPDX-License-Identifier: Apache-2.0
"""The control folder: where operator and driver leave word for each other.

It lies beside the tables, never inside one; losing it loses no data of a table. Every file is
written once, but for the heartbeat, which only its driver replaces.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from airflow_hudi.core.attempts import Attempt, Beat, Launched, Seat
from airflow_hudi.core.errors import (
    ObjectExists,
    ObjectNotFound,
    OutcomeUnknown,
    StorageError,
    VersionMismatch,
)
from airflow_hudi.core.jobs import JobKey, JobReport, JobSpec, decode_spec
from airflow_hudi.core.storage.base import FileInfo, Storage, Version
from airflow_hudi.core.values import decode, encode

T = TypeVar("T")

_SPEC = "spec.json"
_LAUNCHED = "launched.json"
_SEAT = "seat.json"
_BEAT = "beat.json"
_CANCEL = "cancel.json"
_REPORT = "report.json"
_DELIVERED = "delivered.json"
_SIGNS_OF_LIFE = (_SPEC, _LAUNCHED, _SEAT, _BEAT)
_SAID = b"{}"


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One job's place in the control folder."""

    storage: Storage
    """Rooted at the control folder."""
    path: str

    def attempt(self, number: int) -> AttemptFolder:
        """One attempt's place."""
        return AttemptFolder(self.storage, f"{self.path}/{number:04}", number)

    def latest_number(self) -> int:
        """The number of the newest attempt, 0 where there is none.

        A folder without a spec is none (yet): on a disk it comes into being before the file in it.
        """
        folders = self.storage.list_folder(self.path).folders
        numbers = sorted((int(name) for name in folders if name.isdecimal()), reverse=True)
        return next((number for number in numbers if self.attempt(number).is_submitted()), 0)

    def load_latest(self) -> Attempt | None:
        """The newest attempt, if there ever was one."""
        number = self.latest_number()
        return self.attempt(number).load() if number else None

    def give_up(self, attempt: Attempt, host: str) -> bool:
        """Make sure that an attempt taken for dead stays dead, before another one begins.

        False where it was not dead at all: its driver took the seat, or reported, meanwhile.
        """
        files = self.attempt(attempt.number)
        if attempt.seat is None and not files.close(host):
            return False
        files.cancel()
        # Asked after the driver was told to stop, not before: else it could report in between.
        return files.load_report() is None

    def load_reports(self) -> tuple[JobReport, ...]:
        """The reports of all attempts, oldest first."""
        reports = (self.attempt(n).load_report() for n in range(1, self.latest_number() + 1))
        return tuple(report for report in reports if report is not None)


def job_folder(control: Storage, key: JobKey) -> JobFolder:
    """The folder of a task's job."""
    return JobFolder(control, key.folder)


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """One attempt's files."""

    storage: Storage
    path: str
    number: int

    # --- the operator's side -------------------------------------------------------------------

    def submit(self, spec: JobSpec) -> None:
        """Claim the right to launch this attempt, or raise :class:`ObjectExists`."""
        self._create_own(_SPEC, encode(spec))

    def record_launch(self, launched: Launched) -> None:
        """Say which process was started."""
        self._create_own(_LAUNCHED, encode(launched))

    def close(self, host: str) -> bool:
        """Take the seat so that no driver can; False where a driver has it already."""
        return self._take_seat(Seat(host, None))

    def cancel(self) -> None:
        """Ask the driver to stop; it looks at every beat."""
        with contextlib.suppress(ObjectExists):
            self._create_own(_CANCEL, _SAID)

    def deliver(self) -> None:
        """Note that the report has become a task's result."""
        with contextlib.suppress(ObjectExists):
            self._create_own(_DELIVERED, _SAID)

    # --- the driver's side ---------------------------------------------------------------------

    def load_spec(self) -> JobSpec:
        """What this attempt is to do; one of another version line is :class:`VersionSkew`."""
        return decode_spec(self.storage.read(self._file(_SPEC)))

    def take_seat(self, host: str, pid: int) -> bool:
        """Become the one driver of this attempt; False where somebody was faster."""
        return self._take_seat(Seat(host, pid))

    def is_cancelled(self) -> bool:
        """Whether somebody asked the driver to stop, or began a later attempt."""
        files = self.storage.list_folder(self.path).files
        if any(file.name == _CANCEL for file in files):
            return True
        later = f"{self.path.rpartition('/')[0]}/{self.number + 1:04}"
        return bool(self.storage.list_folder(later).files)

    def write_beat(self, beat: Beat, previous: Version | None) -> Version:
        """Prove life. Whatever is there is the driver's own, for the seat is taken once: where an
        answer of the storage was lost, the beat that it was about must not be the last one."""
        path, data = self._file(_BEAT), encode(beat)
        try:
            if previous is None:
                return self.storage.create(path, data)
            return self.storage.replace(path, data, expected=previous)
        except (OutcomeUnknown, ObjectExists, VersionMismatch):
            there = self.storage.read_versioned(path)
            if there.data == data:
                return there.version
            return self.storage.replace(path, data, expected=there.version)

    def write_report(self, report: JobReport) -> None:
        """Say how it ended, once; another report is :class:`ObjectExists`, the same one is not."""
        data = encode(report)
        try:
            self._create_own(_REPORT, data)
        except ObjectExists:
            if self._content(_REPORT) != data:  # else an earlier try, whose answer was lost
                raise

    # --- both ----------------------------------------------------------------------------------

    def is_submitted(self) -> bool:
        """Whether anybody ever claimed this attempt."""
        return any(file.name == _SPEC for file in self.storage.list_folder(self.path).files)

    def load_report(self) -> JobReport | None:
        """The report, if there is one yet."""
        return self._load(_REPORT, JobReport)

    def load(self) -> Attempt:
        """All that is known of the attempt: one listing, and the few small files it shows."""
        files = {file.name: file for file in self.storage.list_folder(self.path).files}
        return Attempt(
            number=self.number,
            submitted_at=_submitted_at(files, self.path),
            launched=self._load(_LAUNCHED, Launched) if _LAUNCHED in files else None,
            seat=self._load(_SEAT, Seat) if _SEAT in files else None,
            beat=self._load(_BEAT, Beat) if _BEAT in files else None,
            last_sign_at=max(files[n].modified_at for n in _SIGNS_OF_LIFE if n in files),
            report=self.load_report() if _REPORT in files else None,
            is_cancelled=_CANCEL in files,
            is_delivered=_DELIVERED in files,
        )

    def _load(self, name: str, cls: type[T]) -> T | None:
        data = self._content(name)
        return None if data is None else decode(cls, data)

    def _take_seat(self, seat: Seat) -> bool:
        try:
            self._create_own(_SEAT, encode(seat))
        except ObjectExists:
            return False
        return True

    def _create_own(self, name: str, data: bytes) -> None:
        """Create; where it is not known whether that worked, the content tells whose it is."""
        path = self._file(name)
        try:
            self.storage.create(path, data)
        except OutcomeUnknown as error:
            there = self._content(name)
            if there is None:
                raise
            if there != data:
                raise ObjectExists(path) from error

    def _content(self, name: str) -> bytes | None:
        try:
            return self.storage.read(self._file(name))
        except ObjectNotFound:
            return None

    def _file(self, name: str) -> str:
        return f"{self.path}/{name}"


def _submitted_at(files: Mapping[str, FileInfo], path: str) -> datetime:
    if _SPEC not in files:
        raise StorageError(f"{path}/{_SPEC} is gone from the control folder; remove {path} as well")
    return files[_SPEC].modified_at
