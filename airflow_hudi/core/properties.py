# SPDX-License-Identifier: Apache-2.0
"""A table's ``hoodie.properties``: Java's text format, the checksum, the backup protocol."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from airflow_hudi.core.config import TableKey
from airflow_hudi.core.errors import (
    ObjectNotFound,
    PropertiesUnreadable,
    TableNotFound,
    UnknownLayout,
    UnknownTableVersion,
)
from airflow_hudi.core.instants import LOCAL, UTC, Zone
from airflow_hudi.core.layout import METADATA_FOLDER, Layout
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.versions import TableVersion, table_version

PROPERTIES_PATH = f"{METADATA_FOLDER}/hoodie.properties"
BACKUP_PATH = f"{PROPERTIES_PATH}.backup"

# Between the backup's removal and the new file, a reader can miss both; Hudi looks again too.
_ROUNDS = 3


class TableType(str, Enum):
    """How updates reach a table."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class Source(str, Enum):
    """Which of the two files the properties came from."""

    MAIN = "main"
    BACKUP = "backup"


@dataclass(frozen=True, slots=True)
class TableProperties:
    """What a table says of itself; every key is kept, the ones we use have names."""

    values: Mapping[str, str] = field(hash=False)
    source: Source = Source.MAIN

    def get(self, key: TableKey) -> str | None:
        """The value of a key; an empty one counts as absent."""
        return self.values.get(key.value) or None

    def listed(self, key: TableKey) -> tuple[str, ...]:
        """The comma-separated values of a key."""
        return tuple(part.strip() for part in (self.get(key) or "").split(",") if part.strip())

    @property
    def name(self) -> str:
        """The table's name."""
        return self.values[TableKey.NAME.value]

    @property
    def type(self) -> TableType:
        """Copy-on-write or merge-on-read; Hudi's default is the former."""
        return TableType(self.get(TableKey.TYPE) or TableType.COPY_ON_WRITE)

    @property
    def version_number(self) -> int:
        """The table version; tables older than the key itself are version 0."""
        return int(self.get(TableKey.VERSION) or 0)

    @property
    def version(self) -> TableVersion:
        """The table version and what it can do."""
        return table_version(self.version_number)

    @property
    def layout(self) -> Layout:
        """How the timeline is stored: as said, else as the table version implies."""
        said = self.get(TableKey.LAYOUT_VERSION)
        if said is None:
            return self.version.layout
        number = max(int(said), Layout.V1)  # layout 0 differs only in what writers do
        if number not in tuple(Layout):
            raise UnknownLayout(number, tuple(Layout))
        return Layout(number)

    @property
    def timeline_folder(self) -> str:
        """Where the active timeline's files are."""
        if self.layout is Layout.V1:
            return METADATA_FOLDER
        return f"{METADATA_FOLDER}/{self.get(TableKey.TIMELINE_PATH) or 'timeline'}"

    @property
    def history_folder(self) -> str:
        """Where archived instants are."""
        if self.layout is Layout.V1:
            return f"{METADATA_FOLDER}/{self.get(TableKey.ARCHIVE_FOLDER) or 'archived'}"
        return f"{self.timeline_folder}/{self.get(TableKey.HISTORY_PATH) or 'history'}"

    @property
    def zone(self) -> Zone:
        """The zone of its instant times: UTC if it says so, else that of the writers' machines."""
        return UTC if (self.get(TableKey.TIMELINE_TIMEZONE) or "").upper() == "UTC" else LOCAL

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """The columns it is partitioned by; custom key generators append ``:type`` to a name."""
        fields = self.listed(TableKey.PARTITION_FIELDS)
        return tuple(name.partition(":")[0] for name in fields)

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        """The columns that make a record's key."""
        return self.listed(TableKey.RECORD_KEY_FIELDS)

    @property
    def ordering_fields(self) -> tuple[str, ...]:
        """The columns that order two versions of a record (table version 9 has a new key)."""
        return self.listed(TableKey.ORDERING_FIELDS) or self.listed(TableKey.PRECOMBINE_FIELD)

    @property
    def has_valid_checksum(self) -> bool:
        """Whether the checksum, where there is one, fits the table's name."""
        said = self.get(TableKey.CHECKSUM)
        if said is None:
            return True
        name = (
            f"{self.values.get(TableKey.DATABASE.value, '')}.{self.values.get(TableKey.NAME.value)}"
        )
        return said == str(zlib.crc32(name.encode()))


def load_properties(storage: Storage) -> TableProperties:
    """The table's properties, from the backup when an update was cut short.

    Raises :class:`TableNotFound` where there is no table, :class:`PropertiesUnreadable` where both
    files are damaged.
    """
    problem = None
    for _ in range(_ROUNDS):
        for path, source in ((PROPERTIES_PATH, Source.MAIN), (BACKUP_PATH, Source.BACKUP)):
            try:
                properties = TableProperties(parse_properties(storage.read(path)), source)
            except ObjectNotFound:
                continue
            found = _problem(properties)
            if found is None:
                return properties
            problem = problem or f"{path} {found}"
    if problem is None:
        raise TableNotFound(storage.uri)
    raise PropertiesUnreadable(storage.uri, problem)


def _problem(properties: TableProperties) -> str | None:
    if properties.get(TableKey.NAME) is None:
        return "has no table name (it is empty or cut short)"
    if not properties.has_valid_checksum:
        return "has a checksum that does not fit its table name"
    try:
        _ = (properties.type, properties.version_number, properties.layout)
    except (UnknownLayout, UnknownTableVersion):
        raise  # a newer Hudi's table is not damaged, and its backup would not help
    except ValueError as error:
        return f"has a value that makes no sense ({error})"
    return None


def parse_properties(data: bytes) -> dict[str, str]:
    """Java's properties text as a mapping; never raises, whatever the bytes are."""
    pairs = (_split(line) for line in _logical_lines(data.decode("iso-8859-1")))
    return {_unescape(key): _unescape(value) for key, value in pairs}


def format_properties(values: Mapping[str, str]) -> bytes:
    """The mapping as Java's properties text, sorted by key; the inverse of the parser."""
    lines = (f"{_escape(key, is_key=True)}={_escape(values[key])}\n" for key in sorted(values))
    return "".join(lines).encode("ascii")


_LINE_END = re.compile(r"\r\n|\r|\n")
_TRAILING_BACKSLASHES = re.compile(r"\\*\Z")
_BLANK = " \t\f"
_KEY = re.compile(r"(?:[^\\:= \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[:=]?[ \t\f]*")
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.|\Z)", re.DOTALL)
_SPECIAL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for raw in _LINE_END.split(text):
        line = raw.lstrip(_BLANK)
        if not pending and (not line or line[0] in "#!"):
            continue
        ending = _TRAILING_BACKSLASHES.search(line)
        if ending is not None and len(ending.group()) % 2 == 1:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    key = _KEY.match(line)
    end = key.end() if key else 0
    separator = _SEPARATOR.match(line, end)
    return line[:end], line[separator.end() if separator else end :]


def _unescape(text: str) -> str:
    plain = _ESCAPED.sub(_unescaped, text)
    # Java writes characters beyond the basic plane as two escapes
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return _SPECIAL.get(code, code)


def _escape(text: str, *, is_key: bool = False) -> str:
    out = []
    for position, char in enumerate(text):
        if char in "\\:=#!":
            out.append("\\" + char)
        elif char == " " and (is_key or position == 0):
            out.append("\\ ")
        elif char in "\t\n\r\f":
            out.append("\\" + "tnrf"["\t\n\r\f".index(char)])
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass").hex().upper()
            out.append("".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)))
    return "".join(out)
