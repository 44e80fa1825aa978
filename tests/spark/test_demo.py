# SPDX-License-Identifier: Apache-2.0
"""`make demo`, as a user calls it: the story it tells is true, and nothing is left running."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_hudi.core.instants import Action
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from demo.environment import Place
from demo.processes import end_processes, processes_of

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = "7 rows, checksum cd219fb515b2a9bf"
NOISE = r"Traceback|Deprecat|\[(info|warning|error) |WARN"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A demo's folder; whatever a failed test leaves running is ended."""
    place = Place(tmp_path.resolve())
    yield place
    end_processes(place)


def start(place: Place) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "demo.run", "--folder", str(place.folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_the_demo_tells_a_true_story(place: Place) -> None:
    running = start(place)
    said, _ = running.communicate(timeout=900)

    assert running.returncode == 0, said
    assert processes_of(place) == []
    assert re.findall(NOISE, said) == []
    ended = re.findall(r"^  ✓ (\w+)  done in ", said, re.MULTILINE)
    assert (ended[0], ended[-1], len(ended)) == ("land_batches", "compare", 8)
    assert f"  {EXPECTED}, read by Spark\n  {EXPECTED}, computed without Spark: equal\n" in said

    timeline = load_timeline(open_table(str(place.lake / "orders")))
    actions = [(instant.action, instant.is_pending) for instant in timeline]
    assert actions == [(Action.DELTA_COMMIT, False)] * 3 + [(Action.COMMIT, False)]
    for instant in timeline:
        assert re.search(rf"^  ● {instant.requested_at} .*commit", said, re.MULTILINE)
        assert re.search(rf"^  \w+ +done .* {instant.requested_at} ", said, re.MULTILINE)


def test_a_demo_that_is_stopped_leaves_nothing_running(place: Place) -> None:
    running = start(place)
    assert running.stdout is not None
    until_driver = []
    for line in running.stdout:
        until_driver.append(line)
        if "starting Spark for place_orders" in line:
            break
    assert processes_of(place), until_driver

    running.send_signal(signal.SIGINT)
    said = running.stdout.read()

    assert running.wait(timeout=60) == 130
    assert said.endswith("» stopped; nothing of it is running any more\n")
    assert processes_of(place) == []
