# SPDX-License-Identifier: Apache-2.0
"""A Spark standalone cluster on loopback: one master and one worker out of PySpark's own jars."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from airflow_hudi.hooks.processes import end_session, members
from airflow_hudi.spark.java import find_java
from airflow_hudi.spark.session import QUICK_START
from tests.spark.submits import SPARK_HOME, spark_environment

START_SECONDS = 120.0
STOP_SECONDS = 15.0
_DEPLOY = "org.apache.spark.deploy"


class StandaloneCluster:
    """Runs until :meth:`close`, which leaves neither a process nor a file behind."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="spark-cluster-"))
        self._running: list[subprocess.Popen[bytes]] = []
        self.port, self._web_port = _free_port(), _free_port()
        web = str(self._web_port)
        try:
            self._start("master.Master", "--port", str(self.port), "--webui-port", web)
            self._wait_until("the master answers", lambda: self.state() is not None)
            size = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
            place = ("--work-dir", str(self._folder / "work"))
            self._start("worker.Worker", *size, *place, f"spark://127.0.0.1:{self.port}")
            self._wait_until("a worker is there", lambda: (self.state() or {})["aliveworkers"] == 1)
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> str:
        """The Spark connection that leads here, as Airflow's environment variable has it."""
        return json.dumps({"conn_type": "spark", "host": "spark://127.0.0.1", "port": self.port})

    @property
    def web_page(self) -> str:
        """The master's."""
        return f"http://127.0.0.1:{self._web_port}"

    def state(self) -> dict[str, Any] | None:
        """What the master's own page says."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with direct.open(f"{self.web_page}/json/", timeout=5) as answer:
                state: dict[str, Any] = json.load(answer)
        except OSError:
            return None
        return state

    def completed(self) -> dict[str, str]:
        """The applications that have run here, by id, and how each ended."""
        state = self.state()
        assert state is not None
        return {app["id"]: app["state"] for app in state["completedapps"]}

    def close(self) -> None:
        for process in reversed(self._running):
            end_session(process.pid, first=process.pid, patience=STOP_SECONDS, last_wait=5)
            assert not list(members(process.pid))
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, daemon: str, *arguments: str) -> None:
        environ = spark_environment(
            JAVA_HOME=str(find_java().home),
            SPARK_DAEMON_MEMORY="256m",
            JAVA_TOOL_OPTIONS=QUICK_START,  # the executors inherit it
        )
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"{_DEPLOY}.{daemon}"]
        with (self._folder / f"{daemon}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environ,
                cwd=self._folder,
                start_new_session=True,
            )
        self._running.append(process)

    def _wait_until(self, what: str, happened: Any) -> None:
        until = time.monotonic() + START_SECONDS
        while not happened():
            alive = all(process.poll() is None for process in self._running)
            if not alive or time.monotonic() > until:
                logs = "\n".join(log.read_text()[-2000:] for log in self._folder.glob("*.log"))
                raise AssertionError(f"never: {what}\n{logs}")
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
