# SPDX-License-Identifier: Apache-2.0
"""A folder of this machine, or of a mounted file system, as a storage."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from airflow_hudi.core.errors import (
    AirflowHudiError,
    EnvironmentProblem,
    FolderLocked,
    ObjectExists,
    ObjectNotFound,
    OutcomeUnknown,
    StorageError,
    VersionMismatch,
)
from airflow_hudi.core.storage._objects import content_version, object_path
from airflow_hudi.core.storage.base import Content, FileInfo, Listing, Version, checked_path

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# Hidden, and with a suffix that is neither a timeline action nor a base or log file's.
_TEMPORARY = re.compile(r"\.airflow-hudi-[0-9a-f]{16}\.tmp")
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_NOT_OFFERED = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EBADF)
_LOCK_PAUSE = 0.005
# What POSIX systems answer where there is nothing: a parent may be missing, or be a file itself.
_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class LocalStorage:
    """Files below one folder.

    A new object is written under a hidden name, synced, and then linked to its own name, which
    fails if that is taken. Replacing and deleting hold ``flock`` on the parent folder while they
    compare and act. That orders everyone who goes through this class, in any process of one
    machine. Not held back by the lock, only by the link: a program that writes past this class
    (Hudi itself), and another machine on the same network file system, where flock on a folder
    may be known to one client only.

    A crash may leave a hidden ``.airflow-hudi-….tmp`` file. No listing shows it; it may be deleted.
    """

    def __init__(
        self, root: str | os.PathLike[str], *, patience: timedelta = timedelta(seconds=30)
    ) -> None:
        self._root = Path(root).absolute()
        self._patience = patience

    def __repr__(self) -> str:
        return f"LocalStorage({self.uri!r})"

    @property
    def uri(self) -> str:
        """The absolute path of the root."""
        return str(self._root)

    def child(self, path: str) -> LocalStorage:
        """The same storage, rooted at a folder below."""
        return LocalStorage(self._root / checked_path(path), patience=self._patience)

    def list_folder(self, path: str) -> Listing:
        """The direct children of a folder; what vanishes meanwhile is left out."""
        folder = checked_path(path)
        try:
            with _reported(path), os.scandir(self._root / folder) as entries:
                found = [
                    (entry.name, status)
                    for entry in entries
                    if not _TEMPORARY.fullmatch(entry.name) and (status := _status(entry))
                ]
        except ObjectNotFound:
            return Listing()
        found.sort(key=lambda child: child[0])
        prefix = f"{folder}/" if folder else ""
        return Listing(
            files=tuple(
                FileInfo(prefix + name, status.st_size, _modified_at(status))
                for name, status in found
                if stat.S_ISREG(status.st_mode)
            ),
            folders=tuple(name for name, status in found if stat.S_ISDIR(status.st_mode)),
        )

    def read(self, path: str) -> bytes:
        """The whole object, or :class:`ObjectNotFound`."""
        return self.read_versioned(path).data

    def read_versioned(self, path: str) -> Content:
        """The whole object with the digest of its bytes as its version."""
        with _reported(path), self._file(path).open("rb") as file:
            modified_at = _modified_at(os.fstat(file.fileno()))
            data = file.read()
        return Content(data, content_version(data), modified_at)

    def create(self, path: str, data: bytes) -> Version:
        """Write a new object, with the folders it needs, or raise :class:`ObjectExists`."""
        target = self._file(path)
        with _reported(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with _temporary(target.parent, data) as temporary:
                _link(temporary, target, path)
        with _in_doubt(path):
            _sync_folder(target.parent)
        return content_version(data)

    def replace(self, path: str, data: bytes, *, expected: Version) -> Version:
        """Write over the content that was read, or raise :class:`VersionMismatch`."""
        target = self._file(path)
        try:
            with _reported(path), _locked(target.parent, self._patience) as folder:
                mode = _mode_of_unchanged(target, expected)
                with _temporary(target.parent, data, mode=mode) as temporary:
                    temporary.replace(target)
                with _in_doubt(path):
                    os.fsync(folder)
        except (_Changed, ObjectNotFound) as error:
            raise VersionMismatch(path, expected) from error
        return content_version(data)

    def delete(self, path: str, *, expected: Version | None = None) -> None:
        """Remove an object; a missing one is no error unless a version is expected."""
        target = self._file(path)
        # Locked even without a condition: a delete and a create that slip between the check and
        # the rename of a running replace would be undone by it.
        try:
            with _reported(path), _locked(target.parent, self._patience) as folder:
                if expected is not None:
                    _mode_of_unchanged(target, expected)
                target.unlink()
                with _in_doubt(path):
                    os.fsync(folder)
        except (_Changed, ObjectNotFound) as error:
            if expected is not None:
                raise VersionMismatch(path, expected) from error

    def _file(self, path: str) -> Path:
        return self._root / object_path(path)


class _Changed(Exception):
    """The file is not what was read before."""


def _mode_of_unchanged(file: Path, expected: Version) -> int:
    with file.open("rb") as stream:
        if content_version(stream.read()) != expected:
            raise _Changed
        return stat.S_IMODE(os.fstat(stream.fileno()).st_mode)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:  # gone meanwhile, or a link that leads nowhere or in a circle
        return None


def _link(temporary: Path, target: Path, path: str) -> None:
    try:
        target.hardlink_to(temporary)
    except FileExistsError as error:
        raise ObjectExists(path) from error
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        because = (
            f"{path} was not created: the file system of {target.parent} has no hard links,"
            " without which a file cannot appear whole and only once; use another one"
        )
        raise StorageError(because) from error


@contextmanager
def _reported(path: str) -> Iterator[None]:
    """What the operating system says, in this package's words."""
    try:
        yield
    except AirflowHudiError:
        raise  # some of them are OSErrors too
    except _MISSING as error:
        raise ObjectNotFound(path) from error
    except OSError as error:
        raise StorageError(f"{path or 'the folder'} cannot be used: {error}") from error


