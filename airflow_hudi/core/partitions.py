# SPDX-License-Identifier: Apache-2.0
"""The partitions that a job names, looked up in its table: which of them hold anything at all?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from airflow_hudi.core.filegroups import PartitionFiles, TableView, build_file_groups
from airflow_hudi.core.fileviews import load_partition, load_table_view, walk_partitions
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import load_timeline

_SHOWN = 5
# In a partition's name Hudi takes both for "anything", the second as Spark SQL writes the first.
_WILDCARD = re.compile(r"\*|%2A")


@dataclass(frozen=True, slots=True)
class AskedPartitions:
    """Which of the partitions that were asked for have files, and which have none."""

    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """A few that the table does have, looked for only where it has none of the asked ones."""
    are_more: bool = False
    """Whether it has more than those few."""

    def missing_in(self, uri: str) -> str:
        """What is not there, in words; with what there is instead, where that is known."""
        said = f"{uri} has no files in {', '.join(self.missing)}"
        if self.found:
            return said
        there = ", ".join(self.others) + (", …" if self.are_more else "")
        return f"{said}; it has some in {there}" if there else f"{said}, and none elsewhere"


def look_for_partitions(table: Table, asked: Iterable[str]) -> AskedPartitions:
    """Look up partitions by their paths, in which ``*`` stands for anything."""
    view, _ = load_table_view(table, load_timeline(table))
    found: list[str] = []
    missing: list[str] = []
    for path in asked:
        (found if _has_files(table, view, path) else missing).append(path)
    if found or not missing:
        return AskedPartitions(tuple(found), tuple(missing))
    others = tuple(islice(_with_files(table, view), _SHOWN + 1))
    return AskedPartitions((), tuple(missing), others[:_SHOWN], are_more=len(others) > _SHOWN)


def _has_files(table: Table, view: TableView, path: str) -> bool:
    if not _WILDCARD.search(path):
        files = load_partition(table, path)
        return files is not None and files.partition == path and _shows(view, files)
    pattern = re.compile(".*".join(re.escape(part) for part in _WILDCARD.split(path)))
    return any(pattern.fullmatch(name) for name in _with_files(table, view))


def _with_files(table: Table, view: TableView) -> Iterator[str]:
    return (files.partition for files in walk_partitions(table) if _shows(view, files))


def _shows(view: TableView, files: PartitionFiles) -> bool:
    """Whether a reader sees files: those that were replaced stay until a clean removes them."""
    return any(group.slices for group in build_file_groups(view, files))
