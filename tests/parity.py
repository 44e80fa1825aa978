# SPDX-License-Identifier: Apache-2.0
"""Our reading of a table in the words of `tests.spark.engine_view`, to be compared with Hudi's.

Where the two say the same in different ways, the difference is levelled here and nowhere else:
each function says which, and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from airflow_hudi.core.commits import CommitMetadata, load_commit
from airflow_hudi.core.datafiles import FileGroupId
from airflow_hudi.core.defects import Defect
from airflow_hudi.core.filegroups import FileSlice
from airflow_hudi.core.fileviews import TableFiles, load_file_groups, load_partitions
from airflow_hudi.core.heartbeat import load_heartbeats
from airflow_hudi.core.history import load_history
from airflow_hudi.core.instants import Action, Instant, State, Zone
from airflow_hudi.core.layout import Layout, comparable_action
from airflow_hudi.core.markers import load_marked_instants, load_markers
from airflow_hudi.core.plans import (
    CleanerPlan,
    ClusteringPlan,
    CompactionPlan,
    IndexPlan,
    LogCompactionPlan,
    Plan,
    PlannedSlice,
    ReplacePlan,
    RestorePlan,
    RollbackPlan,
    load_pending_plans,
)
from airflow_hudi.core.schemas import TableSchema, load_schema
from airflow_hudi.core.storage.base import file_name
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.core.timeline import Timeline, load_timeline

Json = dict[str, Any]

# What Hudi reads wrongly, by table: an upgrade that finds several archive files writes a history
# file whose name gives a first instant after its last. Hudi 1.1 and 1.2 then overlook the file,
# take an archived write for a pending one, and put its log file on the newest slice.
READ_WRONGLY_BY_HUDI = {"upgraded_misnamed": ("file_slices", "latest_file_slices")}


def assert_same(name: str, ours: Json, hudi: Json) -> None:
    """Everything is equal, but for what Hudi is known to read wrongly, which must differ."""
    wrong = READ_WRONGLY_BY_HUDI.get(name, ())
    for key, value in hudi.items():
        if key in wrong:
            assert ours[key] != value, f"{key}: Hudi reads {name} rightly now"
        else:
            assert ours[key] == value, key


def our_view(base: Path, *, zone: Zone | None = None) -> Json:
    """Everything our readers say about a table; a defect anywhere is an error here."""
    table = open_table(str(base), zone=zone)
    timeline = load_timeline(table)
    history = load_history(table)
    schema = load_schema(table, timeline)
    assert timeline.defects == ()
    assert history.defects == ()
    assert not isinstance(schema, Defect)
    return {
        "table_version": table.properties.version_number,
        "instants": [_instant(instant) for instant in timeline],
        "archived": [_instant(instant) for instant in history],
        "plans": _plans(table, timeline),
        "schema": None if schema is None else _plain_schema(_avro(schema)),
        "commit_metadata": _commits(table, timeline),
        **_files(table, timeline),
        "heartbeats": {
            beat.instant: int(beat.last_beat.timestamp() * 1000 + 0.5)
            for beat in load_heartbeats(table).values()
        },
        "markers": {
            instant: [
                str(marker) for marker in sorted(load_markers(table, instant).markers, key=str)
            ]
            for instant in load_marked_instants(table)
        },
    }


def engines_view(view: Json) -> Json:
    """Hudi's view, levelled."""
    layout = Layout.V2 if view["table_version"] >= 8 else Layout.V1
    return {
        "table_version": view["table_version"],
        "instants": [_completed_only(instant) for instant in view["instants"]],
        "archived": _last_states(layout, view["archived"]),
        "plans": {time: _level_plan(plan) for time, plan in view["plans"].items()},
        "schema": None if view["schema"] is None else _plain_schema(view["schema"]),
        "commit_metadata": view["commit_metadata"],
        "partitions": view["partitions"],
        "file_groups": view["file_groups"],
        "file_slices": _in_merge_order(view["file_slices"]),
        "latest_file_slices": _in_merge_order(view["latest_file_slices"]),
        "heartbeats": view["heartbeats"],
        "markers": view["markers"],
    }


def _instant(instant: Instant) -> Json:
    return {
        "requested_at": instant.requested_at,
        "completed_at": instant.completed_at,
        "action": instant.action.value,
        "state": instant.state.value,
    }


def _completed_only(instant: Json) -> Json:
    """On layout 1 Hudi gives pending instants a completion time, their file's; we do not."""
    is_completed = instant["state"] == State.COMPLETED.value
    return instant if is_completed else {**instant, "completed_at": None}


def _last_states(layout: Layout, instants: Iterable[Json]) -> list[Json]:
    """Hudi gives every archived state of layout 1 an instant of its own; we keep the last."""
    last: dict[tuple[str, str], Json] = {}
    for instant in instants:
        action = comparable_action(layout, Action(instant["action"])).value
        key = (instant["requested_at"], action)
        if key not in last or State(last[key]["state"]).rank < State(instant["state"]).rank:
            last[key] = _completed_only(instant)
    return [last[key] for key in sorted(last)]


# --- plans -----------------------------------------------------------------------------------


def _plans(table: Table, timeline: Timeline) -> Json:
    plans = {}
    for planned in load_pending_plans(table, timeline):
        assert not isinstance(planned.plan, Defect), planned
        if not isinstance(planned.plan, ReplacePlan):  # Hudi's clustering reader passes over these
            action = planned.instant.action.value
            plans[str(planned.instant.requested_at)] = {"action": action, **_plan(planned.plan)}
    return plans


