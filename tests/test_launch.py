# SPDX-License-Identifier: Apache-2.0
"""What a driver is started with: the script, the package itself, settings and environment."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from airflow_hudi import __version__
from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.errors import EnvironmentProblem
from airflow_hudi.core.job_errors import JobScriptNotFound
from airflow_hudi.core.reading import ReadWork
from airflow_hudi.spark import launch
from airflow_hudi.spark.launch import (
    driver_environment,
    job_script,
    launch_conf,
    package_zip,
    plan_launch,
)

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(path.stem for path in (ROOT / "spark_jobs").glob("*.py"))
JVM_OPTIONS = "spark.driver.extraJavaOptions"


# --- the package as a zip -------------------------------------------------------------------------


def test_the_zip_is_the_same_twice(tmp_path: Path) -> None:
    one, two = package_zip(tmp_path / "one"), package_zip(tmp_path / "two")

    assert one.name == two.name
    assert one.name.startswith(f"airflow_hudi-{__version__}-")
    assert one.read_bytes() == two.read_bytes()


def test_the_zip_is_made_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    made = package_zip(tmp_path)
    at = made.stat().st_mtime_ns
    assert package_zip(tmp_path) == made
    assert made.stat().st_mtime_ns == at
    assert list(tmp_path.iterdir()) == [made]


def test_another_content_has_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = package_zip(tmp_path)
    files = launch._package_files()
    monkeypatch.setattr(launch, "_package_files", lambda: files | {"airflow_hudi/x.py": b""})
    assert package_zip(tmp_path).name != before.name


def test_everybody_may_read_the_zip(tmp_path: Path) -> None:
    # Spark may run as another user, who finds it in a shared cache.
    assert package_zip(tmp_path).stat().st_mode & 0o444 == 0o444


def test_the_zip_has_the_drivers_side_and_nothing_of_airflow(tmp_path: Path) -> None:
    with zipfile.ZipFile(package_zip(tmp_path)) as archive:
        names = archive.namelist()
    assert {"airflow_hudi/__init__.py", "airflow_hudi/spark/runner.py"} <= set(names)
    assert {name.split("/")[1] for name in names} == {"__init__.py", "core", "spark"}


ALONE = """
import importlib, pkgutil, sys
archive, packages = sys.argv[1:]
sys.path[:0] = [archive, packages]
import airflow_hudi.core, airflow_hudi.spark
from airflow_hudi.core.errors import MissingPackage
optional = []
for package in (airflow_hudi.core, airflow_hudi.spark):
    assert package.__file__.startswith(archive), package.__file__
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except MissingPackage:
            optional.append(module.name)
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"airflow", "boto3", "kazoo", "psutil", "pyarrow"}, loaded
print(*optional)
"""


def test_the_zip_is_enough_where_only_fastavro_and_pyspark_are(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("fastavro", "pyspark", "py4j"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (packages / name).symlink_to(Path(spec.origin).parent)

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, str(package_zip(tmp_path)), str(packages)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["airflow_hudi.core.locks.zookeeper"]  # an extra of its own


def test_a_package_that_runs_from_a_zip_cannot_pack_itself_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_PACKAGE", tmp_path / "a.zip" / "airflow_hudi")
    with pytest.raises(EnvironmentProblem, match="name an uploaded zip in the connection's 'ship'"):
        package_zip(tmp_path)


# --- the job's script -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_checkout_has_the_scripts_beside_the_package(name: str) -> None:
    assert job_script(name) == ROOT / "spark_jobs" / f"{name}.py"


def test_an_installed_package_has_the_scripts_inside(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(tmp_path / "dist")], cwd=ROOT, capture_output=True, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)

    ask = "import sys; from airflow_hudi.spark.launch import job_script, package_zip;"
    ask += (
        "print(*[job_script(name) for name in sys.argv[2:]], package_zip(sys.argv[1]), sep='\\n')"
    )
    asked = f"from pathlib import Path; {ask.replace('sys.argv[1]', 'Path(sys.argv[1])')}"
    done = subprocess.run(
        [sys.executable, "-c", asked, str(tmp_path), *SCRIPTS],
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    *scripts, archive = done.stdout.splitlines()
    assert scripts == [str(site / "airflow_hudi" / "spark_jobs" / f"{n}.py") for n in SCRIPTS]
    assert Path(archive).name == package_zip(tmp_path / "own").name  # installed or not


def test_a_missing_script_is_said_with_where_it_was_looked_for() -> None:
    with pytest.raises(JobScriptNotFound) as said:
        job_script("nothing")
    for folder in (ROOT / "airflow_hudi" / "spark_jobs", ROOT / "spark_jobs"):
        assert str(folder) in str(said.value)
    assert isinstance(said.value, FileNotFoundError)


# --- settings and environment ---------------------------------------------------------------------


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "hudi.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.class", b"")
    monkeypatch.setenv("AIRFLOW_HUDI_BUNDLE_1_2_0", str(path))
    monkeypatch.setenv("AIRFLOW_HUDI_CACHE", str(tmp_path / "cache"))
    return path


def test_a_launch_names_the_jar_twice_and_the_script(jar: Path) -> None:
    planned = plan_launch("reading", ReadWork(), HudiSettings("/lake"), {})
    assert planned.jars == planned.driver_class_path == str(jar)
    assert planned.script == str(ROOT / "spark_jobs" / "reading.py")


@pytest.mark.usefixtures("jar")
@pytest.mark.parametrize("ship", ["installed", "zip", "s3://bucket/airflow_hudi.zip"])
def test_the_package_goes_to_the_driver_as_the_connection_says(ship: str) -> None:
    planned = plan_launch("reading", ReadWork(), HudiSettings("/lake", ship=ship), {})
    expected = {"installed": None, "zip": str(package_zip())}
    assert planned.py_files == expected.get(ship, ship)


def test_the_users_settings_are_laid_over_ours_and_jvm_options_added() -> None:
    said = launch_conf("1.2.0", {"spark.ui.showConsoleProgress": "true", JVM_OPTIONS: "-Da=b"})
    assert said["spark.ui.showConsoleProgress"] == "true"
    assert said["spark.serializer"].endswith("KryoSerializer")
    assert said[JVM_OPTIONS].startswith("-Dairflow_hudi.release=1.2.0 ")
    assert said[JVM_OPTIONS].endswith(" -Da=b")


@pytest.fixture
def java(tmp_path: Path) -> Path:
    command = tmp_path / "java" / "bin" / "java"
    command.parent.mkdir(parents=True)
    answer = f"java.home = {tmp_path / 'java'}", "java.specification.version = 17"
    command.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in answer))
    command.chmod(0o755)
    return tmp_path / "java"


def test_the_driver_has_our_environment_without_airflows(java: Path) -> None:
    own = {"PATH": "/bin", "AWS_PROFILE": "lake", "AIRFLOW_HOME": "/airflow"}
    airflows = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "hush",
        "AIRFLOW_CONN_SPARK_DEFAULT": "hush",
        "AIRFLOW_VAR_KEY": "hush",
        "_AIRFLOW_WWW_USER_PASSWORD": "hush",
    }
    given = driver_environment({**own, **airflows, "JAVA_HOME": str(java)})
    assert given == {
        **own,
        "JAVA_HOME": str(java),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
    }


def test_a_python_chosen_for_pyspark_is_kept(java: Path) -> None:
    chosen = {"PYSPARK_PYTHON": "/opt/python", "JAVA_HOME": str(java)}
    assert driver_environment(chosen)["PYSPARK_DRIVER_PYTHON"] == "/opt/python"
