# SPDX-License-Identifier: Apache-2.0
"""What the operators of the table services ask of a job: by arguments, templates and settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_hudi.core.errors import InvalidInput
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.kinds import Mode, Service
from airflow_hudi.core.services.policies import (
    CleanPolicy,
    ClusteringPolicy,
    CompactionPolicy,
    LogCompactionPolicy,
    RollbackPolicy,
    ServicePolicy,
)
from airflow_hudi.core.services.works import CleanWork, ServiceWork
from airflow_hudi.core.values import from_json
from tests.provider.stand_in import (
    CLEAN,
    CLUSTER,
    COMPACT,
    LOG_COMPACT,
    FakeTask,
    Stage,
    an_operator,
)
from tests.provider.stand_in_driver import Part

SERVICES: dict[str, ServicePolicy] = {
    COMPACT: CompactionPolicy(after_delta_commits=3),
    LOG_COMPACT: LogCompactionPolicy(log_blocks=2),
    CLUSTER: ClusteringPolicy(sort_columns=("day",)),
}
PLAN = "20261118134957137"
DELAY_VARIABLE = "AIRFLOW__HUDI__TABLE_SERVICE_ROLLBACK_DELAY"


def exceptions() -> Any:
    from airflow.providers.common.compat import sdk  # noqa: PLC0415 - slow

    return sdk


def run(operator: Any) -> Any:
    return operator.execute({"ti": FakeTask(task=operator)})


# --- compaction, log compaction, clustering -------------------------------------------------------


@pytest.mark.parametrize("path", SERVICES)
def test_without_arguments_the_service_plans_and_executes_by_its_usual_policy(path: str) -> None:
    work = an_operator(path).work()
    assert work == ServiceWork(type(SERVICES[path])(), Mode.BOTH)


@pytest.mark.parametrize("path", SERVICES)
def test_what_was_asked_of_a_service_is_the_jobs_work(path: str) -> None:
    policy = SERVICES[path]
    operator = an_operator(
        path, mode="schedule", policy=policy, options={"some.key": "7"}, dry_run=True
    )
    work = operator.work()
    assert work == ServiceWork(policy, Mode.SCHEDULE, options={"some.key": "7"}, dry_run=True)
    assert work.service is Service(policy.KIND)


@pytest.mark.parametrize("path", SERVICES)
def test_the_instant_of_another_task_is_the_plan_to_execute(path: str) -> None:
    given = "{{ ti.xcom_pull(task_ids='schedule')['instant'] }}"
    operator = an_operator(path, mode="{{ params.mode }}", instant=given)

    class Scheduled:
        def xcom_pull(self, task_ids: str) -> dict[str, str]:
            return {"schedule": {"instant": PLAN}}[task_ids]

    operator.render_template_fields({"ti": Scheduled(), "params": {"mode": "execute"}})
    work = operator.work()
    assert (work.mode, work.instant) == (Mode.EXECUTE, PLAN)


@pytest.mark.parametrize("path", SERVICES)
def test_where_the_other_task_had_nothing_to_plan_there_is_nothing_to_execute(
    stage: Stage, path: str
) -> None:
    """A skipped task skips this one too; one that is let succeed hands on an instant of None."""
    handed_on = {"mode": "execute", "instant": "None"}
    report = run(an_operator(path, when_nothing_to_do="succeed", **handed_on))
    assert report["outcome"] == "nothing_to_do"
    assert report["summary"] == "the task that hands the plan on has made none"
    with pytest.raises(exceptions().AirflowSkipException, match="has made none"):
        run(an_operator(path, **handed_on))
    assert stage.noted("started") == []


@pytest.mark.parametrize("path", SERVICES)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"mode": "run"}, "mode is 'run'; choose one of schedule, execute, both"),
        ({"mode": "execute", "instant": " "}, "instant is empty; did a template render to nothing"),
        ({"mode": "both", "instant": PLAN}, "mode 'both' makes its own plan and takes no instant"),
        ({"mode": "schedule", "instant": PLAN}, "use mode='execute' to execute this one"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_makes_no_sense_fails_at_once_and_starts_nothing(
    stage: Stage, path: str, arguments: dict[str, str], sentence: str
) -> None:
    operator = an_operator(path, **arguments)
    with pytest.raises(InvalidInput) as raised:
        operator.work()
    assert sentence in str(raised.value)
    with pytest.raises(exceptions().AirflowFailException) as failed:
        run(operator)
    assert str(failed.value) == str(raised.value)
    assert stage.noted("started") == []


@pytest.mark.parametrize(
    ("policy", "arguments", "sentence"),
    [
        (CompactionPolicy, {"after_delta_commits": 0}, "after_delta_commits is 0"),
        (CompactionPolicy, {"or_after": timedelta()}, "or_after is 0:00:00"),
        (LogCompactionPolicy, {"log_blocks": -1}, "log_blocks is -1"),
        (ClusteringPolicy, {"at_most_groups": 0}, "at_most_groups is 0"),
        (CleanPolicy, {"keep_commits": 0}, "keep_commits is 0"),
        (CleanPolicy, {"keep_commits": 1, "keep_hours": 1}, "more than one of keep_commits"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_when_the_dag_is_read(
    policy: Any, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidWork, match=sentence):
        policy(**arguments)


def test_begun_clusterings_are_rolled_back_unless_that_is_not_wanted() -> None:
    assert an_operator(CLUSTER).work().is_removable
    assert not an_operator(CLUSTER, removable=False).work().is_removable
    assert an_operator(LOG_COMPACT).work().is_removable
    assert not an_operator(COMPACT).work().is_removable


@pytest.mark.parametrize("path", [*SERVICES, CLEAN])
def test_policies_and_delay_travel_in_a_mapped_task(path: str) -> None:
    from airflow.sdk import DAG  # noqa: PLC0415 - slow

    policy = CleanPolicy(keep_hours=8) if path == CLEAN else SERVICES[path]
    more = {"rollback_delay": 5} if path == CLEAN else {"mode": "execute"}
    module, _, name = path.rpartition(".")
    operator = getattr(__import__(module, fromlist=[name]), name)
    with DAG("d", schedule=None) as dag:
        operator.partial(task_id="each", policy=policy, **more).expand(table=["a", "b"])
    task: Any = dag.get_task("each")
    works = [task.unmap({"table": table}).work() for table in ("a", "b")]
    assert works[0] == works[1]
    assert works[0].policy == policy
    if path == CLEAN:
        assert works[0].rollback.delay == timedelta(minutes=5)
    else:
        assert works[0].mode is Mode.EXECUTE


def test_plans_can_be_handed_to_a_mapped_task_that_executes_each() -> None:
    from airflow.sdk import DAG  # noqa: PLC0415 - slow

    from airflow_hudi.operators.compaction import HudiCompactionOperator  # noqa: PLC0415 - slow

    plans = [{"table": "a", "instant": PLAN}, {"table": "b", "instant": "20261118134957138"}]
    with DAG("d", schedule=None) as dag:
        each = HudiCompactionOperator.partial(task_id="each", mode="execute")
        each.expand_kwargs(plans)
    task: Any = dag.get_task("each")
    works = [task.unmap(plan).work() for plan in plans]
    assert [work.instant for work in works] == [plan["instant"] for plan in plans]


# --- clean ----------------------------------------------------------------------------------------


def test_without_arguments_the_clean_keeps_what_hudi_would_keep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(DELAY_VARIABLE, raising=False)
    assert an_operator(CLEAN).work() == CleanWork()
    assert CleanWork().rollback == RollbackPolicy(timedelta(hours=1), clustering_is_removable=True)


def test_what_was_asked_of_the_clean_is_the_jobs_work() -> None:
    operator = an_operator(
        CLEAN,
        policy=CleanPolicy(keep_versions=2),
        rollback_delay=timedelta(hours=2),
        clustering_is_removable=False,
        options={"some.key": 7},
        dry_run=True,
    )
    rollback = RollbackPolicy(timedelta(hours=2), clustering_is_removable=False)
    policy = CleanPolicy(keep_versions=2)
    assert operator.work() == CleanWork(policy, rollback, {"some.key": "7"}, dry_run=True)


@pytest.mark.parametrize(
    ("given", "delay"),
    [
        (timedelta(minutes=90), timedelta(minutes=90)),
        (timedelta(), timedelta()),
        (30, timedelta(minutes=30)),
        (0.5, timedelta(seconds=30)),
        (0, timedelta()),
    ],
    ids=str,
)
def test_the_rollback_delay_is_a_duration_or_minutes_and_stronger_than_the_setting(
    monkeypatch: pytest.MonkeyPatch, given: Any, delay: timedelta
) -> None:
    monkeypatch.setenv(DELAY_VARIABLE, "77")
    assert an_operator(CLEAN, rollback_delay=given).work().rollback.delay == delay


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("30", "rollback_delay is '30'; give a timedelta, or minutes"),
        (True, "rollback_delay is True; give a timedelta, or minutes"),
        (-1, "rollback_delay is -1 minutes; give 0, or more minutes"),
        (float("nan"), "rollback_delay is nan minutes; give 0, or more minutes"),
        (1e300, "give 0, or more minutes"),
        (timedelta(seconds=-1), "it may be nothing to 3650 days"),
    ],
    ids=str,
)
def test_a_rollback_delay_that_makes_no_sense_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(InvalidWork) as raised:
        an_operator(CLEAN, rollback_delay=given).work()
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("value", "delay"), [("15", timedelta(minutes=15)), ("0.5", timedelta(seconds=30))]
)
def test_the_usual_rollback_delay_is_a_setting_of_airflow(
    monkeypatch: pytest.MonkeyPatch, value: str, delay: timedelta
) -> None:
    monkeypatch.setenv(DELAY_VARIABLE, value)
    assert an_operator(CLEAN).work().rollback.delay == delay


@pytest.mark.parametrize("value", ["an hour", "", "-1", "nan", "inf", "1e300"])
def test_a_setting_that_is_no_number_of_minutes_fails_the_task_at_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(DELAY_VARIABLE, value)
    with pytest.raises(exceptions().AirflowFailException) as raised:
        run(an_operator(CLEAN))
    said = f"[hudi] table_service_rollback_delay in Airflow's configuration is {value!r}"
    assert str(raised.value) == f"{said}; set it to a number of minutes, 0 or more"
    assert stage.noted("started") == []


# --- on a stage -----------------------------------------------------------------------------------


def test_the_driver_is_told_all_of_it(stage: Stage) -> None:
    stage.play(Part(ends="nothing"))
    operator = an_operator(CLEAN, policy=CleanPolicy(keep_hours=5), rollback_delay=20)
    with pytest.raises(exceptions().AirflowSkipException):
        run(operator)
    assert stage.attempt().load_spec().work == operator.work()


def test_a_dry_run_is_believed_though_the_timeline_shows_nothing_of_it(stage: Stage) -> None:
    stage.play(Part(summary="dry run: would roll back 1 instants and delete 2 files"))
    operator = an_operator(CLEAN, dry_run=True)
    report = run(operator)
    assert report["summary"].startswith("dry run: would roll back 1 instants")
    assert operator.work().dry_run
    assert stage.attempt().load_spec().work == operator.work()


def test_a_clean_that_the_timeline_does_not_show_is_not_believed(stage: Stage) -> None:
    stage.play(Part(summary="2 files deleted", instant=PLAN))
    with pytest.raises(exceptions().AirflowFailException, match="shows nothing of this job"):
        run(an_operator(CLEAN))


@pytest.mark.parametrize("path", SERVICES)
def test_a_service_that_is_not_due_is_skipped_without_a_driver(stage: Stage, path: str) -> None:
    with pytest.raises(
        exceptions().AirflowSkipException, match=r"nothing to do: 0 .*commits since"
    ):
        run(an_operator(path))
    assert stage.noted("started") == []


def test_works_of_services_survive_the_way_to_the_driver() -> None:
    from airflow_hudi.core.values import to_json  # noqa: PLC0415 - beside its other half

    for path, policy in SERVICES.items():
        work = an_operator(path, policy=policy, dry_run=True).work()
        assert from_json(ServiceWork, to_json(work)) == work
    clean = an_operator(CLEAN, rollback_delay=7).work()
    assert from_json(CleanWork, to_json(clean)) == clean
