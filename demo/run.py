# SPDX-License-Identifier: Apache-2.0
"""``python -m demo.run EXAMPLE``: run an example DAG through Airflow, and tell what happened.

Airflow runs in this process, with a database, a warehouse and a log of its own below the folder;
Spark runs on this machine. It ends with 0 where all went well, 1 where a task failed or rows are
not what they must be, 2 where there is no such example or none for here, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import io
import os
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from airflow_hudi.core.checksums import Content, content_of
from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.spark.engine.bundles import bundle_jar
from demo.environment import (
    EXAMPLES,
    ROOT,
    Place,
    airflow_environment,
    connection_variables,
    short,
)
from demo.processes import end_processes
from demo.story import Story, Told

FAILED, UNKNOWN, STOPPED = 1, 2, 130
RACE = "race"
ONLY_IN_UI = {"commit_sensor": "waits for somebody else's commits, which nobody makes here"}
"""Examples that come to no end by themselves, and why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one example; the return value is the process's exit code."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may not know all signs
    if options.example == RACE:
        return _race(options.folder.resolve() / RACE)
    example = EXAMPLES / f"{options.example}.py"
    if example not in _examples():
        return _no_such(options.example)
    if options.example in ONLY_IN_UI:
        because = ONLY_IN_UI[options.example]
        sys.stderr.write(f"demo: {options.example} {because}: run it in `make ui`\n")
        return UNKNOWN
    place = Place(options.folder.resolve())
    try:
        with place.alone():
            return _run(example, place)
    except AirflowHudiError as error:
        sys.stderr.write(f"demo: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        sys.stdout.write("» stopped; nothing of it is running any more\n")
        return STOPPED


def _race(folder: Path) -> int:
    """No DAG: what happens when an orchestrator does not look, and when it does."""
    from demo import race  # noqa: PLC0415 - only it needs PySpark

    bundle_jar(RELEASE_NAMES[-1])
    return race.main(folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m demo.run", description=__doc__)
    parser.add_argument("example", nargs="?", default="quickstart", help="a file of dags_examples")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".build" / "demo",
        help="its folders airflow, lake and logs are made anew",
    )
    return parser


def _examples() -> list[Path]:
    return sorted(EXAMPLES.glob("*.py"))


def _no_such(name: str) -> int:
    examples = [*_examples(), Path(__file__).with_name(f"{RACE}.py")]
    known = "".join(f"  {path.stem:<16} {_purpose(path)}{_where(path)}\n" for path in examples)
    sys.stderr.write(f"demo: there is no example {name!r}; there are\n\n{known}")
    return UNKNOWN


def _where(example: Path) -> str:
    return " (in `make ui`)" if example.stem in ONLY_IN_UI else ""


def _purpose(example: Path) -> str:
    return (ast.get_docstring(ast.parse(example.read_text())) or "").partition("\n")[0]


# --- one run ---------------------------------------------------------------------------------


def _run(example: Path, place: Place) -> int:
    started = time.monotonic()
    sys.stdout.write(f"» {example.stem}: {_purpose(example)}\n")
    bundle_jar(RELEASE_NAMES[-1])  # a download is to be seen, and with the user's own settings
    end_processes(place)
    for folder in (place.home, place.lake, place.logs):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    log_file = place.logs / "airflow.log"
    sys.stdout.write(f"» starting Airflow, whose own words go to {short(log_file)}\n")
    sys.stdout.flush()
    try:
        with log_file.open("w", buffering=1) as log:
            module, tasks = _run_in_airflow(example, place, sys.stdout, log)
    finally:
        end_processes(place)
    story = Story(
        example.stem,
        tuple(tasks),
        time.monotonic() - started,
        _expected(module),
        further=_further(example, log_file),
    )
    sys.stdout.write(f"\n{story.as_text()}\n")
    return 0 if story.is_good else FAILED


def _run_in_airflow(
    example: Path, place: Place, out: TextIO, log: TextIO
) -> tuple[ModuleType, list[Told]]:
    """Run the example's DAGs, one after another, in an Airflow that has never seen them before."""
    environ = airflow_environment(place, os.environ) | connection_variables(place)
    os.environ.clear()
    os.environ.update(environ)
    tasks: list[Told] = []
    with redirect_stdout(log), redirect_stderr(log):
        from airflow.utils.db import initdb  # noqa: PLC0415 - reads the environment, and speaks

        from demo.watching import Show, watched  # noqa: PLC0415 - the same

        initdb()
        module = _load(example)
        for dag in _dags(module):
            with watched(Show(out), log) as watch:
                tasks.extend(watch.told(dag.test()))
            if watch.is_stopped:
                raise KeyboardInterrupt
    return module, tasks


def _load(example: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(example.stem, example)
    if spec is None or spec.loader is None:
        raise ImportError(f"{example} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _dags(module: ModuleType) -> list[Any]:
    """The DAGs of an example: what its functions ``hudi_…`` make."""
    return [make() for name, make in vars(module).items() if name.startswith("hudi_")]


def _expected(module: ModuleType) -> Content | None:
    """What the example itself says must be there in the end, if it does."""
    orders = getattr(module, "expected_orders", None)
    return None if orders is None else content_of(orders())


def _further(example: Path, log_file: Path) -> tuple[tuple[str, str], ...]:
    return (
        (short(example), "the DAG that ran"),
        ("docs/concepts.md", "the words: instant, timeline, file slice, plan"),
        ("make ui", "the same in Airflow's own pages"),
        (short(log_file), "what Airflow itself said"),
    )


if __name__ == "__main__":
    sys.exit(main())
