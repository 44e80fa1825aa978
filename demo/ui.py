# SPDX-License-Identifier: Apache-2.0
"""``python -m demo.ui``: a whole Airflow with the example DAGs, on this machine only, until Ctrl-C.

The same four components as ``airflow standalone``, started here one by one: each with a log of its
own, none listening beyond loopback (standalone's log servers do), and all of them stopped in the
end with every driver their tasks started (standalone leaves most of them behind).
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

from airflow_hudi.core.errors import AirflowHudiError, EnvironmentProblem
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.hooks.processes import end_session
from airflow_hudi.spark.engine.bundles import bundle_jar
from demo.environment import ROOT, Place, airflow_environment, short
from demo.processes import end_processes

FAILED = 1

_LOOPBACK = "127.0.0.1"
_SCHEDULER = "scheduler"
_FIRST_PORT = 8080
_PORTS_TRIED = 100
_SECONDS_TO_START = 300
_SECONDS_TO_END = 15.0  # a task gets five of them to end its driver
_LAST_LINES = 15


@dataclass(frozen=True, slots=True)
class Component:
    """One process of Airflow's, and where its words go."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def has_ended(self) -> bool:
        """Whether it is gone, which it should not be."""
        return self.process.poll() is not None

    def last_words(self) -> str:
        """The end of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-_LAST_LINES:])


@dataclass(frozen=True, slots=True)
class Airflow:
    """Where it is, and what it runs in."""

    place: Place
    port: int
    environ: Mapping[str, str]

    @property
    def address(self) -> str:
        """For the browser."""
        return f"http://{_LOOPBACK}:{self.port}"

    def start(self, name: str, *command: str) -> Component:
        """Start a process as the leader of a session of its own, out of reach of Ctrl-C."""
        log = self.place.logs / f"{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [sys.executable, "-m", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(self.environ),
                cwd=ROOT,
                start_new_session=True,
            )
        return Component(name, process, log)

    def start_all(self) -> list[Component]:
        """The components; logs are read from this disk, so no log server is started."""
        api = ("--host", _LOOPBACK, "--port", str(self.port), "--workers", "1")
        return [
            self.start("api-server", "airflow", "api-server", *api),
            self.start(_SCHEDULER, "airflow", "scheduler", "--skip-serve-logs"),
            self.start("dag-processor", "airflow", "dag-processor"),
            self.start("triggerer", "airflow", "triggerer", "--skip-serve-logs"),
        ]

    def is_ready(self, since: datetime) -> bool:
        """Whether all components have given a sign of life since then, and there are DAGs."""
        health = self._get("monitor/health")
        if not health or not all(_is_healthy(part, since) for part in health.values()):
            return False
        return bool(self._get("dags").get("dags"))

    def _get(self, path: str) -> dict[str, Any]:
        """What the API answers; nothing while it does not."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.address}/api/v2/{path}", timeout=10) as answer:
                return dict(json.load(answer))
        except (OSError, ValueError):
            return {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run Airflow until Ctrl-C; the return value is the process's exit code."""
    options = _parser().parse_args(arguments)
    place = Place(options.folder.resolve())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        with place.alone():
            return _run(place)
    except AirflowHudiError as error:
        sys.stderr.write(f"ui: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo.ui", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / ".build" / "ui")
    return parser


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# --- one run ---------------------------------------------------------------------------------


def _run(place: Place) -> int:
    bundle_jar(RELEASE_NAMES[-1])  # a download is to be seen here, not in a task's log
    end_processes(place)  # what is left where an earlier one was killed
    for folder in (place.lake, place.logs):
        folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    airflow = Airflow(place, port, _environment(place, port))
    components: list[Component] = []
    try:
        _prepare(airflow)
        _say("» starting Airflow (about a minute)")
        since = datetime.now(tz=timezone.utc)
        components.extend(airflow.start_all())
        _await_ready(airflow, components, since)
        _say(_welcome(airflow))
        while True:
            _check(components)
            time.sleep(0.5)
    finally:
        _stop(place, components)


def _free_port() -> int:
    for port in range(_FIRST_PORT, _FIRST_PORT + _PORTS_TRIED):
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((_LOOPBACK, port))
            except OSError:
                continue
            return port
    raise EnvironmentProblem(
        f"no port from {_FIRST_PORT} to {_FIRST_PORT + _PORTS_TRIED} is free", cure="free one"
    )


def _environment(place: Place, port: int) -> dict[str, str]:
    address = f"http://{_LOOPBACK}:{port}"
    return {
        **airflow_environment(place, os.environ),
        "AIRFLOW__API__BASE_URL": address,
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(64),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(64),
        "AIRFLOW__API__INSTANCE_NAME": "airflow-hudi examples",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
        # A busy machine answers late; five seconds, and the task would be taken for failed.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
    }


def _prepare(airflow: Airflow) -> None:
    _say(f"» preparing {short(airflow.place.folder)}: database and connections")
    preparing = airflow.start("prepare", "demo.prepare", str(airflow.place.folder))
    if preparing.process.wait() != 0:
        raise _broken(preparing)


def _await_ready(airflow: Airflow, components: Sequence[Component], since: datetime) -> None:
    until = time.monotonic() + _SECONDS_TO_START
    while not airflow.is_ready(since):
        _check(components)
        if time.monotonic() > until:
            raise EnvironmentProblem(
                f"Airflow is not ready after {_SECONDS_TO_START} s",
                cure=f"look into {short(airflow.place.logs)}",
            )
        time.sleep(0.5)


def _is_healthy(part: Mapping[str, Any], since: datetime) -> bool:
    """Of an earlier run the last heartbeat may be younger than Airflow's patience."""
    beats = [datetime.fromisoformat(v) for k, v in part.items() if k.startswith("latest_") and v]
    return part.get("status") == "healthy" and all(beat > since for beat in beats)


def _check(components: Sequence[Component]) -> None:
    for component in components:
        if component.has_ended:
            raise _broken(component)


def _broken(component: Component) -> EnvironmentProblem:
    status = component.process.returncode
    return EnvironmentProblem(
        f"Airflow's {component.name} ended with status {status}, and its last words were\n"
        f"{component.last_words()}\n",
        cure=f"read {short(component.log)}, or start afresh with `make clean`",
    )


def _welcome(airflow: Airflow) -> str:
    return f"""
  Airflow is up, for this machine only and without login:

      {airflow.address}

  to begin with    {airflow.address}/dags/hudi_quickstart, button Trigger
  its table        {airflow.address}/plugin/hudi-tables
  the connections  {airflow.address}/connections
  the DAGs         dags_examples, read anew every few seconds
  logs             {short(airflow.place.logs)}

  Ctrl-C stops all of it; tables, runs and connections stay in {short(airflow.place.folder)}
"""


def _stop(place: Place, components: Sequence[Component]) -> None:
    """The scheduler first: its tasks end their drivers and can still say so. Then the rest."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _say("» stopping Airflow and all it has started")
    for component in components:
        if component.name == _SCHEDULER:
            session = component.process.pid
            end_session(session, first=None, patience=0, last_wait=_SECONDS_TO_END)
    if not end_processes(place):
        raise EnvironmentProblem("some processes could not be ended", cure="look for them with ps")
    _say("» stopped; nothing of it is running any more")


if __name__ == "__main__":
    sys.exit(main())
