# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi.core.defects import DefectKind
from airflow_hudi.core.instants import UTC, Action, InstantTime, State
from airflow_hudi.core.layout import Layout
from airflow_hudi.core.storage.base import FileInfo
from airflow_hudi.core.timeline import Timeline, build_timeline, load_timeline
from tests.builders import EPOCH, a_table, a_timeline, an_instant, at, names_of

V1, V2 = Layout.V1, Layout.V2


def listed(*names: str, size: int = 1) -> tuple[FileInfo, ...]:
    return tuple(FileInfo(f".hoodie/{name}", size, EPOCH) for name in names)


def test_highest_state_of_an_instant_wins() -> None:
    files = listed("10.commit.requested", "10.inflight", "10.commit", "20.clean.requested")
    timeline = build_timeline(V1, files, UTC)
    assert [str(instant) for instant in timeline] == ["10 commit completed", "20 clean requested"]


@pytest.mark.parametrize(
    ("layout", "names", "winner"),
    [
        (V1, ("10.compaction.requested", "10.compaction.inflight"), "10 compaction inflight"),
        (V1, ("10.compaction.requested", "10.commit"), "10 commit completed"),
        (V1, ("10.logcompaction.inflight", "10.deltacommit"), "10 deltacommit completed"),
        (V2, ("10.clustering.inflight", "10_12.replacecommit"), "10 replacecommit completed"),
        (V2, ("10.compaction.inflight", "10_12.commit"), "10 commit completed"),
    ],
    ids=str,
)
def test_a_service_completes_as_another_action(
    layout: Layout, names: tuple[str, ...], winner: str
) -> None:
    for order in itertools.permutations(names):
        timeline = build_timeline(layout, listed(*order), UTC)
        assert [str(instant) for instant in timeline] == [winner]


def test_two_actions_may_share_a_time() -> None:
    timeline = build_timeline(V2, listed("10_11.commit", "10_12.savepoint"), UTC)
    assert [instant.action.value for instant in timeline] == ["commit", "savepoint"]
    found = timeline.find(InstantTime("10"), Action.SAVEPOINT)
    assert found is not None
    assert found.completed_at == "12"


def test_layout_1_completes_when_the_completed_file_was_written() -> None:
    table = a_table(
        {"10.commit.requested": b"", "10.inflight": b"", "10.commit": b"{}"}, version="6"
    )
    instant = load_timeline(table).latest()
    assert instant is not None
    assert instant.completed_at == at(2)


def test_layout_2_file_without_completion_time_takes_it_from_the_file() -> None:
    table = a_table({"10.commit": b"{}", "20_25.commit": b"x"})
    timeline = load_timeline(table)
    assert [instant.completed_at for instant in timeline] == [at(0), "25"]
    assert [file.is_legacy for file in timeline.files] == [True, False]


def test_pending_instants_have_no_completion_time() -> None:
    table = a_table({"10.clean.requested": b"x"}, version="6")
    assert [instant.completed_at for instant in load_timeline(table)] == [None]


def test_an_instant_completed_twice_is_said_and_counts_once() -> None:
    timeline = build_timeline(V2, listed("10_30.replacecommit", "10_20.replacecommit"), UTC)
    assert [instant.completed_at for instant in timeline] == ["20"]
    (defect,) = timeline.defects
    assert defect.kind is DefectKind.COMPLETED_TWICE
    assert defect.path == ".hoodie/10_30.replacecommit"
    assert "executed twice" in str(defect)


def test_an_empty_completed_file_is_said_and_the_instant_stays() -> None:
    timeline = build_timeline(V1, listed("10.commit", size=0), UTC)
    assert len(timeline) == 1
    assert [defect.kind for defect in timeline.defects] == [DefectKind.EMPTY]


def test_odd_names_are_said_and_the_folders_other_files_are_not() -> None:
    files = listed("hoodie.properties", "lock", "10.commit.0a1b-tmp", "20.commit.requested")
    timeline = build_timeline(V1, files, UTC)
    assert [defect.path for defect in timeline.defects] == [".hoodie/10.commit.0a1b-tmp"]
    assert len(timeline) == 1


