# SPDX-License-Identifier: Apache-2.0
"""Ingestion and compaction on real tables: rows by checksum against a model, instants on the
timeline, and every refusal before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_hudi.core.commits import load_commit
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.ingestion import (
    JOB_METADATA_KEY,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    SourceFormat,
    WhenEmpty,
)
from airflow_hudi.core.job_errors import JobFailed
from airflow_hudi.core.jobs import Outcome
from airflow_hudi.core.properties import TableType
from airflow_hudi.core.services.kinds import Mode
from airflow_hudi.core.services.policies import CompactionPolicy
from airflow_hudi.core.services.works import ServiceWork
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.core.versions import release as known_release
from tests.spark.bench import COLUMNS, Bench, rows
from tests.spark.engines import Engines

pytestmark = pytest.mark.spark

COW, MOR = TableType.COPY_ON_WRITE, TableType.MERGE_ON_READ
FULL = [("0.15.0", COW), ("0.15.0", MOR), ("1.2.0", COW), ("1.2.0", MOR)]
SMOKE = [("1.0.2", MOR), ("1.1.1", MOR)]


def a_bench(
    engines: Engines, tmp_path: Path, release: str, kind: TableType, version: int | None = None
) -> Bench:
    definition = NewTable(
        keys=("id",), type=kind, ordering=("ts",), partitions=("region",), version=version
    )
    return Bench(engines[release], tmp_path, definition)


@pytest.mark.parametrize(("release", "kind"), [*FULL, *SMOKE])
def test_inserts_updates_and_deletes_are_what_a_reader_sees(
    engines: Engines, tmp_path: Path, release: str, kind: TableType
) -> None:
    bench = a_bench(engines, tmp_path, release, kind)
    placed = [*rows("abcd"), *rows("wxyz", region="us")]
    bench.model = {row["id"]: row for row in placed}

    created = bench.ingest("insert", placed, kind=SourceFormat.PARQUET)
    bench.upsert([*rows("ab", ts=2, v="b"), *rows("n", region="us")], kind=SourceFormat.CSV)
    bench.upsert(rows("c", ts=3, v="c"))
    gone = bench.ingest("delete", rows("dw"[:1]))
    del bench.model["d"]

    assert created.outcome is Outcome.DONE
    assert created.rows is not None
    assert created.rows.inserted == 8
    assert gone.rows is not None
    assert gone.rows.deleted == 1
    bench.check()
    properties = bench.table.properties
    assert properties.type is kind
    assert properties.version_number == known_release(release).default_table_version
    assert properties.record_key_fields == ("id",)
    assert properties.ordering_fields == ("ts",)
    assert properties.partition_fields == ("region",)


@pytest.mark.parametrize(("release", "kind"), FULL)
def test_overwrites_replace_what_they_name_and_nothing_else(
    engines: Engines, tmp_path: Path, release: str, kind: TableType
) -> None:
    bench = a_bench(engines, tmp_path, release, kind)
    bench.upsert([*rows("ab"), *rows("cd", region="us")])

    bench.ingest("insert_overwrite", rows("x", ts=2))
    bench.model = {r["id"]: r for r in [*rows("x", ts=2), *rows("cd", region="us")]}
    bench.check()

    bench.run(
        IngestWork(Operation.DELETE_PARTITION, partitions=("us",), options=dict(bench.options))
    )
    bench.model = {r["id"]: r for r in rows("x", ts=2)}
    bench.check()

    sql = "select 'q' id, 'us' region, bigint(7) ts, 'sql' v"
    bench.run(IngestWork(Operation.BULK_INSERT, QuerySource(sql), options=dict(bench.options)))
    bench.model["q"] = {"id": "q", "region": "us", "ts": 7, "v": "sql"}
    bench.check()

    bench.ingest("insert_overwrite_table", rows("z", ts=9))
    bench.model = {r["id"]: r for r in rows("z", ts=9)}
    bench.check()


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_a_job_commits_once_however_often_it_is_run(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = a_bench(engines, tmp_path, release, MOR)
    bench.upsert(rows("ab"))
    first = bench.upsert(rows("c"), task="again")

    second = bench.upsert(rows("c"), task="again")

    assert first.outcome is second.outcome is Outcome.DONE
    assert second.instant == first.instant
    assert "is on the timeline already" in second.summary
    timeline = load_timeline(bench.table)
    assert len(timeline.completed().writes()) == 2
    assert len(timeline.pending()) == 0
    made_by = timeline.completed().writes().latest()
    assert made_by is not None
    commit = load_commit(bench.table, timeline, made_by)
    assert not isinstance(commit, Defect)
    assert commit.extra[JOB_METADATA_KEY] == "tests/run/again"
    bench.check()


@pytest.mark.parametrize("release", ["0.15.0", "1.0.2", "1.1.1", "1.2.0"])
def test_a_compaction_is_planned_by_one_job_and_executed_by_another(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = a_bench(engines, tmp_path, release, MOR)
    bench.upsert([*rows("abcd"), *rows("wx", region="us")])
    bench.upsert([*rows("ab", ts=2, v="b"), *rows("w", region="us", ts=2, v="b")])
    bench.upsert(rows("a", ts=1, v="late"))
    bench.model["a"] = rows("a", ts=2, v="b")[0]  # the larger event time wins, before and after

    planned = bench.run(ServiceWork(CompactionPolicy(), Mode.SCHEDULE))
    assert planned.instant is not None
    assert planned.plan is not None
    assert planned.plan.file_groups == 2
    bench.check()
    executed = bench.run(ServiceWork(CompactionPolicy(), Mode.EXECUTE, planned.instant))
    again = bench.run(ServiceWork(CompactionPolicy(), Mode.EXECUTE, planned.instant))
    none_left = bench.run(ServiceWork(CompactionPolicy(), Mode.BOTH))

    assert executed.outcome is Outcome.DONE
    assert executed.instant == planned.instant
    assert again.outcome is Outcome.NOTHING_TO_DO
    assert "was completed at" in again.summary
    assert none_left.outcome is Outcome.NOTHING_TO_DO
    assert "0 delta commits since the last compaction" in none_left.summary
    bench.check()


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_both_halves_in_one_job(engines: Engines, tmp_path: Path, release: str) -> None:
    bench = a_bench(engines, tmp_path, release, MOR)
    bench.upsert(rows("ab"))
    bench.upsert(rows("a", ts=2, v="b"))

    unripe = bench.run(ServiceWork(CompactionPolicy(after_delta_commits=5), Mode.BOTH))
    ripe = bench.run(ServiceWork(CompactionPolicy(), Mode.BOTH))

    assert unripe.outcome is Outcome.NOTHING_TO_DO
    assert "and the policy asks for 5" in unripe.summary
    assert ripe.outcome is Outcome.DONE
    timeline = load_timeline(bench.table)
    assert len(timeline.pending()) == 0
    bench.check()


def test_an_older_table_version_stays_what_it_is(engines: Engines, tmp_path: Path) -> None:
    bench = a_bench(engines, tmp_path, "1.2.0", MOR, version=6)
    bench.upsert(rows("ab"))
    bench.upsert(rows("a", ts=2, v="b"))
    bench.run(ServiceWork(CompactionPolicy(), Mode.BOTH))

    assert bench.table.properties.version_number == 6
    bench.check()


SHAPES = {
    "not partitioned, no ordering": NewTable(keys=("id",)),
    "two keys, two partition levels": NewTable(
        keys=("id", "v"), type=MOR, ordering=("ts",), partitions=("region", "v"), hive_style=True
    ),
}


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
@pytest.mark.parametrize("shape", SHAPES)
def test_tables_of_other_shapes_with_hudis_own_defaults(
    engines: Engines, tmp_path: Path, release: str, shape: str
) -> None:
    bench = Bench(engines[release], tmp_path, SHAPES[shape], options={})
    bench.upsert([*rows("ab"), *rows("c", region="us")])
    bench.upsert(rows("a", ts=2))
    bench.ingest("delete", rows("b"))
    del bench.model["b"]

    if bench.definition.type is MOR:
        assert bench.run(ServiceWork(CompactionPolicy(), Mode.BOTH)).outcome is Outcome.DONE
    assert len(load_timeline(bench.table).pending()) == 0
    bench.check()


@pytest.mark.parametrize("release", ["0.15.0", "1.0.2", "1.1.1", "1.2.0"])
def test_a_first_write_that_was_given_up_does_not_stand_in_the_way_of_the_next(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = a_bench(engines, tmp_path, release, MOR)
    bench.options = {**bench.options, "hoodie.client.heartbeat.interval_in_ms": "1000"}
    bench.cancel_before_commit = True
    with pytest.raises(JobFailed) as raised:
        bench.ingest("insert", rows("ab"), task="first")
    assert raised.value.kind == "JobSuperseded"
    assert len(load_timeline(bench.table).pending().writes()) == 1

    bench.cancel_before_commit = False
    bench.upsert(rows("abc", ts=2), task="second")

    assert len(load_timeline(bench.table).completed().writes()) == 1
    bench.check()


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_rows_that_would_change_the_table_are_refused_and_nothing_is_written(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = a_bench(engines, tmp_path, release, COW)
    bench.upsert(rows("ab"))
    before = load_timeline(bench.table).instants
    more = [{**row, "extra": "x"} for row in rows("c")]
    without_key = [{"region": "eu", "ts": 1, "v": "a"}]

    refusals: dict[str, Callable[[], object]] = {
        "SchemaWouldEvolve": lambda: bench.ingest("upsert", more),
        "MissingColumns": lambda: bench.ingest("upsert", without_key),
        "SourceEmpty": lambda: bench.run(_empty_query(bench, WhenEmpty.FAIL)),
        "OptionsContradictTable": lambda: bench.run(_contradiction(bench)),
    }
    for kind, refused in refusals.items():
        with pytest.raises(JobFailed) as raised:
            refused()
        assert raised.value.kind == kind
        assert not raised.value.retryable

    skipped = bench.run(_empty_query(bench, WhenEmpty.SKIP))
    assert skipped.outcome is Outcome.NOTHING_TO_DO
    assert load_timeline(bench.table).instants == before
    bench.check()

    evolved = bench.ingest("upsert", more, evolve_schema=True)
    assert evolved.outcome is Outcome.DONE


@pytest.mark.parametrize(("release", "kind"), FULL)
def test_with_evolving_columns_new_ones_are_nullable_and_absent_ones_are_null(
    engines: Engines, tmp_path: Path, release: str, kind: TableType
) -> None:
    bench = a_bench(engines, tmp_path, release, kind)
    bench.upsert(rows("ab"))

    # Literals are not nullable, and neither are the fields inside.
    new = "'x' w, named_struct('n', 1, 'm', array(2)) deep"
    bench.run(_evolving(bench, f"select 'c' id, 'eu' region, bigint(1) ts, 'a' v, {new}"))
    # Into the same file, from both kinds of sources; without v, and without what is new.
    bench.run(_evolving(bench, "select 'a' id, 'eu' region, bigint(2) ts, 'y' w"))
    lacking = [{key: value for key, value in row.items() if key != "v"} for row in rows("d", ts=3)]
    bench.ingest("upsert", lacking, evolve_schema=True)
    placed = {row["id"]: row for row in [*rows("bc"), *rows("a", ts=2), *rows("d", ts=3)]}
    bench.model = {
        **{key: {**row, "w": None, "deep": None} for key, row in placed.items()},
        "a": {**placed["a"], "v": None, "w": "y", "deep": None},
        "c": {**placed["c"], "w": "x", "deep": {"n": 1, "m": [2]}},
    }
    bench.model["d"]["v"] = None
    bench.check(columns=(*COLUMNS, "w", "deep"))

    if kind is MOR:
        bench.run(ServiceWork(CompactionPolicy(), Mode.BOTH))
        bench.check(columns=(*COLUMNS, "w", "deep"))

    # Columns without which there is no record stay required; a delete needs no others.
    with pytest.raises(JobFailed, match="no column ts \\(ordering\\)"):
        bench.run(_evolving(bench, "select 'e' id, 'eu' region, 'y' w"))
    bench.ingest("delete", [{"id": "d", "region": "eu"}], evolve_schema=True)
    del bench.model["d"]
    bench.check(columns=(*COLUMNS, "w", "deep"))


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_a_column_that_was_never_null_may_be_lacking_too(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = a_bench(engines, tmp_path, release, COW)
    sql = "select 'a' id, 'eu' region, bigint(1) ts, 'a' v"
    bench.run(
        IngestWork(
            Operation.INSERT, QuerySource(sql), bench.definition, options=dict(bench.options)
        )
    )
    bench.run(_evolving(bench, "select 'b' id, 'eu' region, bigint(1) ts"))

    bench.model = {row["id"]: row for row in rows("ab")}
    bench.model["b"]["v"] = None
    bench.check()


def _evolving(bench: Bench, sql: str) -> IngestWork:
    return IngestWork(
        Operation.UPSERT, QuerySource(sql), options=dict(bench.options), evolve_schema=True
    )


@pytest.mark.parametrize(("release", "kind"), FULL)
def test_partitions_that_are_not_there_are_not_deleted(
    engines: Engines, tmp_path: Path, release: str, kind: TableType
) -> None:
    bench = a_bench(engines, tmp_path, release, kind)
    bench.upsert([*rows("ab"), *rows("cd", region="us"), *rows("e", region="ca")])
    overwritten = bench.ingest("insert_overwrite", rows("x", ts=2))
    assert overwritten.summary.endswith(
        ": 1 file groups replaced, 1 inserted, 0 updated, 0 deleted"
    )
    bench.model = {
        row["id"]: row
        for row in [*rows("x", ts=2), *rows("cd", region="us"), *rows("e", region="ca")]
    }
    before = load_timeline(bench.table).instants

    none = bench.run(_deletion(bench, "mx", "nowhere"))
    assert none.outcome is Outcome.NOTHING_TO_DO
    there = "it has some in ca, eu, us"
    assert none.summary == f"{bench.base} has no files in mx, nowhere; {there}"
    assert load_timeline(bench.table).instants == before

    some = bench.run(_deletion(bench, "us", "mx"))
    assert some.summary == (
        f"delete_partition committed as {some.instant}: 1 file groups replaced, 0 inserted,"
        " 0 updated, 0 deleted"
    )
    assert some.notes == (f"{bench.base} has no files in mx",)
    del bench.model["c"], bench.model["d"]
    bench.check()

    # Their files are still on the disk until a clean removes them.
    again = bench.run(_deletion(bench, "us"))
    assert again.outcome is Outcome.NOTHING_TO_DO

    any_of = bench.run(_deletion(bench, "c*"))
    assert any_of.outcome is Outcome.DONE
    del bench.model["e"]
    bench.check()


def _deletion(bench: Bench, *partitions: str) -> IngestWork:
    return IngestWork(
        Operation.DELETE_PARTITION, partitions=partitions, options=dict(bench.options)
    )


@pytest.mark.parametrize("release", ["0.15.0", "1.2.0"])
def test_a_null_key_is_the_first_thing_that_is_said(
    engines: Engines, tmp_path: Path, release: str
) -> None:
    bench = a_bench(engines, tmp_path, release, COW)
    bench.upsert(rows("ab"))
    with pytest.raises(JobFailed, match=r'^HoodieKeyException: recordKey value: "null"') as raised:
        bench.ingest("upsert", [*rows("c"), {**rows("d")[0], "id": None}])
    assert raised.value.kind == "HoodieKeyException"
    assert not raised.value.retryable
    bench.check()


def _empty_query(bench: Bench, policy: WhenEmpty) -> IngestWork:
    sql = "select 'x' id, 'eu' region, bigint(1) ts, 'a' v where false"
    return IngestWork(
        Operation.UPSERT, QuerySource(sql), options=dict(bench.options), when_empty=policy
    )


def _contradiction(bench: Bench) -> IngestWork:
    options = {**bench.options, "hoodie.datasource.write.recordkey.field": "v"}
    return IngestWork(Operation.UPSERT, QuerySource("select 1"), options=options)
