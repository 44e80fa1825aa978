# SPDX-License-Identifier: Apache-2.0
"""The button that leads from a task to the page of the table it works on."""

from __future__ import annotations

from urllib.parse import urlencode

from airflow.providers.common.compat.sdk import BaseOperator, BaseOperatorLink, TaskInstanceKey

from airflow_hudi.links.stored import stored_link

PAGES = "hudi"
"""Where our pages are below Airflow's own address."""


def table_page(conn_id: str, table: str) -> str:
    """The address of a table's page, relative to Airflow's: it may be served below a prefix.

    :param conn_id: the Hudi connection
    :param table: the name or URI as the operator has it
    """
    return f"{PAGES}/table?{urlencode({'conn_id': conn_id, 'table': table})}"


class HudiTableLink(BaseOperatorLink):
    """Leads to the table: its timeline, its pending plans, who is alive on it.

    An operator pushes :func:`table_page` under :attr:`xcom_key` when it starts; the button is there
    from then on.
    """

    name = "Hudi table"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """What the operator pushed, or nothing."""
        return stored_link(self.xcom_key, ti_key)
