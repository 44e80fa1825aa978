# SPDX-License-Identifier: Apache-2.0
"""How each release line says the same thing: one class per line, with only what it says anew.

Java's methods are public except where :meth:`HudiJvm.call_hidden` is named: a clustering plan can
be executed without its commit in every release, and in none can that commit be called from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.config import TableKey, WriteKey
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.versions import Release
from airflow_hudi.spark.engine.jvm import HudiJvm, items
from airflow_hudi.spark.engine.protocol import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WITHOUT_COMMIT = False
_WITHOUT_LOCK = False
_WITHOUT_META_COLUMNS = False
_WITHOUT_STREAMING = True  # "skip streaming writes to the metadata table" is Hudi's question

_NO_INSTANT = "99991231235959999"  # of a plan that is only looked at: later than all there are

_EXECUTE = {Service.COMPACTION: "compact", Service.LOG_COMPACTION: "logCompact"}
_COMMIT = {Service.COMPACTION: "commitCompaction", Service.LOG_COMPACTION: "commitLogCompaction"}


@dataclass(frozen=True, slots=True)
class CommitArguments:
    """What Hudi needs to commit a write that was staged, as its own Java objects."""

    instant: str
    statuses: Iterable[Any]
    """One per file written; empty after a recovery."""
    stats: Any
    extra: Any
    action: str
    replaced: Any


class Hudi015:
    """0.15: completion times by file modification; a plan's execution returns commit metadata."""

    def __init__(self, jvm: HudiJvm, release: Release) -> None:
        self.jvm = jvm
        self.release = release

    def open_client(self, base: str, options: Options, schema: str) -> Any:
        """Hudi's write client; whoever opens it closes it."""
        table = self.jvm.meta_client(base).getTableConfig()
        # A static of the whole JVM: the zone in which the next instants are written.
        self.jvm.hudi.common.table.timeline.HoodieInstantTimeGenerator.setCommitTimeZone(
            table.getTimelineTimezone()
        )
        name = options.get(WriteKey.TABLE_NAME.value) or str(table.getTableName())
        told = self.jvm.map({**_client_options(table), **options})
        create = self.jvm.hudi.DataSourceUtils.createHoodieClient
        return create(self.jvm.java_context, schema, base, name, told)

    # --- the timeline ------------------------------------------------------------------------

    def requested_at(self, instant: Any) -> str:
        """When an instant of Java's was requested."""
        return str(instant.getTimestamp())

    def new_instant(self, _client: Any) -> str:
        """A new instant time; the caller holds the table's lock."""
        timeline = self.jvm.hudi.common.table.timeline.HoodieActiveTimeline
        return str(timeline.createNewInstantTime())

    def table_schema(self, meta_client: Any) -> Any:
        """Option of the table's schema without Hudi's own columns."""
        resolver = self.jvm.hudi.common.table.TableSchemaResolver(meta_client)
        return resolver.getTableAvroSchemaIfPresent(_WITHOUT_META_COLUMNS)

    def instant(self, _meta_client: Any, action: str, time: str) -> Any:
        """An inflight instant as an object, whether it is on the timeline or not."""
        states = getattr(self.jvm.hudi.common.table.timeline, "HoodieInstant$State")
        return self.jvm.hudi.common.table.timeline.HoodieInstant(states.INFLIGHT, action, time)

    # --- the lock ----------------------------------------------------------------------------

    def begin(self, manager: Any) -> None:
        """Take the table's lock."""
        manager.beginTransaction(self.jvm.option(), self.jvm.option())

    def end(self, manager: Any) -> None:
        """Give the table's lock back."""
        manager.endTransaction(self.jvm.option())

    # --- services ----------------------------------------------------------------------------

    def execute(self, client: Any, service: Service, instant: str) -> tuple[Any, list[Any]]:
        """Carry out a plan without its commit: what the commit needs, and the write stats."""
        if service is Service.CLUSTERING:
            result = client.cluster(instant, _WITHOUT_COMMIT)
        else:
            result = getattr(client, _EXECUTE[service])(instant, *self._without_commit)
        return result, items(self._stats(client, result))

    _without_commit: tuple[bool, ...] = ()  # what a client of the data source does anyway

    def _stats(self, _client: Any, result: Any) -> Any:
        return result.getCommitMetadata().get().getWriteStats()

    def commit(self, client: Any, service: Service, instant: str, result: Any) -> None:
        """Commit what was executed; Hudi takes the table's lock for it."""
        if service is Service.CLUSTERING:
            self._commit_clustering(client, instant, result)
        else:
            what = self._committable(result)
            getattr(client, _COMMIT[service])(instant, what, self.jvm.option())

    def _committable(self, result: Any) -> Any:
        return result.getCommitMetadata().get()

    def _commit_clustering(self, client: Any, instant: str, result: Any) -> None:
        statuses = self.jvm.option(self.jvm.hudi.data.HoodieJavaRDD.of(result.getWriteStatuses()))
        arguments = (self._committable(result), self._table(client), instant, statuses)
        self._call_service(client, "completeClustering", *arguments)

    def schedule_clean(self, client: Any) -> str | None:
        """Put a clean plan on the timeline; the caller holds the table's lock.

        Not by the client, which in 1.0 asks for the lock to draw an instant, whoever has it.
        """
        instant = self.new_instant(client)
        table = self._table(client)
        plan = table.scheduleCleaning(self.jvm.context, instant, self.jvm.option())
        return instant if plan.isPresent() else None

    # --- plans that are looked at, and not made ----------------------------------------------

    def preview(self, client: Any, service: Service) -> Any:
        """The plan that would be made now, or null."""
        actions = self.jvm.hudi.table.action
        arguments = (self.jvm.context, client.getConfig(), self._table(client), _NO_INSTANT)
        none = self.jvm.option()
        if service is Service.CLUSTERING:
            planner = actions.cluster.ClusteringPlanActionExecutor(*arguments, none)
            plan = self.jvm.call_hidden(planner, "createClusteringPlan")
            return plan.get() if plan.isPresent() else None
        kinds = self.jvm.hudi.common.model.WriteOperationType
        kind = kinds.COMPACT if service is Service.COMPACTION else kinds.LOG_COMPACT
        planner = actions.compact.ScheduleCompactionActionExecutor(*arguments, none, kind)
        return self.jvm.call_hidden(planner, "scheduleCompaction")

    def preview_clean(self, client: Any) -> Any:
        """The plan of a clean that would be made now."""
        planner = self._clean_planner(client)
        return self.jvm.call_hidden(planner, "requestClean", self.jvm.context)

    def _clean_planner(self, client: Any) -> Any:
        planner = self.jvm.hudi.table.action.clean.CleanPlanActionExecutor
        table = self._table(client)
        return planner(self.jvm.context, client.getConfig(), table, _NO_INSTANT, self.jvm.option())

    def _call_service(self, client: Any, name: str, *arguments: Any) -> Any:
        return self.jvm.call_hidden(client.getTableServiceClient(), name, *arguments)

    def _table(self, client: Any) -> Any:
        config = client.getConfig()
        return self.jvm.table(config.getBasePath(), config)

    # --- writes ------------------------------------------------------------------------------

    def write(self, options: Any, frame: DataFrame, params: Any) -> Any:
        """Hudi's own data source writer: its tuple of success, instant and four more."""
        jvm = self.jvm
        append = jvm.root.org.apache.spark.sql.SaveMode.Append
        session: Any = jvm.spark
        return jvm.hudi.HoodieSparkSqlWriter.write(
            session._jsparkSession.sqlContext(),  # noqa: SLF001 - PySpark's only door to Java
            append,
            options,
            frame._jdf,  # noqa: SLF001 - as above
            params,
            *self._more_write_arguments(),
        )

    def _more_write_arguments(self) -> tuple[Any, ...]:
        return (self.jvm.scala_option(),)  # no client of ours

    # --- staged writes -----------------------------------------------------------------------

    def schema_of(self, frame: DataFrame, record: Any) -> Any:
        """The schema of a frame, as a record of this name and namespace."""
        convert = self.jvm.hudi.AvroConversionUtils.convertStructTypeToAvroSchema
        return convert(*self._struct_and_names(frame, record))

    def _struct_and_names(self, frame: Any, record: Any) -> tuple[Any, ...]:
        return frame._jdf.schema(), record._1(), record._2()  # noqa: SLF001 - as above, and Scala's

    def more_record_arguments(self, _meta_client: Any) -> tuple[Any, ...]:
        """What the making of records needs beyond what it always needed."""
        return ()

    def commit_stats(self, client: Any, write: CommitArguments, hook: Any) -> None:
        """Commit a staged write; Hudi takes the table's lock for it."""
        statuses = self.jvm.java_context.parallelize(self.jvm.list(write.statuses))
        # An index of all records is fed from the statuses; the later releases read the files.
        data = self.jvm.hudi.data.HoodieJavaRDD.of(statuses)
        client.commitStats(
            *(write.instant, data, write.stats, write.extra, write.action, write.replaced, hook)
        )


