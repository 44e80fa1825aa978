# SPDX-License-Identifier: Apache-2.0
"""The stored small tables are still the tables that Hudi was asked about when they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.engines import Engines
from tests.tables.fixtures import BASE, StoredTable, stored_tables

pytestmark = pytest.mark.spark

_VIEW = "tests.spark.engine_view:engine_view"


@pytest.mark.parametrize("table", stored_tables(), ids=lambda t: f"{t.release}-{t.name}")
def test_hudi_sees_an_unpacked_table_as_it_saw_the_original(
    engines: Engines, table: StoredTable, tmp_path: Path
) -> None:
    base = table.unpack(tmp_path)
    facts = table.describe()

    engine = engines[table.release]
    view = engine.call(_VIEW, base=str(base))

    # Plans still name the place where the table was built.
    assert _without(view, str(base), facts["built_at"]) == facts["view"]
    if "metadata_table" in facts:
        inner = engine.call(_VIEW, base=str(base / ".hoodie" / "metadata"))
        assert _without(inner, str(base), facts["built_at"]) == facts["metadata_table"]


def _without(view: dict[str, Any], *bases: str) -> Any:
    text = json.dumps(view)
    for base in bases:
        text = text.replace(base, BASE)
    return json.loads(text)
