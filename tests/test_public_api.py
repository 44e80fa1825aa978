# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
import importlib
import os
import re
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
import tomllib

import airflow_hudi
import airflow_hudi.core
import airflow_hudi.testing
from airflow_hudi.core import errors

ROOT = Path(__file__).resolve().parents[1]

# Operators are public names: Airflow is imported with them, and must not write to a user's home.
os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="airflow-hudi-tests-"))


@pytest.mark.parametrize("module", [airflow_hudi, airflow_hudi.core, airflow_hudi.testing])
def test_every_public_name_is_there_and_listed(module: ModuleType) -> None:
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))
    assert list(module.__all__) == sorted(module.__all__)


@pytest.mark.parametrize("module", [airflow_hudi, airflow_hudi.core])
def test_type_checkers_see_the_names_that_are_there(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    for_checkers = next(node for node in tree.body if isinstance(node, ast.If))
    shown = {
        alias.asname: f"{node.module}"
        for node in for_checkers.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(str(name) for name in shown) == list(module.__all__)
    for name, home in shown.items():
        assert getattr(importlib.import_module(home), str(name)) is getattr(module, str(name))


def test_unknown_names_are_said_as_python_says_them() -> None:
    for module in (airflow_hudi, airflow_hudi.core):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            _ = module.nonsense


def test_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert project["version"] == airflow_hudi.__version__ == newest[1]


def test_every_error_is_ours_and_drawn_in_the_tree() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    ours = [cls for cls in classes if cls.__module__ == errors.__name__]
    assert all(issubclass(cls, errors.AirflowHudiError) for cls in ours)
    drawn = set(re.findall(r"[A-Z][A-Za-z]+", errors.__doc__ or ""))
    assert {cls.__name__ for cls in ours} <= drawn