def _plan(plan: Plan) -> Json:
    if isinstance(plan, (CompactionPlan, LogCompactionPlan)):
        return {
            "file_groups": [[group.partition, group.file_id] for group in plan.file_groups],
            "slices": [
                _planned(p) | {"base_instant": p.base_instant} for p in _sorted(plan.operations)
            ],
        }
    if isinstance(plan, ClusteringPlan):
        return {
            "file_groups": [[group.partition, group.file_id] for group in plan.file_groups],
            "slices": [_planned(p) for p in _sorted(s for g in plan.groups for s in g.slices)],
            "strategy": plan.strategy,
            "output_groups": [group.output_file_groups for group in plan.groups],
        }
    if isinstance(plan, CleanerPlan):
        return {
            "policy": plan.policy,
            "retain_from": plan.retain_from,
            "files": {partition: sorted(names) for partition, names in plan.files.items()},
            "partitions": sorted(plan.partitions),
        }
    if isinstance(plan, RestorePlan):
        return {"savepoint": plan.savepoint, "targets": list(plan.targets)}
    if isinstance(plan, IndexPlan):
        return {"indexes": sorted([index.partition, index.up_to] for index in plan.indexes)}
    assert isinstance(plan, RollbackPlan)
    requests = [
        {
            "partition": request.partition,
            "file_id": request.file_id,
            "base_instant": request.base_instant,
            "files": sorted(request.delete_files),
            "log_blocks": list(request.rollback_log_files),
        }
        for request in plan.requests
    ]
    target = {"requested_at": plan.target, "action": plan.target_action}
    return {"target": target, "requests": sorted(requests, key=str)}


def _planned(piece: PlannedSlice) -> Json:
    return {
        "partition": piece.partition,
        "file_id": piece.file_id,
        "base_file": piece.base_file,
        "log_files": list(piece.log_files),
    }


def _sorted(slices: Iterable[PlannedSlice]) -> list[PlannedSlice]:
    return sorted(slices, key=lambda piece: piece.file_group)


def _level_plan(plan: Json) -> Json:
    """Hudi's plans name some files with their folder, depending on the release; we never do."""
    level = {key: value for key, value in plan.items() if key != "last_completed"}
    if plan["action"] == "clean":
        level["files"] = {
            partition: sorted(map(file_name, paths)) for partition, paths in plan["files"].items()
        }
    elif plan["action"] == "rollback":
        requests = [
            {
                **request,
                "file_id": request["file_id"] or None,
                "base_instant": request["base_instant"] or None,
                "files": sorted(map(file_name, request["files"])),
                "log_blocks": sorted(map(file_name, request["log_blocks"])),
            }
            for request in plan["requests"]
        ]
        level["requests"] = sorted(requests, key=str)
    elif plan["action"] == "restore":
        level["targets"] = [target["requested_at"] for target in plan["targets"]]
    return level


# --- commits ---------------------------------------------------------------------------------


def _commits(table: Table, timeline: Timeline) -> Json:
    commits = {}
    for instant in timeline.completed().writes():
        commit = load_commit(table, timeline, instant)
        assert isinstance(commit, CommitMetadata), commit
        commits[str(instant.requested_at)] = _commit(instant, commit)
    return commits


def _commit(instant: Instant, commit: CommitMetadata) -> Json:
    return {
        "action": instant.action.value,
        "operation": commit.operation,
        "stats": sorted(
            [s.partition, s.file_id, s.path, s.writes, s.deletes, s.updates, s.inserts]
            for s in commit.stats
        ),
        "replaced": {partition: sorted(ids) for partition, ids in commit.replaced.items()},
        "extra_keys": sorted(commit.extra),
        "schema": commit.extra.get("schema"),
    }


def _avro(schema: TableSchema) -> Json:
    return dict(schema.avro)


def _plain_schema(schema: Any) -> Any:
    """Hudi rebuilds the schema on the way: empty docs come and go, nothing else."""
    if isinstance(schema, dict):
        return {k: _plain_schema(v) for k, v in schema.items() if (k, v) != ("doc", "")}
    return [_plain_schema(item) for item in schema] if isinstance(schema, list) else schema


# --- files -----------------------------------------------------------------------------------


def _files(table: Table, timeline: Timeline) -> Json:
    found = load_file_groups(table, timeline)
    assert found.defects == ()
    partitions = [files.partition for files in load_partitions(table)]
    return {
        "partitions": partitions,
        "file_groups": {
            p: [g.id.file_id for g in found.groups if g.id.partition == p] for p in partitions
        },
        "file_slices": {
            p: [_slice(g.id, s) for g in found.groups if g.id.partition == p for s in g.slices]
            for p in partitions
        },
        "latest_file_slices": {p: _latest(found, p) for p in partitions},
    }


def _latest(found: TableFiles, partition: str) -> list[Json]:
    return [_slice(id_, piece) for id_, piece in found.latest.items() if id_.partition == partition]


def _slice(group: FileGroupId, piece: FileSlice) -> Json:
    return {
        "file_id": group.file_id,
        "base_instant": piece.base_instant,
        "base_file": piece.base_file,
        "log_files": list(piece.log_files),
    }


def _in_merge_order(by_partition: Json) -> Json:
    """Hudi lists a slice's log files newest first; we list them in the order they are merged."""
    return {
        partition: [{**each, "log_files": each["log_files"][::-1]} for each in slices]
        for partition, slices in by_partition.items()
    }
