# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.errors import InvalidInstant, InvalidTimezone
from airflow_hudi.core.instants import LOCAL, UTC, Action, InstantTime, State, Zone, instant_time
from tests.builders import an_instant


def test_instant_time_is_digits() -> None:
    assert instant_time("20260131093000123") == "20260131093000123"


@pytest.mark.parametrize("text", ["", "2026-01-31", "20260131T", "२०२६", "../x", "12 "])
def test_instant_time_refuses_anything_else(text: str) -> None:
    with pytest.raises(InvalidInstant, match="is not an instant time"):
        instant_time(text)


def test_states_are_ordered_by_how_far_they_are() -> None:
    states = [State.COMPLETED, State.REQUESTED, State.INFLIGHT]
    assert sorted(states, key=lambda state: state.rank) == list(State)


@pytest.mark.parametrize(
    ("pending", "completed"),
    [
        (Action.COMPACTION, Action.COMMIT),
        (Action.LOGCOMPACTION, Action.DELTACOMMIT),
        (Action.CLUSTERING, Action.REPLACECOMMIT),
        (Action.CLEAN, Action.CLEAN),
    ],
)
def test_action_completes_as(pending: Action, completed: Action) -> None:
    assert pending.completes_as is completed


def test_instant_reads_as_a_line() -> None:
    assert str(an_instant("20 clean inflight")) == "20 clean inflight"


def test_zone_writes_and_reads_its_own_digits() -> None:
    moment = datetime(2026, 7, 1, 12, 30, 15, 123456, tzinfo=timezone.utc)
    berlin = Zone("Europe/Berlin")
    assert berlin.digits(moment) == "20260701143015123"
    assert berlin.moment(InstantTime("20260701143015123")) == moment.replace(microsecond=123000)
    assert UTC.digits(moment) == "20260701123015123"


def test_zone_without_a_name_is_this_machines() -> None:
    moment = datetime(2026, 7, 1, 12, 30, 15, tzinfo=timezone.utc)
    assert LOCAL.digits(moment) == moment.astimezone().strftime("%Y%m%d%H%M%S000")
    assert LOCAL.moment(LOCAL.digits(moment)) == moment


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "Europe/Berlin\0"])
def test_zone_refuses_unknown_names(name: str) -> None:
    with pytest.raises(InvalidTimezone, match="is not a known time zone"):
        Zone(name)


def test_seconds_only_count_as_the_seconds_last_millisecond() -> None:
    assert UTC.moment(InstantTime("20200101000000")) == datetime(
        2020, 1, 1, 0, 0, 0, 999000, tzinfo=timezone.utc
    )


def test_digits_behind_the_milliseconds_carry_no_time() -> None:
    plain = UTC.moment(InstantTime("20200101000000123"))
    assert UTC.moment(InstantTime("20200101000000123001")) == plain


@pytest.mark.parametrize("time", ["00000000000000", "1", "99999999999999999", "20201399000000000"])
def test_times_that_are_none_are_no_moment(time: str) -> None:
    assert UTC.moment(InstantTime(time)) is None


@given(
    st.datetimes(
        min_value=datetime(1980, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
        max_value=datetime(2100, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
        timezones=st.just(timezone.utc),
    )
)
def test_utc_digits_round_trip(moment: datetime) -> None:
    back = UTC.moment(UTC.digits(moment))
    assert back is not None
    assert timedelta(0) <= moment - back < timedelta(milliseconds=1)


@given(st.text(alphabet="0123456789", max_size=30))
def test_moment_never_crashes(digits: str) -> None:
    for zone in (UTC, LOCAL, Zone("America/New_York")):
        moment = zone.moment(InstantTime(digits))
        assert moment is None or moment.tzinfo is timezone.utc
