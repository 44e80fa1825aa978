# SPDX-License-Identifier: Apache-2.0
"""What users install: the wheel's content, and the pins we build with."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
JOBS = ("cleaning", "clustering", "compaction", "ingestion", "log_compaction", "reading")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(folder),
    ]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_has_the_package_and_the_jobs_and_no_tests(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    expected = {
        "airflow_hudi/__init__.py",
        "airflow_hudi/py.typed",
        "airflow_hudi/core/timeline.py",
        "airflow_hudi/cli/timeline.py",
        "airflow_hudi/testing.py",
        "airflow_hudi/spark/log4j2.properties",
    }
    assert expected <= names
    jobs = {name for name in names if name.startswith("airflow_hudi/spark_jobs/")}
    assert jobs == {f"airflow_hudi/spark_jobs/{job}.py" for job in JOBS}
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"airflow_hudi"}


def test_the_wheel_states_ranges_and_extras(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith("METADATA")]
    metadata = wheel.read(name).decode()
    assert "Provides-Extra: local" in metadata
    assert "Provides-Extra: s3" in metadata
    assert "Provides-Extra: zookeeper" in metadata
    needs = re.findall(r"^Requires-Dist: (\S+?)[<>=! ].*$", metadata, re.MULTILINE)
    assert "pyspark" in needs
    unconditional = re.findall(r"^Requires-Dist: ([a-z-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert sorted(unconditional) == [
        "apache-airflow",
        "apache-airflow-providers-apache-spark",
        "apache-airflow-providers-common-compat",
        "fastavro",
        "psutil",
        "pyarrow",
    ]


def test_the_wheel_runs_where_nothing_else_is_installed(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-S", "-m", "airflow_hudi", "timeline", str(tmp_path)],
        cwd=tmp_path / "site",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no Hudi table at" in done.stderr


def test_requirements_are_names_and_versions_only() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pin = re.compile(r"[a-z0-9][a-z0-9._-]*(\[[a-z0-9,-]+\])?==[0-9][^\s;]*( ; .+)?")
    assert [line for line in lines if not pin.fullmatch(line)] == []
    assert {"apache-airflow==3.3.2", "pyspark==3.5.9"} <= set(lines)
    assert not [line for line in lines if line.startswith("pyspark-client")]
