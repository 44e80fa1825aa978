# SPDX-License-Identifier: Apache-2.0
"""`make ui`, as a user calls it: up on loopback, connections in sight, and gone after Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from demo.environment import Place
from demo.processes import processes_of
from tests.spark.demos import started

pytestmark = pytest.mark.spark


def get(address: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=60) as answer:
        return json.load(answer)


def reached_at(processes: list[psutil.Process]) -> set[str]:
    """The addresses at which they listen."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            for each in process.net_connections(kind="inet"):
                if each.status == psutil.CONN_LISTEN:
                    found.add(each.laddr.ip)
    return found


def lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def test_it_comes_up_on_loopback_and_goes_without_a_trace(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    with started("demo.ui", place) as ui:
        said = ui.says("Ctrl-C stops all of it")
        found = re.search(r"http://127\.0\.0\.1:\d+$", said, re.MULTILINE)
        assert found, said

        api = f"{found[0]}/api/v2"
        health = get(f"{api}/monitor/health")
        assert {part["status"] for part in health.values()} == {"healthy"}
        names = {each["connection_id"] for each in get(f"{api}/connections")["connections"]}
        assert names == {"hudi_default", "spark_default"}
        assert "hudi_quickstart" in {each["dag_id"] for each in get(f"{api}/dags")["dags"]}
        processes = processes_of(place)
        assert reached_at(processes) == {"127.0.0.1"}

        ui.process.send_signal(signal.SIGINT)
        code, rest = ui.ends(within=120)

        assert code == 0, rest
        assert rest.endswith("» stopped; nothing of it is running any more\n")
        assert [process for process in processes if lives(process)] == []
