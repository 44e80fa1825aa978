# SPDX-License-Identifier: Apache-2.0
"""What a clean plan must leave alone: every file that a pending plan names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.decoding import Undecodable, decode_avro_file
from airflow_hudi.core.defects import empty
from airflow_hudi.core.instants import Action, State
from airflow_hudi.core.plans import CleanerPlan, decode_plan, load_plan
from airflow_hudi.core.services.cleaning import (
    Spared,
    load_needed_files,
    needed_files,
    overlap,
    spare,
)
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from tests.builders import a_table
from tests.core.service_builders import a_clean_plan, a_clustering_plan, a_compaction_plan
from tests.tables.fixtures import StoredTable, stored_tables

BASE = "/lake/orders"
OLD, LOG, OTHER, NEW = "f_0_10.parquet", ".f_10.log.1_0-0-0", "g_0_10.parquet", "h_0_10.parquet"


def a_cleaner(data: bytes) -> CleanerPlan:
    plan = decode_plan(Action.CLEAN, data)
    assert isinstance(plan, CleanerPlan)
    return plan


# --- what is needed -------------------------------------------------------------------------------


def test_every_pending_plan_names_what_it_reads() -> None:
    compaction = a_compaction_plan(
        ("p", f"{BASE}/p/{OLD}", [f"{BASE}/p/{LOG}"]), ("q", None, [LOG]), ("p", OTHER, [])
    )
    table = a_table(
        {
            "20.compaction.requested": compaction,
            "30.logcompaction.requested": a_compaction_plan(("r", None, [LOG])),
            "30.logcompaction.inflight": b"x",
            "40.clustering.requested": a_clustering_plan("s", f"{BASE}/s/{OLD}"),
            "50.compaction.requested": a_compaction_plan(("done", OLD, [])),
            "50.compaction.inflight": b"x",
            "50_59.commit": b"x",
            "60.clean.requested": a_clean_plan({"t": [OLD]}),
        }
    )
    assert load_needed_files(table, load_timeline(table)) == {
        "p": {OLD, LOG, OTHER},
        "q": {LOG},
        "r": {LOG},
        "s": {OLD},
    }


def test_a_plan_that_cannot_be_read_needs_nothing_that_is_known() -> None:
    assert needed_files([empty("20.compaction.requested")]) == {}
    assert needed_files([]) == {}


@pytest.mark.parametrize("release", ["0.15.0", "1.0.2", "1.1.1", "1.2.0"])
def test_pending_plans_of_real_tables_name_files_that_are_there(
    release: str, tmp_path: Path
) -> None:
    base = StoredTable(release, "mor_pending").unpack(tmp_path)
    table = open_table(str(base))
    needed = load_needed_files(table, load_timeline(table))
    assert set(needed) == {"r1", "r2", "r3", "r4/north", "r5"}  # r6 has no plan
    for partition, names in needed.items():
        assert names
        assert names <= {path.name for path in (base / partition).iterdir()}
    assert any(".log." in name for name in needed["r3"])


# --- what a clean would take of it ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "partitions", "taken"),
    [
        ({"p": (OLD, OTHER)}, (), (f"p/{OLD}",)),
        ({"p": (OTHER,)}, (), ()),
        ({"q": (OLD,)}, (), ()),
        ({"": (LOG,)}, (), (LOG,)),
        ({}, ("p",), (f"p/{LOG}", f"p/{OLD}")),
        ({"p": (OLD,)}, ("p",), (f"p/{LOG}", f"p/{OLD}")),
        ({}, ("",), (LOG,)),
        ({}, ("q",), ()),
    ],
)
def test_what_a_clean_would_take_away(
    files: dict[str, tuple[str, ...]], partitions: tuple[str, ...], taken: tuple[str, ...]
) -> None:
    plan = CleanerPlan("KEEP_LATEST_COMMITS", None, files, partitions)
    needed = {"p": frozenset({OLD, LOG}), "": frozenset({LOG})}
    assert overlap(plan, needed) == taken


# --- what is left of the clean --------------------------------------------------------------------


@pytest.mark.parametrize("by_name", [False, True], ids=["paths", "names of old"])
def test_what_is_needed_is_taken_out_and_nothing_else(by_name: bool) -> None:  # noqa: FBT001
    files = {"p": [OLD, LOG, OTHER], "q": [OLD]}
    if not by_name:
        files = {part: [f"{BASE}/{part}/{name}" for name in names] for part, names in files.items()}
    data = a_clean_plan(files, by_name=by_name)
    needed = {"p": frozenset({OLD, LOG}), "r": frozenset({OLD})}
    spared = spare(data, needed)
    assert (spared.files, spared.left) == ((f"p/{LOG}", f"p/{OLD}"), 2)
    after = a_cleaner(spared.data)
    assert after.files == {"p": (OTHER,), "q": (OLD,)}
    assert (after.policy, after.retain_from) == ("KEEP_LATEST_COMMITS", "20")
    assert overlap(after, needed) == ()
    check_that_only_these_went(data, spared, needed)


def test_files_of_a_table_without_partitions_are_spared_by_their_name() -> None:
    spared = spare(a_clean_plan({"": [OLD, OTHER]}), {"": frozenset({OLD})})
    assert (spared.files, spared.left) == ((OLD,), 1)


def test_a_partition_of_which_something_is_needed_is_not_deleted_as_a_whole() -> None:
    files = {"p": [f"{BASE}/p/{OLD}"], "q": [f"{BASE}/q/{OLD}"]}
    data = a_clean_plan(files, partitions=["p", "q", "r"])
    needed = {"p": frozenset({NEW}), "r": frozenset({NEW})}
    spared = spare(data, needed)
    after = a_cleaner(spared.data)
    assert after.partitions == ("q",)
    assert after.files == {"p": (OLD,), "q": (OLD,)}  # what is due in it goes, file by file
    assert overlap(a_cleaner(data), needed) == (f"p/{NEW}", f"r/{NEW}")
    assert overlap(after, needed) == ()


def test_an_entry_without_a_path_stays_as_it_is() -> None:
    data = a_clean_plan({"p": [None, OLD]})  # type: ignore[list-item]
    spared = spare(data, {"p": frozenset({OLD})})
    assert (spared.files, spared.left) == ((f"p/{OLD}",), 1)


def test_a_plan_that_is_no_avro_is_not_rewritten() -> None:
    with pytest.raises(Undecodable):
        spare(b"{}", {})


def check_that_only_these_went(data: bytes, spared: Spared, needed: Any) -> None:
    """Record, schema and metadata are what they were, but for the needed files."""
    before, schema, meta = decode_avro_file(data)
    after, schema_after, meta_after = decode_avro_file(spared.data)
    assert (schema_after, meta_after) == (schema, meta)
    assert set(after) == set(before)
    lists = {"filePathsToBeDeletedPerPartition", "filesToBeDeletedPerPartition"}
    for name in set(before) - lists - {"partitionsToBeDeleted"}:
        assert after[name] == before[name]
    for name in lists:
        for partition, items in (before[name] or {}).items():
            kept = [item for item in items if name_of(item) not in needed.get(partition, ())]
            assert after[name][partition] == kept


def name_of(item: Any) -> str:
    path: str = item if isinstance(item, str) else item["filePath"]
    return path.rpartition("/")[2]


# --- real clean plans -----------------------------------------------------------------------------

CLEANED = [t for t in stored_tables() if t.name in ("cow_history", "mor_archived", "mor_done")]


@pytest.mark.parametrize("stored", CLEANED, ids=lambda t: f"{t.release}-{t.name}")
def test_hudis_own_clean_plans_survive_it(stored: StoredTable, tmp_path: Path) -> None:
    table = open_table(str(stored.unpack(tmp_path)))
    timeline = load_timeline(table)
    cleans = timeline.of(Action.CLEAN)
    assert len(cleans)
    for instant in cleans:
        plan = load_plan(table, timeline, instant)
        file = timeline.file_of(instant, State.REQUESTED)
        assert isinstance(plan, CleanerPlan)
        assert file is not None
        data = table.storage.read(file.path)
        partition, names = next(iter(plan.files.items()))
        needed = {partition: frozenset(names[:1])}
        spared = spare(data, needed)
        check_that_only_these_went(data, spared, needed)
        assert spared.left == sum(map(len, plan.files.values())) - 1
        after = a_cleaner(spared.data)
        assert after.files == {**plan.files, partition: names[1:]}
        assert after.partitions == tuple(name for name in plan.partitions if name != partition)
        untouched = spare(data, {})
        assert (untouched.files, a_cleaner(untouched.data)) == ((), plan)
