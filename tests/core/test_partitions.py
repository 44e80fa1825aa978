# SPDX-License-Identifier: Apache-2.0
"""Which of the partitions that a job names a reader sees files in."""

from __future__ import annotations

import json

import pytest

from airflow_hudi.core.errors import UnsafePath
from airflow_hudi.core.partitions import AskedPartitions, look_for_partitions
from airflow_hudi.core.table import Table
from tests.builders import a_table

URI = "/lake/orders"


def a_partitioned(*partitions: str, replaced: str | None = None) -> Table:
    """A table with one file in each partition; those of one of them are replaced since."""
    files = {"10.deltacommit": b"{}"}
    for path in partitions:
        files |= {f"{path}/.hoodie_partition_metadata": b"", f"{path}/{path[-1]}_0_10.parquet": b""}
    if replaced is not None:
        commit = {"partitionToReplaceFileIds": {replaced: [replaced[-1]]}}
        files["20.replacecommit"] = json.dumps(commit).encode()
    return a_table(files, version="6")


def test_partitions_are_found_by_their_exact_paths() -> None:
    table = a_partitioned("eu", "us", "day=1/hour=2")
    assert look_for_partitions(table, ("us", "day=1/hour=2")) == AskedPartitions(
        found=("us", "day=1/hour=2")
    )
    for wrong in ("us/", "US", "day=1", ".hoodie", "us/more"):
        asked = look_for_partitions(table, ("eu", wrong))
        assert asked == AskedPartitions(found=("eu",), missing=(wrong,)), wrong


def test_a_partition_whose_files_were_replaced_has_none() -> None:
    table = a_partitioned("eu", "us", replaced="us")
    assert look_for_partitions(table, ("us",)) == AskedPartitions(missing=("us",), others=("eu",))


def test_a_partition_that_only_a_pending_write_has_files_in_has_none() -> None:
    table = a_partitioned("eu")
    table.storage.create("us/.hoodie_partition_metadata", b"")
    table.storage.create("us/f_0_20.parquet", b"")
    assert look_for_partitions(table, ("us",)).missing == ("us",)


@pytest.mark.parametrize("pattern", ["day=*", "*", "%2A=1", "*y*1"])
def test_a_star_stands_for_anything_as_hudi_takes_it(pattern: str) -> None:
    table = a_partitioned("day=1", "eu")
    assert look_for_partitions(table, (pattern,)).found == (pattern,)
    assert look_for_partitions(table, ("da.*", "x*", "day=?", "d*y")).missing == (
        *("da.*", "x*", "day=?", "d*y"),
    )


def test_the_table_of_no_partitions_is_one_with_an_empty_path() -> None:
    files = {"10.deltacommit": b"{}", ".hoodie_partition_metadata": b"", "./f_0_10.parquet": b""}
    table = a_table(files, version="6")
    assert look_for_partitions(table, ("",)).found == ("",)
    assert look_for_partitions(table, ("us",)).others == ("",)


@pytest.mark.parametrize("path", ["../other", "/us"])
def test_a_path_out_of_the_table_is_refused(path: str) -> None:
    with pytest.raises(UnsafePath):
        look_for_partitions(a_partitioned("eu"), (path,))


def test_what_is_missing_is_said_with_up_to_five_that_are_there() -> None:
    def said(table: Table, *asked: str) -> str:
        return look_for_partitions(table, asked).missing_in(URI)

    six = a_partitioned(*"abcdef")
    some = "/lake/orders has no files in x, y"
    assert said(six, "x", "y") == f"{some}; it has some in a, b, c, d, e, …"
    assert said(six, "x", "a", "y") == some
    assert said(a_partitioned(*"abcde"), "x", "y") == f"{some}; it has some in a, b, c, d, e"
    assert said(a_partitioned(), "x", "y") == f"{some}, and none elsewhere"
