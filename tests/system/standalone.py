# SPDX-License-Identifier: Apache-2.0
"""A real Airflow: scheduler, API server, triggerer and DAG processor, on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import psutil

from airflow_hudi.core.control import JobFolder, job_folder
from airflow_hudi.core.jobs import NOT_MAPPED, JobKey
from airflow_hudi.core.storage import open_storage
from airflow_hudi.hooks.processes import end_session, members
from demo.environment import Place, airflow_environment

T = TypeVar("T")

SECRET = "sesame-of-the-system-tests"
_DAGS = Path(__file__).with_name("dags")
_START = 300.0


def until(condition: Callable[[], T | None], what: str, *, within: float = 240.0) -> T:
    """What the condition gives as soon as it gives something."""
    end = time.monotonic() + within
    while not (given := condition()):
        assert time.monotonic() < end, f"{within:.0f} s and still not: {what}"
        time.sleep(0.1)
    return given


class Standalone:
    """``airflow standalone`` in a process session of its own, driven by its REST interface."""

    def __init__(self, folder: Path) -> None:
        place = Place(folder)
        self.warehouse = place.lake
        self.warehouse.mkdir()
        self.output = folder / "standalone.log"
        port, logs, triggerer_logs = _free_ports(3)
        url = f"http://127.0.0.1:{port}"
        environ = {
            **airflow_environment(place, os.environ),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TESTED_WAREHOUSE": str(self.warehouse),
            "AIRFLOW_CONN_HUDI_DEFAULT": json.dumps({"conn_type": "hudi", "host": str(place.lake)}),
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
            "AIRFLOW__CORE__DAGS_FOLDER": str(_DAGS),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",  # where others keep the machine busy
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": url,
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(logs),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(triggerer_logs),
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",  # they do not change
            # A driver must see neither of them.
            "AIRFLOW_CONN_SOMEBODY_ELSES": f"http://user:{SECRET}@127.0.0.1",
            "AIRFLOW__SMTP__SMTP_PASSWORD": SECRET,
        }
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "airflow", "standalone"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environ,
                start_new_session=True,
            )
        self._http = httpx.Client(base_url=f"{url}/api/v2", timeout=30, trust_env=False)

    def wait_until_ready(self) -> None:
        """Every component is healthy and every DAG is there."""
        until(self._is_healthy, f"Airflow is up, see {self.output}", within=_START)
        files = [path.stem for path in _DAGS.glob("*.py")]
        until(lambda: self._parsed_files() == len(files), "the DAGs are there", within=_START)
        assert self.get("/importErrors")["import_errors"] == []

    def close(self) -> None:
        """Stop every process of it; drivers are not its own."""
        end_session(self._process.pid, first=None, patience=0, last_wait=10)
        self._process.wait(timeout=10)
        self._http.close()

    def trigger(self, dag_id: str, **params: Any) -> Run:
        """Start a run of the DAG."""
        made = self.post(f"/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": params})
        return Run(self, dag_id, made["dag_run_id"])

    def pause(self, dag_id: str, *, is_paused: bool) -> None:
        """Whether the scheduler may start tasks of the DAG."""
        self._send("PATCH", f"/dags/{dag_id}", {"is_paused": is_paused})

    def environments(self) -> list[str]:
        """The environments of its components."""
        components = [
            each
            for each in members(self._process.pid)
            if psutil.Process(each).ppid() == self._process.pid
        ]
        return [visible(pid) for pid in components]

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

    def _is_healthy(self) -> bool:
        assert self._process.poll() is None, self.output.read_text()
        try:
            health = self.get("/monitor/health")
        except httpx.HTTPError:
            return False
        parts = ("metadatabase", "scheduler", "triggerer", "dag_processor")
        return all(health[part]["status"] == "healthy" for part in parts)

    def _parsed_files(self) -> int:
        dags = self.get("/dags", limit=100)["dags"]
        return len({dag["fileloc"] for dag in dags})


@dataclass(frozen=True)
class Run:
    """One run of a DAG."""

    airflow: Standalone
    dag_id: str
    run_id: str

    @property
    def path(self) -> str:
        return f"/dags/{self.dag_id}/dagRuns/{quote(self.run_id, safe='')}"

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
            assert error.response.status_code == HTTPStatus.NOT_FOUND, error
            return ""
        return "\n".join(line if isinstance(line, str) else str(line["event"]) for line in said)


def visible(pid: int) -> str:
    """What anybody on this machine can see of a process: its command line and its environment."""
    proc = Path("/proc", str(pid))
    try:
        texts = [(proc / name).read_bytes() for name in ("cmdline", "environ")]
    except OSError:  # it has just ended
        return ""
    return b"\n".join(texts).replace(b"\0", b"\n").decode(errors="replace")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
