# SPDX-License-Identifier: Apache-2.0
"""What a cluster manager says of an application, asked over a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

from airflow_hudi.core.claims import Executor, witness_of
from airflow_hudi.core.cluster_managers import manager_says
from airflow_hudi.core.connection import parse_connection
from airflow_hudi.core.errors import InvalidSetting
from airflow_hudi.core.hosts import Process, host_id

MASTER: dict[str, Any] = {
    "activeapps": [{"id": "app-1", "state": "RUNNING"}, {"id": "app-2", "state": "WAITING"}],
    "completedapps": [{"id": "app-3", "state": "FINISHED"}, {"id": "app-4", "state": "KILLED"}],
}
YARN = "/ws/v1/cluster/apps/application_1_000"
PAGES: dict[str, Any] = {
    "/json/": MASTER,
    **{
        f"{YARN}{number}": {"app": {"state": state}}
        for number, state in enumerate(("RUNNING", "ACCEPTED", "FINISHED", "FAILED", "KILLED"))
    },
    f"{YARN}7": {"RemoteException": {"exception": "NotFoundException"}},
    f"{YARN}8": ["nothing of the kind"],
}


class Pages(BaseHTTPRequestHandler):
    pages: ClassVar[dict[str, Any]] = PAGES

    def do_GET(self) -> None:
        said = self.pages.get(self.path)
        self.send_response(404 if said is None else 200)
        self.end_headers()
        self.wfile.write(b"<html>" if said is None else json.dumps(said).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def manager() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("application", "runs"),
    [
        *(("app-1", True), ("app-2", True), ("app-3", False), ("app-4", False), ("app-5", None)),
        *(("application_1_0000", True), ("application_1_0001", True)),
        *((f"application_1_000{number}", False) for number in (2, 3, 4)),
        *((f"application_1_000{number}", None) for number in (6, 7, 8)),
        *(("local-1", None), (None, None)),
    ],
)
def test_an_application_runs_or_is_gone_or_is_not_known(
    manager: str, application: str | None, runs: object
) -> None:
    assert manager_says(manager, application) is runs
    assert manager_says(f"{manager}/", application) is runs


def test_silence_is_no_proof_of_death(manager: str) -> None:
    assert manager_says("", "app-3") is None
    assert manager_says(f"{manager}/elsewhere", "app-3") is None
    assert manager_says("http://127.0.0.1:1", "app-3") is None


def test_the_host_is_asked_first_and_the_manager_where_it_cannot_tell(manager: str) -> None:
    def executor(host: str, application: str) -> Executor:
        gone = Process(2**22 - 1, 1)
        return Executor("job", "jobs/job", 1, host, (gone,), application)

    witness = witness_of(manager)
    assert witness(executor(host_id(), "app-1")) is False
    assert witness(executor("another host", "app-1")) is True
    assert witness(executor("another host", "app-3")) is False
    assert witness_of("")(executor("another host", "app-3")) is None


def test_the_connection_takes_the_address_of_a_web_page() -> None:
    said = parse_connection(host="/lake", extra={"cluster_manager": "http://master:8080/"})
    assert said.cluster_manager == "http://master:8080"
    for wrong in ("master:8080", "spark://master:7077", "http://me:secret@master:8080"):
        with pytest.raises(InvalidSetting, match="without a login"):
            parse_connection(host="/lake", extra={"cluster_manager": wrong})
