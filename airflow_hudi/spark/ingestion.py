# SPDX-License-Identifier: Apache-2.0
"""Ingestion in the driver: read the source, check it against the table, write, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_hudi.core.config import WriteKey
from airflow_hudi.core.errors import TableNotFound
from airflow_hudi.core.ingestion import (
    JOB_METADATA_KEY,
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    SourceFormat,
    WhenEmpty,
    check_columns,
    check_schema,
    check_work,
    no_inline_services,
    widened,
)
from airflow_hudi.core.job_errors import JobSuperseded, SourceEmpty, SourceMissing
from airflow_hudi.core.jobs import JobReport
from airflow_hudi.core.partitions import AskedPartitions, look_for_partitions
from airflow_hudi.core.schemas import META_FIELDS
from airflow_hudi.core.storage import open_storage
from airflow_hudi.core.storage.base import file_name
from airflow_hudi.core.table import Table, load_table
from airflow_hudi.core.table_options import table_options
from airflow_hudi.core.timeline import load_timeline
from airflow_hudi.core.verdicts import Evidence, load_evidence
from airflow_hudi.core.versions import Release
from airflow_hudi.core.versions import release as known_release
from airflow_hudi.spark.engine.locks import lock_options
from airflow_hudi.spark.engine.protocol import CommitInProgress
from airflow_hudi.spark.first_write import undo_dead_first_write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_hudi.spark.runner import Job


def ingest(job: Job) -> JobReport:
    """One write, unless this job has made it before."""
    spec, work = job.spec, job.spec.work
    if not isinstance(work, IngestWork):
        raise TypeError(f"this script ingests; {work.KIND} has a script of its own")
    release = known_release(spec.release)
    table = _existing(spec.table)
    check_work(work, release, None if table is None else table.properties, spec.table)
    before = load_evidence(open_storage(spec.table), work, str(spec.key))
    if before is not None:
        said = f"this job's commit {before.instant.requested_at} is on the timeline already"
        return job.done(said, instant=before.instant.requested_at, rows=before.rows)
    asked = _asked_partitions(work, table)
    if asked.missing and not asked.found:
        return job.nothing_to_do(asked.missing_in(spec.table))
    frame = _rows(job, work, table)
    if frame is None:
        return job.nothing_to_do(f"{work.source or spec.table} has no rows")
    options = _options(job, work, table, release)
    if table is not None:
        undo_dead_first_write(job, table, options)
    job.say(f"{work.operation.value} into {spec.table}")
    instant = job.engine.write(
        frame,
        spec.table,
        options,
        before_commit=lambda commit: _check_once(job, commit),
    )
    evidence = load_evidence(open_storage(spec.table), work, str(spec.key))
    rows = None if evidence is None else evidence.rows
    said = f"{work.operation.value} committed as {instant}{_counted(work, evidence)}"
    notes = (asked.missing_in(spec.table),) if asked.missing else ()
    return job.done(said, instant=instant, rows=rows, notes=notes)


def _counted(work: IngestWork, evidence: Evidence | None) -> str:
    if evidence is None or evidence.rows is None:
        return ""
    if not work.operation.replaces_file_groups:
        return f": {evidence.rows}"
    return f": {evidence.replaced} file groups replaced, {evidence.rows}"


def _existing(uri: str) -> Table | None:
    try:
        return load_table(open_storage(uri))
    except TableNotFound:
        return None


def _asked_partitions(work: IngestWork, table: Table | None) -> AskedPartitions:
    """For ``delete_partition``, which of them are there: Hudi would commit without any, too."""
    if table is None or work.operation is not Operation.DELETE_PARTITION:
        return AskedPartitions()
    return look_for_partitions(table, work.partitions)


def _check_once(job: Job, commit: CommitInProgress) -> None:
    """Under the table's lock, the last moment: still the one driver, and nobody was faster?"""
    job.check_seat()
    spec = job.spec
    evidence = load_evidence(open_storage(spec.table), spec.work, str(spec.key))
    if evidence is not None:
        because = f"its commit {evidence.instant.requested_at} is on the timeline already"
        raise JobSuperseded(str(spec.key), because=because)
    commit.record(JOB_METADATA_KEY, str(spec.key))
    job.say("data files are written, committing")


# --- the rows ------------------------------------------------------------------------------


def _rows(job: Job, work: IngestWork, table: Table | None) -> DataFrame | None:
    """The rows to write, checked; None where there are none and that is to be passed over."""
    written = table is not None and _was_written(table)
    if table is not None and not work.operation.takes_rows:
        return _no_rows_of(job.spark, table) if written else None
    frame = _read(job.spark, work)
    if frame is None:
        return None
    check_columns(work, None if table is None else table.properties, frame.columns)
    if table is not None and written:
        empty = _no_rows_of(job.spark, table)
        check_schema(work, job.spec.table, table=_columns(empty), rows=_columns(frame))
        frame = _fitted(work, frame, empty)
    if frame.isEmpty():
        if work.when_empty is WhenEmpty.FAIL:
            raise SourceEmpty(str(work.source))
        if work.when_empty is WhenEmpty.SKIP:
            return None
    return frame


