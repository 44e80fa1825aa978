# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.errors import (
    PropertiesUnreadable,
    TableNotFound,
    UnknownLayout,
    UnknownTableVersion,
)
from airflow_hudi.core.instants import LOCAL, UTC
from airflow_hudi.core.layout import Layout
from airflow_hudi.core.properties import (
    BACKUP_PATH,
    PROPERTIES_PATH,
    Source,
    TableProperties,
    TableType,
    format_properties,
    load_properties,
    parse_properties,
)
from airflow_hudi.core.storage.memory import InMemoryStorage
from airflow_hudi.core.values import from_json, to_json
from tests.builders import the_properties

WRITTEN_BY_JAVA = (
    b"#Updated at 2026-11-18T13:00:00.000Z\n#Wed Nov 18 13:00:00 UTC 2026\n"
    b"hoodie.table.name=orders\n"
    b'hoodie.table.create.schema={"type"\\:"record","name"\\:"a\\=b"}\n'
    b"hoodie.table.partition.fields=region\\:SIMPLE,day\n"
    b"note=\\u00E4\\uD83D\\uDE00 x\\\n   continued\n"
    b"! a comment\r\nbare\r\nspaced  value with spaces \n"
)


def stored(main: bytes | None, backup: bytes | None = None) -> InMemoryStorage:
    storage = InMemoryStorage()
    for path, data in ((PROPERTIES_PATH, main), (BACKUP_PATH, backup)):
        if data is not None:
            storage.put(path, data)
    return storage


def text_of(**changes: str) -> bytes:
    return format_properties(the_properties(**changes))


def test_javas_text_is_read_as_java_reads_it() -> None:
    assert parse_properties(WRITTEN_BY_JAVA) == {
        "hoodie.table.name": "orders",
        "hoodie.table.create.schema": '{"type":"record","name":"a=b"}',
        "hoodie.table.partition.fields": "region:SIMPLE,day",
        "note": "ä😀 xcontinued",
        "bare": "",
        "spaced": "value with spaces ",
    }


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=8))
def test_text_round_trips(values: dict[str, str]) -> None:
    storable = {
        key: value
        for key, value in values.items()
        if not any("\ud800" <= char <= "\udfff" for char in key + value)
    }
    assert parse_properties(format_properties(storable)) == storable


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    assert all(isinstance(value, str) for value in parse_properties(data).values())


def test_properties_have_names() -> None:
    properties = load_properties(
        stored(
            text_of(
                table__partition__fields="region:SIMPLE, day",
                table__recordkey__fields="id",
                table__ordering__fields="ts,seq",
            )
        )
    )
    assert properties.name == "orders"
    assert properties.type is TableType.MERGE_ON_READ
    assert properties.version.number == 9
    assert properties.layout is Layout.V2
    assert properties.partition_fields == ("region", "day")
    assert properties.record_key_fields == ("id",)
    assert properties.ordering_fields == ("ts", "seq")
    assert properties.timeline_folder == ".hoodie/timeline"
    assert properties.history_folder == ".hoodie/timeline/history"
    assert properties.zone == UTC
    assert properties.source is Source.MAIN


def test_folders_follow_the_layout_and_the_properties() -> None:
    old = load_properties(stored(text_of(version="6", archivelog__folder="old")))
    assert (old.timeline_folder, old.history_folder) == (".hoodie", ".hoodie/old")
    new = load_properties(stored(text_of(timeline__path="t", timeline__history__path="h")))
    assert (new.timeline_folder, new.history_folder) == (".hoodie/t", ".hoodie/t/h")


def test_layout_follows_the_version_where_it_is_not_said() -> None:
    assert TableProperties({"hoodie.table.version": "8"}).layout is Layout.V2
    assert TableProperties({"hoodie.table.version": "6"}).layout is Layout.V1
    assert TableProperties({}).layout is Layout.V1
    assert TableProperties({"hoodie.timeline.layout.version": "0"}).layout is Layout.V1


def test_before_version_9_the_precombine_field_orders() -> None:
    properties = TableProperties({"hoodie.table.precombine.field": "ts"})
    assert properties.ordering_fields == ("ts",)


def test_local_time_unless_the_table_says_utc() -> None:
    assert TableProperties({}).zone == LOCAL
    assert TableProperties({"hoodie.table.timeline.timezone": "LOCAL"}).zone == LOCAL


def test_the_checksum_javas_hudi_writes_is_accepted() -> None:
    # CRC32 of ".orders"; the zipped tables hold what Java writes
    properties = load_properties(stored(text_of(table__checksum="1443086834")))
    assert properties.has_valid_checksum


def test_a_missing_file_is_read_from_the_backup() -> None:
    properties = load_properties(stored(None, text_of()))
    assert properties.source is Source.BACKUP


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"#Updated at\n",
        b"hoodie.table.na",
        text_of(table__checksum="12"),
        text_of(table__type="SIDEWAYS"),
        text_of(version="6", table__version="six"),
    ],
    ids=["empty", "cut after the comment", "cut in a key", "checksum", "type", "version"],
)
def test_a_damaged_file_is_read_from_the_backup_or_said(damaged: bytes) -> None:
    assert load_properties(stored(damaged, text_of())).source is Source.BACKUP
    with pytest.raises(PropertiesUnreadable, match=r"properties of memory:.* cannot be read"):
        load_properties(stored(damaged))


def test_no_table_is_said() -> None:
    with pytest.raises(TableNotFound, match="no Hudi table at memory:"):
        load_properties(stored(None))


def test_a_newer_version_is_read_but_not_pretended_to_be_known() -> None:
    properties = load_properties(stored(text_of(table__version="42")))
    assert properties.layout is Layout.V2
    with pytest.raises(UnknownTableVersion, match="table version 42 is unknown"):
        _ = properties.version


@pytest.mark.parametrize(
    "text",
    [
        text_of(timeline__layout__version="7"),
        b"hoodie.table.name=t\nhoodie.table.version=10\n",
    ],
    ids=["layout", "version"],
)
def test_a_newer_hudis_table_is_not_taken_for_a_damaged_one(text: bytes) -> None:
    with pytest.raises((UnknownLayout, UnknownTableVersion), match="upgrade airflow-hudi"):
        load_properties(stored(text, text_of()))


def test_an_update_in_the_middle_is_waited_for() -> None:
    class Updating(InMemoryStorage):
        misses = 2

        def read(self, path: str) -> bytes:
            if self.misses and path == PROPERTIES_PATH:
                self.misses -= 1
                return super().read("gone meanwhile")
            return super().read(path)

    storage = Updating()
    storage.put(PROPERTIES_PATH, text_of())
    assert load_properties(storage).name == "orders"


def test_json_both_ways() -> None:
    properties = TableProperties(the_properties(), Source.BACKUP)
    assert from_json(TableProperties, to_json(properties)) == properties
