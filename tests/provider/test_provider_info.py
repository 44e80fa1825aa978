# SPDX-License-Identifier: Apache-2.0
"""What Airflow is told about this provider is well formed, and true."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema
import pytest

from airflow_hudi.core.connection import EXTRA_FIELDS, NEWEST_RELEASE, HudiSettings
from airflow_hudi.core.locks import LockKind, LockSettings, ZooKeeper
from airflow_hudi.core.services.policies import DEFAULT_DELAY
from airflow_hudi.core.versions import RELEASE_NAMES
from airflow_hudi.get_provider_info import get_provider_info

ROOT = Path(__file__).resolve().parents[2]
INFO = get_provider_info()
(CONNECTION,) = INFO["connection-types"]
FIELDS: dict[str, Any] = CONNECTION["conn-fields"]
MODULE_LISTS = ("hooks", "operators", "sensors", "triggers")
BASES = ("base", "service")  # what operators have in common; nobody puts them into a DAG
OPTIONS: dict[str, Any] = INFO["config"]["hudi"]["options"]


def schema(name: str) -> dict[str, Any]:
    import airflow  # noqa: PLC0415 - only after the home is set

    path = Path(str(airflow.__path__[0])) / name
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_the_data_is_plain() -> None:
    assert json.loads(json.dumps(INFO)) == INFO


def test_the_data_fits_the_schema_airflow_reads_it_with() -> None:
    jsonschema.validate(INFO, schema("provider_info.schema.json"))


def test_each_part_fits_the_stricter_schema_of_airflows_own_providers() -> None:
    strict = schema("provider.yaml.schema.json")
    assert INFO.keys() <= strict["properties"].keys()
    for part, value in INFO.items():
        rule = {**strict["properties"][part], "definitions": strict["definitions"]}
        jsonschema.validate(value, rule)


def test_the_data_is_given_without_importing_anything() -> None:
    tree = ast.parse((ROOT / "airflow_hudi" / "get_provider_info.py").read_text())
    imported = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {ast.unparse(node).split()[1] for node in imported} == {"__future__", "typing"}


def named_objects() -> Iterator[str]:
    yield CONNECTION["hook-class-name"]
    yield from INFO["extra-links"]
    yield from (plugin["plugin-class"] for plugin in INFO["plugins"])
    for uris in INFO["asset-uris"]:
        yield uris["handler"]
        yield uris["factory"]


@pytest.mark.parametrize("name", list(named_objects()))
def test_every_name_is_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), attribute))


@pytest.mark.parametrize(
    "module",
    [name for part in MODULE_LISTS for entry in INFO[part] for name in entry["python-modules"]],
)
def test_every_module_is_there(module: str) -> None:
    assert importlib.import_module(module)


@pytest.mark.parametrize("part", MODULE_LISTS)
def test_no_module_with_a_public_class_is_forgotten(part: str) -> None:
    (entry,) = INFO[part]
    kind = part.removesuffix("s").title()
    for_dags = re.compile(rf"^(class Hudi\w*{kind}\(|def hudi_\w+\()", re.MULTILINE)
    public = {
        f"airflow_hudi.{part}.{path.stem}"
        for path in (ROOT / "airflow_hudi" / part).glob("*.py")
        if path.stem not in BASES and for_dags.search(path.read_text())
    }
    assert public == set(entry["python-modules"])


@pytest.mark.parametrize("base", BASES)
def test_bases_of_operators_are_abstract(base: str) -> None:
    module = importlib.import_module(f"airflow_hudi.operators.{base}")
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    assert own
    assert all(any(is_abstract(cls, name) for name in vars(cls)) for cls in own)


def is_abstract(cls: type, name: str) -> bool:
    return getattr(vars(cls)[name], "__isabstractmethod__", False) is True


# --- the configuration ----------------------------------------------------------------------------


def test_the_configuration_has_the_options_that_are_read() -> None:
    from airflow_hudi.operators import settings  # noqa: PLC0415 - Airflow is slow to import

    assert set(INFO["config"]) == {settings.SECTION}
    assert set(OPTIONS) == {settings.ROLLBACK_DELAY}


def test_the_rollback_delay_is_the_options_default_as_airflow_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from airflow.providers.common.compat.sdk import conf  # noqa: PLC0415 - slow

    from airflow_hudi.operators.settings import rollback_delay_of  # noqa: PLC0415 - as above

    option = OPTIONS["table_service_rollback_delay"]
    monkeypatch.delenv("AIRFLOW__HUDI__TABLE_SERVICE_ROLLBACK_DELAY", raising=False)
    assert conf.get("hudi", "table_service_rollback_delay", fallback=option["default"]) == "60"
    assert timedelta(minutes=float(option["default"])) == DEFAULT_DELAY == rollback_delay_of(None)
    example = option["example"]
    monkeypatch.setenv("AIRFLOW__HUDI__TABLE_SERVICE_ROLLBACK_DELAY", example)
    assert rollback_delay_of(None) == timedelta(minutes=float(example))


def test_an_option_says_since_when_it_is_there() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert all(f"\n## {option['version_added']}\n" in changes for option in OPTIONS.values())


def test_entry_points_lead_to_the_data_and_to_the_plugin() -> None:
    points = importlib.metadata.distribution("airflow-hudi").entry_points
    (info,) = points.select(group="apache_airflow_provider")
    assert info.load() is get_provider_info
    (plugin,) = points.select(group="airflow.plugins")
    assert plugin.value.replace(":", ".") == INFO["plugins"][0]["plugin-class"]
    assert plugin.name == INFO["plugins"][0]["name"]


# --- the connection -------------------------------------------------------------------------------


def test_airflow_finds_the_connection_type_with_its_hook_and_form() -> None:
    from airflow import __version__ as airflow_version  # noqa: PLC0415 - slow
    from airflow.providers_manager import ProvidersManager  # noqa: PLC0415 - slow

    manager: Any = ProvidersManager()  # type: ignore[no-untyped-call]
    info = _hooks_by_airflow(manager)["hudi"]
    assert info.connection_id_attribute_name == "hudi_conn_id"
    assert info.hook_name == "Apache Hudi"
    assert info.package_name == "airflow-hudi"
    assert info.connection_testable
    if airflow_version.startswith("3.1."):  # its form knows only what is code, and we have none
        return
    assert manager.field_behaviours["hudi"]["relabeling"] == {"host": "Warehouse"}
    shown = [name for name in manager.connection_form_widgets if name.startswith("extra__hudi__")]
    assert [name.removeprefix("extra__hudi__") for name in shown] == list(FIELDS)


def _hooks_by_airflow(manager: Any) -> Any:
    """The hooks as a task finds them: since Airflow 3.2 by a manager of the task's own."""
    try:
        from airflow.sdk import providers_manager_runtime  # noqa: PLC0415 - slow
    except ImportError:
        return manager.hooks
    runtime: Any = providers_manager_runtime.ProvidersManagerTaskRuntime()  # type: ignore[no-untyped-call]
    return runtime.hooks


