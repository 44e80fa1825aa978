# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_hudi.core.errors import (
    EnvironmentProblem,
    FolderLocked,
    ObjectNotFound,
    OutcomeUnknown,
    StorageError,
    VersionMismatch,
)
from airflow_hudi.core.storage import Listing, LocalStorage, Version
from airflow_hudi.testing import StorageContract

PROJECT = Path(__file__).parents[3]
RACERS = 4

# Each process says that it is ready and waits for the word to start.
CREATE_RACE = """
import sys
from airflow_hudi.core.errors import ObjectExists
from airflow_hudi.core.storage import LocalStorage
storage, me = LocalStorage(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(50):
    try:
        storage.create(f"race/{number}", me.encode())
        print(number)
    except ObjectExists:
        pass
"""
INCREMENT_RACE = """
import sys
from airflow_hudi.core.errors import VersionMismatch
from airflow_hudi.core.storage import LocalStorage
storage = LocalStorage(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
done = 0
while done < 25:
    now = storage.read_versioned("counter")
    try:
        storage.replace("counter", b"%d" % (int(now.data) + 1), expected=now.version)
        done += 1
    except VersionMismatch:
        pass
"""


class TestLocalStorage(StorageContract):
    racers = 8
    rounds = 10

    @pytest.fixture
    def storage(self, tmp_path: Path) -> LocalStorage:
        return LocalStorage(tmp_path / "root")


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(tmp_path)


def race_of_processes(code: str, root: Path) -> list[list[str]]:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(root), str(racer)],
            env={"PYTHONPATH": str(PROJECT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for racer in range(RACERS)
    ]
    try:
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        said = [racer.communicate(timeout=30)[0].split() for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()
    assert [racer.returncode for racer in racers] == [0] * RACERS
    return said


def test_of_many_creating_processes_one_wins(tmp_path: Path) -> None:
    won = race_of_processes(CREATE_RACE, tmp_path)
    assert sorted(int(number) for racer in won for number in racer) == list(range(50))
    for racer, numbers in enumerate(won):
        for number in numbers:
            assert (tmp_path / "race" / number).read_text() == str(racer)
    assert len(list((tmp_path / "race").iterdir())) == 50  # no temporary file is left over


def test_incrementing_processes_lose_no_update(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("0")
    race_of_processes(INCREMENT_RACE, tmp_path)
    assert (tmp_path / "counter").read_text() == str(RACERS * 25)
    assert [file.name for file in tmp_path.iterdir()] == ["counter"]


def test_listing_hides_what_a_crashed_writer_left(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create(".f1_0.log.1", b"1")
    (tmp_path / ".airflow-hudi-0123456789abcdef.tmp").write_bytes(b"half")
    assert [file.name for file in storage.list_folder("").files] == [".f1_0.log.1"]


def test_times_are_cut_to_milliseconds(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("a", b"1")
    os.utime(tmp_path / "a", ns=(0, 1_767_225_600_123_999_999))
    modified_at = storage.list_folder("").files[0].modified_at
    assert modified_at == datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=timezone.utc)


def test_names_that_are_no_utf8_are_read_and_listed(storage: LocalStorage, tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")).write_bytes(b"1")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    listed = storage.list_folder("").files[0]
    assert storage.read(listed.path) == b"1"
    version = storage.read_versioned(listed.path).version
    storage.replace(listed.path, b"2", expected=version)
    storage.create(listed.path + "2", b"3")
    assert len(storage.list_folder("").files) == 2


def test_links_that_lead_nowhere_are_not_listed(storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    assert storage.list_folder("") == Listing()


def test_a_file_is_no_folder_and_a_folder_no_object(storage: LocalStorage) -> None:
    version = storage.create("folder/file", b"1")
    assert storage.list_folder("folder/file") == Listing()
    for path in ("folder", "folder/file/below"):
        with pytest.raises(ObjectNotFound):
            storage.read(path)
        with pytest.raises(VersionMismatch):
            storage.replace(path, b"2", expected=version)
        with pytest.raises(VersionMismatch):
            storage.delete(path, expected=version)
        storage.delete(path)
    assert storage.read("folder/file") == b"1"


def test_new_files_follow_the_umask_and_replaced_ones_keep_their_mode(
    storage: LocalStorage, tmp_path: Path
) -> None:
    before = os.umask(0o027)
    try:
        version = storage.create("a", b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    (tmp_path / "a").chmod(0o604)
    storage.replace("a", b"2", expected=version)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o604


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_folder_is_not_an_empty_one(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("closed/a", b"1")
    (tmp_path / "closed").chmod(0)
    try:
        with pytest.raises(StorageError, match="closed cannot be used"):
            storage.list_folder("closed")
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_refusals_of_the_system_are_not_taken_for_emptiness(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(StorageError, match="denied"):
        storage.list_folder("")


def test_without_hard_links_create_says_so_and_leaves_nothing(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="no hard links"):
        storage.create("a", b"1")
    assert list(tmp_path.iterdir()) == []


def test_other_failures_of_create_are_said(
    storage: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(StorageError, match="broken disk"):
        storage.create("a", b"1")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be_is_no_existing_object(storage: LocalStorage) -> None:
    storage.create("a", b"1")
    with pytest.raises(StorageError) as raised:
        storage.create("a/b", b"2")
    assert not isinstance(raised.value, FileExistsError)


def test_a_sync_that_fails_after_the_write_leaves_the_outcome_open(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "broken disk")

    version = storage.create("a", b"1")
    monkeypatch.setattr("airflow_hudi.core.storage.local._sync_folder", fail)
    with pytest.raises(OutcomeUnknown, match="broken disk"):
        storage.create("b", b"1")
    assert storage.read("b") == b"1"
    assert storage.replace("a", b"2", expected=version)


def test_a_stopped_holder_of_the_lock_does_not_stop_the_others(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path, patience=timedelta(milliseconds=50))
    version = storage.create("a", b"1")
    lock = f"fcntl.flock(os.open({str(tmp_path)!r}, os.O_RDONLY), fcntl.LOCK_EX)"
    script = f"import fcntl, os; {lock}; print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(FolderLocked, match="stopped or hanging") as raised:
                storage.replace("a", b"2", expected=version)
            assert raised.value.retryable
            assert storage.read("a") == b"1"
        finally:
            holder.kill()
    assert storage.replace("a", b"2", expected=version)


def test_links_that_lead_nowhere_are_left_out(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("a", b"1")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    assert [file.name for file in storage.list_folder("").files] == ["a"]


def test_content_says_when_it_was_written(storage: LocalStorage, tmp_path: Path) -> None:
    storage.create("a", b"1")
    os.utime(tmp_path / "a", ns=(0, 1_500_000_000_123_456_789))
    assert storage.read_versioned("a").modified_at == datetime(
        2017, 7, 14, 2, 40, 0, 123000, tzinfo=timezone.utc
    )


def test_a_folder_that_cannot_be_locked_is_said(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EBADF, "bad descriptor")

    version = storage.create("a", b"1")
    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(StorageError, match="cannot be locked"):
        storage.replace("a", b"2", expected=version)
    assert storage.read("a") == b"1"


def test_without_fcntl_reading_and_creating_still_work(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    storage.create("a", b"1")
    with pytest.raises(EnvironmentProblem, match="WSL"):
        storage.delete("a", expected=Version("x"))


def test_a_storage_shows_where_it_is(storage: LocalStorage, tmp_path: Path) -> None:
    assert storage.uri == str(tmp_path)
    assert str(tmp_path) in repr(storage)
