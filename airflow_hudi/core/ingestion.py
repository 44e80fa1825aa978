# SPDX-License-Identifier: Apache-2.0
"""Ingestion, decided before any compute is spent: what is to be written, and may it be?

The same checks serve twice: in the operator as far as files can be looked at without Spark, and in
the driver, where the rows' columns are known for certain, right before the write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypeAlias

from airflow_hudi.core.config import CleanKey, ClusteringKey, TableKey, WriteKey
from airflow_hudi.core.errors import TableNotFound
from airflow_hudi.core.job_errors import (
    InvalidWork,
    MissingColumns,
    OptionsContradictTable,
    SchemaWouldEvolve,
)
from airflow_hudi.core.properties import TableProperties, TableType
from airflow_hudi.core.table_options import check_version
from airflow_hudi.core.versions import Feature, Release, table_version

JOB_METADATA_KEY = "_airflow_hudi_job"
"""The extra metadata of a commit that says which job made it."""


class Operation(str, Enum):
    """What happens to the rows of a source."""

    UPSERT = "upsert"
    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    DELETE_PARTITION = "delete_partition"

    @property
    def takes_rows(self) -> bool:
        """Whether it needs a source at all."""
        return self is not Operation.DELETE_PARTITION

    @property
    def replaces_file_groups(self) -> bool:
        """Whether it takes whole file groups out of the table."""
        return self in (
            Operation.INSERT_OVERWRITE,
            Operation.INSERT_OVERWRITE_TABLE,
            Operation.DELETE_PARTITION,
        )


class SourceFormat(str, Enum):
    """How the files of a source are written."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    AVRO = "avro"


class WhenEmpty(str, Enum):
    """What to do with a source that has no rows."""

    FAIL = "fail"
    SKIP = "skip"
    COMMIT = "commit"


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files of one format at a path, or in a folder."""

    KIND: ClassVar[str] = "files"
    path: str
    format: SourceFormat
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Spark's options for reading them, such as ``header`` or ``multiLine``."""

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class QuerySource:
    """The rows of a Spark SQL query."""

    KIND: ClassVar[str] = "query"
    sql: str

    def __str__(self) -> str:
        return f"the query {self.sql.strip()[:80]!r}"


Source: TypeAlias = FileSource | QuerySource


@dataclass(frozen=True, slots=True)
class NewTable:
    """How to create the table where there is none."""

    keys: tuple[str, ...]
    type: TableType = TableType.COPY_ON_WRITE
    ordering: tuple[str, ...] = ()
    """The columns that decide which of two versions of a record is the newer one."""
    partitions: tuple[str, ...] = ()
    version: int | None = None
    """The table version; None is what the release makes by itself."""
    hive_style: bool = False
    """Partition folders named ``column=value``."""
    name: str | None = None
    """None: the last part of the table's path."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", _table_type(self.type))  # a text does as well
        for name in ("keys", "ordering", "partitions"):
            columns = getattr(self, name)
            if isinstance(columns, str):
                cure = f"pass a tuple of column names: {name}=({columns!r},)"
                raise InvalidWork(f"{name} is the text {columns!r}", cure=cure)
            object.__setattr__(self, name, tuple(columns))  # a list does as well
        if not self.keys or not all(self.keys):
            raise InvalidWork("a new table needs key columns", cure="pass keys=('id',)")

    def check_release(self, release: Release) -> None:
        """Raise unless this release can make such a table."""
        version = release.default_table_version if self.version is None else self.version
        if version not in release.writes:
            raise InvalidWork(
                f"Hudi {release.name} cannot make tables of version {version}",
                cure=f"choose one of {', '.join(map(str, release.writes))}, or another release",
            )
        if len(self.ordering) > 1:
            table_version(version).require(Feature.SEVERAL_ORDERING_FIELDS)


def _table_type(said: object) -> TableType:
    try:
        return TableType(said.upper() if isinstance(said, str) else said)
    except ValueError:
        cure = f"choose {' or '.join(TableType)}"
        raise InvalidWork(f"a new table's type is {said!r}", cure=cure) from None


@dataclass(frozen=True, slots=True)
class IngestWork:
    """One write into one table."""

    KIND: ClassVar[str] = "ingest"
    operation: Operation
    source: Source | None = None
    create: NewTable | None = None
    partitions: tuple[str, ...] = ()
    """For ``delete_partition``: the partitions' paths."""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """More of Hudi's settings for this write."""
    when_empty: WhenEmpty = WhenEmpty.FAIL
    evolve_schema: bool = False
    inline_services: bool = False
    """Whether Hudi may run table services within the write, as it or the options choose; else they
    are other jobs' work."""

    @property
    def reads_avro(self) -> bool:
        """Whether Spark needs its Avro reader, which it does not bring along."""
        return isinstance(self.source, FileSource) and self.source.format is SourceFormat.AVRO

    def __post_init__(self) -> None:
        name = self.operation.value
        if self.operation.takes_rows:
            if self.source is None:
                raise InvalidWork(f"{name} needs a source", cure="pass a path or a query")
            if self.partitions:
                cure = "use operation='delete_partition', or drop it"
                raise InvalidWork(f"{name} takes no list of partitions", cure=cure)
            return
        if self.source is not None:
            raise InvalidWork(f"{name} takes no source", cure="name the partitions instead")
        if not self.partitions:
            raise InvalidWork(f"{name} needs partitions", cure="pass partitions=['…']")
        if self.create is not None:
            raise InvalidWork(f"{name} creates no table", cure="drop the table's definition")


