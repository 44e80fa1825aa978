# SPDX-License-Identifier: Apache-2.0
"""One table as its readers need it: where it is, what it says of itself, its time zone."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_hudi.core.instants import Zone
from airflow_hudi.core.properties import TableProperties, load_properties
from airflow_hudi.core.storage import open_storage
from airflow_hudi.core.storage.base import Storage


@dataclass(frozen=True, slots=True)
class Table:
    """A place and the properties found there; loaders take it, values never keep it."""

    storage: Storage
    properties: TableProperties
    zone: Zone

    @property
    def uri(self) -> str:
        """The table's base path, as the user would write it."""
        return self.storage.uri


def load_table(storage: Storage, *, zone: Zone | None = None) -> Table:
    """The table at the storage's root, or :class:`TableNotFound`.

    ``zone`` is where the writers' machines are, for tables that keep local time and are read
    elsewhere; it matters for completion times of layout 1 and for ages.
    """
    properties = load_properties(storage)
    return Table(storage, properties, zone or properties.zone)


def open_table(uri: str, *, zone: Zone | None = None) -> Table:
    """The table at a path or URI, or :class:`TableNotFound`."""
    return load_table(open_storage(uri), zone=zone)
