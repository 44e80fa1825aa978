# SPDX-License-Identifier: Apache-2.0
"""The engine's side of `engines.py`: one Spark session that serves calls until its pipe closes.

Requests and replies are JSON lines on two pipes of their own, so that nothing Spark or Hudi prints
can get between them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import traceback
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from airflow_hudi.spark.session import QUICK_START, local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def serve(spark: SparkSession, requests: IO[str], replies: IO[str]) -> None:
    """Answer each request in turn; a failed call is an answer too."""
    for line in requests:
        request = json.loads(line)
        _send(replies, {"id": request["id"], **_answer(spark, request)})


def _answer(spark: SparkSession, request: dict[str, Any]) -> dict[str, Any]:
    try:
        result = _function(request["function"])(spark, **request["arguments"])
        json.dumps(result)  # here, where a failure is still the call's own
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller must hear of it
        return {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    return {"result": result}


def _function(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return function


def _send(replies: IO[str], reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", required=True)
    parser.add_argument("--cores", required=True)
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--replies", type=int, required=True)
    options = parser.parse_args()
    for descriptor in (options.requests, options.replies):
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - or the JVM would hold the pipe open
    spark = local_session(
        options.release,
        app_name=f"tests-{options.release}",
        cores=options.cores,
        warehouse=options.warehouse,
        extra_conf={"spark.driver.extraJavaOptions": QUICK_START},
    )
    with os.fdopen(options.requests) as requests, os.fdopen(options.replies, "w") as replies:
        _send(replies, {"id": 0, "result": "ready"})
        serve(spark, requests, replies)
    spark.stop()


if __name__ == "__main__":
    main()
