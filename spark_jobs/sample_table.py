# SPDX-License-Identifier: Apache-2.0
"""Make a small real Hudi table on local Spark: ``python spark_jobs/sample_table.py PATH``.

Three writes (insert, update, delete) and a compaction that is planned and left pending, so that
there is something to look at. An existing table at PATH is refused, never overwritten.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.spark import sample
from airflow_hudi.spark.session import local_session


def main() -> int:
    """Make the table; 0 when a reader sees exactly the rows it must see."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="PATH")
    parser.add_argument("--release", default=RELEASE_NAMES[-1], choices=RELEASE_NAMES)
    options = parser.parse_args()
    path = Path(options.path).absolute()
    if (path / ".hoodie").exists():
        return _failed(f"there is a table at {path} already; choose another path or remove it")
    try:
        return _make(str(path), options.release)
    except AirflowHudiError as error:
        return _failed(str(error))


def _make(path: str, release: str) -> int:
    _say(f"starting local Spark with Hudi {release}")
    spark = local_session(release, app_name="sample_table")
    for operation, orders in sample.BATCHES:
        started = time.monotonic()
        sample.write_batch(spark, path, operation, orders)
        _say(f"{operation} of {len(orders)} orders committed in {time.monotonic() - started:.1f} s")
    seen = sample.read_orders(spark, path)
    spark.stop()
    expected = sample.expected_orders()
    _say(f"Spark reads {len(seen)} orders {dict(sample.counts(seen))}, {sample.checksum(seen)}")
    if seen != expected:
        return _failed(f"expected {len(expected)} orders, checksum {sample.checksum(expected)}")
    _say("these are the expected rows, by checksum")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"» {line}\n")
    sys.stdout.flush()


def _failed(sentence: str) -> int:
    sys.stderr.write(f"sample_table: {sentence}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
