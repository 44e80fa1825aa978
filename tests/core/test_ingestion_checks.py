# SPDX-License-Identifier: Apache-2.0
"""May it be written? Decided before any compute is spent, in words that say what to do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_hudi.core.config import CleanKey, ClusteringKey, TableKey, WriteKey
from airflow_hudi.core.errors import TableNotFound, UnsupportedFeature
from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    SourceFormat,
    check_columns,
    check_schema,
    check_work,
    contradictions,
    needed_columns,
    no_inline_services,
    schema_changes,
    widened,
)
from airflow_hudi.core.job_errors import (
    InvalidWork,
    MissingColumns,
    OptionsContradictTable,
    SchemaWouldEvolve,
)
from airflow_hudi.core.properties import TableProperties, TableType
from airflow_hudi.core.table import open_table
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.versions import release
from airflow_hudi.spark.ingestion import _options
from tests.builders import the_properties
from tests.jobs import a_spec
from tests.tables.fixtures import StoredTable

URI = "/lake/orders"
NOW = release("1.2.0")
QUERY = QuerySource("SELECT 1 AS id")
SIMPLE = "org.apache.hudi.keygen.SimpleKeyGenerator"


def a_write(**changes: Any) -> IngestWork:
    return replace(IngestWork(Operation.UPSERT, QUERY), **changes)


def the_table(**changes: str) -> TableProperties:
    columns = {
        "table__recordkey__fields": "id",
        "table__partition__fields": "region",
        "table__ordering__fields": "ts",
    }
    return TableProperties(the_properties(**{**columns, **changes}))


# --- what makes no sense --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"operation": Operation.INSERT}, "insert needs a source; pass a path or a query"),
        (
            {"operation": Operation.INSERT, "source": QUERY, "partitions": ("eu",)},
            "insert takes no list of partitions; use operation='delete_partition', or drop it",
        ),
        (
            {"operation": Operation.DELETE_PARTITION, "source": QUERY},
            "delete_partition takes no source; name the partitions instead",
        ),
        (
            {"operation": Operation.DELETE_PARTITION},
            "delete_partition needs partitions; pass partitions=['…']",
        ),
        (
            {
                "operation": Operation.DELETE_PARTITION,
                "partitions": ("eu",),
                "create": NewTable(("id",)),
            },
            "delete_partition creates no table; drop the table's definition",
        ),
    ],
)
def test_work_that_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidWork) as raised:
        IngestWork(**arguments)
    assert str(raised.value) == message


def test_only_avro_files_need_sparks_avro_reader() -> None:
    assert a_write(source=FileSource("/in", SourceFormat.AVRO)).reads_avro
    assert not a_write(source=FileSource("/in", SourceFormat.CSV)).reads_avro
    assert not a_write().reads_avro


def test_sources_are_named_in_words() -> None:
    assert str(FileSource("s3://in/x.csv", SourceFormat.CSV)) == "s3://in/x.csv"
    assert str(QuerySource(" SELECT " + "x" * 100)) == f"the query {'SELECT ' + 'x' * 73!r}"


# --- the table and the release --------------------------------------------------------------------


def test_a_missing_table_is_made_only_where_that_was_asked() -> None:
    with pytest.raises(TableNotFound):
        check_work(a_write(), NOW, None, URI)
    check_work(a_write(create=NewTable(("id",))), NOW, None, URI)


def test_a_table_that_the_release_cannot_make_is_refused() -> None:
    work = a_write(create=NewTable(("id",), version=9))
    with pytest.raises(InvalidWork, match=r"Hudi 1.0.2 cannot make .* version 9; choose .* 6, 8"):
        check_work(work, release("1.0.2"), None, URI)


def test_several_ordering_columns_need_table_version_9() -> None:
    new = NewTable(("id",), ordering=("ts", "seq"))
    check_work(a_write(create=new), NOW, None, URI)
    with pytest.raises(UnsupportedFeature, match="more than one ordering field"):
        check_work(a_write(create=replace(new, version=8)), NOW, None, URI)


def test_a_release_that_would_upgrade_the_table_is_refused_in_one_way() -> None:
    old = the_table(version="5")
    for refused in (
        lambda: check_work(a_write(), NOW, old, URI),
        lambda: table_options(old, NOW),
    ):
        with pytest.raises(UnsupportedFeature, match=r"version 5, .* Hudi 1\.2\.0"):
            refused()
    with pytest.raises(UnsupportedFeature, match=r"it needs Hudi 1\.1\.1 or 1\.2\.0"):
        check_work(a_write(), release("0.15.0"), the_table(version="9"), URI)


# --- contradictions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "conflict"),
    [
        ({WriteKey.TABLE_NAME: "sales"}, ("orders", "sales")),
        ({WriteKey.TABLE_TYPE: "COPY_ON_WRITE"}, ("MERGE_ON_READ", "COPY_ON_WRITE")),
        ({TableKey.TYPE: "COPY_ON_WRITE"}, ("MERGE_ON_READ", "COPY_ON_WRITE")),
        ({WriteKey.RECORD_KEY_FIELD: "id,line"}, ("id", "id,line")),
        ({TableKey.RECORD_KEY_FIELDS: "line"}, ("id", "line")),
        ({WriteKey.PARTITION_FIELD: "day"}, ("region", "day")),
        ({WriteKey.PARTITION_FIELD: ""}, ("region", "")),
        ({WriteKey.PRECOMBINE_FIELD: "seq"}, ("ts", "seq")),
        ({WriteKey.ORDERING_FIELDS: "ts,seq"}, ("ts", "ts,seq")),
        ({WriteKey.HIVE_STYLE_PARTITIONING: "true"}, ("false", "true")),
        ({WriteKey.TABLE_VERSION: "8"}, ("9", "8")),
    ],
)
def test_an_option_that_says_another_table_is_a_contradiction(
    options: dict[WriteKey | TableKey, str], conflict: tuple[str, str]
) -> None:
    asked = {key.value: value for key, value in options.items()}
    assert list(contradictions(a_write(options=asked), the_table()).values()) == [conflict]


@pytest.mark.parametrize(
    "options",
    [
        {WriteKey.TABLE_NAME: "orders"},
        {WriteKey.TABLE_TYPE: "merge_on_read"},
        {WriteKey.RECORD_KEY_FIELD: " id "},
        {WriteKey.PARTITION_FIELD: "region:SIMPLE"},
        {WriteKey.PRECOMBINE_FIELD: "ts"},
        {WriteKey.HIVE_STYLE_PARTITIONING: "false"},
        {WriteKey.TABLE_VERSION: "9"},
        {WriteKey.KEY_GENERATOR_CLASS: SIMPLE},  # tables of 1.x do not keep the class
        {WriteKey.ROW_WRITER: "false"},
    ],
)
def test_an_option_that_repeats_the_table_is_none(options: dict[WriteKey, str]) -> None:
    asked = {key.value: value for key, value in options.items()}
    assert contradictions(a_write(options=asked), the_table()) == {}


def test_a_key_generator_that_the_table_names_is_its_own() -> None:
    table = the_table(table__keygenerator__class=SIMPLE)
    key = WriteKey.KEY_GENERATOR_CLASS.value
    assert contradictions(a_write(options={key: SIMPLE}), table) == {}
    assert contradictions(a_write(options={key: "Other"}), table) == {key: (SIMPLE, "Other")}


def test_a_definition_must_be_the_tables_own() -> None:
    own = NewTable(("id",), TableType.MERGE_ON_READ, ("ts",), ("region",), 9, name="orders")
    assert contradictions(a_write(create=own), the_table()) == {}
    unsaid = replace(own, version=None, name=None)
    assert contradictions(a_write(create=unsaid), the_table()) == {}
    other = NewTable(("k",), version=8, name="sales")
    assert contradictions(a_write(create=other), the_table()) == {
        "keys": ("id", "k"),
        "type": ("MERGE_ON_READ", "COPY_ON_WRITE"),
        "ordering": ("ts", ""),
        "partitions": ("region", ""),
        "version": ("9", "8"),
        "name": ("orders", "sales"),
    }


def test_a_contradiction_says_both_sides_and_what_to_do() -> None:
    work = a_write(options={WriteKey.RECORD_KEY_FIELD.value: "line"})
    with pytest.raises(OptionsContradictTable) as raised:
        check_work(work, NOW, the_table(), URI)
    assert str(raised.value) == (
        "the job contradicts /lake/orders: hoodie.datasource.write.recordkey.field is 'id' in the"
        " table and 'line' in the job. The table keeps what it was created with: drop the option,"
        " or write to another table"
    )


@pytest.mark.parametrize("name", ["mor_done", "cow_history", "mor_pending_v6"])
def test_a_real_table_does_not_contradict_itself(name: str, tmp_path: Path) -> None:
    table = open_table(str(StoredTable("1.2.0", name).unpack(tmp_path))).properties
    work = a_write(options=table_options(table, NOW))
    assert contradictions(work, table) == {}


@pytest.mark.parametrize(
    ("key", "parameter"),
    [
        (WriteKey.OPERATION, "operation='bulk_insert'"),
        (WriteKey.PARTITIONS_TO_DELETE, "operation='delete_partition' and partitions=['…']"),
    ],
)
@pytest.mark.parametrize("table", [None, the_table()], ids=["new", "there"])
def test_an_option_in_the_place_of_a_parameter_is_refused(
    key: WriteKey, parameter: str, table: TableProperties | None
) -> None:
    new = NewTable(("id",)) if table is None else None
    with pytest.raises(InvalidWork) as raised:
        check_work(a_write(create=new, options={key.value: "bulk_insert"}), NOW, table, URI)
    assert str(raised.value) == (
        f"{key.value} among the options would not be heeded, or change another write than was"
        f" asked for; drop it and pass {parameter}"
    )


# --- one owner of services ------------------------------------------------------------------------


def test_a_write_leaves_every_table_service_to_others() -> None:
    assert no_inline_services() == {
        "hoodie.compact.inline": "false",
        "hoodie.compact.schedule.inline": "false",
        "hoodie.log.compaction.inline": "false",
        "hoodie.clustering.inline": "false",
        "hoodie.clustering.schedule.inline": "false",
        "hoodie.clustering.async.enabled": "false",
        "hoodie.clean.automatic": "false",
    }


@pytest.mark.parametrize("value", ["true", "TRUE"])
@pytest.mark.parametrize("key", no_inline_services())
@pytest.mark.parametrize("table", [None, the_table()], ids=["new", "there"])
def test_a_service_within_the_write_is_refused_unless_that_was_asked(
    key: str, value: str, table: TableProperties | None
) -> None:
    new = NewTable(("id",)) if table is None else None
    work = a_write(create=new, options={key: value})
    with pytest.raises(InvalidWork) as raised:
        check_work(work, NOW, table, URI)
    assert str(raised.value) == (
        f"{key} would run a table service within the write, beside the jobs whose work that is;"
        " drop the option and give the table a service operator, or pass inline_services=True if no"
        " operator serves it"
    )
    check_work(replace(work, inline_services=True), NOW, table, URI)
    check_work(replace(work, options={key: "false"}), NOW, table, URI)


def test_every_service_that_is_switched_on_is_named() -> None:
    options = {key.value: "true" for key in (WriteKey.COMPACT_INLINE, CleanKey.AUTOMATIC)}
    with pytest.raises(InvalidWork, match=r"^hoodie.compact.inline, hoodie.clean.automatic would"):
        check_work(a_write(options=options), NOW, the_table(), URI)


@pytest.mark.parametrize("there", [True, False])
def test_the_driver_tells_hudi_so_and_leaves_hudi_its_choice_where_asked(
    there: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    table = None
    if there:
        table = open_table(str(StoredTable("1.2.0", "mor_done").unpack(tmp_path)))
    own = {ClusteringKey.INLINE.value: "true"}
    write = a_write(create=NewTable(("id",), TableType.MERGE_ON_READ))

    def told(work: IngestWork) -> set[tuple[str, str]]:
        job: Any = SimpleNamespace(spec=a_spec(work=work))
        return set(_options(job, work, table, NOW).items())

    off = set(no_inline_services().items())
    assert off <= told(write)
    assert not off & told(replace(write, inline_services=True))
    said = told(replace(write, inline_services=True, options=own))
    assert said & (off | set(own.items())) == set(own.items())


# --- columns --------------------------------------------------------------------------------------


def test_rows_need_key_partition_and_order() -> None:
    needed = {"id": "key", "region": "partition", "ts": "ordering"}
    assert needed_columns(a_write(), the_table()) == needed
    new = NewTable(("id",), ordering=("ts",), partitions=("region",))
    assert needed_columns(a_write(create=new), None) == needed
    assert (
        needed_columns(a_write(create=new), the_table(table__recordkey__fields="k"))["k"] == "key"
    )
    assert needed_columns(a_write(), None) == {}


def test_a_delete_needs_no_order() -> None:
    assert needed_columns(a_write(operation=Operation.DELETE), the_table()) == {
        "id": "key",
        "region": "partition",
    }


def test_a_column_of_two_uses_is_named_by_the_first() -> None:
    table = the_table(table__partition__fields="id", table__ordering__fields="id")
    assert needed_columns(a_write(), table) == {"id": "key"}


def test_columns_are_found_whatever_their_case_and_inside_structs() -> None:
    table = the_table(table__recordkey__fields="event.id")
    check_columns(a_write(), table, ["EVENT", "Region", "ts", "more"])


def test_missing_columns_are_named_with_what_they_are_for() -> None:
    with pytest.raises(MissingColumns) as raised:
        check_columns(a_write(), the_table(), ["ts", "v"])
    assert raised.value.missing == ("id", "region")
    assert str(raised.value) == (
        "the source has no column id (key), region (partition); it has ts, v. Nothing was written:"
        " correct the source or the names"
    )
    with pytest.raises(MissingColumns, match="it has no columns"):
        check_columns(a_write(), the_table(), [])


# --- schemas --------------------------------------------------------------------------------------

COLUMNS = {"id": "bigint", "v": "string", "day": "timestamp"}


@pytest.mark.parametrize(
    ("rows", "changes"),
    [
        (COLUMNS, ()),
        ({**COLUMNS, "id": "int"}, ()),
        ({**COLUMNS, "day": "date"}, ()),
        ({**COLUMNS, "new": "int"}, ("new (int) is new",)),
        ({"id": "bigint", "v": "string"}, ("day (timestamp) is missing in the rows",)),
        (
            {**COLUMNS, "id": "string"},
            ("id is bigint in the table and string in the rows",),
        ),
        ({**COLUMNS, "v": "int"}, ("v is string in the table and int in the rows",)),
        (
            {"ID": "bigint", "v": "string", "day": "timestamp"},
            ("ID (bigint) is new", "id (bigint) is missing in the rows"),
        ),
    ],
)
def test_what_rows_would_change(rows: dict[str, str], changes: tuple[str, ...]) -> None:
    assert schema_changes(COLUMNS, rows) == changes


def test_only_what_loses_nothing_is_widened() -> None:
    assert widened({"a": "bigint", "b": "int"}, {"a": "int", "b": "bigint", "c": "int"}) == {
        "a": "bigint"
    }


def test_columns_change_only_where_that_was_asked() -> None:
    rows = {**COLUMNS, "new": "int"}
    with pytest.raises(SchemaWouldEvolve) as raised:
        check_schema(a_write(), URI, table=COLUMNS, rows=rows)
    assert str(raised.value) == (
        "this write would change the columns of /lake/orders: new (int) is new. Nothing was"
        " written: select the table's columns, or pass evolve_schema=True if it is meant"
    )
    check_schema(a_write(), URI, table=COLUMNS, rows=COLUMNS)
    check_schema(a_write(evolve_schema=True), URI, table=COLUMNS, rows=rows)
    check_schema(a_write(operation=Operation.DELETE), URI, table=COLUMNS, rows={"id": "bigint"})