_Says: TypeAlias = Callable[[TableProperties], str | None]
# What a write may say of the table's identity, in both spellings, and what the table says of it;
# None: nothing (tables of 1.x keep the type of their key generator, and not the class).
_IDENTITY: tuple[tuple[tuple[WriteKey | TableKey, ...], _Says], ...] = (
    ((WriteKey.TABLE_NAME,), lambda table: table.name),
    ((WriteKey.TABLE_TYPE, TableKey.TYPE), lambda table: table.type.value),
    (
        (WriteKey.RECORD_KEY_FIELD, TableKey.RECORD_KEY_FIELDS),
        lambda table: ",".join(table.record_key_fields),
    ),
    (
        (WriteKey.PARTITION_FIELD, TableKey.PARTITION_FIELDS),
        lambda table: ",".join(table.partition_fields),
    ),
    (
        (WriteKey.PRECOMBINE_FIELD, TableKey.PRECOMBINE_FIELD, WriteKey.ORDERING_FIELDS),
        lambda table: ",".join(table.ordering_fields),
    ),
    (
        (WriteKey.KEY_GENERATOR_CLASS, TableKey.KEY_GENERATOR_CLASS),
        lambda table: table.get(TableKey.KEY_GENERATOR_CLASS),
    ),
    (
        (WriteKey.HIVE_STYLE_PARTITIONING,),
        lambda table: table.get(TableKey.HIVE_STYLE_PARTITIONING) or "false",
    ),
    ((WriteKey.TABLE_VERSION, TableKey.VERSION), lambda table: str(table.version_number)),
)
_TABLE_SAYS = {key.value: says for keys, says in _IDENTITY for key in keys}


def check_work(work: IngestWork, release: Release, table: TableProperties | None, uri: str) -> None:
    """Raise where a write cannot or must not happen, as far as the table itself tells."""
    _check_parameters(work)
    _check_single_owner(work)
    if table is None:
        if work.create is None:
            raise TableNotFound(uri)
        work.create.check_release(release)
        return
    check_version(table, release)
    conflicts = contradictions(work, table)
    if conflicts:
        raise OptionsContradictTable(uri, conflicts)


# What a parameter says, and no option.
_PARAMETERS = {
    WriteKey.OPERATION: "operation='{value}'",
    WriteKey.PARTITIONS_TO_DELETE: "operation='delete_partition' and partitions=['…']",
}


def _check_parameters(work: IngestWork) -> None:
    """Raise where the options say what the job says otherwise."""
    for key, parameter in _PARAMETERS.items():
        if key.value in work.options:
            raise InvalidWork(
                f"{key.value} among the options would not be heeded, or change another write than"
                " was asked for",
                cure=f"drop it and pass {parameter.format(value=work.options[key.value])}",
            )


# Switched off in a write that leaves services to others. Archiving is none: it stays in the write.
_INLINE_SERVICES = (
    WriteKey.COMPACT_INLINE,
    WriteKey.COMPACT_SCHEDULE_INLINE,
    WriteKey.LOG_COMPACTION_INLINE,
    ClusteringKey.INLINE,
    ClusteringKey.SCHEDULE_INLINE,
    ClusteringKey.ASYNC,
    CleanKey.AUTOMATIC,
)


def no_inline_services() -> dict[str, str]:
    """What Hudi is told so that a write runs no table service."""
    return {key.value: "false" for key in _INLINE_SERVICES}


