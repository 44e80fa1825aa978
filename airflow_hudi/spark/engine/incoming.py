# SPDX-License-Identifier: Apache-2.0
"""A frame on its way into an existing table, step by step as Hudi's data source does it."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from airflow_hudi.core.config import WriteKey
from airflow_hudi.core.errors import UnsupportedFeature
from airflow_hudi.spark.engine.dialects import Hudi015
from airflow_hudi.spark.engine.protocol import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DELETE = "delete"
_INSERT = "insert"
_STAGEABLE = (
    "upsert",
    _INSERT,
    "bulk_insert",
    _DELETE,
    "insert_overwrite",
    "insert_overwrite_table",
)
_WITH_LOOK_UP = False  # "prepped" is Hudi's question: whether rows know where they belong
_KEY_COLUMNS = {
    # Hudi's own columns, and the properties of its class for keys
    "_hoodie_record_key": "recordKey",
    "_hoodie_partition_path": "partitionPath",
}


class Incoming:
    """The rows of one write, with the schema and the settings that Hudi derives for it."""

    def __init__(
        self, dialect: Hudi015, base: str, options: Options, frame: DataFrame, operation: str
    ) -> None:
        if operation not in _STAGEABLE:
            raise UnsupportedFeature(
                f"staging a write of kind {operation}",
                have=f"Hudi {dialect.release.name}",
                since=f"one of {', '.join(_STAGEABLE)}",
            )
        self._dialect = dialect
        self._jvm = dialect.jvm
        self._base = base
        self._frame = frame
        self._operation = operation
        self._meta_client = self._jvm.meta_client(base)
        self._params = self._with_defaults(options)
        name = self._meta_client.getTableConfig().getTableName()
        self._record = self._jvm.hudi.AvroConversionUtils.getAvroRecordNameAndNamespace(name)
        self._schema = self._writer_schema()
        self.kind = self._jvm.hudi.common.model.WriteOperationType.fromValue(operation)
        self.action = self._action()

    def open_client(self) -> Any:
        """A client whose configuration carries this write's own schema."""
        converters = self._jvm.root.scala.collection.JavaConverters
        params = dict(converters.mapAsJavaMapConverter(self._params).asJava())
        return self._dialect.open_client(self._base, params, str(self._schema.toString()))

    def start(self, client: Any) -> str:
        """Put the instant on the timeline, with a heartbeat."""
        instant = str(client.startCommit(self.action, self._meta_client))
        client.getHeartbeatClient().start(instant)  # Hudi itself does so only if it must
        return instant

    def write(self, client: Any, instant: str) -> tuple[Any, Any]:
        """Hudi's write statuses, as an RDD, and the file groups replaced by partition."""
        if self._operation == _DELETE:
            return client.delete(self._keys(), instant), self._jvm.map({})
        utils = self._jvm.hudi.HoodieCreateRecordUtils
        arguments = getattr(self._jvm.hudi, "HoodieCreateRecordUtils$createHoodieRecordRddArgs")
        frame: Any = self._frame
        records = utils.createHoodieRecordRdd(
            arguments(
                frame._jdf,  # noqa: SLF001 - PySpark's only door to Java
                client.getConfig(),
                self._params,
                *(self._record._1(), self._record._2()),  # noqa: SLF001 - Scala's
                *(self._schema, self._schema),
                *(self.kind, instant),
                *(_WITH_LOOK_UP, _WITH_LOOK_UP, _WITH_LOOK_UP),
                *self._dialect.more_record_arguments(self._meta_client),
            )
        )
        result = self._jvm.hudi.DataSourceUtils.doWriteOperation(
            client, records, instant, self.kind, _WITH_LOOK_UP
        )
        return result.getWriteStatuses(), result.getPartitionToReplaceFileIds()

    def _with_defaults(self, options: Options) -> Any:
        told = {**options, WriteKey.OPERATION.value: self._operation}
        if self._operation == _INSERT:
            # As in the data source: an insert adds a row even if its key is there already.
            told.setdefault(WriteKey.KEEP_DUPLICATES.value, "true")
        return self._jvm.hudi.HoodieWriterUtils.parametersWithWriteDefaults(
            self._jvm.scala_map(told)
        )

    def _action(self) -> str:
        actions = self._jvm.hudi.common.util.CommitUtils
        return str(actions.getCommitActionType(self.kind, self._meta_client.getTableType()))

    def _writer_schema(self) -> Any:
        source = self._dialect.schema_of(self._frame, self._record)
        known = self._dialect.table_schema(self._meta_client)
        table = self._jvm.scala_option(known.get() if known.isPresent() else None)
        return self._jvm.hudi.HoodieSchemaUtils.deduceWriterSchema(
            source, table, self._jvm.scala_option(), self._params
        )

    def _keys(self) -> Any:
        """Hudi's keys of those rows that are in the table, as it wrote them itself."""
        from pyspark.sql import functions  # noqa: PLC0415 - needs a running session

        table = self._jvm.spark.read.format("hudi").load(self._base)
        rows = self._frame.select(*self._identifying_columns())
        same = (table[name].eqNullSafe(rows[name]) for name in rows.columns)
        found: Any = table.join(rows, reduce(and_, same), "left_semi").select(
            *(functions.col(ours).alias(theirs) for ours, theirs in _KEY_COLUMNS.items())
        )
        key = self._jvm.hudi.common.model.HoodieKey().getClass()
        encoder = self._jvm.root.org.apache.spark.sql.Encoders.bean(key)
        return getattr(found._jdf, "as")(encoder).toJavaRDD()  # noqa: SLF001 - as above

    def _identifying_columns(self) -> list[str]:
        table = self._meta_client.getTableConfig()
        fields = (table.getRecordKeyFields(), table.getPartitionFields())
        return [str(name) for option in fields if option.isPresent() for name in option.get()]
