# SPDX-License-Identifier: Apache-2.0
"""The directions of imports, and the one home of every kind of name. Read from the code itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "airflow_hudi"

AIRFLOW_SIDE = ("hooks", "operators", "sensors", "triggers", "links", "plugins", "notifications")

# What a room may import of this package, and which outsiders never.
RULES = {
    "core": (("core",), ("airflow", "pyspark", "py4j")),
    "spark": (("core", "spark"), ("airflow",)),
    "cli": (("core", "cli"), ("airflow", "pyspark", "py4j")),
    "testing": (("core", "testing"), ("airflow", "pyspark", "py4j")),
    **{
        room: (("core", "assets", "hooks", "triggers", "links", room), ("pyspark", "py4j"))
        for room in AIRFLOW_SIDE
    },
    # How a driver is started is known in one place only, which imports no PySpark itself.
    "hooks": (("core", "hooks", "spark.launch"), ("pyspark", "py4j")),
    "get_provider_info": (("get_provider_info",), ("airflow", "pyspark", "py4j")),
    "plugins": (("core", "cli", "hooks", "links", "plugins"), ("pyspark", "py4j")),
    "assets": (("core", "assets"), ("pyspark", "py4j")),
}


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", modules(PACKAGE), ids=name)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    rooms, never = RULES.get(room(path), (None, ()))
    for imported in imports(path):
        head, *rest = imported.split(".")
        assert head not in never, f"{name(path)} imports {imported}"
        if head == "airflow_hudi" and rest and rooms and rest[0] != "__version__":
            place = ".".join(rest)
            assert any(place == one or place.startswith(f"{one}.") for one in rooms), (
                f"{name(path)} imports {imported}"
            )


@pytest.mark.parametrize("path", modules(ROOT / "spark_jobs"), ids=name)
def test_a_job_script_imports_only_our_package_pyspark_and_the_standard_library(path: Path) -> None:
    allowed = {*sys.stdlib_module_names, "airflow_hudi", "pyspark"}
    assert {imported.split(".")[0] for imported in imports(path)} <= allowed


def lines_with(pattern: str, paths: list[Path]) -> list[str]:
    found = re.compile(pattern)
    return [
        f"{name(path)}:{number}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if found.search(line)
    ]


def shipped(*homes: Path) -> list[Path]:
    return [
        path
        for path in modules(PACKAGE) + modules(ROOT / "spark_jobs")
        if not any(home == path or home in path.parents for home in homes)
    ]


def test_hudi_keys_have_one_home() -> None:
    assert lines_with(r"[\"']hoodie\.(?!properties)", shipped(PACKAGE / "core" / "config.py")) == []


def test_java_names_have_one_home() -> None:
    assert lines_with(r"org\.apache\.", shipped(PACKAGE / "spark" / "engine")) == []


def test_no_assert_in_what_we_ship() -> None:
    asserts = [
        name(path)
        for path in shipped(PACKAGE / "testing.py")
        if "testing" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert)
    ]
    assert asserts == []


@pytest.mark.parametrize("path", modules(PACKAGE) + modules(ROOT / "tests"), ids=name)
def test_no_module_grows_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 420


WITHOUT_AIRFLOW_AND_SPARK = """
import importlib, pkgutil, sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("airflow", "pyspark", "py4j", "boto3", "botocore", "pyarrow"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Nowhere())
import airflow_hudi.core, airflow_hudi.cli
for package in (airflow_hudi.core, airflow_hudi.cli):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
for name in airflow_hudi.core.__all__:
    getattr(airflow_hudi.core, name)
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"airflow", "pyspark", "py4j", "boto3", "pyarrow", "pandas"}, loaded
"""


def test_the_core_loads_where_airflow_and_spark_cannot_be_found() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_AIRFLOW_AND_SPARK],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys, airflow_hudi; print([m for m in sys.modules if m.startswith('airflow_hudi.')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
