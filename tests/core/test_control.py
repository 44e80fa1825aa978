# SPDX-License-Identifier: Apache-2.0
"""The control folder: what is written once, what is found again, and storages that fail midway."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.attempts import Beat, Launched, Seat
from airflow_hudi.core.control import AttemptFolder, JobFolder, job_folder
from airflow_hudi.core.errors import (
    InvalidInput,
    ObjectExists,
    ObjectNotFound,
    OutcomeUnknown,
    StorageError,
)
from airflow_hudi.core.storage import InMemoryStorage, LocalStorage, Storage, Version
from airflow_hudi.testing import FakeClock
from tests.builders import EPOCH
from tests.jobs import KEY, a_report, a_spec

PROCESS = Launched("here", 7, "/tmp/log")


@pytest.fixture(params=["memory", "disk"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return InMemoryStorage() if request.param == "memory" else LocalStorage(tmp_path)


@pytest.fixture
def job(storage: Storage) -> JobFolder:
    return job_folder(storage, KEY)


def begun(job: JobFolder, number: int = 1) -> AttemptFolder:
    files = job.attempt(number)
    files.submit(a_spec(number))
    return files


# --- what is found --------------------------------------------------------------------------------


def test_a_job_nobody_began_has_no_attempt(job: JobFolder) -> None:
    assert job.latest_number() == 0
    assert job.load_latest() is None
    assert job.load_reports() == ()


def test_an_attempt_is_all_that_was_written_of_it(job: JobFolder) -> None:
    files = begun(job)
    attempt = job.load_latest()
    assert attempt is not None
    assert (attempt.number, attempt.launched, attempt.seat) == (1, None, None)
    assert attempt.last_sign_at == attempt.submitted_at
    files.record_launch(PROCESS)
    assert files.take_seat("here", 8)
    files.write_beat(Beat(1, "reading", "app-1", "http://ui"), None)
    files.write_report(a_report())
    files.cancel()
    files.deliver()
    attempt = files.load()
    assert attempt.launched == PROCESS
    assert attempt.seat == Seat("here", 8)
    assert attempt.beat == Beat(1, "reading", "app-1", "http://ui")
    assert attempt.report == a_report()
    assert attempt.is_cancelled
    assert attempt.is_delivered
    assert files.load_spec() == a_spec()


def test_the_newest_attempt_is_the_highest_number_with_a_spec(job: JobFolder) -> None:
    for number in (1, 2, 9, 10, 12345):
        begun(job, number)
    assert job.latest_number() == 12345
    job.storage.create(f"{job.path}/notes/x", b"")
    assert job.latest_number() == 12345


def test_a_folder_whose_spec_is_not_there_yet_is_no_attempt(tmp_path: Path) -> None:
    job = job_folder(LocalStorage(tmp_path), KEY)
    begun(job)
    (tmp_path / job.path / "0002").mkdir()  # a task crashed between the folder and the file
    assert job.latest_number() == 1
    assert not job.attempt(1).is_cancelled()
    assert begun(job, 2).load().number == 2


def test_an_attempt_that_lost_its_spec_says_what_to_remove(job: JobFolder) -> None:
    files = begun(job)
    files.take_seat("here", 8)
    job.storage.delete(f"{files.path}/spec.json")
    with pytest.raises(StorageError, match=r"spec.json is gone .* remove jobs/daily"):
        files.load()


def test_reports_of_all_attempts_come_oldest_first(job: JobFolder) -> None:
    for number in (1, 2, 3):
        begun(job, number)
    job.attempt(3).write_report(a_report(number=3))
    job.attempt(1).write_report(a_report(number=1))
    assert [report.attempt for report in job.load_reports()] == [1, 3]


def test_the_last_sign_of_life_is_the_newest_of_all() -> None:
    clock = FakeClock(EPOCH)
    files = begun(job_folder(InMemoryStorage(clock=clock), KEY))
    steps: list[Callable[[], object]] = [
        lambda: files.record_launch(PROCESS),
        lambda: files.take_seat("here", 8),
        lambda: files.write_beat(Beat(1), None),
    ]
    for step in steps:
        now = clock.advance(timedelta(minutes=1))
        step()
        assert files.load().last_sign_at == now
    clock.advance(timedelta(minutes=1))
    files.cancel()  # somebody else's word, not the driver's
    assert files.load().last_sign_at == EPOCH + timedelta(minutes=3)


def test_what_vanishes_between_listing_and_reading_was_never_there() -> None:
    class Forgetful(InMemoryStorage):
        def read(self, path: str) -> bytes:
            if path.endswith("beat.json"):
                raise ObjectNotFound(path)
            return super().read(path)

    files = begun(job_folder(Forgetful(), KEY))
    files.write_beat(Beat(1), None)
    assert files.load().beat is None


def test_a_damaged_file_is_an_error_of_ours(job: JobFolder) -> None:
    files = begun(job)
    job.storage.create(f"{files.path}/seat.json", b"{")
    with pytest.raises(InvalidInput, match="damaged"):
        files.load()


# --- once -----------------------------------------------------------------------------------------


def test_an_attempt_is_submitted_once(job: JobFolder) -> None:
    begun(job)
    with pytest.raises(ObjectExists):
        job.attempt(1).submit(a_spec(created_at=EPOCH + timedelta(seconds=1)))


def test_a_seat_is_taken_once(job: JobFolder) -> None:
    files = begun(job)
    assert files.take_seat("here", 8)
    assert not files.take_seat("there", 9)
    assert not files.close("here")
    assert files.load().is_seated


def test_a_closed_seat_is_never_taken(job: JobFolder) -> None:
    files = begun(job)
    assert files.close("here")
    assert not files.take_seat("here", 8)
    assert not files.load().is_seated


def test_a_report_is_written_once(job: JobFolder) -> None:
    files = begun(job)
    for _ in range(2):  # a driver that got no answer tries again
        files.write_report(a_report())
    with pytest.raises(ObjectExists):
        files.write_report(a_report(summary="another"))
    assert files.load_report() == a_report()


def test_cancelling_and_delivering_twice_is_once(job: JobFolder) -> None:
    files = begun(job)
    for _ in range(2):
        files.cancel()
        files.deliver()
    assert files.is_cancelled()
    assert files.load().is_delivered


def test_a_driver_is_told_to_stop_by_a_request_or_by_a_later_attempt(job: JobFolder) -> None:
    first, second = begun(job), job.attempt(2)
    assert not first.is_cancelled()
    begun(job, 2)
    assert first.is_cancelled()
    assert not second.is_cancelled()
    second.cancel()
    assert second.is_cancelled()


# --- giving up ------------------------------------------------------------------------------------


def test_giving_up_closes_the_seat_and_tells_the_driver(job: JobFolder) -> None:
    files = begun(job)
    assert job.give_up(files.load(), "here")
    assert not files.take_seat("here", 8)
    assert files.is_cancelled()
    assert job.give_up(files.load(), "here"), "a second task may come to the same end"


def test_a_driver_that_started_meanwhile_is_not_given_up(job: JobFolder) -> None:
    files = begun(job)
    seen = files.load()
    assert files.take_seat("here", 8)
    assert not job.give_up(seen, "here")
    assert not files.is_cancelled()


def test_a_driver_that_reported_meanwhile_is_not_given_up(job: JobFolder) -> None:
    files = begun(job)
    files.take_seat("here", 8)
    seen = files.load()
    files.write_report(a_report())
    assert not job.give_up(seen, "here")


def test_a_seated_driver_that_is_silent_is_told_to_stop(job: JobFolder) -> None:
    files = begun(job)
    files.take_seat("here", 8)
    assert job.give_up(files.load(), "here")
    assert files.is_cancelled()


# --- answers that are lost ------------------------------------------------------------------------


class Unreliable(InMemoryStorage):
    """Loses the answer to the next write: after it was done, or instead of doing it."""

    lose: str | None = None
    """"after" or "instead"."""

    def create(self, path: str, data: bytes) -> Version:
        return self._answer(path, lambda: super(Unreliable, self).create(path, data))

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        write = super().replace
        return self._answer(path, lambda: write(path, data, expected=expected))

    def _answer(self, path: str, write: Callable[[], Version]) -> Version:
        lose, self.lose = self.lose, None
        if lose != "instead":
            version = write()
        if lose:
            raise OutcomeUnknown(path, "the connection was lost")
        return version


WRITES: dict[str, Callable[[AttemptFolder], Any]] = {
    "submit": lambda files: files.submit(a_spec()),
    "record_launch": lambda files: files.record_launch(PROCESS),
    "take_seat": lambda files: files.take_seat("here", 8),
    "close": lambda files: files.close("here"),
    "cancel": lambda files: files.cancel(),
    "deliver": lambda files: files.deliver(),
    "write_report": lambda files: files.write_report(a_report()),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_whose_answer_was_lost_is_known_by_its_content(name: str) -> None:
    storage = Unreliable()
    files = job_folder(storage, KEY).attempt(1)
    storage.lose = "after"
    assert WRITES[name](files) in (None, True)
    assert len(storage.list_folder(files.path).files) == 1


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_cannot_be_found_is_in_doubt(name: str) -> None:
    storage = Unreliable()
    files = job_folder(storage, KEY).attempt(1)
    storage.lose = "instead"
    with pytest.raises(OutcomeUnknown):
        WRITES[name](files)


def test_a_seat_that_somebody_else_took_while_the_answer_was_lost_is_theirs() -> None:
    storage = Unreliable()
    files = job_folder(storage, KEY).attempt(1)
    assert files.take_seat("there", 9)
    storage.lose = "instead"
    assert not files.take_seat("here", 8)
    storage.lose = "instead"
    assert not files.close("here")


@pytest.mark.parametrize("lose", ["after", "instead"])
@pytest.mark.parametrize("beats_before", [0, 1, 2])
def test_one_lost_answer_does_not_silence_a_driver(lose: str, beats_before: int) -> None:
    storage = Unreliable()
    files = begun(job_folder(storage, KEY))
    version: Version | None = None
    for number in range(1, beats_before + 1):
        version = files.write_beat(Beat(number), version)
    storage.lose = lose
    number = beats_before + 1
    try:
        version = files.write_beat(Beat(number), version)
    except StorageError:
        assert (lose, beats_before) == ("instead", 0)  # nothing there to go on from; beats again
    for later in (number + 1, number + 2):
        version = files.write_beat(Beat(later), version)
        assert files.load().beat == Beat(later)


def test_a_driver_that_forgot_its_last_beat_goes_on_from_what_is_there(job: JobFolder) -> None:
    files = begun(job)
    files.write_beat(Beat(1), None)
    version = files.write_beat(Beat(2), None)
    files.write_beat(Beat(3), version)
    files.write_beat(Beat(4), version)
    assert files.load().beat == Beat(4)
