# SPDX-License-Identifier: Apache-2.0
"""What Airflow does with our operators before and around a run: templates, mapping, storing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.config import WriteKey
from airflow_hudi.core.ingestion import FileSource, SourceFormat
from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.jobs import JobKey
from tests.provider.stand_in import (
    CLEAN,
    CLUSTER,
    COMPACT,
    INGEST,
    LOG_COMPACT,
    READ,
    FakeTask,
    Stage,
    an_operator,
)
from tests.provider.stand_in_driver import Part
from tests.provider.test_dags_examples import EXAMPLES, load

FIELDS = {
    READ: ("columns", "where"),
    COMPACT: ("mode", "instant"),
    LOG_COMPACT: ("mode", "instant"),
    CLUSTER: ("mode", "instant"),
    CLEAN: (),
    INGEST: ("operation", "source", "source_options", "sql", "partitions"),
}
ALL = ("table", "hudi_conn_id", "spark_conf", "options")
LISTS = ("columns", "partitions")
MAPPINGS = ("spark_conf", "options", "source_options")


def give() -> None: ...


def templated(field: str) -> Any:
    text = "{{ params.it }}"
    return [text] if field in LISTS else {"key": text} if field in MAPPINGS else text


@pytest.mark.parametrize("path", FIELDS)
def test_what_says_which_job_it_is_can_be_a_template(path: str) -> None:
    for field in (*ALL, *FIELDS[path]):
        operator = an_operator(path, **{field: templated(field)})
        assert field in operator.template_fields
        operator.render_template_fields({"params": {"it": "rendered"}})
        assert "rendered" in str(getattr(operator, field))
        assert "{{" not in str(getattr(operator, field))


@pytest.mark.parametrize("path", FIELDS)
def test_what_says_which_job_it_is_can_come_from_another_task(path: str) -> None:
    from airflow.sdk import DAG, task  # noqa: PLC0415 - slow

    with DAG("d", schedule=None):
        giver = task(give)()
        for number, field in enumerate((*ALL, *FIELDS[path])):
            taker = an_operator(path, task_id=f"t{number}", **{field: giver})
            assert give.__name__ in taker.upstream_task_ids, field


def test_a_query_may_be_a_file(tmp_path: Path) -> None:
    from airflow.sdk import DAG  # noqa: PLC0415 - slow

    (tmp_path / "orders.sql").write_text("select '{{ params.it }}' as it")
    with DAG("d", schedule=None, template_searchpath=str(tmp_path)):
        operator = an_operator(INGEST, sql="orders.sql")
    operator.resolve_template_files()
    operator.render_template_fields({"params": {"it": "x"}})
    assert operator.work().source.sql == "select 'x' as it"


def test_values_that_templates_made_of_other_types_become_texts() -> None:
    operator = an_operator(READ, spark_conf={"spark.executor.cores": 2}, options={"a": True})
    operator.render_template_fields({})
    assert operator.plain_options() == {"a": "True"}


@pytest.mark.parametrize("field", MAPPINGS)
def test_a_text_in_the_place_of_a_mapping_is_refused_with_a_cure(stage: Stage, field: str) -> None:
    from airflow.providers.common.compat.sdk import AirflowFailException  # noqa: PLC0415 - slow

    source = {"source": str(stage.warehouse), "source_format": "json"}
    operator = an_operator(INGEST, **{**source, field: "{'a': 'b'}"})
    with pytest.raises(AirflowFailException, match=f"{field} is the text .* pass a mapping; a tem"):
        operator.execute({"ti": FakeTask(task=operator)})


@pytest.mark.parametrize("is_rendered", [False, True])
def test_a_source_may_be_a_path_object(is_rendered: bool) -> None:  # noqa: FBT001
    operator = an_operator(INGEST, source=Path("/landing/orders.csv"))
    if is_rendered:  # as a template of a DAG with native objects gives it
        operator.source = Path("/landing/orders.csv")
    operator.render_template_fields({})
    assert operator.work().source == FileSource("/landing/orders.csv", SourceFormat.CSV)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"source": ["/in"]},
            "source is the list ['/in']; pass one path: of a file, a folder, or a glob (/in/*.csv)",
        ),
        ({"source": " "}, "source is empty; did a template render to nothing?"),
        ({"sql": "{{ params.it }}"}, "sql is empty; did a template render to nothing?"),
        ({"sql": ["select 1"]}, "sql is the list ['select 1']; pass one query"),
        (
            {"operation": "delete_partition", "partitions": ["us", "{{ params.it }}"]},
            "one of partitions is empty; did a template render to nothing?",
        ),
    ],
)
def test_a_source_that_is_none_is_refused_before_any_driver(
    stage: Stage, given: dict[str, Any], sentence: str
) -> None:
    from airflow.providers.common.compat.sdk import AirflowFailException  # noqa: PLC0415 - slow

    operator = an_operator(INGEST, **given)
    operator.render_template_fields({"params": {"it": "  "}})
    with pytest.raises(AirflowFailException) as raised:
        operator.execute({"ti": FakeTask(task=operator)})
    assert str(raised.value) == sentence
    assert stage.noted("started") == []


def test_a_new_table_is_described_by_its_own_class() -> None:
    with pytest.raises(InvalidWork, match=r"^create is a dict; pass create=NewTable\(keys="):
        an_operator(INGEST, source="/in/a.csv", create={"keys": ["id"]})


@pytest.mark.parametrize("key", [WriteKey.OPERATION, WriteKey.PARTITIONS_TO_DELETE])
def test_an_option_that_a_parameter_overrides_is_refused_before_any_driver(
    stage: Stage, key: WriteKey
) -> None:
    from airflow.providers.common.compat.sdk import AirflowFailException  # noqa: PLC0415 - slow

    source = {"source": str(stage.warehouse / "landing"), "source_format": "json"}
    operator = an_operator(INGEST, **source, options={key.value: "insert"})
    with pytest.raises(AirflowFailException, match=f"^{key.value} among the options"):
        operator.execute({"ti": FakeTask(task=operator)})
    assert stage.noted("started") == []


# --- mapping --------------------------------------------------------------------------------------


def mapped(path: str, tables: list[str], **more: str) -> Any:
    from airflow.sdk import DAG  # noqa: PLC0415 - slow

    module, _, name = path.rpartition(".")
    operator = getattr(__import__(module, fromlist=[name]), name)
    with DAG("d", schedule=None) as dag:
        operator.partial(task_id="each", poll_interval=0.02, **more).expand(table=tables)
    return dag.get_task("each")


@pytest.mark.parametrize("path", [READ, COMPACT, LOG_COMPACT, CLUSTER, CLEAN])
def test_a_mapped_operator_is_one_task_per_table(path: str) -> None:
    task = mapped(path, ["orders", "clicks"])
    assert task.is_mapped
    tables = [task.unmap({"table": name}).table for name in ("orders", "clicks")]
    assert tables == ["orders", "clicks"]


def test_an_instance_of_a_mapped_task_is_named_by_its_table() -> None:
    task = mapped(READ, ["{{ params.it }}"])
    one = task.unmap({"table": "{{ params.it }}"})
    one.render_template_fields({"params": {"it": "orders"}})
    if task.map_index_template is None:
        # Before Airflow 3.3 a mapped task knows only what partial() was given.
        task = mapped(READ, ["orders"], map_index_template="{{ task.table }}")
    # Of the mapped task, not of the instance: Airflow takes the template before it unmaps.
    template = one.get_template_env().from_string(task.map_index_template)
    assert template.render({"task": one}) == "orders"


def test_another_name_for_the_instances_is_kept() -> None:
    operator = an_operator(READ, map_index_template="{{ task.task_id }}")
    assert operator.map_index_template == "{{ task.task_id }}"


def test_mapped_instances_have_jobs_of_their_own(stage: Stage) -> None:
    stage.play(Part())
    keys = [JobKey("d", "r", "each", index) for index in (0, 1)]
    reports = []
    for key in keys:
        one = mapped(READ, ["orders", "orders"]).unmap({"table": "orders"})
        reports.append(one.execute({"ti": FakeTask(key, task=one)}))
    assert [report["job"] for report in reports] == ["d/r/each/0", "d/r/each/1"]
    assert [report["attempt"] for report in reports] == [1, 1]
    assert len({stage.attempt(1, key).path for key in keys}) == 2
    assert len(stage.noted("started")) == 2


# --- assets ---------------------------------------------------------------------------------------


def test_a_finished_job_tells_its_tables_asset_what_it_did(stage: Stage) -> None:
    from airflow.sdk import Asset, AssetAlias  # noqa: PLC0415 - slow
    from airflow.sdk.execution_time.context import OutletEventAccessors  # noqa: PLC0415 - slow

    from airflow_hudi.assets import hudi_asset  # noqa: PLC0415

    asset, alias = hudi_asset(str(stage.warehouse / "orders")), AssetAlias("any")
    other = Asset("other", "hudi://file/elsewhere")
    operator = an_operator(READ, outlets=[asset, alias, other])
    events = OutletEventAccessors()

    operator.execute({"ti": FakeTask(task=operator), "outlet_events": events})

    said = {"instant": None, "rows": None, "table": str(stage.warehouse / "orders")}
    assert events[asset].extra == said
    assert [event.extra for event in events[alias].asset_alias_events] == [said]
    assert events[other].extra == {}


# --- storing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_survives_the_database(path: Path) -> None:
    from airflow.serialization import serialized_objects  # noqa: PLC0415 - slow

    # Airflow 3.1 has one class for both the stored DAG and the way there.
    names = vars(serialized_objects)
    serialization: Any = names.get("DagSerialization") or names["SerializedDAG"]
    made = load(path)
    for dag in (value() for name, value in vars(made).items() if name.startswith("hudi_")):
        stored = serialization.to_dict(dag)
        again = serialization.from_dict(stored)
        assert set(again.task_ids) == set(dag.task_ids)
        assert serialization.to_dict(dag) == stored
