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
