# SPDX-License-Identifier: Apache-2.0
"""Equal rows, equal name, in whatever order and in however many parts they come."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_hudi.core.checksums import Content, content_of

VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
ROWS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=6)


@settings(max_examples=50)
@given(ROWS, st.randoms(), st.integers(0, 6))
def test_order_and_parts_do_not_matter(rows: list[dict[str, Any]], random: Any, cut: int) -> None:
    whole = content_of(rows)
    mixed = list(rows)
    random.shuffle(mixed)
    assert content_of(mixed[:cut]) + content_of(mixed[cut:]) == whole
    assert whole.rows == len(rows)


def test_the_order_of_columns_does_not_matter() -> None:
    assert content_of([{"a": 1, "b": 2}]) == content_of([{"b": 2, "a": 1}])


@pytest.mark.parametrize(
    "other",
    [
        [],
        [{"id": 1}],
        [{"id": 1, "v": "a"}, {"id": 1, "v": "a"}],
        [{"id": 1, "v": "b"}],
        [{"id": "1", "v": "a"}],
        [{"id": 1, "v": None}],
        [{"id": 1, "v": "a", "w": None}],
    ],
)
def test_other_rows_have_another_name(other: list[dict[str, Any]]) -> None:
    assert content_of(other).checksum != content_of([{"id": 1, "v": "a"}]).checksum


def test_the_name_is_short_and_stays_the_same() -> None:
    assert content_of([]).checksum == Content().checksum == "0" * 16
    assert content_of([{"id": 1, "v": "ä"}]).checksum == "65c6887a9a2b8233"


def test_everything_a_table_may_hold_has_a_name() -> None:
    row = {
        "day": date(2026, 1, 1),
        "at": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "price": Decimal("1.10"),
        "raw": bytearray(b"\x00"),
        "tags": ["a", None],
        "nested": {"b": {1: 2.5}},
        "odd": float("nan"),
    }
    assert content_of([row]) == content_of([dict(reversed(row.items()))])
    assert content_of([{**row, "price": Decimal("1.1")}]) != content_of([row])
