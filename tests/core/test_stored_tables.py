# SPDX-License-Identifier: Apache-2.0
"""Real tables of every Hudi release, stored with what Hudi's own Java said about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_hudi.cli import main
from airflow_hudi.core.instants import Zone
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import Timeline, load_timeline
from airflow_hudi.core.values import from_json, to_json
from tests.parity import assert_same, engines_view, our_view
from tests.tables.fixtures import StoredTable, stored_tables

TABLES = stored_tables()


@pytest.fixture(scope="module", params=TABLES, ids=lambda t: f"{t.release}-{t.name}")
def unpacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StoredTable, Path]:
    table: StoredTable = request.param
    return table, table.unpack(tmp_path_factory.mktemp(table.release))


def test_there_are_tables_of_every_release() -> None:
    assert {table.release for table in TABLES} == {"0.15.0", "1.0.2", "1.1.1", "1.2.0"}


def test_we_say_what_hudi_said(unpacked: tuple[StoredTable, Path]) -> None:
    table, base = unpacked
    view = table.describe()["view"]
    ours = our_view(base, zone=Zone(view["timezone"]))
    assert_same(table.name, ours, engines_view(view))


@pytest.mark.parametrize("release", ["1.1.1", "1.2.0"])
def test_a_misnamed_history_file_is_not_overlooked(release: str, tmp_path: Path) -> None:
    base = StoredTable(release, "upgraded_misnamed").unpack(tmp_path)
    names = [path.stem.split("_") for path in base.glob(".hoodie/timeline/history/*.parquet")]
    assert any(first > last for first, last, _ in names)
    newest, oldest = our_view(base)["file_slices"]["us"]
    assert newest["log_files"] == []
    assert len(oldest["log_files"]) == 1


def test_the_metadata_table_is_a_table_too(unpacked: tuple[StoredTable, Path]) -> None:
    table, base = unpacked
    facts = table.describe()
    if "metadata_table" not in facts:
        assert not (base / ".hoodie" / "metadata").exists()
        return
    hudi = engines_view(facts["metadata_table"])
    ours = our_view(base / ".hoodie" / "metadata", zone=Zone(facts["view"]["timezone"]))
    assert_same("metadata", ours, hudi)


def test_the_checksum_java_wrote_is_valid(unpacked: tuple[StoredTable, Path]) -> None:
    table, base = unpacked
    properties = open_table(str(base)).properties
    assert "hoodie.table.checksum" in properties.values
    assert properties.has_valid_checksum
    said = {
        k: v for k, v in table.describe()["view"]["properties"].items() if k in properties.values
    }
    assert {k: properties.values[k] for k in said} == said


def test_timelines_go_through_json(unpacked: tuple[StoredTable, Path]) -> None:
    timeline = load_timeline(open_table(str(unpacked[1])))
    assert from_json(Timeline, to_json(timeline)) == timeline


@pytest.mark.parametrize("command", ["timeline", "plans", "table"])
def test_the_command_line_shows_it(
    unpacked: tuple[StoredTable, Path], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for extra in ([], ["--json"], ["--history"] if command == "timeline" else []):
        assert main([command, str(unpacked[1]), *extra]) == 0
        assert "Not as it should be" not in capsys.readouterr().out
