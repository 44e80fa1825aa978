# SPDX-License-Identifier: Apache-2.0
"""Reading in the driver: count and checksum are made where the rows are, only they come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.checksums import Content, content_of
from airflow_hudi.core.jobs import JobReport
from airflow_hudi.core.reading import Reading, ReadWork
from airflow_hudi.core.schemas import META_FIELDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

    from airflow_hudi.spark.runner import Job


def read(job: Job) -> JobReport:
    """What a reader of the table sees now."""
    work = job.spec.work
    if not isinstance(work, ReadWork):
        raise TypeError(f"this script reads; {work.KIND} has a script of its own")
    reader = job.spark.read.format("hudi").options(**work.options)
    frame = _asked(reader.load(job.spec.table), work)
    job.say(f"reading {job.spec.table}")
    content = content_of_frame(frame)
    sample = tuple(row.asDict(recursive=True) for row in frame.take(work.show)) if work.show else ()
    reading = Reading(content.rows, content.checksum, sample)
    said = f"{content.rows} rows, checksum {content.checksum}"
    return job.done(said, reading=reading)


def content_of_frame(frame: DataFrame) -> Content:
    """The rows' count and checksum, computed on the executors."""
    return frame.rdd.mapPartitions(_content).fold(Content(), Content.__add__)


def _content(rows: Iterable[Row]) -> Iterator[Content]:
    yield content_of(_plain(row) for row in rows)


def _plain(row: Row) -> dict[str, Any]:
    return row.asDict(recursive=True)


def _asked(frame: DataFrame, work: ReadWork) -> DataFrame:
    if work.where is not None:
        frame = frame.where(work.where)
    return frame.select(*work.columns) if work.columns else frame.drop(*META_FIELDS)
