# SPDX-License-Identifier: Apache-2.0
"""Rows into a Hudi table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_hudi.core.ingestion import (
    FileSource,
    IngestWork,
    NewTable,
    Operation,
    QuerySource,
    Source,
    SourceFormat,
    WhenEmpty,
)
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.operators.base import HudiJobOperator
from airflow_hudi.operators.rendered import listed, one_text, texts


class HudiIngestOperator(HudiJobOperator):
    """Writes the rows of files or of a Spark SQL query into a Hudi table, exactly once.

    The job's key travels in the commit's extra metadata and is looked for first, so that no retry,
    clear or crash commits the same job twice.

    :param operation: ``upsert``, ``insert``, ``bulk_insert``, ``delete``, ``insert_overwrite``,
        ``insert_overwrite_table`` or ``delete_partition``
    :param source: the path of files, a folder or a glob; not together with ``sql``
    :param source_format: ``parquet``, ``csv``, ``json`` or ``avro``; None: from the path's ending
    :param source_options: Spark's options for reading the files, such as ``{"header": "true"}``
    :param sql: a Spark SQL query that gives the rows
    :param partitions: for ``delete_partition``, the paths of the partitions; ``*`` for anything
    :param create: how to create the table where there is none (:class:`NewTable`); without it a
        missing table is an error
    :param when_source_empty: ``fail``, ``skip``, or ``commit`` an empty commit
    :param evolve_schema: let rows with other columns than the table's change the table: new columns
        are added, and those that the rows lack become null
    :param inline_services: let Hudi compact, cluster and clean within the write, as it or
        ``options`` choose; only for a table that no service operator serves. False: none of it,
        and old files stay until a ``HudiCleanOperator`` removes them
    """

    template_fields: Sequence[str] = (
        *HudiJobOperator.template_fields,
        "operation",
        "source",
        "source_options",
        "sql",
        "partitions",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **HudiJobOperator.template_fields_renderers,
        "sql": "sql",
    }
    template_ext: Sequence[str] = (".sql",)
    script = "ingestion"

    def __init__(  # noqa: PLR0913 - a source has many faces; all by name
        self,
        *,
        operation: str = Operation.UPSERT.value,
        source: str | os.PathLike[str] | None = None,
        source_format: str | None = None,
        source_options: Mapping[str, str] | None = None,
        sql: str | None = None,
        partitions: Sequence[str] = (),
        create: NewTable | None = None,
        when_source_empty: str = WhenEmpty.FAIL.value,
        evolve_schema: bool = False,
        inline_services: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.operation = operation
        # As a text from here on: what Airflow does with a template field of another type varies.
        self.source = _as_text(source)
        self.source_format = source_format
        self.source_options = source_options or {}
        self.sql = sql
        self.partitions = partitions
        self.create = create
        self.when_source_empty = when_source_empty
        self.evolve_schema = evolve_schema
        self.inline_services = inline_services
        if source_format is not None:
            _chosen(SourceFormat, "source_format", source_format)
        _chosen(WhenEmpty, "when_source_empty", when_source_empty)
        if source is not None and sql is not None:
            raise InvalidWork("source and sql are both given", cure="pass one of them")
        _check_definition(create)

    def work(self) -> IngestWork:
        """The write, checked as far as it can be without looking at anything."""
        return IngestWork(
            operation=_chosen(Operation, "operation", self.operation),
            source=self._source(),
            create=self.create,
            partitions=self._partitions(),
            options=self.plain_options(),
            when_empty=WhenEmpty(self.when_source_empty),
            evolve_schema=self.evolve_schema,
            inline_services=self.inline_services,
        )

    def _partitions(self) -> tuple[str, ...]:
        # Of a table without partitions, the empty path is all of it.
        paths = listed("partitions", self.partitions)
        return tuple(one_text("one of partitions", path, cure="pass paths") for path in paths)

    def _source(self) -> Source | None:
        if self.sql is not None:
            return QuerySource(one_text("sql", self.sql, cure="pass one query"))
        if self.source is None:
            return None
        cure = "pass one path: of a file, a folder, or a glob (/in/*.csv)"
        path = one_text("source", _as_text(self.source), cure=cure)
        options = texts("source_options", self.source_options)
        return FileSource(path, self._format(path), options)

    def _format(self, path: str) -> SourceFormat:
        if self.source_format is not None:
            return SourceFormat(self.source_format)
        ending = path.rstrip("/").rpartition(".")[2].lower()
        if ending not in [known.value for known in SourceFormat]:
            raise InvalidWork(
                f"the format of {path} is not in its name",
                cure=f"pass source_format: {', '.join(known.value for known in SourceFormat)}",
            )
        return SourceFormat(ending)


def _check_definition(create: object) -> None:
    if create is not None and not isinstance(create, NewTable):
        kind = type(create).__name__
        raise InvalidWork(f"create is a {kind}", cure="pass create=NewTable(keys=('id',), …)")


def _as_text(source: Any) -> Any:
    return os.fspath(source) if isinstance(source, os.PathLike) else source


def _chosen(kind: Any, name: str, value: str) -> Any:
    """The member of that value, or an error that lists them."""
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise InvalidWork(f"{name} is {value!r}", cure=f"choose one of {known}") from None
