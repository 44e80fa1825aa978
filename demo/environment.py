# SPDX-License-Identifier: Apache-2.0
"""An Airflow of this checkout's own: its folder, its settings, and nothing of the user's."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.spark.session import QUICK_START

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "dags_examples"

MARK = "AIRFLOW_HUDI_DEMO"
"""The variable by which processes of a place are known, wherever they came from."""

_OWN = "AIRFLOW_HUDI_"
_OTHERS = ("AIRFLOW", "_AIRFLOW", "SPARK_", "PYSPARK_")
_SPARK_OPTIONS = "SPARK_SUBMIT_OPTS"
_NO_PROXY = ("no_proxy", "NO_PROXY")


@dataclass(frozen=True, slots=True)
class Place:
    """One folder with all that a demo leaves behind."""

    folder: Path

    @property
    def home(self) -> Path:
        """Airflow's home."""
        return self.folder / "airflow"

    @property
    def lake(self) -> Path:
        """The warehouse of the connection ``hudi_default``."""
        return self.folder / "lake"

    @property
    def logs(self) -> Path:
        """What Airflow's processes say."""
        return self.folder / "logs"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Raise where another process is at work in this folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise EnvironmentProblem(
                    f"another one is running in {short(self.folder)}", cure="stop it, or wait"
                ) from error
            yield


def short(path: Path | str) -> str:
    """Paths of this checkout as they are typed in it."""
    return str(path).replace(f"{ROOT}/", "")


def connections(place: Place) -> dict[str, dict[str, str]]:
    """The two connections of the examples."""
    return {
        "hudi_default": {
            "conn_type": "hudi",
            "host": str(place.lake),
            "description": "Tables on this machine's disk",
        },
        "spark_default": {
            "conn_type": "spark",
            "host": "local[*]",
            "description": "A Spark of its own for each job, on this machine",
        },
    }


def connection_variables(place: Place) -> dict[str, str]:
    """The same as environment variables."""
    found = connections(place)
    return {f"AIRFLOW_CONN_{name.upper()}": json.dumps(found[name]) for name in found}


def airflow_environment(place: Place, environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without anything of another Airflow or Spark, and with what ours needs."""
    kept = {k: v for k, v in environ.items() if k.startswith(_OWN) or not k.startswith(_OTHERS)}
    return {
        **kept,
        MARK: str(place.folder),
        "AIRFLOW_HOME": str(place.home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__LOGGING__COLORED_CONSOLE_LOG": "False",
        **_spark_of_this_python(),
        # Small data: a JVM that starts quickly is worth more than one that runs fast.
        _SPARK_OPTIONS: " ".join(filter(None, (environ.get(_SPARK_OPTIONS), QUICK_START))),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **_no_proxy_to_ourselves(environ),
        "SPT_NOENV": "1",  # a process that gives itself a title is to keep its mark
    }


def _spark_of_this_python() -> dict[str, str]:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EnvironmentProblem("PySpark is not installed here", cure="make env")
    return {
        "SPARK_HOME": str(Path(spec.origin).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def _no_proxy_to_ourselves(environ: Mapping[str, str]) -> dict[str, str]:
    """Airflow's processes talk to each other over loopback, which no proxy can reach."""
    here = "127.0.0.1,localhost"
    return {name: ",".join(filter(None, (environ.get(name), here))) for name in _NO_PROXY}
