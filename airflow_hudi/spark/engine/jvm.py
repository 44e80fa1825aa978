# SPDX-License-Identifier: Apache-2.0
"""Hudi's Java as seen from one Spark session: short names for what every adapter needs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaObject, JavaPackage

from airflow_hudi.core.errors import EnvironmentProblem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class HudiJvm:
    """The few Java objects that all adapters share; ``hudi`` is the package ``org.apache.hudi``."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        context: Any = spark.sparkContext
        self.gateway: Any = context._gateway  # noqa: SLF001 - PySpark's only door to Java
        self.root: Any = self.gateway.jvm
        self.hudi: Any = self.root.org.apache.hudi
        if isinstance(self.hudi.DataSourceUtils, JavaPackage):  # py4j's way to say: no such class
            raise EnvironmentProblem(
                "this Spark session has no Hudi",
                cure="start it with the bundle in spark.jars and spark.driver.extraClassPath,"
                " or with spark-submit --packages",
            )
        self.java_context: Any = context._jsc  # noqa: SLF001 - as above
        self.context: Any = self.hudi.client.common.HoodieSparkEngineContext(self.java_context)

    def release(self) -> str | None:
        """The release that the bundle's manifest names; None if Hudi is inside another jar."""
        package = self.option().getClass().getPackage()
        if package is None or not str(package.getImplementationTitle()).startswith("hudi-"):
            return None
        return str(package.getImplementationVersion())

    def meta_client(self, base: str) -> Any:
        """A freshly loaded view of the table's properties and timeline."""
        builder = self.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(self.context.getStorageConf()).setBasePath(base).build()

    def table(self, base: str, config: Any) -> Any:
        """Hudi's own table object, freshly loaded."""
        return self.hudi.table.HoodieSparkTable.create(config, self.context, self.meta_client(base))

    def option(self, value: Any = None) -> Any:
        """Hudi's Option of a value, or its empty one."""
        option = self.hudi.common.util.Option
        return option.empty() if value is None else option.of(value)

    def scala_option(self, value: Any = None) -> Any:
        """Scala's Option of a value, or its empty one."""
        return self.root.scala.Option.apply(value)

    def map(self, values: Mapping[str, Any]) -> Any:
        """A Java map, which unlike a converted dict may be changed by its user."""
        result = self.root.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result

    def list(self, values: Iterable[Any]) -> Any:
        """A Java list."""
        result = self.root.java.util.ArrayList()
        for value in values:
            result.add(value)
        return result

    def scala_map(self, values: Mapping[str, str]) -> Any:
        """An immutable Scala map."""
        return self.root.org.apache.spark.api.python.PythonUtils.toScalaMap(self.map(values))

    def call_hidden(self, target: Any, name: str, *arguments: Any) -> Any:
        """Call a method that Hudi has but does not show, found by its name and arity.

        For steps that Hudi offers only as part of a larger one. Safe because a release's names do
        not change any more; every use is proved by a test on every release.
        """
        method = _declared(target.getClass(), name, arguments)
        method.setAccessible(True)
        values = self.gateway.new_array(self.root.java.lang.Object, len(arguments))
        for position, argument in enumerate(arguments):
            values[position] = argument
        return method.invoke(target, values)

    @contextlib.contextmanager
    def exchanged(self, target: Any, field: str, value: Any) -> Iterator[None]:
        """Inside, a field that Hudi does not show holds another value."""
        hidden = _declared_field(target.getClass(), field)
        hidden.setAccessible(True)
        before = hidden.get(target)
        hidden.set(target, value)
        try:
            yield
        finally:
            hidden.set(target, before)

    def process_id(self) -> int:
        """The JVM's own process."""
        return int(self.root.java.lang.ProcessHandle.current().pid())


def items(collection: Any) -> list[Any]:
    """The elements of a Java collection.

    Not by its iterator: the end of Avro's own lists is an error that py4j does not know.
    """
    return list(collection.toArray())


def _declared(kind: Any, name: str, arguments: Sequence[Any]) -> Any:
    while kind is not None:
        methods: Sequence[Any] = kind.getDeclaredMethods()
        for method in methods:
            if method.getName() == name and _takes(method, arguments):
                return method
        kind = kind.getSuperclass()
    raise EnvironmentProblem(
        f"this Hudi has no method {name} with {len(arguments)} such arguments",
        cure="use an unmodified release bundle",
    )


def _takes(method: Any, arguments: Sequence[Any]) -> bool:
    kinds = list(method.getParameterTypes())
    if len(kinds) != len(arguments):
        return False
    pairs = zip(kinds, arguments, strict=True)
    return all(not isinstance(value, JavaObject) or kind.isInstance(value) for kind, value in pairs)


def _declared_field(kind: Any, name: str) -> Any:
    while kind is not None:
        for field in kind.getDeclaredFields():
            if field.getName() == name:
                return field
        kind = kind.getSuperclass()
    raise EnvironmentProblem(
        f"this Hudi has no field {name}", cure="use an unmodified release bundle"
    )
