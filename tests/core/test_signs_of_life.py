# SPDX-License-Identifier: Apache-2.0
"""Heartbeats and markers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_hudi.core.heartbeat import Heartbeat, HeartbeatPolicy, load_heartbeats
from airflow_hudi.core.instants import InstantTime
from airflow_hudi.core.markers import (
    Marker,
    MarkerKind,
    load_marked_instants,
    load_markers,
    parse_marker,
)
from tests.builders import EPOCH, a_table

TEN = InstantTime("10")


def test_heartbeat_is_the_files_modification_time() -> None:
    table = a_table({".hoodie/.heartbeat/10": b"", ".hoodie/.heartbeat/.10.crc": b""})
    assert load_heartbeats(table) == {TEN: Heartbeat(TEN, EPOCH)}


def test_no_heartbeats() -> None:
    assert load_heartbeats(a_table({})) == {}


@pytest.mark.parametrize(("seconds", "is_expired"), [(0, False), (120, False), (120.001, True)])
def test_heartbeat_expires_after_the_tolerated_misses(seconds: float, is_expired: bool) -> None:  # noqa: FBT001
    beat = Heartbeat(TEN, EPOCH)
    now = EPOCH + timedelta(seconds=seconds)
    assert beat.is_expired(HeartbeatPolicy(), now=now) is is_expired


def test_direct_markers() -> None:
    table = a_table(
        {
            ".hoodie/.temp/10/a/b/f_0_10.parquet.marker.CREATE": b"",
            ".hoodie/.temp/10/g_0_10.parquet.marker.MERGE": b"",
            ".hoodie/.temp/10/stray": b"",
        }
    )
    markers = load_markers(table, TEN)
    assert load_marked_instants(table) == (TEN,)
    assert not markers.is_gathered
    assert markers.markers == (
        Marker("", "g_0_10.parquet", MarkerKind.MERGE),
        Marker("a/b", "f_0_10.parquet", MarkerKind.CREATE),
    )
    assert [str(marker) for marker in markers.markers] == [
        "g_0_10.parquet.marker.MERGE",
        "a/b/f_0_10.parquet.marker.CREATE",
    ]


def test_gathered_markers() -> None:
    table = a_table(
        {
            ".hoodie/.temp/10/MARKERS.type": b"TIMELINE_SERVER_BASED",
            ".hoodie/.temp/10/MARKERS0": b"p/f_0_10.parquet.marker.CREATE\nnonsense\n",
            ".hoodie/.temp/10/MARKERS1": b"",
            ".hoodie/.temp/10/MARKERS2": b"\xff",
        }
    )
    markers = load_markers(table, TEN)
    assert markers.is_gathered
    assert markers.markers == (Marker("p", "f_0_10.parquet", MarkerKind.CREATE),)
    assert len(markers.defects) == 2


def test_no_markers() -> None:
    assert load_markers(a_table({}), TEN).markers == ()


def test_other_files_are_no_markers() -> None:
    assert parse_marker("p/f.parquet") is None
    assert parse_marker("p/f.parquet.marker.EAT") is None
