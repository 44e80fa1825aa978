# SPDX-License-Identifier: Apache-2.0
"""The names of base files, and the id of the file group a file belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_hudi.core.instants import InstantTime

BASE_EXTENSIONS = ("parquet", "orc", "hfile", "lance")
PARTITION_METAFILE = ".hoodie_partition_metadata"

_BASE_NAME = re.compile(
    rf"(?P<file_id>[^_.][^_]*)_(?P<token>[^_]*)_(?P<instant>[0-9]+)\.(?P<extension>{'|'.join(BASE_EXTENSIONS)})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class FileGroupId:
    """One file group: all versions of the records that hash or were placed together."""

    partition: str
    file_id: str


@dataclass(frozen=True, slots=True)
class BaseFileName:
    """The parts of one base file's name."""

    file_id: str
    write_token: str
    instant: InstantTime
    extension: str

    def __str__(self) -> str:
        return f"{self.file_id}_{self.write_token}_{self.instant}.{self.extension}"


def parse_base_name(name: str) -> BaseFileName | None:
    """The parts of a base file's name, or None for any other file."""
    match = _BASE_NAME.fullmatch(name)
    if match is None:
        return None
    return BaseFileName(
        match["file_id"], match["token"], InstantTime(match["instant"]), match["extension"]
    )
