# SPDX-License-Identifier: Apache-2.0
"""`make demo`, as a user calls it: the story it tells is true, and nothing is left running."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from airflow_hudi.core.instants import Action
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from demo.environment import Place
from demo.processes import processes_of
from tests.spark.demos import started

pytestmark = pytest.mark.spark

EXPECTED = "7 rows, checksum cd219fb515b2a9bf"
NOISE = r"Traceback|Deprecat|\[(?:info|warning|error) |WARN"


def test_the_demo_tells_a_true_story(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with started("demo.run", place) as demo:
        code, said = demo.ends(within=900)
        assert code == 0, said
        assert processes_of(place) == []

    assert re.findall(NOISE, said) == []
    ended = re.findall(r"^  ✓ (\w+)  done in ", said, re.MULTILINE)
    assert (ended[0], ended[-1], len(ended)) == ("land_batches", "compare", 8)
    assert f"  {EXPECTED}, read by Spark\n  {EXPECTED}, computed without Spark: equal\n" in said

    timeline = load_timeline(open_table(str(place.lake / "orders")))
    actions = [(instant.action, instant.is_pending) for instant in timeline]
    assert actions == [(Action.DELTACOMMIT, False)] * 3 + [(Action.COMMIT, False)]
    for instant in timeline:
        assert re.search(rf"^  ● {instant.requested_at} .*commit", said, re.MULTILINE)
        assert re.search(rf"^  \w+ +done .* {instant.requested_at} ", said, re.MULTILINE)


def test_all_services_of_a_table_run_in_the_example_of_the_guide(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with started("demo.run", place, "table_services") as demo:
        code, said = demo.ends(within=900)
        assert code == 0, said
    assert re.findall(NOISE, said) == []
    assert ", computed without Spark: equal\n" in said
    timeline = load_timeline(open_table(str(place.lake / "small_writes")))
    assert len(timeline.pending()) == 0
    planned = {timeline.planned_as(instant) for instant in timeline}
    assert {Action.COMPACTION, Action.CLUSTERING, Action.CLEAN} <= planned


def test_the_race_shows_damage_without_the_guard_and_none_with_it(tmp_path: Path) -> None:
    with started("demo.run", Place(tmp_path.resolve()), "race") as demo:
        code, said = demo.ends(within=900)
    assert code == 0, said
    rows = re.findall(r"(bare|guarded) .*?(\d+ of 20 rows|\w+) +(\d+)$", said, re.MULTILINE)
    assert len(rows) == 6, said
    assert [row for row in rows if row[0] == "guarded"] == [("guarded", "20 of 20 rows", "0")] * 3
    assert rows[0][2] != "0"  # a clustering that was executed twice
    assert rows[0][1] != "20 of 20 rows"


def test_a_demo_that_is_stopped_leaves_nothing_running(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with started("demo.run", place) as demo:
        demo.says("starting Spark for place_orders")
        assert processes_of(place)

        demo.process.send_signal(signal.SIGINT)
        code, said = demo.ends(within=120)

        assert code == 130
        assert said.endswith("» stopped; nothing of it is running any more\n")
        assert processes_of(place) == []
