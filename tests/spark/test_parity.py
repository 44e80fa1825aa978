# SPDX-License-Identifier: Apache-2.0
"""Tables made just now by every Hudi release: our readers say what Hudi's own Java says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_hudi.core.instants import Zone
from airflow_hudi.core.versions import RELEASE_NAMES
from tests.parity import assert_same, engines_view, our_view
from tests.spark.engine_view import engine_view
from tests.spark.engines import Engines
from tests.spark.jvm import Hudi
from tests.tables.fixtures import StoredTable
from tests.tables.recipes import Recipe, recipes_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = [(release, recipe) for release in RELEASE_NAMES for recipe in recipes_for(release)]
_VIEW = "tests.spark.engine_view:engine_view"


@pytest.mark.parametrize(
    ("release", "recipe"), CASES, ids=[f"{release}-{recipe.name}" for release, recipe in CASES]
)
def test_we_say_what_hudi_says(
    engines: Engines, release: str, recipe: Recipe, tmp_path: Path
) -> None:
    engine = engines[release]
    base, _ = recipe.build(engine, tmp_path)

    hudi = engine.call(_VIEW, base=str(base))

    ours = our_view(base, zone=Zone(hudi["timezone"]))
    assert_same(recipe.name, ours, engines_view(hudi))


def view_in_zone(spark: SparkSession, base: str, zone: str) -> dict[str, Any]:
    """Hudi's view, of a JVM that believes to be elsewhere."""
    time_zone = Hudi(spark).jvm.java.util.TimeZone
    here = time_zone.getDefault()
    time_zone.setDefault(time_zone.getTimeZone(zone))
    try:
        return engine_view(spark, base)
    finally:
        time_zone.setDefault(here)


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_completion_times_of_layout_1_are_those_of_the_readers_zone(
    engines: Engines, release: str, zone: str, tmp_path: Path
) -> None:
    base = StoredTable("0.15.0", "mor_done").unpack(tmp_path)
    hudi = engines[release].call(f"{__name__}:view_in_zone", base=str(base), zone=zone)
    ours = our_view(base, zone=Zone(zone))
    assert hudi["timezone"] == zone
    assert ours["instants"] == engines_view(hudi)["instants"]
    assert ours["instants"] != our_view(base)["instants"]