@contextmanager
def _in_doubt(path: str) -> Iterator[None]:
    """Behind the point of no return: the change is there, but may not survive a power failure."""
    try:
        yield
    except OSError as error:
        raise OutcomeUnknown(path, f"the folder could not be synced: {error}") from error


def _modified_at(status: os.stat_result) -> datetime:
    # Whole milliseconds, cut and not rounded, as Hudi's Java sees them.
    return _EPOCH + timedelta(milliseconds=status.st_mtime_ns // 1_000_000)


@contextmanager
def _temporary(folder: Path, data: bytes, *, mode: int | None = None) -> Iterator[Path]:
    """A synced file with this content beside its later name; gone afterwards."""
    file = folder / f".airflow-hudi-{os.urandom(8).hex()}.tmp"
    try:
        # Not tempfile: its files are for the owner only, and Spark may run as another user.
        with os.fdopen(os.open(file, _NEW_FILE, 0o666), "wb") as stream:
            if mode is not None:
                file.chmod(mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        yield file
    finally:
        with suppress(FileNotFoundError):
            file.unlink()


@contextmanager
def _locked(folder: Path, patience: timedelta) -> Iterator[int]:
    """Hold the folder's lock; the folder itself is locked, so that no lock file is left over."""
    try:
        import fcntl  # noqa: PLC0415 - missing on Windows, where the rest may still be imported
    except ImportError as error:
        what = "replacing or deleting a local file needs fcntl.flock, which this system lacks"
        raise EnvironmentProblem(what, cure="use Linux, macOS or WSL") from error
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _wait_for(folder, lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), patience)
        yield descriptor
    finally:
        # Said, not left to close: a process forked meanwhile would keep the lock with its copy.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _wait_for(folder: Path, lock: Callable[[], None], patience: timedelta) -> None:
    # Not a blocking lock: its holder may have been stopped, and then nobody could take over.
    started = time.monotonic()
    while not _has_locked(folder, lock):
        waited = time.monotonic() - started
        if waited > patience.total_seconds():
            raise FolderLocked(str(folder), waited)
        time.sleep(_LOCK_PAUSE)


def _has_locked(folder: Path, lock: Callable[[], None]) -> bool:
    try:
        lock()
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        because = (
            f"{folder} cannot be locked ({error.strerror}), nothing was written: its file"
            " system has no flock on folders; use another one"
        )
        raise StorageError(because) from error
    return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
