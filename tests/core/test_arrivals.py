# SPDX-License-Identifier: Apache-2.0
"""Which commits are news, by when they became visible; and that no file is read for nothing."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.arrivals import (
    LISTED,
    Arrivals,
    CommitFacts,
    Wait,
    find_arrivals,
    format_after,
    load_arrivals,
    parse_after,
)
from airflow_hudi.core.defects import DefectKind
from airflow_hudi.core.errors import InvalidWait
from airflow_hudi.core.instants import UTC, Action, InstantTime, Zone
from airflow_hudi.core.table import Table, load_table, open_table
from airflow_hudi.testing import InMemoryStorage
from tests.builders import EPOCH, a_table, a_timeline, an_instant, at
from tests.tables.fixtures import StoredTable, stored_tables

SERVICES = {"COMPACT", "LOG_COMPACT", "CLUSTER"}


class CountingStorage(InMemoryStorage):
    def __init__(self) -> None:
        super().__init__()
        self.listed: list[str] = []
        self.opened: list[str] = []

    def list_folder(self, path: str) -> Any:
        self.listed.append(path)
        return super().list_folder(path)

    def read(self, path: str) -> bytes:
        self.opened.append(path)
        return super().read(path)


def a_commit(operation: str, *partitions: str, inserts: int = 1) -> bytes:
    stats = {part: [{"fileId": f"f-{part}", "numInserts": inserts}] for part in partitions}
    return json.dumps({"operationType": operation, "partitionToWriteStats": stats}).encode()


def a_write(requested: int, completed: int, action: str = "deltacommit") -> dict[str, bytes]:
    """The files of a write on a layout 2 table, in seconds after the epoch."""
    return {
        f"{at(requested)}.{action}.requested": b"x",
        f"{at(requested)}_{at(completed)}.{action}": a_commit("UPSERT", "eu"),
    }


def arrived(table: Table, wait: Wait) -> list[str]:
    arrivals, _ = load_arrivals(table, wait)
    return [commit.instant.requested_at for commit in arrivals.commits]


def counting(table: Table) -> tuple[Table, CountingStorage]:
    storage = CountingStorage()
    source = table.storage
    folder = table.properties.timeline_folder
    for file in source.list_folder(folder).files:
        storage.put(file.path, source.read(file.path), modified_at=file.modified_at)
    properties = ".hoodie/hoodie.properties"
    storage.put(properties, source.read(properties))
    counted = load_table(storage)
    storage.opened.clear()
    return counted, storage


def test_what_completed_after_a_moment_is_new_in_order_of_completion() -> None:
    table = a_table(a_write(10, 40) | a_write(20, 30) | a_write(50, 60))
    assert arrived(table, Wait(EPOCH + timedelta(seconds=30))) == [at(10), at(50)]
    assert arrived(table, Wait(EPOCH + timedelta(seconds=29))) == [at(20), at(10), at(50)]
    assert arrived(table, Wait(EPOCH + timedelta(seconds=60))) == []


def test_after_an_instant_means_after_its_completion() -> None:
    table = a_table(a_write(10, 40) | a_write(20, 30) | a_write(35, 60))
    assert arrived(table, Wait(at(10))) == [at(35)]  # 20 was visible before 10 was
    assert arrived(table, Wait(at(20))) == [at(10), at(35)]
    assert arrived(table, Wait(at(35))) == []


def test_an_instant_before_the_active_timeline_makes_everything_new() -> None:
    table = a_table(a_write(10, 40) | a_write(20, 30))
    assert arrived(table, Wait(at(-86400))) == [at(20), at(10)]
    assert arrived(table, Wait(None)) == [at(20), at(10)]
    assert arrived(table, Wait(InstantTime("20260101"))) == [at(20), at(10)]


def test_a_pending_instant_counts_as_the_moment_it_was_requested_and_is_never_news() -> None:
    pending = {f"{at(25)}.deltacommit.requested": b"x", f"{at(25)}.deltacommit.inflight": b""}
    table = a_table(a_write(10, 20) | pending | a_write(26, 40))
    assert arrived(table, Wait(at(25))) == [at(26)]
    assert at(25) not in arrived(table, Wait(None))


def test_equal_completion_times_are_ordered_by_request() -> None:
    """S3 keeps whole seconds, so on layout 1 two commits may seem to complete together."""
    table = a_table({}, version="6")
    storage = table.storage
    assert isinstance(storage, InMemoryStorage)
    for second in (10, 11):
        storage.put(f".hoodie/{at(second)}.commit.requested", b"x", modified_at=EPOCH)
        storage.put(f".hoodie/{at(second)}.commit", a_commit("UPSERT"), modified_at=EPOCH)
    assert arrived(table, Wait(at(10))) == [at(11)]
    assert arrived(table, Wait(at(11))) == []


def test_a_moment_is_read_in_the_tables_own_zone() -> None:
    berlin = Zone("Europe/Berlin")
    done = datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)
    name = f"{berlin.digits(done - timedelta(minutes=1))}_{berlin.digits(done)}.deltacommit"
    table = a_table({name: a_commit("UPSERT", "eu")}, table__timeline__timezone="LOCAL")
    local = load_table(table.storage, zone=berlin)
    assert len(arrived(local, Wait(done - timedelta(seconds=1)))) == 1
    assert arrived(local, Wait(done)) == []


def test_table_services_are_no_news_and_are_known_by_their_names() -> None:
    services = {
        f"{at(1)}.compaction.requested": b"x",
        f"{at(1)}_{at(2)}.commit": a_commit("COMPACT", "eu"),
        f"{at(3)}.logcompaction.requested": b"x",
        f"{at(3)}_{at(4)}.deltacommit": a_commit("LOG_COMPACT", "eu"),
        f"{at(5)}.clustering.requested": b"x",
        f"{at(5)}_{at(6)}.replacecommit": a_commit("CLUSTER", "eu"),
    }
    table, storage = counting(a_table(services | a_write(7, 8)))
    assert arrived(table, Wait()) == [at(7)]
    assert storage.opened == []
    assert storage.listed[-1:] == [".hoodie/timeline"]


def test_a_replace_commit_is_opened_for_it_may_be_a_clustering() -> None:
    files = {
        f"{at(1)}.replacecommit.requested": b"x",
        f"{at(1)}.replacecommit": a_commit("CLUSTER", "eu"),
        f"{at(2)}.replacecommit.requested": b"",
        f"{at(2)}.replacecommit": a_commit("INSERT_OVERWRITE", "eu"),
        f"{at(3)}.commit.requested": b"x",
        f"{at(3)}.commit": a_commit("UPSERT", "eu"),
    }
    table, storage = counting(a_table(files, version="6"))
    assert arrived(table, Wait()) == [at(2), at(3)]
    assert storage.opened == [f".hoodie/{at(1)}.replacecommit", f".hoodie/{at(2)}.replacecommit"]


def test_a_commit_without_its_request_is_opened_for_it_may_be_a_compaction() -> None:
    files = {
        f"{at(1)}_{at(2)}.commit": a_commit("COMPACT", "eu"),
        f"{at(3)}_{at(4)}.deltacommit": a_commit("UPSERT", "eu"),
    }
    assert arrived(a_table(files), Wait()) == [at(3)]


def test_by_partition_only_commits_that_changed_it_count() -> None:
    files = a_write(1, 2) | {
        f"{at(3)}.deltacommit.requested": b"x",
        f"{at(3)}_{at(4)}.deltacommit": a_commit("UPSERT", "us/d1", "us/d2", "usa", inserts=2),
    }
    table = a_table(files)
    arrivals, _ = load_arrivals(table, Wait(partitions=("us",)))
    (commit,) = arrivals.commits
    assert commit.partitions == ("us/d1", "us/d2")  # a folder stands for the partitions below it
    assert commit.facts == CommitFacts("UPSERT", ("us/d1", "us/d2", "usa"), inserts=6)
    assert arrived(table, Wait(partitions=("us/d2", "eu"))) == [at(1), at(3)]
    assert arrived(table, Wait(partitions=("u",))) == []
    assert arrived(table, Wait(partitions=("",))) == [at(1), at(3)]


def test_a_dropped_partition_is_a_changed_one() -> None:
    dropped = {
        "operationType": "DELETE_PARTITION",
        "partitionToWriteStats": {},
        "partitionToReplaceFileIds": {"us": ["f1"]},
    }
    files = {f"{at(1)}_{at(2)}.replacecommit": json.dumps(dropped).encode()}
    assert arrived(a_table(files), Wait(partitions=("us",))) == [at(1)]


def test_every_partition_may_be_asked_for() -> None:
    files = a_write(1, 2) | {f"{at(3)}_{at(4)}.deltacommit": a_commit("UPSERT", "us/d1")}
    any_of = Wait(partitions=("eu", "asia"))
    all_of = Wait(partitions=("eu", "asia"), every_partition=True)
    both = Wait(partitions=("eu", "us"), every_partition=True)
    arrivals, _ = load_arrivals(a_table(files), any_of)
    assert arrivals.satisfies(any_of)
    assert not arrivals.satisfies(all_of)
    assert load_arrivals(a_table(files), both)[0].satisfies(both)


def test_so_many_commits_may_be_asked_for() -> None:
    arrivals, _ = load_arrivals(a_table(a_write(1, 2) | a_write(3, 4)), Wait())
    assert arrivals.satisfies(Wait(min_commits=2))
    assert not arrivals.satisfies(Wait(min_commits=3))
    assert not Arrivals().satisfies(Wait())


def test_a_file_is_opened_once_and_again_only_when_it_has_grown() -> None:
    name = f"{at(1)}_{at(2)}.deltacommit"
    table, storage = counting(a_table({name: a_commit("UPSERT", "eu")[:-5]}))
    wait = Wait(partitions=("eu",))
    arrivals, opened = load_arrivals(table, wait)
    assert [defect.kind for defect in arrivals.defects] == [DefectKind.UNREADABLE]
    again, opened = load_arrivals(table, wait, opened)
    assert again == arrivals
    assert len(storage.opened) == 1
    storage.put(f".hoodie/timeline/{name}", a_commit("UPSERT", "eu"))
    whole, opened = load_arrivals(table, wait, opened)
    assert len(whole.commits) == 1
    load_arrivals(table, wait, opened)
    assert len(storage.opened) == 2
    assert len(storage.listed) == 4  # one listing per look


def test_a_damaged_commit_is_a_defect_and_does_not_count() -> None:
    files = {
        f"{at(1)}.deltacommit.requested": b"x",
        f"{at(1)}_{at(2)}.deltacommit": b"",
        f"{at(3)}.replacecommit.requested": b"x",
        f"{at(3)}_{at(4)}.replacecommit": b"no JSON",
    }
    arrivals, _ = load_arrivals(a_table(files), Wait())
    assert not arrivals.commits
    assert [defect.kind for defect in arrivals.defects] == [
        DefectKind.EMPTY,
        DefectKind.UNREADABLE,
    ]
    assert not arrivals.satisfies(Wait())


def test_a_file_that_vanished_after_the_listing_is_looked_for_again() -> None:
    name = f"{at(1)}_{at(2)}.replacecommit"

    class Late(InMemoryStorage):
        def list_folder(self, path: str) -> Any:
            return a_table({name: b"x"}).storage.list_folder(path)

    storage = Late()
    properties = ".hoodie/hoodie.properties"
    storage.put(properties, a_table({}).storage.read(properties))
    arrivals, opened = load_arrivals(load_table(storage), Wait())
    assert [defect.kind for defect in arrivals.defects] == [DefectKind.VANISHED]
    assert not opened


def test_a_timeline_without_files_is_judged_by_its_instants() -> None:
    timeline = a_timeline("10-15 commit", "20-25 clean", "30 deltacommit inflight", "40-45 commit")
    arrivals = find_arrivals(timeline, Wait(InstantTime("10")), zone=UTC, opened={})
    assert [commit.instant for commit in arrivals.commits] == [an_instant("40-45 commit")]


def test_the_json_is_small_and_says_what_to_pass_next() -> None:
    files: dict[str, bytes] = {}
    for second in range(0, 2 * LISTED + 20, 2):
        files |= a_write(second, second + 1)
    wide = f"{at(900)}_{at(901)}.replacecommit"
    files[wide] = a_commit("INSERT_OVERWRITE", *(f"p{n:04}" for n in range(LISTED + 5)))
    said = load_arrivals(a_table(files), Wait())[0].as_json()
    commits = said["commits"]
    assert isinstance(commits, list)
    assert json.loads(json.dumps(said)) == said
    assert said["newest"] == at(900)
    assert said["commit_count"] == LISTED + 11
    assert len(commits) == LISTED
    assert commits[0] == {
        "requested_at": at(22),
        "completed_at": at(23),
        "action": "deltacommit",
    }
    last: Any = commits[-1]
    assert last["operation"] == "INSERT_OVERWRITE"
    assert last["inserts"] == last["partition_count"] == LISTED + 5
    assert len(last["partitions"]) == LISTED


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", None),
        ("20260131093000123", "20260131093000123"),
        ("2026-01-31T09:30:00+01:00", datetime(2026, 1, 31, 8, 30, tzinfo=timezone.utc)),
        ("2026-01-31 09:30:00.5+00:00", datetime(2026, 1, 31, 9, 30, 0, 500_000, timezone.utc)),
        ("2026-01-31T09:30:00Z", datetime(2026, 1, 31, 9, 30, tzinfo=timezone.utc)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=timezone.utc)),
    ],
)
def test_a_text_says_after_what(text: str, after: object) -> None:
    assert parse_after(text) == after
    assert parse_after(format_after(parse_after(text))) == after


@pytest.mark.parametrize("text", ["None", "yesterday", "\N{FULLWIDTH DIGIT TWO}"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidWait, match="neither an instant such as"):
        parse_after(text)


def test_a_wait_for_nothing_is_refused() -> None:
    with pytest.raises(InvalidWait, match="no partition at all"):
        Wait(partitions=())
    with pytest.raises(InvalidWait, match="0 commits are nothing"):
        Wait(min_commits=0)
    with pytest.raises(InvalidWait, match="no time zone"):
        Wait(datetime(2026, 1, 31))  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize("stored", stored_tables(), ids=lambda t: f"{t.release} {t.name}")
def test_on_real_tables_all_writes_but_the_services_are_news(
    stored: StoredTable, tmp_path: Path
) -> None:
    table = open_table(str(stored.unpack(tmp_path)))
    everywhere = load_arrivals(table, Wait(partitions=("",)))[0]
    by_name, opened = load_arrivals(table, Wait())
    assert by_name.commits
    assert not by_name.defects
    assert [c.instant for c in by_name.commits] == [c.instant for c in everywhere.commits]
    operations = {c.facts.operation for c in everywhere.commits if c.facts}
    assert operations
    assert not operations & SERVICES
    assert all(file.instant.action is Action.REPLACECOMMIT for file in opened)


@pytest.mark.parametrize("stored", stored_tables(), ids=lambda t: f"{t.release} {t.name}")
def test_on_real_tables_each_newest_is_the_next_after(stored: StoredTable, tmp_path: Path) -> None:
    table = open_table(str(stored.unpack(tmp_path)))
    times = arrived(table, Wait())
    for number, time in enumerate(times, 1):
        assert arrived(table, Wait(InstantTime(time))) == times[number:]