def _check_single_owner(work: IngestWork) -> None:
    """Raise where the options switch on what is other jobs' work."""
    on = [key for key in no_inline_services() if work.options.get(key, "").lower() == "true"]
    if on and not work.inline_services:
        raise InvalidWork(
            f"{', '.join(on)} would run a table service within the write, beside the jobs whose"
            " work that is",
            cure="drop the option and give the table a service operator, or pass"
            " inline_services=True if no operator serves it",
        )


def contradictions(work: IngestWork, table: TableProperties) -> dict[str, tuple[str, str]]:
    """By key, what the table has and what the job says, where the two differ."""
    found = {}
    for key, asked in work.options.items():
        has = _TABLE_SAYS[key](table) if key in _TABLE_SAYS else None
        if has is not None and not _same(asked, has):
            found[key] = (has, asked)
    return found | (_definition_conflicts(work.create, table) if work.create else {})


def _definition_conflicts(new: NewTable, table: TableProperties) -> dict[str, tuple[str, str]]:
    pairs: dict[str, tuple[str, str]] = {
        "keys": (",".join(table.record_key_fields), ",".join(new.keys)),
        "type": (table.type.value, new.type.value),
        "ordering": (",".join(table.ordering_fields), ",".join(new.ordering)),
        "partitions": (",".join(table.partition_fields), ",".join(new.partitions)),
    }
    if new.version is not None:
        pairs["version"] = (str(table.version_number), str(new.version))
    if new.name is not None:
        pairs["name"] = (table.name, new.name)
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _same(asked: str, has: str) -> bool:
    return _parts(asked.lower()) == _parts(has.lower())


def _parts(text: str) -> tuple[str, ...]:
    # Custom key generators append ":type" to a partition column's name.
    return tuple(part.partition(":")[0].strip() for part in text.split(",") if part.strip())


def needed_columns(work: IngestWork, table: TableProperties | None) -> dict[str, str]:
    """The columns without which the rows cannot be written, and what each is needed for."""
    if table is not None:
        keys, ordering = table.record_key_fields, table.ordering_fields
        partitions = table.partition_fields
    elif work.create is not None:
        keys, ordering, partitions = work.create.keys, work.create.ordering, work.create.partitions
    else:
        return {}
    needed = dict.fromkeys(keys, "key")
    needed.update({name: "partition" for name in partitions if name not in needed})
    if work.operation is not Operation.DELETE:  # a delete needs no order: it always wins
        needed.update({name: "ordering" for name in ordering if name not in needed})
    return needed


def check_columns(work: IngestWork, table: TableProperties | None, have: Iterable[str]) -> None:
    """Raise :class:`MissingColumns` unless the rows have what the write needs of them."""
    have = tuple(have)
    needed = needed_columns(work, table)
    tops = {name.lower() for name in have}
    # A key may be a nested field: its column is what we can see.
    missing = [name for name in needed if name.split(".")[0].lower() not in tops]
    if missing:
        raise MissingColumns(missing, needed_for=needed, have=have)


Columns: TypeAlias = Mapping[str, str]
"""Column name to type, as Spark writes types in short (``bigint``, ``struct<a:int>``)."""


# Every value of the narrow type is one of the wide type: the rows can be made to fit the table.
_WIDER = {
    "tinyint": ("smallint", "int", "bigint", "float", "double"),
    "smallint": ("int", "bigint", "float", "double"),
    "int": ("bigint", "double"),
    "float": ("double",),
    "date": ("timestamp",),
}


def widened(table: Columns, rows: Columns) -> dict[str, str]:
    """The columns of the rows that must be widened, without loss, to be of the table's type."""
    return {
        name: table[name]
        for name, type_ in rows.items()
        if name in table and table[name] in _WIDER.get(type_, ())
    }


def schema_changes(table: Columns, rows: Columns) -> tuple[str, ...]:
    """How writing these rows would change the table's columns, in words."""
    fitting = {**rows, **widened(table, rows)}
    changes = [f"{name} ({type_}) is new" for name, type_ in rows.items() if name not in table]
    for name, type_ in table.items():
        if name not in fitting:
            changes.append(f"{name} ({type_}) is missing in the rows")
        elif fitting[name] != type_:
            changes.append(f"{name} is {type_} in the table and {rows[name]} in the rows")
    return tuple(changes)


def check_schema(work: IngestWork, uri: str, *, table: Columns, rows: Columns) -> None:
    """Raise :class:`SchemaWouldEvolve` where a write would change columns and was not asked to."""
    if work.evolve_schema or work.operation in (Operation.DELETE, Operation.DELETE_PARTITION):
        return
    changes = schema_changes(table, rows)
    if changes:
        raise SchemaWouldEvolve(uri, changes)
