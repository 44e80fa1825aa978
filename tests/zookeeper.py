# SPDX-License-Identifier: Apache-2.0
"""A real ZooKeeper for tests: the server inside PySpark's own jars, on a free loopback port."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from airflow_hudi.core.locks import ZooKeeper
from airflow_hudi.spark.java import find_java

START_SECONDS = 60.0
STOP_SECONDS = 10.0


class ZooKeeperServer:
    """One server process with an empty tree; `close` ends it and takes its files away."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="zookeeper-"))
        self.port = _free_port()
        self._log = self._folder / "log.txt"
        self._process = self._start()
        self._wait_until_it_answers()

    @property
    def hosts(self) -> str:
        return f"127.0.0.1:{self.port}"

    def settings(self, base_path: str = "/hudi/locks") -> ZooKeeper:
        return ZooKeeper(self.hosts, base_path)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[bytes]:
        config = self._folder / "zoo.cfg"
        config.write_text(
            f"dataDir={self._folder / 'data'}\n"
            f"clientPort={self.port}\n"
            "clientPortAddress=127.0.0.1\n"
            "tickTime=500\n"  # sessions of a second are allowed then
            "maxClientCnxns=0\n"
            "admin.enableServer=false\n"
        )
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.submodule_search_locations
        command = [
            str(find_java().executable),
            *("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"),
            "-Dzookeeper.4lw.commands.whitelist=ruok",
            *("-cp", f"{spec.submodule_search_locations[0]}/jars/*"),
            "org.apache.zookeeper.server.ZooKeeperServerMain",
            str(config),
        ]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def _wait_until_it_answers(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                said = self._log.read_text(errors="replace")[-2000:]
                self.close()
                raise AssertionError(f"ZooKeeper did not start:\n{said}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
