# SPDX-License-Identifier: Apache-2.0
"""One try of a task in this process; what Airflow's task runner does around ``execute``."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

# Imported here so that they are there when a process is forked.
import airflow_hudi.operators.compaction
import airflow_hudi.operators.ingestion
import airflow_hudi.operators.reading  # noqa: F401
from airflow_hudi.hooks import jobs
from tests.provider.stand_in import FakeTask, an_operator


def run(operator: str, arguments: dict[str, Any], environ: Mapping[str, str], to: Path) -> None:
    """Execute, as a task process would, and write down how it ended."""
    os.environ.update(environ)
    logging.basicConfig(filename=to.with_suffix(".log"), level=logging.INFO, force=True)
    if arguments.pop("is_hurried", False):  # for drivers that do not listen however long they may
        jobs._ASK_DRIVER = jobs._ASK_ALL = 0.2
    task = an_operator(operator, **arguments)
    ti = FakeTask(task=task)

    def on_term(_: int, __: FrameType | None) -> None:
        logging.info("told to end")
        task.on_kill()

    signal.signal(signal.SIGTERM, on_term)
    outcome: dict[str, Any]
    try:
        outcome = {"returned": task.execute({"ti": ti})}
    except BaseException as error:  # noqa: BLE001 - whatever it is, the test is to see it
        outcome = {"raised": type(error).__name__, "said": str(error)}
    to.write_text(json.dumps({**outcome, "pushed": ti.pushed}))
