# SPDX-License-Identifier: Apache-2.0
"""The buttons: what was pushed at the start is what they lead to, during the run and after it."""

from __future__ import annotations

from typing import Any
from unittest.mock import create_autospec
from urllib.parse import parse_qs, urlsplit

import pytest
from airflow.providers.common.compat.sdk import BaseOperatorLink, TaskInstanceKey, XCom
from airflow.sdk import BaseOperator

from airflow_hudi.links.spark import HudiSparkLink
from airflow_hudi.links.table import HudiTableLink, table_page

KEY = TaskInstanceKey("dag", "task", "run", 1, 3)
OPERATOR = create_autospec(BaseOperator, instance=True)
LINKS = [HudiTableLink(), HudiSparkLink()]


def test_a_tables_page_is_relative_to_airflows_own_address() -> None:
    page = urlsplit(table_page("hudi & more", "sales/all orders?"))
    assert (page.scheme, page.netloc, page.path) == ("", "", "hudi/table")
    assert parse_qs(page.query) == {"conn_id": ["hudi & more"], "table": ["sales/all orders?"]}


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize(
    ("stored", "shown"), [("hudi/table?x=1", "hudi/table?x=1"), (None, ""), ({"a": 1}, "")]
)
def test_a_link_leads_to_what_was_pushed(
    link: BaseOperatorLink, stored: object, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def get_value(*, ti_key: TaskInstanceKey, key: str) -> object:
        asked.append((ti_key, key))
        return stored

    monkeypatch.setattr(XCom, "get_value", get_value)
    assert link.get_link(OPERATOR, ti_key=KEY) == shown
    assert asked == [(KEY, link.xcom_key)]


def test_the_links_have_names_and_keys_of_their_own() -> None:
    assert [link.name for link in LINKS] == ["Hudi table", "Spark application"]
    assert [link.xcom_key for link in LINKS] == ["_link_HudiTableLink", "_link_HudiSparkLink"]
