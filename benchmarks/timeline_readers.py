# SPDX-License-Identifier: Apache-2.0
"""Who reads a timeline how fast: our core, hudi-rs (the `hudi` package), and a warm Spark's Java.

    make benchmark

All readers look at the same tables in one run; what counts is the ratio. Ours reads every instant
in every state; hudi-rs offers the completed ones only; Java's meta client reads what ours reads.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import hudi

from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from tests.spark.engines import EngineProcess
from tests.tables.fixtures import StoredTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELEASE = "1.2.0"
ROUNDS = 30
LONG = 1000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(EngineProcess(RELEASE)) as engine:
        tables = {
            "0.15.0, short": StoredTable("0.15.0", "cow_history").unpack(Path(folder, "a")),
            "1.2.0, short": StoredTable("1.2.0", "cow_history").unpack(Path(folder, "b")),
            f"1.2.0, {LONG} writes": longer(
                StoredTable("1.2.0", "cow_history").unpack(Path(folder, "c"))
            ),
        }
        print(f"Median of {ROUNDS} reads in a warm process, milliseconds (ratio to ours)\n")
        print("| table | instants | ours | hudi-rs | warm Spark (Java) |")
        print("|---|---|---|---|---|")
        for name, base in tables.items():
            print(row(name, base, engine), flush=True)
        print("\nA whole process from nothing, seconds (ratio to ours)\n")
        print("| table | ours: `timeline --json` | hudi-rs: a script |")
        print("|---|---|---|")
        for name, base in tables.items():
            print(process_row(name, base), flush=True)


def row(name: str, base: Path, engine: EngineProcess) -> str:
    ours = median(lambda: read_ours(base))
    rust = median(lambda: read_rust(base))
    java = engine.call("benchmarks.timeline_readers:time_java", base=str(base), rounds=ROUNDS)
    count = len(load_timeline(open_table(str(base))))
    return (
        f"| {name} | {count} | {ours * 1e3:.2f} | {rust * 1e3:.2f} ({rust / ours:.1f}x)"
        f" | {java * 1e3:.2f} ({java / ours:.1f}x) |"
    )


def process_row(name: str, base: Path) -> str:
    reader = f"hudi.HudiTable({str(base)!r}).get_timeline()"
    script = f"import hudi; print(len({reader}.get_completed_commits()))"
    ours = median(lambda: run("-m", "airflow_hudi", "timeline", str(base), "--json"), 7)
    rust = median(lambda: run("-c", script), 7)
    return f"| {name} | {ours:.2f} | {rust:.2f} ({rust / ours:.1f}x) |"


def read_ours(base: Path) -> int:
    return len(load_timeline(open_table(str(base))))


def read_rust(base: Path) -> int:
    return len(hudi.HudiTable(str(base)).get_timeline().get_completed_commits())


def time_java(spark: SparkSession, base: str, rounds: int) -> float:
    """Inside the engine's process: the same from Hudi's own meta client."""
    from tests.spark.jvm import Hudi  # noqa: PLC0415 - only the engine's process has a JVM

    reader = Hudi(spark)
    return median(lambda: reader.meta_client(base).getActiveTimeline().countInstants(), rounds)


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def median(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    action()  # the first one warms caches for everyone alike
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def longer(base: Path) -> Path:
    """The same table with many more writes: copies of its first commit's real files, later."""
    timeline = base / ".hoodie" / "timeline"
    first = min(path.name[:17] for path in timeline.glob("*.commit"))
    files = sorted(timeline.glob(f"{first}*"))
    for number in range(LONG):
        time_ = str(int(first) + number + 1)
        for file in files:
            shutil.copy2(file, timeline / file.name.replace(first, time_, 1))
    return base


if __name__ == "__main__":
    main()
