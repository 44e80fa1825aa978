# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from airflow_hudi.core.engine_errors import (
    CheckSkipped,
    InstantNotPending,
    RecordsRejected,
    WriteConflict,
)
from airflow_hudi.core.errors import ConcurrencyError, UnsupportedFeature
from airflow_hudi.core.properties import TableProperties
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.versions import RELEASES, release

PROPERTIES = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "6",
    "hoodie.table.recordkey.fields": "id,region",
    "hoodie.table.partition.fields": "region,day",
    "hoodie.table.precombine.field": "ts",
    "hoodie.table.keygenerator.class": "a.KeyGenerator",
    "hoodie.compaction.payload.class": "a.Payload",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.table.checksum": "1",
    "hoodie.database.name": "",
}
OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id,region",
    "hoodie.datasource.write.partitionpath.field": "region,day",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.keygenerator.class": "a.KeyGenerator",
    "hoodie.datasource.write.payload.class": "a.Payload",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.compact.inline": "false",
}


def options_of(changes: dict[str, str], name: str = "1.2.0") -> dict[str, str]:
    return table_options(TableProperties({**PROPERTIES, **changes}), release(name))


def test_options_say_what_the_table_says_and_nothing_else() -> None:
    assert options_of({}, "0.15.0") == OPTIONS


@pytest.mark.parametrize("version", ["6", "8", "9"])
def test_a_release_that_could_upgrade_a_table_is_told_not_to(version: str) -> None:
    options = options_of({"hoodie.table.version": version})

    assert options["hoodie.write.table.version"] == version
    assert options["hoodie.write.auto.upgrade"] == "false"


@pytest.mark.parametrize(
    ("version", "name", "able"),
    [
        ("5", "0.15.0", "an upgrade of the table"),  # 0.15 has no switch: it would upgrade
        ("8", "0.15.0", "Hudi 1.0.2 or 1.1.1 or 1.2.0"),
        ("9", "1.0.2", "Hudi 1.1.1 or 1.2.0"),
    ],
)
def test_a_version_that_the_release_does_not_write_is_refused(
    version: str, name: str, able: str
) -> None:
    with pytest.raises(UnsupportedFeature, match=f"version {version}, .*Hudi {name}.*{able}"):
        options_of({"hoodie.table.version": version}, name)


def test_every_release_is_told_of_the_versions_it_writes() -> None:
    for known in RELEASES:
        for version in known.writes:
            assert options_of({"hoodie.table.version": str(version)}, known.name)


def test_newer_tables_have_other_keys_for_the_same() -> None:
    options = options_of(
        {
            "hoodie.table.version": "9",
            "hoodie.table.precombine.field": "",
            "hoodie.table.ordering.fields": "ts,seq",
            "hoodie.compaction.payload.class": "",
            "hoodie.table.legacy.payload.class": "an.OldPayload",
            "hoodie.table.keygenerator.class": "",
            "hoodie.table.keygenerator.type": "COMPLEX",
        }
    )

    assert options["hoodie.datasource.write.precombine.field"] == "ts,seq"
    assert options["hoodie.datasource.write.payload.class"] == "an.OldPayload"
    assert options["hoodie.datasource.write.keygenerator.type"] == "COMPLEX"
    assert "hoodie.datasource.write.keygenerator.class" not in options


def test_a_custom_key_generator_keeps_its_types_and_no_partition_is_an_answer() -> None:
    field = "hoodie.datasource.write.partitionpath.field"

    assert options_of({"hoodie.table.partition.fields": "day:timestamp"})[field] == "day:timestamp"
    assert options_of({"hoodie.table.partition.fields": ""})[field] == ""


def test_a_table_without_order_or_payload_is_not_given_one() -> None:
    options = options_of(
        {"hoodie.table.precombine.field": "", "hoodie.compaction.payload.class": ""}
    )

    assert not any("precombine" in key or "payload" in key for key in options)


def test_what_hudi_answers_says_what_to_do() -> None:
    conflict = WriteConflict("/lake/orders", "overlapping writes")
    gone = InstantNotPending("/lake/orders", "20260101000000000")

    assert conflict.retryable
    assert isinstance(gone, ConcurrencyError)
    assert "write again from the table's new state (overlapping writes)" in str(conflict)
    assert "20260101000000000 is not pending on /lake/orders" in str(gone)
    assert "pending until it is rolled back" in str(RecordsRejected("/lake/orders", "1"))
    assert "did not call the check" in str(CheckSkipped("/lake/orders", "1", "upsert"))