class Hudi10(Hudi015):
    """1.0: completion times are instants; clustering is an action of its own."""

    def requested_at(self, instant: Any) -> str:
        """When an instant of Java's was requested."""
        return str(instant.requestedTime())

    def instant(self, meta_client: Any, action: str, time: str) -> Any:
        """An inflight instant as an object, whether it is on the timeline or not."""
        states = getattr(self.jvm.hudi.common.table.timeline, "HoodieInstant$State")
        return meta_client.createNewInstant(states.INFLIGHT, action, time)

    def new_instant(self, client: Any) -> str:
        """A new instant time; the caller holds the table's lock."""
        return str(client.createNewInstantTime(_WITHOUT_LOCK))

    def _commit_clustering(self, client: Any, instant: str, result: Any) -> None:
        arguments = (self._committable(result), self._table(client), instant)
        self._call_service(client, "completeClustering", *arguments)

    def commit_stats(self, client: Any, write: CommitArguments, hook: Any) -> None:
        """Commit a staged write; Hudi takes the table's lock for it."""
        client.commitStats(
            *(write.instant, write.stats, write.extra, write.action, write.replaced, hook)
        )


class Hudi11(Hudi10):
    """1.1: "state changes" instead of transactions; execution is lazy until somebody asks."""

    def begin(self, manager: Any) -> None:
        """Take the table's lock."""
        manager.beginStateChange(self.jvm.option(), self.jvm.option())

    def end(self, manager: Any) -> None:
        """Give the table's lock back."""
        manager.endStateChange(self.jvm.option())

    def schedule_clean(self, client: Any) -> str | None:
        """Put a clean plan on the timeline; the caller holds the table's lock."""
        clean = self.jvm.hudi.common.model.TableServiceType.CLEAN
        instant = client.scheduleTableService(self.jvm.option(), clean)
        return str(instant.get()) if instant.isPresent() else None

    def _clean_planner(self, client: Any) -> Any:
        planner = self.jvm.hudi.table.action.clean.CleanPlanActionExecutor
        table = self._table(client)
        return planner(self.jvm.context, client.getConfig(), table, self.jvm.option())

    _without_commit = (_WITHOUT_COMMIT,)

    def _stats(self, client: Any, result: Any) -> Any:
        # What Hudi's commit does first; done now, the files are there, and the commit asks again.
        stats = self._call_service(client, "triggerWritesAndFetchWriteStats", result)
        return stats.getDataTableWriteStats()

    def _committable(self, result: Any) -> Any:
        return result

    def _commit_clustering(self, client: Any, instant: str, result: Any) -> None:
        self._call_service(client, "commitClustering", result, self._table(client), instant)

    def _more_write_arguments(self) -> tuple[Any, ...]:
        return (self.jvm.scala_option(), self.jvm.scala_option())  # nor a schema from a catalog

    def more_record_arguments(self, meta_client: Any) -> tuple[Any, ...]:
        """What the making of records needs beyond what it always needed."""
        return (meta_client.getTableConfig(),)

    def commit_stats(self, client: Any, write: CommitArguments, hook: Any) -> None:
        """Commit a staged write; Hudi takes the table's lock for it."""
        stats = self.jvm.hudi.client.TableWriteStats(write.stats)
        client.commitStats(
            *(write.instant, stats, write.extra, write.action, write.replaced, hook),
            *(_WITHOUT_STREAMING, self.jvm.option()),
        )


