# SPDX-License-Identifier: Apache-2.0
"""The adapters: one Hudi release in one Spark session, behind the words of ``protocol``."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from airflow_hudi.core.config import TableKey, WriteKey
from airflow_hudi.core.engine_errors import CheckSkipped, RecordsRejected
from airflow_hudi.core.errors import EnvironmentProblem, UnsupportedFeature
from airflow_hudi.core.versions import release as known_release
from airflow_hudi.spark.engine.before_commit import BeforeCommitHook, listen
from airflow_hudi.spark.engine.client import open_client
from airflow_hudi.spark.engine.dialects import DIALECTS, Hudi015
from airflow_hudi.spark.engine.failures import translated
from airflow_hudi.spark.engine.jvm import HudiJvm
from airflow_hudi.spark.engine.protocol import BeforeCommit, Engine, Options, TableClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHECKED = (
    "upsert",
    "insert",
    "bulk_insert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
)
_DEFAULT_OPERATION = "upsert"


def engine_of(spark: SparkSession, release: str) -> Engine:
    """The release of that name in this session, or :class:`UnknownRelease`.

    A session that really has another one is an :class:`EnvironmentProblem`.
    """
    known = known_release(release)
    jvm = HudiJvm(spark)
    there = jvm.release()
    if there is not None and there.partition("-")[0] != known.name:
        raise EnvironmentProblem(
            f"this Spark session has Hudi {there}, not {known.name}",
            cure=f"start it with the bundle of Hudi {known.name}",
        )
    return HudiEngine(DIALECTS[known.name](jvm, known))


class HudiEngine:
    """One Hudi release in one Spark session."""

    def __init__(self, dialect: Hudi015) -> None:
        self._dialect = dialect
        self._jvm = dialect.jvm

    @property
    def release(self) -> str:
        """The release's name."""
        return self._dialect.release.name

    @property
    def process_id(self) -> int:
        """The process that Java runs in."""
        return self._jvm.process_id()

    def client(self, base: str, options: Options) -> AbstractContextManager[TableClient]:
        """A write client on an existing table, closed at the end."""
        return open_client(self._dialect, base, options)

    def write(
        self,
        frame: DataFrame,
        base: str,
        options: Options,
        *,
        before_commit: BeforeCommit | None = None,
    ) -> str:
        """One write through Hudi's own data source, creating the table if it is not there."""
        complete = {"path": base, **_both_table_types(options), **options}
        if before_commit is None:
            return self._write(frame, base, complete, self._jvm.scala_option())
        return self._write_checked(frame, base, complete, before_commit)

    def _write_checked(
        self, frame: DataFrame, base: str, options: Options, before_commit: BeforeCommit
    ) -> str:
        operation = options.get(WriteKey.OPERATION.value, _DEFAULT_OPERATION)
        if operation not in _CHECKED:
            raise UnsupportedFeature(
                f"a check before the commit of a write of kind {operation}",
                have=f"Hudi {self.release}",
                since=f"one of {', '.join(_CHECKED)}",
            )
        hook = BeforeCommitHook(before_commit)
        listen(self._jvm)
        none = self._jvm.scala_option()
        streaming = getattr(self._jvm.hudi, "HoodieSparkSqlWriter$StreamingWriteParams")
        params = streaming(none, none, none, self._jvm.scala_option(hook))
        # The row writer of bulk_insert commits by itself, without asking anybody.
        by_records = {**options, WriteKey.ROW_WRITER.value: "false"}
        with hook.own_errors():
            instant = self._write(frame, base, by_records, self._jvm.scala_option(params))
        if not hook.was_called:
            raise CheckSkipped(base, instant, operation)
        return instant

    def _write(self, frame: DataFrame, base: str, options: Options, params: object) -> str:
        with translated(base):
            result = self._dialect.write(self._jvm.scala_map(options), frame, params)
        instant = str(result._2().get()) if result._2().isPresent() else None  # noqa: SLF001 - Scala's
        if not result._1() or instant is None:  # noqa: SLF001 - Scala's
            raise RecordsRejected(base, instant)
        return instant


def _both_table_types(options: Options) -> dict[str, str]:
    """Hudi's clients read the one key, its data source the other."""
    kind = options.get(WriteKey.TABLE_TYPE.value)
    return {TableKey.TYPE.value: kind} if kind else {}
