# SPDX-License-Identifier: Apache-2.0
"""Make the stored small tables anew, each by its own Hudi release.

    python -m tests.tables.make_fixtures [--release 1.2.0 …] [--table mor_done …]

Needs the Hudi bundles (downloaded once) and some five minutes per release. Instants and file ids
are new each time, so make only what changed.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import tempfile
import time
from pathlib import Path

from airflow_hudi.core.versions import RELEASE_NAMES
from tests.spark.engines import EngineProcess
from tests.tables.fixtures import StoredTable, pack
from tests.tables.recipes import Recipe, recipes_for

# A fixed name: Hudi writes absolute paths into rollback and clean plans.
BUILD_FOLDER = Path(tempfile.gettempdir()) / "airflow-hudi-tables"
_VIEW = "tests.spark.engine_view:engine_view"


def make(engine: EngineProcess, recipe: Recipe) -> StoredTable:
    """Build one table, ask Hudi about it, and store both."""
    folder = BUILD_FOLDER / engine.release
    shutil.rmtree(folder / recipe.name, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    base, steps = recipe.build(engine, folder)
    facts = {"steps": steps, "view": engine.call(_VIEW, base=str(base))}
    metadata_table = base / ".hoodie" / "metadata"
    if metadata_table.exists():
        facts["metadata_table"] = engine.call(_VIEW, base=str(metadata_table))
    table = StoredTable(engine.release, recipe.name)
    pack(table, base, facts)
    return table


def make_release(release: str, only: list[str]) -> None:
    recipes = [recipe for recipe in recipes_for(release) if not only or recipe.name in only]
    with contextlib.closing(EngineProcess(release)) as engine:
        for recipe in recipes:
            started = time.monotonic()
            table = make(engine, recipe)
            size = table.archive.stat().st_size + table.facts.stat().st_size
            seconds = time.monotonic() - started
            print(f"{release} {recipe.name}: {seconds:.0f} s, {size // 1024} KiB", flush=True)
    shutil.rmtree(BUILD_FOLDER / release, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", nargs="*", default=RELEASE_NAMES, choices=RELEASE_NAMES)
    parser.add_argument("--table", nargs="*", default=[])
    options = parser.parse_args()
    for release in options.release:
        make_release(release, options.table)


if __name__ == "__main__":
    main()
