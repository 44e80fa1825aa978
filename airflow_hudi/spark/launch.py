# SPDX-License-Identifier: Apache-2.0
"""What a driver must be started with: script, jar, settings, environment. Nothing is started here.

The one module of this room that the Airflow side may use; it imports no PySpark.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airflow_hudi import __version__
from airflow_hudi.core.connection import SHIP_INSTALLED, SHIP_ZIP, HudiSettings
from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.core.ingestion import IngestWork
from airflow_hudi.core.job_errors import JobScriptNotFound
from airflow_hudi.core.jobs import Work
from airflow_hudi.spark.engine.bundles import avro_reader, bundle_jar, cache_folder, have_jar
from airflow_hudi.spark.engine.session_conf import (
    HUDI_JVM_OPTIONS,
    HUDI_SESSION_CONF,
    RELEASE_PROPERTY,
)
from airflow_hudi.spark.java import find_java

_PACKAGE = Path(__file__).resolve().parents[1]
_JVM_OPTIONS = "spark.driver.extraJavaOptions"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_SHIPPED = ("core", "spark")
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
# Airflow's own settings, connections and variables hold secrets and are no business of a driver's.
_AIRFLOWS_OWN = ("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_", "_AIRFLOW_")


@dataclass(frozen=True, slots=True)
class Launch:
    """A driver to be started, as arguments of the Spark provider's hook."""

    script: str
    conf: Mapping[str, str]
    jars: str
    driver_class_path: str
    py_files: str | None


def plan_launch(script: str, work: Work, settings: HudiSettings, conf: Mapping[str, str]) -> Launch:
    """How to start a job's script; finds the jars it needs, and downloads what is not there.

    :param script: the name of a script in ``spark_jobs``
    :param conf: the user's Spark settings, which are laid over ours; JVM options are added to ours
    """
    release = settings.release
    jars = [bundle_jar(release, jar=settings.bundle)]
    if isinstance(work, IngestWork) and work.reads_avro:
        jars.append(have_jar(avro_reader()))
    return Launch(
        script=str(job_script(script)),
        conf=launch_conf(release, conf),
        # In both: with --jars alone the classes sit in a second class loader, which the JVM side of
        # py4j does not see; without it the executors lack them.
        jars=",".join(map(str, jars)),
        driver_class_path=os.pathsep.join(map(str, jars)),
        py_files=_py_files(settings.ship),
    )


def launch_conf(release: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The Spark settings of a driver with this Hudi release."""
    return {
        **HUDI_SESSION_CONF,
        "spark.ui.showConsoleProgress": "false",
        **conf,
        **jvm_options(release, conf),
    }


def jvm_options(release: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The setting with the driver JVM's options: ours, and behind them the user's."""
    own = [f"-D{RELEASE_PROPERTY}={release}", *HUDI_JVM_OPTIONS, *_log_options()]
    return {_JVM_OPTIONS: " ".join(filter(None, [*own, conf.get(_JVM_OPTIONS, "")]))}


def _log_options() -> list[str]:
    """JVM options for our log settings: warnings, and no flood of Spark's own steps."""
    # Inside a zip there is no file to point at; Spark's own log settings then stay.
    if not _LOG_SETTINGS.is_file():
        return []
    return [f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"]


def driver_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a driver on this machine: ours, without what is Airflow's own."""
    kept = {k: v for k, v in environ.items() if not k.startswith(_AIRFLOWS_OWN)}
    kept.setdefault("PYSPARK_PYTHON", sys.executable)
    kept.setdefault("PYSPARK_DRIVER_PYTHON", kept["PYSPARK_PYTHON"])
    kept["JAVA_HOME"] = str(find_java(environ).home)
    kept["PYTHONUNBUFFERED"] = "1"  # a line of progress is to be seen when it is said
    return kept


def job_script(name: str) -> Path:
    """The script of that name: inside the installed package, or beside it in a checkout."""
    folders = (_PACKAGE / "spark_jobs", _PACKAGE.parent / "spark_jobs")
    for folder in folders:
        script = folder / f"{name}.py"
        if script.is_file():
            return script
    raise JobScriptNotFound(name, [str(folder) for folder in folders])


def _py_files(ship: str) -> str | None:
    if ship == SHIP_INSTALLED:
        return None
    return str(package_zip()) if ship == SHIP_ZIP else ship


def package_zip(folder: Path | None = None) -> Path:
    """This package's driver side as a zip for ``--py-files``; same content, same name and bytes."""
    files = _package_files()
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    target_folder = folder or cache_folder() / "zips"
    target = target_folder / f"airflow_hudi-{__version__}-{digest.hexdigest()[:12]}.zip"
    if not target.exists():
        _write_zip(target, files)
    return target


def _package_files() -> dict[str, bytes]:
    if not _PACKAGE.is_dir():
        raise EnvironmentProblem(
            f"airflow-hudi runs from inside {_PACKAGE.parent} and cannot pack itself",
            cure="install it unpacked, or name an uploaded zip in the connection's 'ship'",
        )
    paths = [_PACKAGE / "__init__.py"]
    for room in _SHIPPED:
        paths.extend(path for path in (_PACKAGE / room).rglob("*") if path.suffix == ".py")
    return {str(path.relative_to(_PACKAGE.parent)): path.read_bytes() for path in sorted(paths)}


def _write_zip(target: Path, files: Mapping[str, bytes]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), data, zipfile.ZIP_DEFLATED)
    Path(temporary).chmod(0o644)  # in a shared cache it is for whoever Spark runs as
    Path(temporary).replace(target)
