# SPDX-License-Identifier: Apache-2.0
"""Which tables may be looked at: those below the warehouse of a connection, and no others."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from airflow_hudi.core.connection import HudiSettings, table_uri
from airflow_hudi.core.errors import AirflowHudiError, NotInWarehouse, StorageError, TableNotFound
from airflow_hudi.core.properties import TableProperties, load_properties
from airflow_hudi.core.storage import Storage, open_storage
from airflow_hudi.core.uris import LOCAL, place

FOLDERS_LOOKED_AT = 200
_DEPTH = 2  # tables lie in the warehouse, or in a folder per database


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table that was found, or one that cannot be read."""

    name: str
    """Below the warehouse."""
    properties: TableProperties | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TableList:
    """The tables of a warehouse, sorted."""

    tables: tuple[TableEntry, ...] = ()
    is_complete: bool = True
    """Whether every folder was looked at."""


def table_storage(settings: HudiSettings, table: str) -> Storage:
    """The storage of a table, or :class:`NotInWarehouse` wherever else its name leads."""
    top = place(settings.warehouse)
    wanted = place(table_uri(settings, table))
    is_same = (top.scheme, top.host) == (wanted.scheme, wanted.host)
    if not is_same or not wanted.path.startswith(f"{top.path}/"):
        raise NotInWarehouse(table, settings.warehouse)
    if top.scheme == LOCAL and not _really_below(wanted.path, top.path):
        raise NotInWarehouse(table, settings.warehouse)
    return open_storage(settings.warehouse).child(wanted.path.removeprefix(f"{top.path}/"))


def load_tables(storage: Storage, *, limit: int = FOLDERS_LOOKED_AT) -> TableList:
    """The tables in a warehouse and in the folders of it; at most so many folders are tried."""
    waiting = deque((name, 1) for name in _folders(storage, ""))
    found: list[TableEntry] = []
    tried = 0
    while waiting and tried < limit:
        name, depth = waiting.popleft()
        tried += 1
        entry = _entry(storage, name)
        if entry is not None:
            found.append(entry)
        elif depth < _DEPTH:
            waiting.extend((f"{name}/{below}", depth + 1) for below in _folders(storage, name))
    return TableList(tuple(sorted(found, key=lambda e: e.name)), is_complete=not waiting)


def _entry(storage: Storage, name: str) -> TableEntry | None:
    try:
        return TableEntry(name, load_properties(storage.child(name)))
    except TableNotFound:
        return None
    except StorageError:
        raise
    except AirflowHudiError as error:
        return TableEntry(name, problem=str(error))


def _folders(storage: Storage, path: str) -> tuple[str, ...]:
    return tuple(name for name in storage.list_folder(path).folders if not name.startswith("."))


def _really_below(path: str, top: str) -> bool:
    return Path(path).resolve().is_relative_to(Path(top or "/").resolve())
