# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
import tomllib

import airflow_hudi
import airflow_hudi.core
import airflow_hudi.testing
from airflow_hudi.core import errors

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("module", [airflow_hudi, airflow_hudi.core, airflow_hudi.testing])
def test_every_public_name_is_there_and_listed(module: ModuleType) -> None:
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))
    assert list(module.__all__) == sorted(module.__all__)


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
