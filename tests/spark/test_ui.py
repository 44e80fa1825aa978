# SPDX-License-Identifier: Apache-2.0
"""`make ui`, as a user calls it: up on loopback, connections in sight, and gone after Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from demo.environment import Place
from demo.processes import end_processes, processes_of

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """The folder of an Airflow; whatever a failed test leaves running is ended."""
    place = Place(tmp_path.resolve())
    yield place
    end_processes(place)


def get(address: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=60) as answer:
        return json.load(answer)


def listening(process: psutil.Process) -> set[str]:
    """The addresses at which a process can be reached."""
    connections = process.net_connections(kind="inet")
    return {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}


def test_it_comes_up_on_loopback_and_goes_without_a_trace(place: Place) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "demo.ui", "--folder", str(place.folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert running.stdout is not None
    said = []
    for line in running.stdout:
        said.append(line)
        if "Ctrl-C stops all of it" in line:
            break
    found = re.search(r"http://127\.0\.0\.1:\d+$", "".join(said), re.MULTILINE)
    assert found, said

    api = f"{found[0]}/api/v2"
    health = get(f"{api}/monitor/health")
    assert {part["status"] for part in health.values()} == {"healthy"}
    names = {each["connection_id"] for each in get(f"{api}/connections")["connections"]}
    assert names == {"hudi_default", "spark_default"}
    dags = {each["dag_id"] for each in get(f"{api}/dags")["dags"]}
    assert "hudi_quickstart" in dags
    processes = processes_of(place)
    assert set().union(*map(listening, processes)) == {"127.0.0.1"}

    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()

    assert running.wait(timeout=60) == 0, rest
    assert rest.endswith("» stopped; nothing of it is running any more\n")
    assert [process.pid for process in processes if process.is_running()] == []
