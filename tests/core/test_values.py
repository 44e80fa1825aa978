# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.heartbeat import Heartbeat, HeartbeatPolicy
from airflow_hudi.core.instants import Instant, InstantTime, State, Zone
from airflow_hudi.core.plans import (
    CleanerPlan,
    ClusteringGroup,
    ClusteringPlan,
    CompactionPlan,
    PlannedInstant,
    PlannedSlice,
    RollbackPlan,
    RollbackRequest,
)
from airflow_hudi.core.timeline import Timeline
from airflow_hudi.core.values import NotThisValue, from_json, to_json
from tests.builders import EPOCH, a_timeline, an_instant


@dataclass(frozen=True)
class Square:
    KIND: ClassVar[str] = "square"
    side: int


@dataclass(frozen=True)
class Circle:
    KIND: ClassVar[str] = "circle"
    side: int


@dataclass(frozen=True)
class Everything:
    text: str
    number: int
    ratio: float
    is_on: bool
    state: State
    moment: datetime
    duration: timedelta
    shape: Square | Circle
    maybe: Instant | None = None
    pair: tuple[str, int] = ("a", 1)
    many: tuple[Square, ...] = ()
    names: frozenset[str] = frozenset()
    by_name: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    anything: Any = None


EVERYTHING = Everything(
    "ä",
    7,
    0.5,
    True,  # noqa: FBT003 - a field of the value
    State.INFLIGHT,
    EPOCH,
    timedelta(minutes=2),
    Circle(3),
    an_instant("10 commit"),
    ("b", 2),
    (Square(1),),
    frozenset({"x"}),
    {"p": (1, 2)},
    {"k": [1]},
)

SLICE = PlannedSlice("p=1", "f", "f_0_10.parquet", (".f_10.log.1",), InstantTime("10"))
VALUES = (
    EVERYTHING,
    an_instant("10-12 commit"),
    a_timeline("10-12 commit", "20 clean requested"),
    Zone("UTC"),
    Heartbeat(InstantTime("10"), datetime(2026, 1, 1, tzinfo=timezone.utc)),
    HeartbeatPolicy(timedelta(seconds=5), 3),
    PlannedInstant(an_instant("30 compaction requested"), CompactionPlan((SLICE,), {"a": "b"})),
    PlannedInstant(
        an_instant("30 clustering requested"),
        ClusteringPlan((ClusteringGroup((SLICE,), 2),), "S", {"x": "y"}),
    ),
    PlannedInstant(
        an_instant("30 clean requested"),
        CleanerPlan("KEEP_LATEST_COMMITS", InstantTime("10"), {"p": ("f",)}, ("q",)),
    ),
    PlannedInstant(
        an_instant("30 rollback requested"),
        RollbackPlan(InstantTime("20"), "commit", (RollbackRequest("p", None, None, ("f",), ()),)),
    ),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_json_both_ways(value: object) -> None:
    text = json.dumps(to_json(value))
    assert from_json(type(value), json.loads(text)) == value


def test_a_union_is_read_back_as_the_kind_it_was() -> None:
    data = to_json(EVERYTHING)
    assert isinstance(data, dict)
    assert data["shape"] == {"kind": "circle", "side": 3}
    assert from_json(Everything, data).shape == Circle(3)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"number": "7"}, "int"),
        ({"number": True}, "int"),
        ({"is_on": 1}, "bool"),
        ({"state": "flying"}, "State"),
        ({"moment": "yesterday"}, "datetime"),
        ({"duration": 1e300}, "timedelta"),
        ({"shape": {"kind": "line", "side": 1}}, "Square or Circle"),
        ({"shape": None}, "Square or Circle"),
        ({"pair": ["a"]}, "a list of 2"),
        ({"many": {"a": 1}}, "a list"),
        ({"by_name": []}, "an object"),
        ({"maybe": "10 commit"}, "Instant"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_said(change: dict[str, Any], wanted: str) -> None:
    data = to_json(EVERYTHING)
    assert isinstance(data, dict)
    with pytest.raises(NotThisValue, match=wanted):
        from_json(Everything, data | change)


def test_missing_fields_and_no_object_are_said() -> None:
    with pytest.raises(NotThisValue, match="expected Square"):
        from_json(Square, {})
    with pytest.raises(NotThisValue, match="expected Square"):
        from_json(Square, [1])


def test_whole_numbers_are_ratios_too() -> None:
    assert from_json(tuple[float, ...], [1]) == (1.0,)


def test_unknown_fields_of_a_newer_version_are_passed_over() -> None:
    assert from_json(Square, {"kind": "square", "side": 1, "colour": "red"}) == Square(1)


def test_what_json_cannot_carry_is_refused() -> None:
    with pytest.raises(NotThisValue, match="JSON can carry"):
        to_json(object())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["instants", "kind", "action", "side"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_json_is_read_or_refused(data: object) -> None:
    for cls in (Timeline, Everything, PlannedInstant):
        with contextlib.suppress(NotThisValue):
            assert isinstance(from_json(cls, data), cls)
