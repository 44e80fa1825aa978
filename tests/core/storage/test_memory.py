# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from airflow_hudi.core.errors import InvalidInput
from airflow_hudi.core.storage import InMemoryStorage
from airflow_hudi.testing import FakeClock, StorageContract


class TestInMemoryStorage(StorageContract):
    racers = 8
    rounds = 20

    @pytest.fixture
    def storage(self) -> InMemoryStorage:
        return InMemoryStorage()


def test_the_clock_dates_what_is_written() -> None:
    clock = FakeClock()
    storage = InMemoryStorage(clock=clock)
    version = storage.create("a", b"1")
    created_at = storage.list_folder("").files[0].modified_at
    clock.advance(timedelta(minutes=5))
    storage.replace("a", b"2", expected=version)
    replaced_at = storage.list_folder("").files[0].modified_at
    assert (created_at, replaced_at) == (clock() - timedelta(minutes=5), clock())


def test_put_writes_over_anything_with_any_time() -> None:
    storage = InMemoryStorage("memory://lake", clock=FakeClock())
    old = storage.create("t/a", b"1")
    east = timezone(timedelta(hours=2))
    new = storage.child("t").put("a", b"2", modified_at=datetime(2020, 1, 1, 2, tzinfo=east))
    file = storage.list_folder("t").files[0]
    assert file.modified_at == datetime(2020, 1, 1, tzinfo=timezone.utc)
    assert file.modified_at.tzinfo is timezone.utc
    assert storage.read_versioned("t/a").version == new != old


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        InMemoryStorage().put("a", b"", modified_at=datetime(2020, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("uri", "child"),
    [("memory://", "memory://a/b"), ("memory://lake", "memory://lake/a/b")],
)
def test_a_child_is_named_below_its_parent(uri: str, child: str) -> None:
    storage = InMemoryStorage(uri)
    assert storage.child("a").child("b").uri == child
    assert child in repr(storage.child("a/b"))
    assert storage.child("").uri == uri