class Hudi12(Hudi11):
    """1.2: a schema class of Hudi's own instead of Avro's."""

    def table_schema(self, meta_client: Any) -> Any:
        """Option of the table's schema without Hudi's own columns."""
        resolver = self.jvm.hudi.common.table.TableSchemaResolver(meta_client)
        return resolver.getTableSchemaIfPresent(_WITHOUT_META_COLUMNS)

    def schema_of(self, frame: DataFrame, record: Any) -> Any:
        """The schema of a frame, as a record of this name and namespace."""
        convert = self.jvm.hudi.HoodieSchemaConversionUtils.convertStructTypeToHoodieSchema
        return convert(*self._struct_and_names(frame, record))


DIALECTS: dict[str, type[Hudi015]] = {
    "0.15.0": Hudi015,
    "1.0.2": Hudi10,
    "1.1.1": Hudi11,
    "1.2.0": Hudi12,
}


def _client_options(table: Any) -> dict[str, str]:
    """What a client must be told if nobody else does; without a payload class it does not start."""
    kind = str(table.getTableType().name())
    return {
        WriteKey.TABLE_TYPE.value: kind,
        TableKey.TYPE.value: kind,
        WriteKey.PAYLOAD_CLASS.value: str(table.getPayloadClass()),
        WriteKey.COMPACT_INLINE.value: "false",  # or a client on MOR turns it on
    }
