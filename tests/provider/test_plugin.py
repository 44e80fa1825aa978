# SPDX-License-Identifier: Apache-2.0
"""The pages: who may see them, what they may lead to, and what is on them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.cli.plans import summary
from airflow_hudi.core import load_pending_plans, load_timeline, open_table
from airflow_hudi.links.table import table_page
from airflow_hudi.plugins.hudi import HudiPlugin
from airflow_hudi.plugins.warehouse import load_tables
from airflow_hudi.testing import InMemoryStorage
from tests.builders import the_properties
from tests.provider.tables import LocalTable, connect
from tests.provider.web import FastAPI, TestClient, a_visitor, init_plugins
from tests.tables.fixtures import StoredTable, stored_tables


@pytest.fixture
def client() -> Iterator[TestClient]:
    with a_visitor("viewer") as viewer:
        yield viewer


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    connect(monkeypatch, folder)
    return folder


def get(client: TestClient, table: str, conn_id: str = "hudi_default") -> Any:
    return client.get(table_page(conn_id, table).removeprefix("hudi/"))


@pytest.mark.parametrize("page", ["tables", "table?table=orders", "table"])
def test_nobody_sees_a_page_without_a_login(warehouse: Path, page: str) -> None:
    LocalTable(warehouse / "orders").create()
    with a_visitor(None, logged_in=False) as stranger:
        answer = stranger.get(page)
    assert answer.status_code == 401
    assert "orders" not in answer.text


def test_somebody_without_a_role_is_refused(warehouse: Path) -> None:
    LocalTable(warehouse / "orders").create()
    with a_visitor(None) as nobody:
        assert nobody.get("tables").status_code == 403


def test_there_are_no_other_pages(client: TestClient) -> None:
    for page in ("", "docs", "redoc", "openapi.json"):
        assert client.get(page).status_code == 404
    assert client.post("table?table=orders").status_code == 405


@pytest.mark.parametrize(
    "stored", [t for t in stored_tables() if t.name == "mor_pending"], ids=lambda t: t.release
)
def test_a_table_is_drawn(client: TestClient, warehouse: Path, stored: StoredTable) -> None:
    base = stored.unpack(warehouse)
    answer = get(client, "mor_pending")
    assert answer.status_code == 200
    assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
    page = answer.text
    assert str(base) in page
    assert "merge-on-read · table version" in page
    assert "<span class=inflight>◐</span>" in page
    assert "no heartbeat" in page
    table = open_table(str(base))
    planned = load_pending_plans(table, load_timeline(table))
    assert len(planned) == 5
    for item in planned:
        assert str(item.instant) in page
        assert f" · {summary(item.plan)} · for " in page
    for heading in ("Timeline", "Pending plans", "Table"):
        assert f"<h2>{heading}</h2>" in page
    assert get(client, str(base)).text.partition("seen")[0] == page.partition("seen")[0]
    assert get(client, f"file://{base}/").status_code == 200


def test_a_never_written_table_is_drawn(client: TestClient, warehouse: Path) -> None:
    LocalTable(warehouse / "sales" / "orders").create()
    assert "created and never written" in get(client, "sales/orders").text


@pytest.mark.parametrize(
    "table",
    ["../outside", "lake/../../outside", "{root}/outside", "file://{root}/lake/../outside", "link"],
)
def test_what_is_outside_the_warehouse_is_refused(
    client: TestClient, warehouse: Path, table: str
) -> None:
    outside = LocalTable(warehouse.parent / "outside").create()
    (warehouse / "link").symlink_to(outside.base)
    answer = get(client, table.format(root=warehouse.parent))
    assert answer.status_code == 403
    assert "Timeline" not in answer.text


@pytest.mark.parametrize("table", ["{root}/lake", "{root}/lakeside", "s3://bucket/orders"])
def test_the_warehouse_itself_and_its_neighbours_are_outside(
    client: TestClient, warehouse: Path, table: str
) -> None:
    LocalTable(warehouse.parent / "lakeside").create()
    assert get(client, table.format(root=warehouse.parent)).status_code == 403


def test_a_table_that_is_not_there_is_not_found(client: TestClient, warehouse: Path) -> None:
    answer = get(client, "nowhere")
    assert answer.status_code == 404
    assert "no Hudi table at" in answer.text
    assert get(client, "").status_code == 400


def test_only_hudi_connections_are_opened_and_others_are_not_confirmed(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret = {"conn_type": "postgres", "host": str(tmp_path), "password": "hidden"}
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", json.dumps(secret))
    broken = {"conn_type": "hudi", "host": "hidden/place"}
    monkeypatch.setenv("AIRFLOW_CONN_BROKEN", json.dumps(broken))
    LocalTable(tmp_path / "orders").create()
    pages = {name: get(client, "orders", name) for name in ("other", "broken", "missing")}
    assert {answer.status_code for answer in pages.values()} == {404}
    assert len({answer.text.replace(name, "") for name, answer in pages.items()}) == 1
    assert not any("hidden" in answer.text for answer in pages.values())


def test_everything_is_escaped(client: TestClient, warehouse: Path) -> None:
    evil = "<script>alert(1)</script>"
    table = LocalTable(warehouse / "orders").create()
    properties = table.base / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("=orders", f"={evil}"))
    (table.base / ".hoodie" / "timeline" / f"1{evil.replace('/', '')}").write_text("")
    pages = [get(client, "orders"), get(client, evil), get(client, "orders", evil)]
    folder = warehouse / "<i>sales"
    LocalTable(folder).create()
    pages.append(client.get("tables"))
    for answer in pages:
        assert "<script>" not in answer.text
        assert "<i>" not in answer.text
    assert "&lt;script&gt;" in pages[0].text
    assert get(client, "<i>sales").status_code == 200


def test_the_tables_of_a_warehouse_are_listed(client: TestClient, warehouse: Path) -> None:
    LocalTable(warehouse / "orders").create()
    LocalTable(warehouse / "sales" / "customers").create()
    LocalTable(warehouse / "too" / "deep" / "down").create()
    LocalTable(warehouse / ".hudi_control" / "hidden").create()
    damaged = LocalTable(warehouse / "damaged").create()
    (damaged.base / ".hoodie" / "hoodie.properties").write_text("")
    page = client.get("tables").text
    assert 'href="table?conn_id=hudi_default&amp;table=orders"' in page
    assert "table=sales%2Fcustomers" in page
    assert "<td>merge-on-read</td><td>9</td>" in page
    assert "cannot be read" in page
    for name in ("down", "hidden", "more folders"):
        assert name not in page
    assert "No tables found" not in page


def test_an_empty_warehouse_says_so(client: TestClient, warehouse: Path) -> None:
    assert warehouse.is_dir()
    assert "No tables found" in client.get("tables").text


def test_the_listing_is_bounded() -> None:
    storage = InMemoryStorage()
    for number in range(30):
        for key in the_properties():
            storage.put(f"t{number:02}/.hoodie/{key}", b"")
    found = load_tables(storage, limit=20)
    assert not found.is_complete
    assert load_tables(storage, limit=100).is_complete


def test_airflow_finds_the_plugin_and_mounts_it() -> None:
    server = FastAPI()
    init_plugins(server)
    mounted = {getattr(route, "path", ""): getattr(route, "app", None) for route in server.routes}
    assert isinstance(mounted["/hudi"], FastAPI)
    assert mounted["/hudi"].title == "Hudi tables"


def test_the_menu_leads_to_the_tables() -> None:
    (view,) = HudiPlugin().external_views
    assert view["href"] == "hudi/tables"
    assert view["destination"] == "nav"


def test_without_a_place_for_pages_there_are_none_and_nothing_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "airflow_hudi.plugins.app", None)
    plugin = HudiPlugin()
    assert plugin.fastapi_apps == []
    assert plugin.external_views == []
