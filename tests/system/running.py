# SPDX-License-Identifier: Apache-2.0
"""A real Airflow: scheduler, API server, triggerer and DAG processor, on loopback."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from airflow_hudi.core.control import JobFolder, job_folder
from airflow_hudi.core.jobs import NOT_MAPPED, JobKey
from airflow_hudi.core.storage import open_storage
from demo.environment import Place, airflow_environment
from demo.processes import end_processes
from demo.ui import Airflow, Component

T = TypeVar("T")

SECRET = "sesame-of-the-system-tests-" + "o" * 64
_DAGS = Path(__file__).with_name("dags")
_START = 300.0


def until(condition: Callable[[], T | None], what: str, *, within: float = 240.0) -> T:
    """What the condition gives as soon as it gives something."""
    end = time.monotonic() + within
    while not (given := condition()):
        assert time.monotonic() < end, f"{within:.0f} s and still not: {what}"
        time.sleep(0.5)
    return given


class RunningAirflow:
    """Scheduler, API server, triggerer and DAG processor, driven by the REST interface."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder)
        self.warehouse = self.place.lake
        for made in (self.place.lake, self.place.logs):
            made.mkdir()
        port = _free_port()
        self._airflow = Airflow(self.place, port, _environment(self.place, port))
        self._components: list[Component] = []
        self._http = httpx.Client(
            base_url=f"{self._airflow.address}/api/v2", timeout=60, trust_env=False
        )

    def start(self) -> None:
        """Return when every component is healthy and every DAG is there."""
        preparing = self._airflow.start("prepare", "demo.prepare", str(self.place.folder))
        self._components = [preparing]
        assert preparing.process.wait(timeout=_START) == 0, preparing.last_words()
        since = datetime.now(tz=timezone.utc)
        self._components = self._airflow.start_all()
        until(lambda: self._is_ready(since), "Airflow is up", within=_START)
        files = {str(path) for path in _DAGS.glob("*.py")}
        until(lambda: self._parsed_files() == files, "the DAGs are there", within=_START)
        assert self.get("/importErrors")["import_errors"] == []

    def close(self) -> None:
        """Stop every process of it, drivers among them."""
        assert end_processes(self.place)
        for component in self._components:
            component.process.wait(timeout=10)
        self._http.close()

    def trigger(self, dag_id: str, **params: Any) -> Run:
        """Start a run of the DAG."""
        made = self.post(f"/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": params})
        return Run(self, dag_id, made["dag_run_id"])

    def pause(self, dag_id: str, *, is_paused: bool) -> None:
        """Whether the scheduler may start tasks of the DAG."""
        self.patch(f"/dags/{dag_id}", {"is_paused": is_paused})

    def environments(self) -> list[str]:
        """The environments of its components."""
        return [visible(component.process.pid) for component in self._components]

    def get(self, path: str, **query: Any) -> Any:
        answer = self._http.get(path, params=query, headers={"accept": "application/json"})
        return answer.raise_for_status().json()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._send("PATCH", path, body)

    def _send(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        answer = self._http.request(method, path, json=body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def _is_ready(self, since: datetime) -> bool:
        for component in self._components:
            assert not component.has_ended, component.last_words()
        return self._airflow.is_ready(since)

    def _parsed_files(self) -> set[str]:
        return {dag["fileloc"] for dag in self.get("/dags", limit=100)["dags"]}


@dataclass(frozen=True)
class Run:
    """One run of a DAG."""

    airflow: RunningAirflow
    dag_id: str
    run_id: str

    @property
    def path(self) -> str:
        return f"/dags/{self.dag_id}/dagRuns/{quote(self.run_id, safe='')}"

    def is_over(self) -> None:
        """Wait for its end. To be called before a task is cleared: Airflow 3.3.2 on SQLite can end
        a run just then, and its cleared task stays without a state (seen once in 17 clears)."""
        over = ("success", "failed")
        until(lambda: self.airflow.get(self.path)["state"] in over, f"{self.run_id} is over")

    def task(self, task_id: str, map_index: int = NOT_MAPPED) -> Task:
        return Task(self, task_id, map_index)


@dataclass(frozen=True)
class Task:
    """One task of a run, as Airflow tells of it, and the job it has in the control folder."""

    run: Run
    task_id: str
    map_index: int = NOT_MAPPED

    @property
    def key(self) -> JobKey:
        return JobKey(self.run.dag_id, self.run.run_id, self.task_id, self.map_index)

    @property
    def folder(self) -> JobFolder:
        return job_folder(open_storage(f"{self.run.airflow.warehouse}/.hudi_control"), self.key)

    @property
    def path(self) -> str:
        return f"{self.run.path}/taskInstances/{self.task_id}"

    def facts(self) -> dict[str, Any]:
        mapped = "" if self.map_index == NOT_MAPPED else f"/{self.map_index}"
        facts: dict[str, Any] = self.run.airflow.get(f"{self.path}{mapped}")
        return facts

    @property
    def state(self) -> str | None:
        state: str | None = self.facts()["state"]
        return state

    def ends(self, *, try_number: int | None = None, within: float = 240.0) -> str:
        """The state in which it ends, in this try."""

        def ended() -> str | None:
            facts = self.facts()
            if try_number not in (None, facts["try_number"]):
                return None
            final = ("success", "failed", "skipped", "upstream_failed")
            return facts["state"] if facts["state"] in final else None

        return until(ended, f"{self.key} has ended", within=within)

    def ended_at(self, try_number: int) -> datetime | None:
        """When Airflow took this try for ended."""
        tries = self.run.airflow.get(f"{self.path}/tries")["task_instances"]
        ends = [each["end_date"] for each in tries if each["try_number"] == try_number]
        return datetime.fromisoformat(ends[0]) if ends and ends[0] else None

    def reaches(self, state: str) -> None:
        until(lambda: self.state == state, f"{self.key} is {state}")

    def clear(self) -> None:
        """As the button does."""
        body = {"dry_run": False, "dag_run_id": self.run.run_id, "task_ids": [self.task_id]}
        body |= {"only_failed": False, "reset_dag_runs": True}
        self.run.airflow.post(f"/dags/{self.run.dag_id}/clearTaskInstances", body)

    def mark(self, state: str) -> None:
        """As the button does."""
        self.run.airflow.patch(self.path, {"new_state": state})

    def xcom(self, key: str = "return_value") -> Any:
        entry = self.run.airflow.get(f"{self.path}/xcomEntries/{key}", map_index=self.map_index)
        return entry["value"]

    def log(self, try_number: int) -> str:
        """What the user reads; nothing where there was no such try yet."""
        query = {"map_index": self.map_index, "full_content": True}
        try:
            said = self.run.airflow.get(f"{self.path}/logs/{try_number}", **query)["content"]
        except httpx.HTTPStatusError as error:
            if error.response.status_code == HTTPStatus.NOT_FOUND:
                return ""
            raise
        return "\n".join(line if isinstance(line, str) else _all_of(line) for line in said)


def _all_of(line: Mapping[str, Any]) -> str:
    """The words of a line of the log, the reasons and errors that come with it among them."""
    return " ".join(str(value) for value in line.values())


def visible(pid: int) -> str:
    """What anybody on this machine can see of a process: its command line and its environment."""
    proc = Path("/proc", str(pid))
    try:
        texts = [(proc / name).read_bytes() for name in ("cmdline", "environ")]
    except OSError:  # it has just ended
        return ""
    return b"\n".join(texts).replace(b"\0", b"\n").decode(errors="replace")


def _environment(place: Place, port: int) -> dict[str, str]:
    url = f"http://127.0.0.1:{port}"
    connections = {
        "AIRFLOW_CONN_HUDI_DEFAULT": {"conn_type": "hudi", "host": str(place.lake)},
        "AIRFLOW_CONN_SPARK_DEFAULT": {"conn_type": "spark", "host": "local[1]"},
        "AIRFLOW_CONN_SOMEBODY_ELSES": {"conn_type": "http", "password": SECRET},
    }
    return {
        **airflow_environment(place, os.environ),
        **{name: json.dumps(fields) for name, fields in connections.items()},
        "TESTED_WAREHOUSE": str(place.lake),
        "AIRFLOW__CORE__DAGS_FOLDER": str(_DAGS),
        "AIRFLOW__CORE__PARALLELISM": "8",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API_AUTH__JWT_SECRET": SECRET,
        # A busy machine answers late; five seconds, and a task would be taken for failed.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",  # they do not change
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
