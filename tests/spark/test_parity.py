# SPDX-License-Identifier: Apache-2.0
"""Tables made just now by every Hudi release: our readers say what Hudi's own Java says."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
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


def case_id(case: tuple[str, Recipe]) -> str:
    return f"{case[0]}-{case[1].name}"


@dataclass(frozen=True)
class MadeTable:
    """A table just made, and what the release that made it says of it."""

    base: Path
    view: dict[str, Any]


@pytest.fixture(scope="session")
def made(
    engines: Engines, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Future[MadeTable]]:
    """Every table this run asks for; each release makes its own, two releases at a time."""
    wanted = {item.name for item in request.session.items}
    cases = [case for case in CASES if f"test_we_say_what_hudi_says[{case_id(case)}]" in wanted]
    tables: dict[str, Future[MadeTable]] = {case_id(case): Future() for case in cases}
    two_at_a_time = threading.Semaphore(2)

    def make_all_of(release: str, folder: Path) -> None:
        with two_at_a_time:
            for recipe in (recipe for name, recipe in cases if name == release):
                outcome = tables[case_id((release, recipe))]
                try:
                    base, _ = recipe.build(engines[release], folder)
                    view = engines[release].call(_VIEW, base=str(base))
                    outcome.set_result(MadeTable(base, view))
                except BaseException as error:  # noqa: BLE001 - the test that asked is told
                    outcome.set_exception(error)

    for release in dict.fromkeys(name for name, _ in cases):
        folder = tmp_path_factory.mktemp(release)
        threading.Thread(target=make_all_of, args=(release, folder), daemon=True).start()
    return tables


@pytest.mark.parametrize(("release", "recipe"), CASES, ids=[case_id(case) for case in CASES])
def test_we_say_what_hudi_says(
    made: dict[str, Future[MadeTable]], release: str, recipe: Recipe
) -> None:
    table = made[case_id((release, recipe))].result(timeout=1800)

    ours = our_view(table.base, zone=Zone(table.view["timezone"]))

    assert_same(recipe.name, ours, engines_view(table.view))


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
