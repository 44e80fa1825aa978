# SPDX-License-Identifier: Apache-2.0
"""Locks: one contract for those that Python can hold, what Hudi is told, and trying one out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.config import LockKey
from airflow_hudi.core.errors import (
    InvalidSetting,
    LockNotHeld,
    LockProbeFailed,
    LockUnreachable,
    NotAbsolute,
    StorageError,
    UnsuitableLock,
)
from airflow_hudi.core.locks import (
    FilesystemLock,
    Lock,
    LockKind,
    LockSettings,
    ZooKeeper,
    check_exclusion,
    check_lock,
    hoodie_options,
    lock_key,
    lock_path,
    multi_writer_options,
    probe_lock,
)
from airflow_hudi.core.locks.zookeeper import ZooKeeperLock, zookeeper_session
from airflow_hudi.core.storage import InMemoryStorage, LocalStorage
from airflow_hudi.core.values import from_json, to_json
from airflow_hudi.spark.engine.locks import lock_options
from airflow_hudi.testing import LockContract
from tests.zookeeper import ZooKeeperServer

ZOOKEEPER = LockSettings(LockKind.ZOOKEEPER, zookeeper=ZooKeeper("zk1:2181,zk2:2181"))
PATHS = count()
TAKEN, REFUSED = True, False

# --- the contract ---------------------------------------------------------------------------------


class TestFilesystemLock(LockContract):
    @pytest.fixture
    def contender(self, tmp_path: Path) -> Callable[[], Lock]:
        return lambda: FilesystemLock(LocalStorage(tmp_path), "locks/lock")


class TestZooKeeperLock(LockContract):
    @pytest.fixture
    def contender(self, zookeeper_server: ZooKeeperServer) -> Iterator[Callable[[], Lock]]:
        path = f"/contract/{next(PATHS)}"
        with ExitStack() as sessions:

            def contend() -> Lock:
                client = sessions.enter_context(zookeeper_session(zookeeper_server.settings()))
                return ZooKeeperLock(client, path)

            yield contend


def test_a_session_that_ends_frees_its_lock_and_the_holder_is_told(
    zookeeper_server: ZooKeeperServer,
) -> None:
    settings = zookeeper_server.settings()
    with zookeeper_session(settings) as ours, zookeeper_session(settings) as theirs:
        lock = ZooKeeperLock(ours, "/ended")
        assert lock.acquire()
        theirs.delete(f"/ended/{theirs.get_children('/ended')[0]}")  # as the server does
        assert ZooKeeperLock(theirs, "/ended").acquire()
        with pytest.raises(LockNotHeld, match="/ended is not held here"):
            lock.release()
    with zookeeper_session(settings) as later:
        assert ZooKeeperLock(later, "/ended").acquire()


def test_a_file_that_somebody_took_away_is_told_to_the_holder(tmp_path: Path) -> None:
    lock, other = (FilesystemLock(LocalStorage(tmp_path), "lock") for _ in range(2))
    assert lock.acquire()
    (tmp_path / "lock").unlink()  # as Hudi does when it could not get the lock itself
    assert other.acquire()
    with pytest.raises(LockNotHeld, match="somebody else's work"):
        lock.release()
    other.release()


def test_a_lost_connection_is_not_taken_for_a_lock_that_is_held(
    zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zookeeper_session(zookeeper_server.settings()) as client:
        lock = ZooKeeperLock(client, "/lost")
        client.stop()
        with pytest.raises(LockUnreachable, match="closed") as raised:
            lock.acquire()
        assert raised.value.retryable
        # What kazoo says after its retries were in vain is the same as for a held lock.
        monkeypatch.setattr(lock._lock, "acquire", lambda *, blocking: blocking)
        with pytest.raises(LockUnreachable, match="the connection was lost"):
            lock.acquire()


def test_an_ensemble_that_goes_away_is_not_waited_for() -> None:
    server = ZooKeeperServer()
    with zookeeper_session(server.settings()) as client:
        held, wanted = ZooKeeperLock(client, "/gone"), ZooKeeperLock(client, "/gone")
        assert held.acquire()
        server.close()
        for act in (wanted.acquire, held.release):
            with pytest.raises(LockUnreachable):
                act()


def test_an_ensemble_that_does_not_answer_is_said_in_time() -> None:
    nobody = LockSettings(LockKind.ZOOKEEPER, zookeeper=ZooKeeper("127.0.0.1:1"))
    with pytest.raises(LockUnreachable, match=r"127\.0\.0\.1:1 cannot be reached \(no answer"):
        probe_lock(nobody, InMemoryStorage(), patience=timedelta(milliseconds=200))


def test_without_kazoo_the_package_to_install_is_named() -> None:
    code = (
        "import sys; sys.modules['kazoo.client'] = None\n"
        "from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper, probe_lock\n"
        "lock = LockSettings(LockKind.ZOOKEEPER, zookeeper=ZooKeeper('zk:2181'))\n"
        "probe_lock(lock, None)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPackage: a ZooKeeper lock needs the package kazoo" in run.stderr
    assert "airflow-hudi[zookeeper]" in run.stderr


# --- trying a lock out ----------------------------------------------------------------------------


def test_a_filesystem_lock_is_tried_out_and_leaves_nothing(tmp_path: Path) -> None:
    said = probe_lock(LockSettings(), LocalStorage(tmp_path / "control"))
    assert said.startswith("taken, refused to a second client, given back, taken over")
    assert "one machine only" in said
    assert list((tmp_path / "control").iterdir()) == []


def test_a_zookeeper_lock_is_tried_out_and_leaves_nothing(
    zookeeper_server: ZooKeeperServer,
) -> None:
    zookeeper = zookeeper_server.settings("/tried/out")
    settings = LockSettings(LockKind.ZOOKEEPER, zookeeper=zookeeper)
    assert probe_lock(settings, InMemoryStorage()).startswith("taken, refused")
    with zookeeper_session(zookeeper) as client:
        assert client.get_children("/tried/out") == []


def test_a_lock_within_one_jvm_cannot_be_tried_from_here() -> None:
    said = probe_lock(LockSettings(LockKind.IN_PROCESS), InMemoryStorage())
    assert said.startswith("not tried")
    assert "one JVM" in said


class FaultyLock:
    """Answers in turn; what is an error is raised."""

    def __init__(self, *answers: bool | Exception) -> None:
        self._answers = iter(answers)

    def acquire(self) -> bool:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def release(self) -> None:
        for answer in self._answers:
            if isinstance(answer, Exception):
                raise answer


@pytest.mark.parametrize(
    ("first", "second", "step", "because"),
    [
        (FaultyLock(REFUSED), FaultyLock(), "take", "as if somebody held every lock"),
        (FaultyLock(StorageError("disk full")), FaultyLock(), "take", "disk full"),
        (FaultyLock(TAKEN), FaultyLock(TAKEN), "hold off", "two jobs could commit at once"),
        (FaultyLock(TAKEN, LockNotHeld("/x")), FaultyLock(REFUSED), "give back", "/x is not held"),
        (FaultyLock(TAKEN), FaultyLock(REFUSED, REFUSED), "take over", "stays taken"),
        (
            FaultyLock(TAKEN),
            FaultyLock(REFUSED, TAKEN, LockNotHeld("/x")),
            "give back again",
            "/x is not held",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_lock_that_does_not_lock_is_found_out(
    first: Lock, second: Lock, step: str, because: str
) -> None:
    with pytest.raises(LockProbeFailed, match=because) as raised:
        check_exclusion(first, second)
    assert raised.value.step == step
    assert raised.value.cure


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        LockSettings(),
        LockSettings(patience=timedelta(hours=1), expiry_minutes=30),
        LockSettings(LockKind.IN_PROCESS, patience=timedelta(seconds=3)),
        ZOOKEEPER,
    ],
    ids=lambda settings: settings.kind.value,
)
def test_settings_go_through_json(settings: LockSettings) -> None:
    assert from_json(LockSettings, to_json(settings)) == settings


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: LockSettings(expiry_minutes=0), "lock_expiry_minutes"),
        (lambda: LockSettings(patience=timedelta(minutes=10)), "lock_patience_seconds"),
        (lambda: LockSettings(patience=timedelta(0)), "lock_patience_seconds"),
        (lambda: LockSettings(patience=timedelta(days=2)), "lock_patience_seconds"),
        (lambda: LockSettings(LockKind.ZOOKEEPER), "zookeeper_hosts"),
        (lambda: ZooKeeper("zk1"), "zookeeper_hosts"),
        (lambda: ZooKeeper("zk1:2181, zk2:2181"), "zookeeper_hosts"),
        (lambda: ZooKeeper("zk1:2181", base_path="hudi"), "zookeeper_base_path"),
        (lambda: ZooKeeper("zk1:2181", base_path="/"), "zookeeper_base_path"),
        (
            lambda: ZooKeeper("zk1:2181", session_timeout=timedelta(0)),
            "zookeeper_session_seconds",
        ),
        (
            lambda: ZooKeeper("zk1:2181", connection_timeout=timedelta(0)),
            "zookeeper_connection_seconds",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(
    make: Callable[[], object], names: str
) -> None:
    with pytest.raises(InvalidSetting, match="it must be") as raised:
        make()
    assert raised.value.setting == names


def test_every_kind_says_what_it_is_good_for() -> None:
    assert "one machine only" in LockKind.FILESYSTEM.description
    assert "many machines" in LockKind.ZOOKEEPER.description
    assert "tests" in LockKind.IN_PROCESS.description


@pytest.mark.parametrize("uri", ["s3://bucket/lake/orders", "s3a://bucket/lake", "hdfs://nn/x"])
def test_a_filesystem_lock_is_refused_away_from_a_local_disk(uri: str) -> None:
    for call in (check_lock, hoodie_options, lock_options):
        with pytest.raises(UnsuitableLock, match="choose the zookeeper lock"):
            call(LockSettings(), uri)
    check_lock(ZOOKEEPER, uri)


# --- what Hudi is told ----------------------------------------------------------------------------


def test_options_of_a_zookeeper_lock() -> None:
    options = hoodie_options(ZOOKEEPER, "s3a://bucket/lake/orders/")
    assert options[LockKey.ZOOKEEPER_URL.value] == "zk1:2181,zk2:2181"
    assert options[LockKey.ZOOKEEPER_BASE_PATH.value] == "/hudi/locks"
    assert options[LockKey.ZOOKEEPER_KEY.value] == lock_key("s3://bucket/lake/orders")
    assert options[LockKey.ZOOKEEPER_SESSION_MILLIS.value] == "30000"
    assert options[LockKey.ZOOKEEPER_CONNECTION_MILLIS.value] == "15000"
    assert options[LockKey.AUTO_ADJUST.value] == "false"


def test_a_job_is_told_the_provider_and_that_it_is_not_alone() -> None:
    providers = set()
    for settings in (LockSettings(), ZOOKEEPER, LockSettings(LockKind.IN_PROCESS)):
        options = lock_options(settings, "/lake/orders")
        assert options.items() >= multi_writer_options().items()
        assert options.items() >= hoodie_options(settings, "/lake/orders").items()
        providers.add(options[LockKey.PROVIDER.value].rpartition(".")[2])
    assert providers == {
        "FileSystemBasedLockProvider",
        "InProcessLockProvider",
        "ZookeeperBasedLockProvider",
    }


@given(
    minutes=st.integers(1, 24 * 60 - 5),
    more=st.none() | st.timedeltas(timedelta(seconds=1), timedelta(minutes=4)),
)
def test_who_waits_for_a_filesystem_lock_waits_longer_than_a_dead_one_lasts(
    minutes: int, more: timedelta | None
) -> None:
    patience = more and timedelta(minutes=minutes) + more
    settings = LockSettings(expiry_minutes=minutes, patience=patience)
    options = hoodie_options(settings, "/lake/orders")
    pause = int(options[LockKey.PAUSE_MILLIS.value])
    retries = int(options[LockKey.RETRIES.value])
    # Hudi's filesystem lock answers a try at once, so only the pauses count.
    assert retries * pause > int(options[LockKey.FILESYSTEM_EXPIRY_MINUTES.value]) * 60_000
    assert retries * pause < settings.longest_wait.total_seconds() * 1000 + pause


@given(patience=st.timedeltas(timedelta(seconds=1), timedelta(days=1)))
def test_waiting_for_other_locks_is_bounded_by_the_patience(patience: timedelta) -> None:
    settings = LockSettings(LockKind.IN_PROCESS, patience=patience)
    options = hoodie_options(settings, "/lake/orders")
    wait = int(options[LockKey.TRY_MILLIS.value]) + int(options[LockKey.PAUSE_MILLIS.value])
    tries = int(options[LockKey.RETRIES.value]) + 1
    millis = patience.total_seconds() * 1000
    assert tries >= 1
    assert millis - tries <= tries * wait < millis + wait  # a millisecond is cut off each


# --- the lock's name ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://bucket/lake/orders", "s3a://bucket/lake/orders/"),
        ("s3://bucket/lake/orders", "S3A://bucket//lake/./orders"),
        ("/lake/orders", "file:///lake/orders"),
        ("/lake/orders", "file:/lake//orders/"),
        ("/lake/my orders", "file:///lake/my%20orders"),
        ("/lake/orders", "//lake/orders"),
        ("hdfs://nn:8020/lake", "HDFS://nn:8020/lake/"),
    ],
)
def test_all_spellings_of_one_place_share_a_lock(one: str, other: str) -> None:
    assert lock_key(one) == lock_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/lake/orders", "/lake2/orders"),
        ("/lake/orders", "s3://lake/orders"),
        ("s3://bucket/orders", "s3://bucket2/orders"),
        ("/lake/orders", "/lake/orders/.hoodie/metadata"),
        ("/lake/a b", "/lake/a_b"),
        ("/lake/50%25", "/lake/50%"),
    ],
)
def test_two_tables_never_share_a_lock(one: str, other: str) -> None:
    assert lock_key(one) != lock_key(other)


@given(st.text(st.characters(exclude_characters="\0")))
def test_the_name_of_a_lock_fits_into_a_path(name: str) -> None:
    key = lock_key(f"/lake/x/{name}")
    assert key.isascii()
    assert "/" not in key
    ZooKeeper("zk:2181", base_path=lock_path(ZooKeeper("zk:2181"), key))  # a good path of its own


def test_a_relative_path_names_no_lock() -> None:
    with pytest.raises(NotAbsolute, match="the same on every machine"):
        lock_key("lake/orders")
