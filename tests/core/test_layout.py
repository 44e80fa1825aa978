# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.instants import Action, Instant, InstantTime, State
from airflow_hudi.core.layout import Layout, comparable_action, format_name, parse_name
from tests.builders import an_instant

V1, V2 = Layout.V1, Layout.V2

REAL_NAMES = (
    (V1, "20260131093000123.commit.requested", "20260131093000123 commit requested"),
    (V1, "20260131093000123.inflight", "20260131093000123 commit inflight"),
    (V1, "20260131093000123.commit", "20260131093000123 commit"),
    (V1, "20260131093000.deltacommit", "20260131093000 deltacommit"),
    (V1, "20260131093000123.deltacommit.inflight", "20260131093000123 deltacommit inflight"),
    (V1, "20260131093000123.compaction.requested", "20260131093000123 compaction requested"),
    (V1, "20260131093000123.compaction.inflight", "20260131093000123 compaction inflight"),
    (V1, "20260131093000123.logcompaction.inflight", "20260131093000123 logcompaction inflight"),
    (V1, "20260131093000123.replacecommit.requested", "20260131093000123 replacecommit requested"),
    (V1, "20260131093000123.clean", "20260131093000123 clean"),
    (V1, "20260131093000123.rollback.inflight", "20260131093000123 rollback inflight"),
    (V1, "20260131093000123.restore.requested", "20260131093000123 restore requested"),
    (V1, "20260131093000123.savepoint.inflight", "20260131093000123 savepoint inflight"),
    (V1, "20260131093000123.savepoint", "20260131093000123 savepoint"),
    (V1, "20260131093000123.indexing", "20260131093000123 indexing"),
    (V1, "00000000000000010.deltacommit", "00000000000000010 deltacommit"),
    (
        V2,
        "20260131093000123_20260131093001456.commit",
        "20260131093000123-20260131093001456 commit",
    ),
    (V2, "20260131093000123.inflight", "20260131093000123 commit inflight"),
    (V2, "20260131093000123.clustering.requested", "20260131093000123 clustering requested"),
    (V2, "20260131093000123.clustering.inflight", "20260131093000123 clustering inflight"),
    (V2, "1_2.replacecommit", "1-2 replacecommit"),
    (V2, "20260131093000123.commit", "20260131093000123 commit"),
)

NOT_INSTANTS = (
    (V1, "hoodie.properties"),
    (
        V1,
        "20260131093000123.commit.inflight",
    ),  # Hudi ignores it: an inflight commit is <t>.inflight
    (V1, "20260131093000123.compaction"),
    (V1, "20260131093000123.logcompaction"),
    (V1, "20260131093000123.savepoint.requested"),
    (V1, "20260131093000123.clustering.requested"),
    (V1, "20260131093000123_20260131093001456.commit"),
    (V1, "20260131093000123.commit.3f1c0b1e-77aa-4b5e-9d9c-2b8e2f1f0a00"),
    (V1, ".20260131093000123.commit.crc"),
    (V1, "20260131093000123"),
    (V1, "20260131093000123.commit.completed"),
    (V2, "20260131093000123_.commit"),
    (V2, "20260131093000123_2.clustering"),
    (V2, "20260131093000123.vacuum"),
    (V2, "20260131093000123.commit\n"),
    (V2, "٢٠٢٦.commit"),
)


@pytest.mark.parametrize(("layout", "name", "text"), REAL_NAMES, ids=str)
def test_real_names_round_trip(layout: Layout, name: str, text: str) -> None:
    assert parse_name(layout, name) == an_instant(text)
    assert format_name(layout, an_instant(text)) == name


@pytest.mark.parametrize(("layout", "name"), NOT_INSTANTS, ids=str)
def test_other_files_are_no_instants(layout: Layout, name: str) -> None:
    assert parse_name(layout, name) is None


def test_a_completion_time_on_a_pending_file_is_ignored() -> None:
    assert parse_name(V2, "10_20.clean.requested") == an_instant("10 clean requested")


def test_only_layout_2_knows_clustering_as_an_action_that_becomes_a_replacecommit() -> None:
    assert comparable_action(V2, Action.CLUSTERING) is Action.REPLACECOMMIT
    assert comparable_action(V1, Action.CLUSTERING) is Action.CLUSTERING
    assert comparable_action(V1, Action.COMPACTION) is Action.COMMIT


@given(st.sampled_from(Layout), st.text(max_size=60))
def test_parser_never_crashes(layout: Layout, name: str) -> None:
    instant = parse_name(layout, name)
    assert instant is None or isinstance(instant, Instant)


@given(
    st.sampled_from(Layout),
    st.from_regex(r"[0-9]{1,20}", fullmatch=True),
    st.from_regex(r"[0-9]{1,20}", fullmatch=True),
    st.sampled_from(Action),
    st.sampled_from(State),
)
def test_what_is_written_is_read_back_or_never_written_by_hudi(
    layout: Layout, requested: str, completed: str, action: Action, state: State
) -> None:
    dated = layout is V2 and state is State.COMPLETED
    time = InstantTime(completed) if dated else None
    instant = Instant(InstantTime(requested), action, state, time)
    assert parse_name(layout, format_name(layout, instant)) in (instant, None)
