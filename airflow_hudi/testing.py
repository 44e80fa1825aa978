# SPDX-License-Identifier: Apache-2.0
"""Doubles and contracts for your own tests; nothing here is used outside of tests.

pytest is not imported: a contract is a plain class, to inherit and to give a fixture. For readable
failures, ``pytest.register_assert_rewrite("airflow_hudi.testing")`` goes into your ``conftest.py``.
"""

# ruff: noqa: D102 - a contract's tests are named after what holds

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import TypeVar

from airflow_hudi.core.errors import (
    ConcurrencyError,
    LockNotHeld,
    ObjectExists,
    ObjectNotFound,
    UnsafePath,
    VersionMismatch,
)
from airflow_hudi.core.locks import Lock
from airflow_hudi.core.storage import InMemoryStorage, Listing, Storage, Version

__all__ = ["FakeClock", "InMemoryStorage", "LockContract", "StorageContract"]

T = TypeVar("T")


class FakeClock:
    """A clock that stands still until it is told; call it for the time."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=timezone.utc)) -> None:
        self._now = now
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            return self._now

    def advance(self, by: timedelta) -> datetime:
        """Let time pass; the new time comes back. A negative step is a clock set back."""
        with self._lock:
            self._now += by
            return self._now


class StorageContract:
    """What every :class:`~airflow_hudi.core.storage.Storage` must hold to, races included.

    ::

        class TestMyStorage(StorageContract):
            @pytest.fixture
            def storage(self) -> Storage:  # empty, and new for each test
                return MyStorage(...)

    ``racers`` and ``rounds`` set how hard the races are run.
    """

    racers = 6
    rounds = 4

    def test_create_then_read_gives_the_same_bytes(self, storage: Storage) -> None:
        assert isinstance(storage, Storage)
        version = storage.create("a/b/c.txt", b"\x00\xff content")
        assert storage.read("a/b/c.txt") == b"\x00\xff content"
        assert storage.read_versioned("a/b/c.txt").version == version

    def test_an_empty_object_is_an_object(self, storage: Storage) -> None:
        storage.create("empty", b"")
        assert storage.read("empty") == b""
        assert [(file.name, file.size) for file in storage.list_folder("").files] == [("empty", 0)]

    def test_a_large_object_comes_back_whole(self, storage: Storage) -> None:
        data = bytes(range(256)) * (6 * 1024 * 4)  # 6 MiB
        storage.create("large", data)
        assert storage.read("large") == data
        assert storage.list_folder("").files[0].size == len(data)

    def test_reading_a_missing_object_says_so(self, storage: Storage) -> None:
        for path in ("missing", "missing/object"):
            with _raises(ObjectNotFound):
                storage.read(path)

    def test_create_refuses_an_existing_object_and_leaves_it(self, storage: Storage) -> None:
        storage.create("once", b"first")
        with _raises(ObjectExists):
            storage.create("once", b"second")
        assert storage.read("once") == b"first"

    def test_replace_writes_only_over_what_was_read(self, storage: Storage) -> None:
        first = storage.create("state", b"1")
        second = storage.replace("state", b"2", expected=first)
        assert storage.read_versioned("state").version == second != first
        with _raises(VersionMismatch):
            storage.replace("state", b"3", expected=first)
        assert storage.read("state") == b"2"

    def test_replace_after_delete_writes_nothing(self, storage: Storage) -> None:
        version = storage.create("folder/state", b"1")
        storage.delete("folder/state")
        with _raises(VersionMismatch):
            storage.replace("folder/state", b"2", expected=version)
        with _raises(VersionMismatch):
            storage.replace("missing/folder/state", b"2", expected=version)
        with _raises(ObjectNotFound):
            storage.read("folder/state")

    def test_create_after_delete_starts_anew(self, storage: Storage) -> None:
        storage.create("again", b"1")
        for path in ("again", "again", "missing/object"):  # what is gone already is no error
            storage.delete(path)
        storage.create("again", b"2")
        assert storage.read("again") == b"2"

    def test_delete_removes_the_expected_version_once(self, storage: Storage) -> None:
        version = storage.create("lock", b"owner")
        storage.delete("lock", expected=version)
        assert storage.list_folder("") == Listing()
        for path in ("lock", "missing/lock"):
            with _raises(VersionMismatch):
                storage.delete(path, expected=version)

    def test_delete_refuses_what_changed_meanwhile(self, storage: Storage) -> None:
        version = storage.create("lock", b"owner")
        storage.replace("lock", b"another owner", expected=version)
        with _raises(VersionMismatch):
            storage.delete("lock", expected=version)
        assert storage.read("lock") == b"another owner"

    def test_a_missing_folder_is_an_empty_one(self, storage: Storage) -> None:
        assert storage.list_folder("") == Listing()
        assert storage.list_folder("missing/folder") == Listing()

    def test_listing_shows_direct_children_only(self, storage: Storage) -> None:
        for path in ("t/b", "t/a", "t/sub/deep/x", "t/sub/y", "table/z", "top"):
            storage.create(path, path.encode())
        listing = storage.list_folder("t")
        assert [(file.path, file.size) for file in listing.files] == [("t/a", 3), ("t/b", 3)]
        assert listing.folders == ("sub",)
        assert listing.files[0].modified_at.utcoffset() == timedelta(0)
        assert storage.list_folder("").folders == ("t", "table")
        assert storage.list_folder("t/sub/deep/").files[0].path == "t/sub/deep/x"

    def test_names_may_hold_spaces_and_any_letters(self, storage: Storage) -> None:
        names = sorted(["with space", "día=2026-01-01", "日本", "50%25", "a+b&c?d#e", "~tilde"])
        for name in names:
            storage.create(f"p {name}/{name}", name.encode())
        assert sorted(storage.list_folder("").folders) == sorted(f"p {name}" for name in names)
        for name in names:
            assert storage.read(f"p {name}/{name}") == name.encode()
            assert [file.name for file in storage.list_folder(f"p {name}").files] == [name]

    def test_a_path_outside_the_root_is_refused(self, storage: Storage) -> None:
        inside = storage.child("inside")
        version = storage.create("outside", b"1")
        calls: Sequence[Callable[[str], object]] = (
            inside.child,
            inside.list_folder,
            inside.read,
            inside.read_versioned,
            inside.delete,
            lambda path: inside.create(path, b"2"),
            lambda path: inside.replace(path, b"2", expected=version),
            lambda path: inside.delete(path, expected=version),
        )
        for call in calls:
            for path in ("../outside", "a/../../outside", "/outside", "..", "nul\0"):
                with _raises(UnsafePath):
                    call(path)
        for path in ("", ".", "folder/"):  # folders, not objects
            with _raises(UnsafePath):
                storage.create(path, b"2")
        assert storage.read("outside") == b"1"

    def test_a_child_is_the_same_storage_rooted_below(self, storage: Storage) -> None:
        child = storage.child("lake").child("orders")
        child.create(".hoodie/x", b"1")
        assert child.uri.startswith(storage.uri)
        assert child.uri.endswith("lake/orders")
        assert storage.read("lake/orders/.hoodie/x") == b"1"
        assert child.list_folder(".hoodie").files[0].path == ".hoodie/x"
        assert storage.child("").list_folder("").folders == ("lake",)

    def test_of_many_racing_creators_one_wins(self, storage: Storage) -> None:
        for number in range(self.rounds):
            path = f"race/{number}"

            def create(racer: int, path: str = path) -> bool:
                return _succeeds(lambda: storage.create(path, b"%d" % racer))

            won = _race(self.racers, create)
            assert won.count(True) == 1
            assert storage.read(path) == b"%d" % won.index(True)
        assert len(storage.list_folder("race").files) == self.rounds

    def test_racing_increments_lose_no_update(self, storage: Storage) -> None:
        storage.create("counter", b"0")

        def increment(_: int) -> None:
            done = 0
            while done < self.rounds:
                done += _succeeds(lambda: _increment(storage, "counter"))

        _race(self.racers, increment)
        assert int(storage.read("counter")) == self.racers * self.rounds

    def test_of_many_racing_conditional_deleters_one_wins(self, storage: Storage) -> None:
        for number in range(self.rounds):
            version = storage.create("lock", b"%d" % number)

            def delete(_: int, version: Version = version) -> bool:
                return _succeeds(lambda: storage.delete("lock", expected=version))

            assert _race(self.racers, delete).count(True) == 1

    def test_replace_never_lands_on_an_object_created_anew(self, storage: Storage) -> None:
        for number in range(self.rounds):
            path = f"reborn/{number}"
            old = storage.create(path, b"old")

            def run(racer: int, path: str = path, old: Version = old) -> None:
                if racer == 0:
                    storage.delete(path)
                    storage.create(path, b"new")
                else:
                    _succeeds(lambda: storage.replace(path, b"replaced", expected=old))

            _race(2, run)
            assert storage.read(path) == b"new"

    def test_readers_see_whole_writes_only(self, storage: Storage) -> None:
        version = storage.create("page", _self_checking(0))
        done = threading.Event()

        def write() -> None:
            nonlocal version
            try:
                for number in range(1, self.rounds * 5):
                    version = storage.replace("page", _self_checking(number), expected=version)
            finally:
                done.set()

        def read() -> None:
            while not done.is_set():
                _check(storage.read("page"))

        _race(3, lambda racer: write() if racer == 0 else read())
        _check(storage.read("page"))


class LockContract:
    """What every :class:`~airflow_hudi.core.locks.Lock` must hold to, races included.

    ::

        class TestMyLock(LockContract):
            @pytest.fixture
            def contender(self) -> Callable[[], Lock]:  # of one lock, free, new for each test
                return lambda: MyLock(...)
    """

    racers = 6
    rounds = 4

    def test_the_first_gets_the_lock_and_nobody_else(self, contender: Callable[[], Lock]) -> None:
        first, second = contender(), contender()
        assert isinstance(first, Lock)
        assert first.acquire()
        assert not second.acquire()
        assert not first.acquire()  # not even the holder a second time
        assert not second.acquire()

    def test_a_lock_that_was_given_back_is_free(self, contender: Callable[[], Lock]) -> None:
        first, second = contender(), contender()
        for holder, other in ((first, second), (second, first), (first, second)):
            assert holder.acquire()
            assert not other.acquire()
            holder.release()

    def test_only_the_holder_gives_a_lock_back(self, contender: Callable[[], Lock]) -> None:
        holder, refused, stranger = contender(), contender(), contender()
        assert holder.acquire()
        assert not refused.acquire()
        for other in (refused, stranger):
            with _raises(LockNotHeld):
                other.release()
        assert not stranger.acquire()
        holder.release()
        with _raises(LockNotHeld):
            holder.release()

    def test_of_many_racing_contenders_one_wins(self, contender: Callable[[], Lock]) -> None:
        contenders = [contender() for _ in range(self.racers)]
        for _ in range(self.rounds):
            won = _race(self.racers, lambda racer: contenders[racer].acquire())
            assert won.count(True) == 1
            contenders[won.index(True)].release()


@contextmanager
def _raises(expected: type[Exception]) -> Iterator[None]:
    """``pytest.raises``, without pytest."""
    try:
        yield
    except expected:
        return
    message = f"{expected.__name__} was not raised"
    raise AssertionError(message)


def _succeeds(write: Callable[[], object]) -> bool:
    try:
        write()
    except ConcurrencyError:
        return False
    return True


def _increment(storage: Storage, path: str) -> None:
    now = storage.read_versioned(path)
    storage.replace(path, b"%d" % (int(now.data) + 1), expected=now.version)


def _race(racers: int, run: Callable[[int], T]) -> list[T]:
    """What each of so many threads brings back; all start at the same moment."""
    start = threading.Barrier(racers)

    def racer(number: int) -> T:
        start.wait(timeout=30)
        return run(number)

    with ThreadPoolExecutor(racers) as pool:
        return list(pool.map(racer, range(racers)))


def _self_checking(number: int) -> bytes:
    body = (b"%d;" % number) * (20_000 + 500 * number)
    return hashlib.sha256(body).hexdigest().encode() + body


def _check(page: bytes) -> None:
    assert hashlib.sha256(page[64:]).hexdigest().encode() == page[:64], "half a write was read"
