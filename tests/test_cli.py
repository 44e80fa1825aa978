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
from airflow_hudi.core.properties import format_properties
from tests.builders import avro_file, the_properties

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
    assert "● 2026-01-01 10:00:00.000  2026-01-01 10:00:02.500      2.5 s  commit" in text
    assert "◐ 2026-01-01 10:10:00.000" in text
    assert "rollback requested · of 20260101101000000 commit" in text
    assert "clean requested · plan not readable: the file is empty" in text


def test_history_is_asked_for(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    report = said_json(capsys, "timeline", table, "--history")
    assert [instant["archived"] for instant in report["instants"]] == [False] * 4


def test_plans(capsys: pytest.CaptureFixture[str], table: Path) -> None:
    assert len(said_json(capsys, "plans", table)["instants"]) == 2
    text = said(capsys, "plans", table, "--all")
    assert "○ 20260101102000000 rollback requested" in text


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
        (["timeline", "ftp://x/y"], "no storage for ftp://x/y"),
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
    assert "* 2026-01-01 10:00:00.000" in done.stdout
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
