# SPDX-License-Identifier: Apache-2.0
"""An S3 server on loopback, and clients that can reach nothing else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto.moto_server import threaded_moto_server
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from mypy_boto3_s3 import S3Client

pytest.register_assert_rewrite("airflow_hudi.testing")


class OneAtATime(DomainDispatcherApplication):
    """moto checks If-Match and writes in two steps without a lock; S3 does it in one."""

    _lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with self._lock:
            answer = super().__call__(environ, start_response)
            try:
                return [b"".join(answer)]
            finally:
                answer.close()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # else it logs every request
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threaded_moto_server, "DomainDispatcherApplication", OneAtATime)
        server = threaded_moto_server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def s3_client(endpoint: str, **config: Any) -> S3Client:
    return boto3.session.Session().client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
        config=Config(proxies={}, **config),
    )


@pytest.fixture(scope="session")
def client(s3_endpoint: str) -> Iterator[S3Client]:
    client = s3_client(s3_endpoint)
    yield client
    client.close()


@pytest.fixture(scope="session")
def writer(s3_endpoint: str) -> Iterator[S3Client]:
    """As the client that S3Storage makes for conditional writes: each is sent once."""
    writer = s3_client(s3_endpoint, retries={"total_max_attempts": 1})
    yield writer
    writer.close()


@pytest.fixture
def bucket(client: S3Client, request: pytest.FixtureRequest) -> str:
    name = f"test-{abs(hash(request.node.nodeid)):x}"
    client.create_bucket(Bucket=name)
    return name