def _was_written(table: Table) -> bool:
    """Whether it has columns yet; a first write that died leaves a table without any."""
    return len(load_timeline(table).completed().writes()) > 0


def _read(spark: SparkSession, work: IngestWork) -> DataFrame | None:
    """The rows of the source; None where there is none and that is to be passed over."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - PySpark is on drivers only

    source = work.source
    if isinstance(source, QuerySource):
        return spark.sql(source.sql)
    if not isinstance(source, FileSource):
        raise TypeError(f"{work.operation.value} has no source")
    reader = spark.read.format(source.format.value).options(**_reader_options(source))
    try:
        return reader.load(source.path)
    except AnalysisException as error:
        if error.getErrorClass() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            raise
        if work.when_empty is WhenEmpty.SKIP:
            return None
        raise SourceMissing(source.path) from error


def _reader_options(source: FileSource) -> dict[str, str]:
    """A CSV file has no types: without being told, Spark would take every column for a text."""
    given = {key.lower() for key in source.options}
    if source.format is not SourceFormat.CSV or "inferschema" in given:
        return dict(source.options)
    return {**source.options, "inferSchema": "true"}


def _no_rows_of(spark: SparkSession, table: Table) -> DataFrame:
    rows = spark.read.format("hudi").load(table.uri).limit(0)
    return rows.drop(*META_FIELDS)


def _fitted(work: IngestWork, frame: DataFrame, empty: DataFrame) -> DataFrame:
    """The rows in the table's types and its order of columns; what is new comes last."""
    table = _columns(empty)
    for name, type_ in widened(table, _columns(frame)).items():
        frame = frame.withColumn(name, frame[name].cast(type_))
    if work.evolve_schema and work.operation is not Operation.DELETE:
        frame = _evolving(frame, empty)
    known = [name for name in table if name in frame.columns]
    return frame.select(*known, *(name for name in frame.columns if name not in table))


def _evolving(frame: DataFrame, empty: DataFrame) -> DataFrame:
    """What the rows lack is null; what is new may be null, for it is in the rows already there."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - PySpark is on drivers only

    have = {name.lower() for name in frame.columns}
    for field in empty.schema.fields:
        # Not where it is there in another case: key and ordering columns are looked up so, too.
        if field.name.lower() not in have:
            frame = frame.withColumn(field.name, sql.lit(None).cast(field.dataType))
    for field in frame.schema.fields:
        if field.name not in empty.columns:
            value = frame[field.name]
            frame = frame.withColumn(field.name, sql.when(sql.lit(True), value))  # noqa: FBT003
    return frame


def _columns(frame: DataFrame) -> dict[str, str]:
    return {name: type_ for name, type_ in frame.dtypes if name not in META_FIELDS}


# --- the settings --------------------------------------------------------------------------


def _options(job: Job, work: IngestWork, table: Table | None, release: Release) -> dict[str, str]:
    """What Hudi is told; the user's own options win where they do not name the table's identity."""
    spec = job.spec
    if table is not None:
        of_table = table_options(table.properties, release)
    elif work.create is not None:
        of_table = _definition(work.create, spec.table, release)
    else:  # check_work has refused it
        raise TableNotFound(spec.table)
    if work.inline_services:
        # Hudi's own choice, and not that of a table's services; on MOR it compacts then.
        of_table.pop(WriteKey.COMPACT_INLINE.value, None)
    return {
        **of_table,
        **lock_options(spec.lock, spec.table),
        **({} if work.inline_services else no_inline_services()),
        **_partitions_to_delete(work),
        **work.options,
        WriteKey.OPERATION.value: work.operation.value,
    }


def _definition(new: NewTable, uri: str, release: Release) -> dict[str, str]:
    version = new.version or release.default_table_version
    options = {
        WriteKey.TABLE_NAME.value: new.name or file_name(uri.rstrip("/")),
        WriteKey.TABLE_TYPE.value: new.type.value,
        WriteKey.RECORD_KEY_FIELD.value: ",".join(new.keys),
        WriteKey.PARTITION_FIELD.value: ",".join(new.partitions),
        WriteKey.HIVE_STYLE_PARTITIONING.value: str(new.hive_style).lower(),
    }
    if new.ordering:
        options[WriteKey.PRECOMBINE_FIELD.value] = ",".join(new.ordering)
    if new.version is not None:
        options[WriteKey.TABLE_VERSION.value] = str(version)
        options[WriteKey.AUTO_UPGRADE.value] = "false"
    return options


def _partitions_to_delete(work: IngestWork) -> dict[str, str]:
    if work.operation is not Operation.DELETE_PARTITION:
        return {}
    return {WriteKey.PARTITIONS_TO_DELETE.value: ",".join(work.partitions)}
