# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import struct
import sys
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.defects import DefectKind
from airflow_hudi.core.errors import MissingPackage
from airflow_hudi.core.history import load_history
from airflow_hudi.core.logblocks import CorruptBlock, LogBlock, read_blocks
from tests.builders import a_log_block, a_table

ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [
        {"name": name, "type": ["null", "string"], "default": None}
        for name in ("commitTime", "actionType", "actionState", "stateTransitionTime")
    ],
}


def entry(time: str, action: str, state: str | None = "COMPLETED", at: str | None = None) -> bytes:
    buffer = io.BytesIO()
    row = {
        "commitTime": time,
        "actionType": action,
        "actionState": state,
        "stateTransitionTime": at,
    }
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(ENTRY), row)
    return buffer.getvalue()


def block(*entries: bytes) -> bytes:
    return a_log_block(json.dumps(ENTRY), list(entries))


def archive(**files: bytes) -> dict[str, bytes]:
    return {f".hoodie/archived/.commits_.archive.{key[1:]}": data for key, data in files.items()}


def lines(files: dict[str, bytes], version: str = "6") -> list[str]:
    return [f"{i} {i.completed_at}" for i in load_history(a_table(files, version=version))]


def test_layout_1_keeps_each_instant_once_in_its_last_state() -> None:
    files = archive(
        n1_1=block(
            entry("10", "commit", "REQUESTED", "11"),
            entry("10", "commit", "INFLIGHT", "12"),
            entry("10", "commit", "COMPLETED", "13"),
            entry("20", "compaction", "INFLIGHT", "22"),
        )
        + block(entry("20", "commit", "COMPLETED", "23"), entry("20", "clean", None)),
        n2_1=block(entry("05", "deltacommit")),
    )
    assert lines(files) == [
        "05 deltacommit completed None",
        "10 commit completed 13",
        "20 clean completed None",
        "20 commit completed 23",
    ]


def test_layout_1_numbers_its_files_and_ignores_others() -> None:
    files = archive(
        n10=block(entry("10", "commit", at="19")), n9=block(entry("10", "commit", at="1"))
    )
    files[".hoodie/archived/mergeArchivePlan"] = b"junk"
    assert lines(files) == ["10 commit completed 19"]


def test_layout_1_reads_around_damage() -> None:
    good = block(entry("10", "commit"))
    torn = block(entry("20", "commit"))[:-20]
    odd = block(entry("40", "teleport"), entry("50", "clean"))
    table = a_table(
        archive(n1=good + torn + block(entry("30", "commit")) + odd + b"tail", n2=b""), version="6"
    )
    history = load_history(table)
    assert [i.requested_at for i in history] == ["10", "30", "50"]
    assert {defect.kind for defect in history.defects} == {DefectKind.UNREADABLE}
    said = " ".join(map(str, history.defects))
    assert f"at byte {len(good)}" in said
    assert "unknown action 'teleport'" in said
    assert "no block begins here" in said


def test_unknown_states_and_missing_times_are_said() -> None:
    table = a_table(
        archive(n1=block(entry("10", "commit", "FLYING")) + block(entry("", "commit"))), version="6"
    )
    history = load_history(table)
    assert not len(history)
    assert len(history.defects) == 2


def parquet(*rows: tuple[str, str, str | None]) -> bytes:
    times, completions, actions = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table({"instantTime": times, "completionTime": completions, "action": actions})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def lsm(**files: bytes) -> dict[str, bytes]:
    return {f".hoodie/timeline/history/{name}": data for name, data in files.items()}


def manifest(*names: str) -> bytes:
    return json.dumps({"files": [{"fileName": name, "fileLen": 1} for name in names]}).encode()


A, B = (
    parquet(("10", "12", "commit"), ("20", "21", "clean")),
    parquet(("30", "35", "replacecommit")),
)


def test_layout_2_reads_the_files_of_the_manifest_the_version_names() -> None:
    files = lsm(_version_=b"2", manifest_1=manifest("b"), manifest_2=manifest("a"), a=A, b=B)
    assert lines(files, "9") == ["10 commit completed 12", "20 clean completed 21"]


def test_layout_2_without_a_version_takes_the_largest_manifest() -> None:
    files = lsm(manifest_9=manifest("a"), manifest_10=manifest("b"), a=A, b=B)
    files[".hoodie/timeline/history/manifest_11.tmp"] = manifest("a")
    assert lines(files, "9") == ["30 replacecommit completed 35"]
    assert lines(files | lsm(_version_=b""), "9") == ["30 replacecommit completed 35"]


def test_layout_2_says_what_it_cannot_read_and_reads_the_rest() -> None:
    files = lsm(
        _version_=b"1",
        manifest_1=manifest("a", "gone", "torn", "odd"),
        a=A,
        torn=A[:-9],
        odd=parquet(("40", "41", None), ("50", "51", "commit")),
    )
    history = load_history(a_table(files))
    assert [i.requested_at for i in history] == ["10", "20", "50"]
    kinds = [defect.kind for defect in history.defects]
    assert kinds == [DefectKind.VANISHED, DefectKind.UNREADABLE, DefectKind.UNREADABLE]


@pytest.mark.parametrize(
    ("data", "kinds"),
    [(b"{", ["unreadable"]), (b"[]", ["unreadable"]), (b"", []), (b'{"files": 1}', ["unreadable"])],
)
def test_layout_2_bad_manifest(data: bytes, kinds: list[str]) -> None:
    history = load_history(a_table(lsm(_version_=b"1", manifest_1=data)))
    assert [defect.kind.value for defect in history.defects] == kinds


def test_a_manifest_that_is_not_there_is_said() -> None:
    history = load_history(a_table(lsm(_version_=b"7")))
    assert [defect.kind for defect in history.defects] == [DefectKind.VANISHED]


@pytest.mark.parametrize("version", ["6", "9"])
def test_no_history_is_an_empty_one(version: str) -> None:
    history = load_history(a_table({}, version=version))
    assert (len(history), history.defects) == (0, ())


def test_missing_pyarrow_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    files = lsm(_version_=b"1", manifest_1=manifest("a"), a=A)
    with pytest.raises(MissingPackage, match="needs the package pyarrow"):
        load_history(a_table(files))


@given(st.binary(max_size=200))
def test_any_bytes_are_blocks_or_corrupt(data: bytes) -> None:
    for found in read_blocks(data):
        assert isinstance(found, (LogBlock, CorruptBlock))


@given(st.data())
def test_damaged_archives_never_crash(data: Any) -> None:
    good = bytearray(block(entry("10", "commit"), entry("20", "clean")) * 2)
    for _ in range(data.draw(st.integers(1, 6))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(good)))
    load_history(a_table(archive(n1=bytes(good[:cut])), version="6"))


def test_a_block_of_an_absurd_size_is_corrupt() -> None:
    bad = b"#HUDI#" + struct.pack(">q", 2**62) + b"x" * 40
    assert [type(found) for found in read_blocks(bad)] == [CorruptBlock]
