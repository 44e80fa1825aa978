# SPDX-License-Identifier: Apache-2.0
"""Archived instants of both layouts: log files in ``archived``, or Parquet under a manifest."""

from __future__ import annotations

import functools
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from airflow_hudi.core.decoding import Record, Undecodable, load_decoded
from airflow_hudi.core.defects import Defect, DefectKind, unreadable
from airflow_hudi.core.errors import MissingPackage, ObjectNotFound
from airflow_hudi.core.instants import Action, Instant, InstantTime, State
from airflow_hudi.core.layout import Layout, comparable_action
from airflow_hudi.core.logblocks import (
    AVRO_BLOCK,
    CorruptBlock,
    LogBlock,
    avro_records,
    read_blocks,
)
from airflow_hudi.core.storage.base import Storage
from airflow_hudi.core.table import Table
from airflow_hudi.core.timeline import Timeline


def load_history(table: Table) -> Timeline:
    """The archived timeline: each instant once, in the last state it was archived in.

    What cannot be read is among the timeline's defects; the rest is there.
    """
    properties = table.properties
    load = _load_log_files if properties.layout is Layout.V1 else _load_lsm
    found, defects = _sorted_out(load(table.storage, properties.history_folder))
    return Timeline(_last_states(properties.layout, found), (), defects)


def _sorted_out(
    items: Iterable[Instant | Defect],
) -> tuple[list[Instant], tuple[Defect, ...]]:
    instants: list[Instant] = []
    defects: list[Defect] = []
    for item in items:
        if isinstance(item, Defect):
            defects.append(item)
        else:
            instants.append(item)
    return instants, tuple(defects)


def _last_states(layout: Layout, instants: Iterable[Instant]) -> tuple[Instant, ...]:
    last: dict[tuple[str, str], Instant] = {}
    for instant in instants:
        key = (instant.requested_at, comparable_action(layout, instant.action).value)
        if key not in last or last[key].state.rank < instant.state.rank:
            last[key] = instant
    return tuple(last[key] for key in sorted(last))


# Layout 1 -----------------------------------------------------------------------------------------

_ARCHIVE_FILE = re.compile(r"\.commits_\.archive\.(?P<number>[0-9]+)(?:_.*)?", re.ASCII)


def _load_log_files(storage: Storage, folder: str) -> Iterator[Instant | Defect]:
    numbered = [
        (int(match["number"]), file.path)
        for file in storage.list_folder(folder).files
        if (match := _ARCHIVE_FILE.fullmatch(file.name))
    ]
    # newest first: where a merge of small files was cut short, the merged file's entries win
    for _, path in sorted(numbered, reverse=True):
        entries = load_decoded(storage, path, functools.partial(_log_file_entries, path))
        if not isinstance(entries, Defect):
            yield from entries
        elif entries.kind is not DefectKind.EMPTY:  # a new archive file begins empty
            yield entries


def _log_file_entries(path: str, data: bytes) -> list[Instant | Defect]:
    return [entry for block in read_blocks(data) for entry in _block_entries(path, block)]


def _block_entries(path: str, block: LogBlock | CorruptBlock) -> Iterator[Instant | Defect]:
    if isinstance(block, CorruptBlock):
        yield unreadable(path, f"at byte {block.offset}, {block.because}")
    elif block.type == AVRO_BLOCK:
        try:
            for record in avro_records(block):
                yield _or_defect(path, record, _archived_instant)
        except Undecodable as error:
            yield unreadable(path, f"in the block at byte {block.offset}, {error}")


def _archived_instant(record: Record) -> Instant:
    state = _state(record.text("actionState"))
    completed_at = record.text("stateTransitionTime") if state is State.COMPLETED else None
    return _instant(record.text("commitTime"), record.text("actionType"), state, completed_at)


# Layout 2 -----------------------------------------------------------------------------------------

_MANIFEST = re.compile(r"manifest_(?P<number>[0-9]+)", re.ASCII)
_COLUMNS = ("instantTime", "completionTime", "action")


def _load_lsm(storage: Storage, folder: str) -> Iterator[Instant | Defect]:
    manifest = _latest_manifest(storage, folder)
    if manifest is None:
        return
    names = load_decoded(storage, f"{folder}/{manifest}", _manifest_files)
    if isinstance(names, Defect):
        if names.kind is not DefectKind.EMPTY:  # Hudi takes an empty manifest for one of no files
            yield names
        return
    for name in names:
        path = f"{folder}/{name}"
        rows = load_decoded(storage, path, _lsm_rows)
        if isinstance(rows, Defect):
            yield rows
        else:
            yield from (_or_defect(path, row, _lsm_instant) for row in rows)


def _latest_manifest(storage: Storage, folder: str) -> str | None:
    try:
        said = storage.read(f"{folder}/_version_").decode("ascii", "replace").strip()
    except ObjectNotFound:
        said = ""
    if said.isascii() and said.isdigit():
        return f"manifest_{int(said)}"
    # the version file is deleted and written anew on every change: between the two, look for it
    matches = (_MANIFEST.fullmatch(file.name) for file in storage.list_folder(folder).files)
    numbers = [int(match["number"]) for match in matches if match]
    return f"manifest_{max(numbers)}" if numbers else None


def _manifest_files(data: bytes) -> tuple[str, ...]:
    try:
        manifest = Record(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"bad JSON ({error})") from error
    names = (entry.text("fileName") for entry in manifest.records("files"))
    return tuple(name for name in names if name)


def _lsm_rows(data: bytes) -> tuple[Record, ...]:
    parquet = _pyarrow_parquet()
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        rows = file.read(columns=list(_COLUMNS), use_threads=False).to_pylist()
    except Exception as error:
        raise Undecodable(f"bad Parquet ({type(error).__name__}: {error})"[:200]) from error
    return tuple(map(Record, rows))


def _lsm_instant(row: Record) -> Instant:
    completed_at = row.text("completionTime")
    return _instant(row.text("instantTime"), row.text("action"), State.COMPLETED, completed_at)


def _pyarrow_parquet() -> Any:
    # imported late: only this kind of history needs it
    try:
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise MissingPackage("pyarrow", needed_for="reading the history of a 1.x table") from error
    return parquet


# Both ---------------------------------------------------------------------------------------------


def _or_defect(path: str, record: Record, decode: Callable[[Record], Instant]) -> Instant | Defect:
    try:
        return decode(record)
    except Undecodable as error:
        return unreadable(path, error)


def _state(text: str | None) -> State:
    if text is None:
        return State.COMPLETED  # archives of old releases hold nothing else and do not say so
    try:
        return State(text.lower())
    except ValueError:
        raise Undecodable(f"unknown state {text!r}") from None


def _instant(
    requested_at: str | None, action: str | None, state: State, completed_at: str | None
) -> Instant:
    if not requested_at:
        raise Undecodable("an instant without a time")
    try:
        known = Action(action)
    except ValueError:
        raise Undecodable(f"unknown action {action!r}") from None
    time = InstantTime(completed_at) if completed_at else None
    return Instant(InstantTime(requested_at), known, state, time)
