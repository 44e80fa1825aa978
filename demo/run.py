# SPDX-License-Identifier: Apache-2.0
"""``python -m demo.run NAME``: run one example DAG in this process, and tell what happened."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

from demo.environment import ROOT, airflow_environment

BUILD = ROOT / ".build" / "demo"


def main(name: str) -> int:
    home, warehouse = BUILD / "airflow", BUILD / "lake"
    os.environ.update(airflow_environment(home, warehouse))
    warehouse.mkdir(parents=True, exist_ok=True)
    t = time.monotonic()
    from airflow.utils.db import initdb
    initdb()
    print("initdb", time.monotonic() - t)
    spec = importlib.util.spec_from_file_location("quickstart", ROOT / "dags_examples" / "quickstart.py")
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    dag = m.hudi_quickstart()
    print("loaded", time.monotonic() - t)
    run = dag.test()
    print(run.state, time.monotonic() - t)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
