# SPDX-License-Identifier: Apache-2.0
"""How a table is to be created, as people write it down."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_hudi.core.ingestion import (
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    contradictions,
)
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.properties import TableProperties, TableType
from tests.builders import the_properties


@pytest.mark.parametrize("keys", [(), ("",), ("id", "")])
def test_a_new_table_has_keys(keys: tuple[str, ...]) -> None:
    with pytest.raises(InvalidWork, match=r"needs key columns; pass keys=\('id',\)"):
        NewTable(keys)


@pytest.mark.parametrize("name", ["keys", "ordering", "partitions"])
def test_one_text_is_not_taken_for_its_letters(name: str) -> None:
    arguments: dict[str, Any] = {"keys": ("id",), name: "region"}
    with pytest.raises(InvalidWork, match=rf"{name}=\('region',\)"):
        NewTable(**arguments)


@pytest.mark.parametrize("text", ["MERGE_ON_READ", "merge_on_read"])
def test_a_tables_type_may_be_a_text(text: str) -> None:
    arguments: dict[str, Any] = {"keys": ("id",), "type": text}
    new = NewTable(**arguments)
    assert new.type is TableType.MERGE_ON_READ
    assert new == NewTable(("id",), TableType.MERGE_ON_READ)
    # The second write of such a job finds the table made, and compares.
    work = IngestWork(Operation.UPSERT, QuerySource("SELECT 1 AS id"), new)
    made = TableProperties(the_properties(table__recordkey__fields="id"))
    assert contradictions(work, made) == {}


@pytest.mark.parametrize("said", ["MOR", "", None, ("MERGE_ON_READ",)])
def test_a_type_that_no_table_has_is_refused(said: Any) -> None:
    with pytest.raises(InvalidWork) as raised:
        NewTable(("id",), type=said)
    assert str(raised.value) == (
        f"a new table's type is {said!r}; choose COPY_ON_WRITE or MERGE_ON_READ"
    )


def test_lists_of_columns_do_as_well() -> None:
    listed: Any = ["id"]
    assert NewTable(listed, ordering=listed) == NewTable(("id",), ordering=("id",))
    assert hash(NewTable(listed)) == hash(NewTable(("id",)))
