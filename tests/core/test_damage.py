# SPDX-License-Identifier: Apache-2.0
"""Real tables, damaged file by file: nothing crashes, and what could not be read is said."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from airflow_hudi.core.commits import load_commit
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.fileviews import load_file_groups
from airflow_hudi.core.heartbeat import load_heartbeats
from airflow_hudi.core.history import load_history
from airflow_hudi.core.markers import load_marked_instants, load_markers
from airflow_hudi.core.plans import load_plans
from airflow_hudi.core.properties import PROPERTIES_PATH
from airflow_hudi.core.schemas import load_schema
from airflow_hudi.core.storage.memory import InMemoryStorage
from airflow_hudi.core.table import load_table
from airflow_hudi.core.timeline import load_timeline
from tests.tables.fixtures import StoredTable, stored_tables

SAMPLE = 8
MAY_BE_EMPTY = ("replacecommit.requested", ".archive.", "manifest_", "MARKERS")
NAMES_THE_REST = ("_version_", "MARKERS.type")  # without it the reader looks for itself


class WatchedStorage(InMemoryStorage):
    """Remembers what was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def read(self, path: str) -> bytes:
        data = super().read(path)
        self.opened.append(path)
        return data


def loaded(base: Path) -> WatchedStorage:
    storage = WatchedStorage()
    for path in sorted(base.rglob("*")):
        name = path.relative_to(base).as_posix()
        if path.is_file() and not name.startswith(".hoodie/metadata/"):
            storage.put(name, path.read_bytes())
    return storage


def everything(storage: WatchedStorage) -> tuple[object, ...]:
    table = load_table(storage)
    timeline = load_timeline(table)
    return (
        timeline,
        load_history(table),
        load_plans(table, timeline),
        tuple(load_commit(table, timeline, instant) for instant in timeline),
        load_schema(table, timeline),
        load_file_groups(table, timeline),
        load_heartbeats(table),
        tuple(load_markers(table, instant) for instant in load_marked_instants(table)),
    )


def defects_in(value: object) -> Iterator[Defect]:
    if isinstance(value, Defect):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from defects_in(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from defects_in(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from defects_in(getattr(value, field.name))


# The formats on disk are two, and these releases write them; the others' files are no different.
TABLES = [table for table in stored_tables() if table.release in ("0.15.0", "1.2.0")]


@pytest.fixture(scope="module", params=TABLES, ids=lambda t: f"{t.release}-{t.name}")
def storage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> WatchedStorage:
    table: StoredTable = request.param
    return loaded(table.unpack(tmp_path_factory.mktemp(table.release)))


def what_is_read(storage: WatchedStorage) -> list[str]:
    storage.opened.clear()
    everything(storage)
    return sorted(set(storage.opened))


def said_after(storage: WatchedStorage, path: str, data: bytes) -> list[Defect]:
    whole = InMemoryStorage.read(storage, path)
    storage.put(path, data)
    try:
        return [defect for defect in defects_in(everything(storage)) if defect.path == path]
    finally:
        storage.put(path, whole)


def files_with_content(storage: WatchedStorage) -> list[str]:
    read = what_is_read(storage)
    return [path for path in read if path != PROPERTIES_PATH and not path.endswith(NAMES_THE_REST)]


def test_a_file_full_of_noise_is_said(storage: WatchedStorage) -> None:
    dice = random.Random(1)
    paths = files_with_content(storage)
    for path in dice.sample(paths, min(SAMPLE, len(paths))):
        noise = bytes(dice.randrange(1, 256) for _ in range(400))
        assert said_after(storage, path, noise), path


def test_a_file_cut_short_is_said(storage: WatchedStorage) -> None:
    dice = random.Random(2)
    paths = [path for path in files_with_content(storage) if "MARKERS" not in path]
    for path in dice.sample(paths, min(SAMPLE, len(paths))):
        whole = InMemoryStorage.read(storage, path)
        if whole:
            assert said_after(storage, path, whole[: len(whole) * 2 // 3]), path


def test_an_emptied_file_is_said(storage: WatchedStorage) -> None:
    dice = random.Random(3)
    paths = [
        path
        for path in files_with_content(storage)
        if not any(part in path for part in MAY_BE_EMPTY)
    ]
    for path in dice.sample(paths, min(SAMPLE, len(paths))):
        assert said_after(storage, path, b""), path


def test_flipped_bytes_never_crash(storage: WatchedStorage) -> None:
    dice = random.Random(4)
    for path in what_is_read(storage):
        spoiled = bytearray(InMemoryStorage.read(storage, path) or b"x")
        for _ in range(dice.randint(1, 8)):
            spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
        try:
            said_after(storage, path, bytes(spoiled))
        except AirflowHudiError:
            assert path == PROPERTIES_PATH


def test_a_file_that_vanishes_between_listing_and_reading_is_said(storage: WatchedStorage) -> None:
    dice = random.Random(5)
    paths = files_with_content(storage)

    class Vanishing(WatchedStorage):
        gone = ""

        def read(self, path: str) -> bytes:
            return InMemoryStorage.read(storage, "nowhere" if path == self.gone else path)

        def list_folder(self, path: str) -> object:  # type: ignore[override]
            return storage.list_folder(path)

    for path in dice.sample(paths, min(SAMPLE, len(paths))):
        vanishing = Vanishing()
        vanishing.gone = path
        said = {defect.path for defect in defects_in(everything(vanishing))}
        assert path in said, path
