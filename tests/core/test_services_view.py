# SPDX-License-Identifier: Apache-2.0
"""What the decisions about services look at: loaded from real tables, and from damaged ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_hudi.core.defects import DefectKind
from airflow_hudi.core.heartbeat import HeartbeatPolicy
from airflow_hudi.core.instants import Action, InstantTime
from airflow_hudi.core.services.kinds import Service
from airflow_hudi.core.services.view import ServicesView, load_view
from airflow_hudi.core.storage.base import Listing
from airflow_hudi.core.storage.memory import InMemoryStorage
from airflow_hudi.core.table import open_table
from tests.builders import EPOCH, a_table
from tests.core.service_builders import a_clustering_plan, a_rollback_plan
from tests.tables.fixtures import StoredTable

POLICY = HeartbeatPolicy()
COMPACTION, LOGS, CLUSTERING = Service.COMPACTION, Service.LOG_COMPACTION, Service.CLUSTERING
RELEASES = ["0.15.0", "1.0.2", "1.1.1", "1.2.0"]


def stored(release: str, name: str, folder: Path) -> ServicesView:
    return load_view(open_table(str(StoredTable(release, name).unpack(folder))), POLICY)


def a_view(files: dict[str, bytes], version: str = "9") -> ServicesView:
    return load_view(a_table(files, version=version), POLICY, now=EPOCH)


@pytest.mark.parametrize(
    ("release", "name"),
    [
        *((release, "mor_pending") for release in RELEASES),
        *((release, "mor_pending_v6") for release in RELEASES[1:]),
        *((release, "mor_pending_v8") for release in RELEASES[2:]),
    ],
)
def test_every_pending_service_of_a_real_table_is_known(
    release: str, name: str, tmp_path: Path
) -> None:
    view = stored(release, name, tmp_path)
    pending = list(view.timeline.pending())
    services = [LOGS, COMPACTION, COMPACTION, CLUSTERING, CLUSTERING]
    assert [view.service_of(instant) for instant in pending] == services
    for service in Service:
        mine = [instant for instant in pending if view.service_of(instant) is service]
        assert list(view.of(service)) == mine
    is_layout_1 = pending[-1].action is Action.REPLACECOMMIT
    assert is_layout_1 == (release == "0.15.0" or name == "mor_pending_v6")
    times = {instant.requested_at for instant in pending[-2:]}
    assert view.clusterings == (times if is_layout_1 else frozenset())
    assert (view.rollbacks, view.unreadable) == ((), {})
    assert all(view.service_of(i) is None for i in view.timeline.completed())


@pytest.mark.parametrize("release", RELEASES)
def test_services_that_are_done_are_known_by_their_requests(release: str, tmp_path: Path) -> None:
    view = stored(release, "mor_done", tmp_path)
    for service in Service:
        assert len(view.of(service).completed()) == 1
    (pending,) = view.rollbacks
    target = view.timeline.find(pending.target)
    assert target is not None
    assert pending.target_action == target.action.value == "deltacommit"
    assert pending.instant.action is Action.ROLLBACK
    assert view.rollback_of(pending.target) == pending
    assert view.rollback_of(InstantTime("10")) is None


@pytest.mark.parametrize("release", RELEASES)
def test_overwrites_are_no_services(release: str, tmp_path: Path) -> None:
    view = stored(release, "cow_history", tmp_path)
    replaced = view.timeline.of(Action.REPLACECOMMIT)
    assert len(replaced) == 3
    assert all(view.service_of(instant) is None for instant in replaced)
    assert view.table.endswith("cow_history")


@pytest.mark.parametrize("release", RELEASES)
def test_a_killed_writer_was_alive_once(release: str, tmp_path: Path) -> None:
    table = open_table(str(StoredTable(release, "killed_writer").unpack(tmp_path)))
    (instant,) = load_view(table, POLICY).timeline.pending()
    beat = load_view(table, POLICY).signs.heartbeats[instant.requested_at]
    for seconds, is_alive in ((0, True), (120, True), (121, False)):
        now = beat.last_beat + timedelta(seconds=seconds)
        view = load_view(table, POLICY, now=now)
        assert view.now == now
        assert view.live_beat(instant) == (beat if is_alive else None)


def test_without_a_time_it_is_now() -> None:
    before = datetime.now(tz=timezone.utc)
    view = load_view(a_table({}), POLICY)
    assert before <= view.now <= datetime.now(tz=timezone.utc)


def test_heartbeats_are_looked_at_after_the_timeline() -> None:
    """A writer beats before its instant is there; the other way round it would look dead."""
    looked: list[str] = []

    class Watched(InMemoryStorage):
        def list_folder(self, path: str) -> Listing:
            looked.append(path)
            return super().list_folder(path)

    table = a_table({"10.deltacommit.requested": b"", "10.deltacommit.inflight": b""})
    load_view(replace(table, storage=Watched()), POLICY, now=EPOCH)
    assert looked == [".hoodie/timeline", ".hoodie/.heartbeat"]


# --- what has to be read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "service", "kind"),
    [
        (a_clustering_plan(), CLUSTERING, None),
        (b"", None, None),
        (b"Obj\x01nonsense", None, DefectKind.UNREADABLE),
        (b"{", None, DefectKind.UNREADABLE),
    ],
    ids=["a clustering", "an insert_overwrite", "cut short", "neither"],
)
def test_on_layout_1_the_request_tells(
    data: bytes, service: Service | None, kind: DefectKind | None
) -> None:
    for state in ("requested", "inflight"):
        files = {"10.replacecommit.requested": data}
        if state == "inflight":
            files["10.replacecommit.inflight"] = b"x"
        view = a_view(files, version="6")
        (instant,) = view.timeline
        assert view.service_of(instant) is service
        assert {time: defect.kind for time, defect in view.unreadable.items()} == (
            {} if kind is None else {InstantTime("10"): kind}
        )


def test_a_replacement_whose_request_is_missing_is_unreadable_while_it_is_pending() -> None:
    view = a_view({"10.replacecommit.inflight": b"x", "20.replacecommit": b"x"}, version="6")
    assert {time: defect.kind for time, defect in view.unreadable.items()} == {
        InstantTime("10"): DefectKind.MISSING
    }


def test_a_damaged_rollback_is_unreadable_and_a_done_one_is_not_read() -> None:
    view = a_view(
        {
            "10.rollback.requested": b"{",
            "20.rollback.requested": a_rollback_plan("5", "commit"),
            "20.rollback.inflight": b"",
            "30.rollback.requested": b"{",
            "30_31.rollback": b"x",
        }
    )
    assert set(view.unreadable) == {InstantTime("10")}
    (pending,) = view.rollbacks
    assert (pending.target, pending.target_action) == ("5", "commit")
    assert pending.instant.requested_at == "20"


def test_on_layout_2_no_plan_of_a_service_is_opened() -> None:
    view = a_view({"10.clustering.requested": b"{", "20.compaction.requested": b"{"})
    assert [view.service_of(instant) for instant in view.timeline] == [CLUSTERING, COMPACTION]
    assert (view.unreadable, view.clusterings) == ({}, frozenset())
