# SPDX-License-Identifier: Apache-2.0
"""Markers: the files a pending write has begun, noted so that a rollback finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from airflow_hudi.core.decoding import Undecodable, load_decoded
from airflow_hudi.core.defects import Defect, DefectKind, unreadable
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.layout import METADATA_FOLDER
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.table import Table

MARKER_FOLDER = f"{METADATA_FOLDER}/.temp"

_DIRECT = re.compile(r"(?P<file>.+)\.marker\.(?P<kind>CREATE|MERGE|APPEND)")
_SERVER_FILE = re.compile(r"MARKERS[0-9]+", re.ASCII)
_LINE_END = re.compile(r"\r\n|\r|\n")
_TYPE_FILE = "MARKERS.type"


class MarkerKind(str, Enum):
    """What the write does to the file."""

    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


@dataclass(frozen=True, slots=True, order=True)
class Marker:
    """One file a write has begun."""

    partition: str
    file: str
    kind: MarkerKind

    def __str__(self) -> str:
        folder = f"{self.partition}/" if self.partition else ""
        return f"{folder}{self.file}.marker.{self.kind.value}"


@dataclass(frozen=True, slots=True)
class Markers:
    """All markers of one instant, sorted; one file each, or gathered by a timeline server."""

    instant: InstantTime
    markers: tuple[Marker, ...] = ()
    is_gathered: bool = False
    defects: tuple[Defect, ...] = ()


def load_marked_instants(table: Table) -> tuple[InstantTime, ...]:
    """The instants that have a marker folder."""
    return tuple(map(InstantTime, table.storage.list_folder(MARKER_FOLDER).folders))


def load_markers(table: Table, instant: InstantTime) -> Markers:
    """The markers of one instant; none where there is no folder for it."""
    folder = f"{MARKER_FOLDER}/{instant}"
    listing = table.storage.list_folder(folder)
    gathered = [file.path for file in listing.files if _SERVER_FILE.fullmatch(file.name)]
    is_gathered = bool(gathered) or any(file.name == _TYPE_FILE for file in listing.files)
    found = (
        _gathered(table.storage, gathered) if is_gathered else _direct(table.storage, folder, "")
    )
    items = list(found)
    return Markers(
        instant,
        tuple(sorted({item for item in items if isinstance(item, Marker)})),
        is_gathered,
        tuple(item for item in items if isinstance(item, Defect)),
    )


def parse_marker(path: str) -> Marker | None:
    """The marker a path below the marker folder stands for, or None for any other file."""
    partition, _, name = path.rpartition("/")
    match = _DIRECT.fullmatch(name)
    return Marker(partition, match["file"], MarkerKind(match["kind"])) if match else None


def _direct(storage: Storage, root: str, partition: str) -> Iterator[Marker | Defect]:
    listing = storage.list_folder(f"{root}/{partition}" if partition else root)
    for file in listing.files:
        marker = parse_marker(f"{partition}/{file.name}" if partition else file.name)
        if marker is not None:
            yield marker
    for name in listing.folders:
        yield from _direct(storage, root, f"{partition}/{name}" if partition else name)


def _gathered(storage: Storage, paths: list[str]) -> Iterator[Marker | Defect]:
    for path in paths:
        lines = load_decoded(storage, path, _lines)
        if not isinstance(lines, Defect):
            for line in lines:
                yield parse_marker(line) or unreadable(path, f"{line!r} is no marker")
        elif lines.kind is not DefectKind.EMPTY:  # the server makes the file before it fills it
            yield lines


def _lines(data: bytes) -> list[str]:
    try:
        return [line for line in _LINE_END.split(data.decode()) if line]
    except UnicodeDecodeError as error:
        raise Undecodable(error) from error
