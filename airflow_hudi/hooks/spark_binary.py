# SPDX-License-Identifier: Apache-2.0
"""Where this machine's ``spark-submit`` is; PySpark is found, not imported."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

_NAME = "spark-submit"


def find_spark_submit(environ: Mapping[str, str] | None = None) -> Path | None:
    """The command of SPARK_HOME, else of PATH, else of the installed package pyspark."""
    for folder in _folders(os.environ if environ is None else environ):
        found = shutil.which(_NAME, path=folder)
        if found:
            return Path(found)
    return None


def _folders(environ: Mapping[str, str]) -> Iterator[str]:
    """Folders, or lists of them as in PATH."""
    if environ.get("SPARK_HOME"):
        yield str(Path(environ["SPARK_HOME"]) / "bin")
    if environ.get("PATH"):
        yield environ["PATH"]
    spec = importlib.util.find_spec("pyspark")
    if spec is not None:
        yield from (str(Path(place) / "bin") for place in spec.submodule_search_locations or ())
