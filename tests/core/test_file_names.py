# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.datafiles import BaseFileName, parse_base_name
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.logfiles import LogFileName, parse_log_name, rfc61_order, shipped_order

FILE_ID = "1f2e3d4c-aaaa-bbbb-cccc-000000000001-0"
T1, T2 = "20260131093000123", "20260131093500456"

BASE_NAMES = (
    f"{FILE_ID}_0-23-20_{T1}.parquet",
    f"{FILE_ID}_1-0-1_20200131093000.orc",
    f"00000007-0000-0000-0000-000000000000-0_0-1-2_{T1}.parquet",
    f"files-0000-0_0-1-2_{T1}.hfile",
)

LOG_NAMES = (
    f".{FILE_ID}_{T1}.log.1_0-23-20",
    f".{FILE_ID}_{T1}.log.12",
    f".{FILE_ID}_{T1}.log.1_0-23-20.cdc",
    f".{FILE_ID}_{T1}.log.3_1-0-1-{T2}",
    ".files-0000-0_00000000000000010.log.1_0-0-0",
    ".commits_.archive.7_1-0-1",
)

NEITHER = (
    "",
    ".hoodie_partition_metadata",
    ".hoodie_partition_metadata.parquet",
    f"{FILE_ID}_0-23-20_{T1}.parquet.crc",
    f".{FILE_ID}_0-23-20_{T1}.parquet.crc",
    f".{FILE_ID}_{T1}.log.1_0-23-20.crc",
    f".{FILE_ID}_{T1}.log.x_0-23-20",
    f"{FILE_ID}_{T1}.log.1_0-23-20",
    f"{FILE_ID}_{T1}.parquet",
    "part-00000.snappy.parquet",
    "_SUCCESS",
)


@pytest.mark.parametrize("name", BASE_NAMES)
def test_base_names_round_trip(name: str) -> None:
    parsed = parse_base_name(name)
    assert parsed is not None
    assert str(parsed) == name
    assert parse_log_name(name) is None


@pytest.mark.parametrize("name", LOG_NAMES)
def test_log_names_round_trip(name: str) -> None:
    parsed = parse_log_name(name)
    assert parsed is not None
    assert str(parsed) == name
    assert parse_base_name(name) is None


@pytest.mark.parametrize("name", NEITHER)
def test_other_names_are_neither(name: str) -> None:
    assert parse_base_name(name) is None
    assert parse_log_name(name) is None


def test_parts_of_a_base_name() -> None:
    assert parse_base_name(BASE_NAMES[0]) == BaseFileName(
        FILE_ID, "0-23-20", InstantTime(T1), "parquet"
    )


def test_parts_of_a_log_name() -> None:
    assert parse_log_name(LOG_NAMES[2]) == LogFileName(
        FILE_ID, InstantTime(T1), 1, "0-23-20", ".cdc"
    )


def test_rfc61_keeps_the_writers_instant_behind_the_token() -> None:
    parsed = parse_log_name(LOG_NAMES[3])
    assert parsed is not None
    assert parsed.writer_instant == T2
    plain = parse_log_name(LOG_NAMES[0])
    assert plain is not None
    assert plain.writer_instant is None


def in_order(names: list[str], key: object) -> list[str]:
    shuffled = names.copy()
    random.Random(7).shuffle(shuffled)
    parsed = [log for log in map(parse_log_name, shuffled) if log]
    return [str(log) for log in sorted(parsed, key=key)]  # type: ignore[call-overload]


def test_shipped_order_is_time_version_token_suffix() -> None:
    expected = [
        f".f_{T1}.log.2",  # no token before any token
        f".f_{T1}.log.2_0-1-1",
        f".f_{T1}.log.2_10-0-1",  # tokens compare as text, as Hudi compares them
        f".f_{T1}.log.2_2-0-1",
        f".f_{T1}.log.2_2-0-1.cdc",
        f".f_{T1}.log.10_0-1-1",  # versions compare as numbers
        f".f_{T2}.log.1_0-1-1",
    ]
    assert in_order(expected, shipped_order) == expected


def test_rfc61_order_is_base_instant_version_then_the_later_writer() -> None:
    expected = [
        f".f_{T1}.log.1_9-9-9-{T1}",
        f".f_{T1}.log.1_0-0-1-{T2}",  # the larger instant within the token is the fresher
        f".f_{T1}.log.2_0-0-1-{T1}",
        f".f_{T2}.log.1_0-0-1-{T1}",
    ]
    assert in_order(expected, rfc61_order) == expected


def test_two_writers_at_once_differ_in_name_under_both_rules() -> None:
    rfc = {f".f_{T1}.log.1_0-0-1-{writer}" for writer in (T1, T2)}
    shipped = {f".f_{writer}.log.1_0-0-1" for writer in (T1, T2)}
    assert len({parse_log_name(name) for name in rfc | shipped}) == 4


@given(st.text(max_size=80))
def test_parsers_never_crash(name: str) -> None:
    for parsed in (parse_base_name(name), parse_log_name(name)):
        assert parsed is None or str(parsed) == name


@given(
    st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True),
    st.from_regex(r"[0-9]{1,17}", fullmatch=True),
    st.integers(0, 10**6),
    st.none() | st.from_regex(r"[0-9]{1,3}-[0-9]{1,3}-[0-9]{1,3}(-[0-9]{17})?", fullmatch=True),
)
def test_any_log_name_round_trips(file_id: str, time: str, version: int, token: str | None) -> None:
    log = LogFileName(file_id, InstantTime(time), version, token)
    assert parse_log_name(str(log)) == log
