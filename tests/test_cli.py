# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.cli import main
from airflow_hudi.core.plans import load_pending_plans
from airflow_hudi.core.properties import format_properties
from airflow_hudi.core.storage import Content, Listing, LocalStorage
from airflow_hudi.core.table import open_table
from airflow_hudi.core.timeline import load_timeline
from tests.builders import avro_file, the_properties
from tests.tables.fixtures import StoredTable

ROOT = Path(__file__).resolve().parents[1]
TARGET = {
    "type": "record",
    "name": "I",
    "fields": [{"name": n, "type": "string"} for n in ("commitTime", "action")],
}
ROLLBACK = avro_file(
    "P",
    {"instantToRollback": TARGET},
    {"instantToRollback": {"commitTime": "20260101101000000", "action": "commit"}},
)
FILES = {
    "20260101100000000_20260101100002500.commit": b'{"operationType": "UPSERT"}',
    "20260101101000000.commit.requested": b"",
    "20260101101000000.inflight": b"",
    "20260101102000000.rollback.requested": ROLLBACK,
    "20260101103000000.clean.requested": b"",
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    timeline = tmp_path / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (tmp_path / ".hoodie" / "hoodie.properties").write_bytes(format_properties(the_properties()))
    for name, data in FILES.items():
        (timeline / name).write_bytes(data)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def said_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    loaded = json.loads(said(capsys, *arguments, "--json"))
    assert isinstance(loaded, dict)
    return loaded


def test_timeline_as_json(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    report = said_json(capsys, "timeline", table)
    assert report["table"]["name"] == "orders"
    brief = [
        (i["requested_at"], i["completed_at"], i["action"], i["state"]) for i in report["instants"]
    ]
    assert brief == [
        ("20260101100000000", "20260101100002500", "commit", "completed"),
        ("20260101101000000", None, "commit", "inflight"),
        ("20260101102000000", None, "rollback", "requested"),
        ("20260101103000000", None, "clean", "requested"),
    ]
    plans = [instant.get("plan") for instant in report["instants"]]
    assert plans[2]["kind"] == "rollback"
    assert plans[2]["target"] == "20260101101000000"
    assert report["instants"][3]["plan_defect"]["kind"] == "empty"
    assert "plan" not in report["instants"][0]


def test_timeline_as_a_drawing(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    text = said(capsys, "timeline", table)
    assert "orders · merge-on-read · table version 9 (layout 2)" in text
    assert (
        "\n  2026-01-01\n● 20260101100000000  10:00:00.000 → 10:00:02.500   2.5 s  commit\n" in text
    )
    assert "◐ 20260101101000000  10:10:00.000 → …" in text
    assert "commit inflight · for " in text
    assert " · no heartbeat\n" in text
    assert "rollback requested · of 20260101101000000 commit · for " in text
    assert "clean requested · plan not readable: the file is empty · for " in text


def unpacked(tmp_path: Path, name: str) -> Path:
    return StoredTable("1.2.0", name).unpack(tmp_path)


def test_history_comes_when_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    base = unpacked(tmp_path, "archived")
    plain = said_json(capsys, "timeline", base)["instants"]
    whole = said_json(capsys, "timeline", base, "--history")["instants"]
    archived = [instant for instant in whole if instant["archived"]]
    assert archived
    assert whole == [*archived, *plain]
    assert f"archived up to here: {len(archived)} instants" in said(
        capsys, "timeline", base, "--history"
    )


def test_an_instant_that_is_being_archived_is_shown_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    base = unpacked(tmp_path, "archived")
    before = said_json(capsys, "timeline", base, "--history")["instants"]
    oldest = before[0]
    name = f"{oldest['requested_at']}_{oldest['completed_at']}.{oldest['action']}"
    (base / ".hoodie" / "timeline" / name).write_bytes(b"still here")
    after = said_json(capsys, "timeline", base, "--history")["instants"]
    assert [i["requested_at"] for i in after].count(oldest["requested_at"]) == 1
    assert len(after) == len(before)


def test_a_service_is_told_from_a_write(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    base = unpacked(tmp_path, "mor_done")
    text = said(capsys, "timeline", base)
    for service in (
        "commit (compaction)",
        "deltacommit (logcompaction)",
        "replacecommit (clustering)",
    ):
        assert service in text
    planned = {i["planned_as"] for i in said_json(capsys, "timeline", base)["instants"]}
    assert {"compaction", "logcompaction", "clustering", "deltacommit"} <= planned


def test_a_dead_writer_is_seen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    base = unpacked(tmp_path, "killed_writer")
    assert "heartbeat expired, silent for" in said(capsys, "timeline", base)
    assert "heartbeat expired, silent for" in said(capsys, "table", base)
    (pending,) = [i for i in said_json(capsys, "timeline", base)["instants"] if "last_beat" in i]
    (beat,) = said_json(capsys, "table", base)["heartbeats"]
    assert beat == {"instant": pending["requested_at"], "last_beat": pending["last_beat"]}
    Path(base, ".hoodie", ".heartbeat", pending["requested_at"]).touch()
    assert "alive, last heartbeat" in said(capsys, "timeline", base)


def test_plans_pending_and_carried_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    base = unpacked(tmp_path, "archived")
    assert said_json(capsys, "plans", base)["instants"] == []
    assert "no plans" in said(capsys, "plans", base)
    done = said_json(capsys, "plans", base, "--all")["instants"]
    assert {instant["state"] for instant in done} == {"completed"}
    assert {instant["plan"]["kind"] for instant in done} == {"clean"}


def test_every_kind_of_plan_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = said(capsys, "plans", unpacked(tmp_path, "mor_pending"))
    assert "+ 1 log file" in text
    assert "group 1, to become 1 file group:" in text
    text = said(capsys, "plans", unpacked(tmp_path, "cow_history"))
    assert "to delete, everything from" in text
    assert "    delete " in text
    assert "back to " in said(capsys, "plans", unpacked(tmp_path, "cow_restored"))
    assert "of column_stats" in said(capsys, "plans", unpacked(tmp_path, "with_metadata"))


def test_defects_of_the_timeline_are_shown_by_every_command(
    capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    (table / ".hoodie" / "timeline" / "20260101110000000.commit.half-written").touch()
    for command in ("timeline", "plans", "table"):
        assert "Not as it should be" in said(capsys, command, table)
        (defect,) = said_json(capsys, command, table)["defects"]
        assert defect["kind"] == "unknown_name"


def test_writers_elsewhere_are_suspected(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    timeline = table / ".hoodie" / "timeline"
    (timeline / "20260101120000000_20260101070001000.commit").touch()
    assert "--timezone" in said(capsys, "timeline", table)


def test_times_that_are_none_are_not_drawn_as_such(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    base = unpacked(tmp_path, "with_metadata")
    text = said(capsys, "timeline", base / ".hoodie" / "metadata")
    assert "before time" in text
    assert "0000-00-00" not in text


def test_one_listing_and_no_file_opened_that_is_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = unpacked(tmp_path, "mor_pending")
    listed: list[str] = []
    opened: list[str] = []
    list_folder, read = LocalStorage.list_folder, LocalStorage.read_versioned

    def watched_list(self: LocalStorage, path: str) -> Listing:
        listed.append(path)
        return list_folder(self, path)

    def watched_read(self: LocalStorage, path: str) -> Content:
        opened.append(path)
        return read(self, path)

    monkeypatch.setattr(LocalStorage, "list_folder", watched_list)
    monkeypatch.setattr(LocalStorage, "read_versioned", watched_read)
    table = open_table(str(base))
    timeline = load_timeline(table)
    assert (listed, opened) == ([".hoodie/timeline"], [".hoodie/hoodie.properties"])
    planned = load_pending_plans(table, timeline)
    assert listed == [".hoodie/timeline"]
    assert len(opened) == 1 + len(planned)
    assert all(path.endswith(".requested") for path in opened[1:])


def test_table(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    report = said_json(capsys, "table", table)
    assert report["instants"] == {"completed": 1, "inflight": 1, "requested": 2}
    assert report["properties"]["hoodie.table.name"] == "orders"
    text = said(capsys, "table", table)
    assert "1 completed, 1 inflight, 2 requested" in text
    assert "latest write    20260101100000000 commit completed" in text


def test_no_table_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["timeline", str(tmp_path / "nowhere")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"airflow-hudi: no Hudi table at {tmp_path / 'nowhere'}: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["timeline", "ftp://x/y"], "no storage for 'ftp://x/y'"),
        (["timeline", ".", "--timezone", "Mars"], "'Mars' is not a known time zone"),
    ],
)
def test_bad_arguments_are_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == 1
    assert sentence in capsys.readouterr().err


def test_a_file_where_a_folder_should_be_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    assert main(["timeline", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "airflow_hudi", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_a_terminal_without_unicode_gets_plain_letters(table: Path) -> None:
    done = run("timeline", str(table), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "* 20260101100000000  10:00:00.000 > 10:00:02.500" in done.stdout
    assert "o requested" in done.stdout


def test_the_command_line_as_a_process(table: Path) -> None:
    assert run("timeline", str(table), "--json").returncode == 0
    assert run("timeline").returncode == 2
    shown = run("--help")
    assert "timeline" in shown.stdout
    assert run("table", "/no/such/table").returncode == 1


def test_output_cut_short_by_the_reader_is_no_error(table: Path) -> None:
    command = f"{sys.executable} -m airflow_hudi timeline {table} --json | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
