# SPDX-License-Identifier: Apache-2.0
"""Short names for the few of Hudi's Java objects that tests ask directly, on all four releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_hudi.spark.engine.session_conf import RELEASE_PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Hudi:
    """Hudi's Java as seen from one Spark session; `packages` is `org.apache.hudi`."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext
        self.jvm: Any = gateway._jvm
        self.packages: Any = self.jvm.org.apache.hudi
        self.java_context: Any = gateway._jsc
        self.release: str = self.jvm.java.lang.System.getProperty(RELEASE_PROPERTY)
        self.context: Any = self.packages.client.common.HoodieSparkEngineContext(self.java_context)

    def before(self, line: str) -> bool:
        """Whether this release is older than a line such as "1.1"."""
        return _numbers(self.release) < _numbers(line)

    def meta_client(self, base: str) -> Any:
        builder = self.packages.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(self.context.getStorageConf()).setBasePath(base).build()

    def write_config(self, base: str) -> Any:
        """A configuration good for looking, not for writing."""
        builder = self.packages.config.HoodieWriteConfig.newBuilder().withPath(base)
        return builder.withEmbeddedTimelineServerEnabled(False).build()  # noqa: FBT003

    def table(self, base: str, config: Any = None) -> Any:
        create = self.packages.table.HoodieSparkTable.create
        return create(config or self.write_config(base), self.context, self.meta_client(base))

    def empty(self) -> Any:
        return self.packages.common.util.Option.empty()

    def map(self, values: Mapping[str, str]) -> Any:
        result = self.jvm.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def listed(self, stream: Any) -> list[Any]:
        """The elements of a Java stream, in its order."""
        return list(stream.toArray())

    def table_schema(self, base: str) -> str:
        """The table's Avro schema without Hudi's own columns, as JSON text."""
        resolver = self.packages.common.table.TableSchemaResolver(self.meta_client(base))
        if self.before("1.2"):
            return str(resolver.getTableAvroSchema(False).toString())  # noqa: FBT003
        return str(resolver.getTableSchema(False).toString())  # noqa: FBT003

    def requested_at(self, instant: Any) -> str:
        return str(instant.getTimestamp() if self.before("1.0") else instant.requestedTime())

    def completed_at(self, instant: Any) -> str | None:
        if not instant.isCompleted():
            return None
        time = (
            instant.getStateTransitionTime() if self.before("1.0") else instant.getCompletionTime()
        )
        return None if time is None else str(time)


def items(collection: Any) -> list[Any]:
    """The elements of a Java collection, or of null.

    Not by its iterator: the end of Avro's own lists is an error that py4j does not know.
    """
    return [] if collection is None else list(collection.toArray())


def entries(mapping: Any) -> list[tuple[str, Any]]:
    """The pairs of a Java map, or of null, by name."""
    if mapping is None:
        return []
    return sorted(((str(key), mapping.get(key)) for key in items(mapping.keySet())), key=_first)


def strings(collection: Any) -> list[str]:
    """A Java collection of strings, or null, as a Python list."""
    return [str(value) for value in items(collection)]


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