def test_the_hook_says_of_itself_what_the_data_says() -> None:
    from airflow_hudi.hooks.hudi import HudiHook  # noqa: PLC0415 - Airflow is slow to import

    assert HudiHook.conn_type == CONNECTION["connection-type"]
    assert HudiHook.hook_name == CONNECTION["hook-name"]


def test_the_form_has_exactly_the_fields_the_hook_reads() -> None:
    assert set(FIELDS) == set(EXTRA_FIELDS) - {"warehouse"}  # which is the field host


def test_the_form_offers_what_there_is() -> None:
    assert FIELDS["release"]["schema"]["enum"] == list(RELEASE_NAMES)
    assert FIELDS["lock"]["schema"]["enum"] == [kind.value for kind in LockKind]


def test_no_field_is_prefilled_so_that_none_looks_like_a_choice() -> None:
    assert [name for name, field in FIELDS.items() if "default" in field["schema"]] == []
    assert all("null" in field["schema"]["type"] for field in FIELDS.values())


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("release", NEWEST_RELEASE),
        ("spark_conn_id", HudiSettings("/").spark_conn_id),
        ("lock", LockSettings().kind.value),
        ("lock_patience_seconds", LockSettings(LockKind.IN_PROCESS).longest_wait.seconds),
        ("lock_expiry_minutes", LockSettings().expiry_minutes),
        ("zookeeper_base_path", ZooKeeper("zk:1").base_path),
        ("zookeeper_session_seconds", ZooKeeper("zk:1").session_timeout.seconds),
        ("zookeeper_connection_seconds", ZooKeeper("zk:1").connection_timeout.seconds),
        ("ship", HudiSettings("/").ship),
    ],
)
def test_form_and_document_say_the_defaults_that_are(field: str, default: object) -> None:
    assert str(default) in FIELDS[field]["description"]
    rows = (ROOT / "docs" / "connection.md").read_text().splitlines()
    (row,) = [row for row in rows if row.startswith("|") and f"`{field}`" in row]
    assert str(default) in row


def test_the_document_names_every_field() -> None:
    text = (ROOT / "docs" / "connection.md").read_text()
    assert [name for name in EXTRA_FIELDS if f"`{name}`" not in text] == []


def test_no_secret_is_asked_for() -> None:
    assert {"login", "password"} <= set(CONNECTION["ui-field-behaviour"]["hidden-fields"])
    assert "password" not in json.dumps(FIELDS)
    assert not any("password" in name for name in get_type_hints(HudiSettings))