def test_a_table_never_written_has_an_empty_timeline() -> None:
    timeline = load_timeline(a_table({}))
    assert timeline == Timeline()
    assert timeline.first() is None
    assert timeline.latest() is None


def test_one_listing_and_no_file_opened() -> None:
    table = a_table(names_of(V2, "10-11 commit", "20 clean requested"))
    calls: list[str] = []

    class Watched:
        uri = "watched"

        def list_folder(self, path: str) -> object:
            calls.append(path)
            return table.storage.list_folder(path)

    watched = type(table)(Watched(), table.properties, table.zone)  # type: ignore[arg-type]
    load_timeline(watched)
    assert calls == [".hoodie/timeline"]


TIMELINE = a_timeline(
    "10-35 commit",
    "20-25 deltacommit",
    "30 compaction requested",
    "40 deltacommit inflight",
    "50-55 replacecommit",
    "60-61 clean",
)


@pytest.mark.parametrize(
    ("picked", "times"),
    [
        (TIMELINE.completed(), "10 20 50 60"),
        (TIMELINE.pending(), "30 40"),
        (TIMELINE.requested(), "30"),
        (TIMELINE.inflight(), "40"),
        (TIMELINE.of(Action.COMMIT, Action.CLEAN), "10 60"),
        (TIMELINE.writes().completed(), "10 20 50"),
        (TIMELINE.requested_after(InstantTime("40")), "50 60"),
        (TIMELINE.requested_before(InstantTime("20")), "10"),
        (TIMELINE.completed_after(InstantTime("35")), "50 60"),
        (TIMELINE.by_completion(), "20 10 50 60"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_filters_chain(picked: Timeline, times: str) -> None:
    assert " ".join(instant.requested_at for instant in picked) == times


def test_first_latest_and_find() -> None:
    assert TIMELINE.first() == an_instant("10-35 commit")
    assert TIMELINE.latest() == an_instant("60-61 clean")
    assert TIMELINE.find(InstantTime("30")) == an_instant("30 compaction requested")
    assert TIMELINE.find(InstantTime("30"), Action.CLEAN) is None


def test_files_of_an_instant_are_all_its_states() -> None:
    files = listed(
        "10.compaction.requested", "10.compaction.inflight", "10_12.commit", "10_11.clean"
    )
    timeline = build_timeline(V2, files, UTC)
    instant = timeline.find(InstantTime("10"), Action.COMMIT)
    assert instant is not None
    states = [file.instant.state for file in timeline.files_of(instant)]
    assert states == [State.REQUESTED, State.INFLIGHT, State.COMPLETED]


def test_a_completed_service_is_known_by_what_it_was_planned_as() -> None:
    files = listed("10.compaction.requested", "10_12.commit", "20_21.commit", "30.clean.inflight")
    timeline = build_timeline(V2, files, UTC)
    planned = [timeline.planned_as(instant) for instant in timeline]
    assert planned == [Action.COMPACTION, Action.COMMIT, Action.CLEAN]


NAMES = st.lists(
    st.one_of(
        st.builds(
            "{}.{}".format,
            st.integers(0, 5),
            st.sampled_from(
                [
                    "commit",
                    "inflight",
                    "commit.requested",
                    "clean.inflight",
                    "compaction.requested",
                    "clustering.requested",
                    "replacecommit",
                    "tmp.x",
                    "savepoint",
                ]
            ),
        ),
        st.builds("{}_{}.commit".format, st.integers(0, 5), st.integers(0, 9)),
        st.text(max_size=12),
    ),
    unique=True,
    max_size=25,
)


@given(st.sampled_from(Layout), NAMES, st.randoms())
def test_any_listing_is_read_and_its_order_does_not_matter(
    layout: Layout, names: list[str], random: object
) -> None:
    files = listed(*(name for name in names if "/" not in name))
    shuffled = list(files)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    timeline = build_timeline(layout, files, UTC)
    assert timeline.instants == build_timeline(layout, tuple(shuffled), UTC).instants
    keys = [(i.requested_at, i.action.completes_as.value) for i in timeline]
    assert keys == sorted(keys)
