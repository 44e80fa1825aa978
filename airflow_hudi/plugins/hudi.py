# SPDX-License-Identifier: Apache-2.0
"""The plugin Airflow loads in each of its processes; only the API server asks for its pages."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import Any

from airflow.providers.common.compat.sdk import AirflowPlugin

from airflow_hudi.links.table import PAGES

log = logging.getLogger(__name__)


class HudiPlugin(AirflowPlugin):
    """Pages of Hudi tables: ``hudi/tables`` as a menu entry, ``hudi/table`` behind task links."""

    name = "hudi"

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override] # a list, made late
        """The pages; none, and a line in the log, where this Airflow has no place for them."""
        try:
            from airflow_hudi.plugins.app import create_app  # noqa: PLC0415 - slow; most need none
        except ImportError as error:
            log.warning("Hudi tables have no pages in this Airflow: %s", error)
            return []
        return [{"app": create_app(), "url_prefix": f"/{PAGES}", "name": "Hudi tables"}]

    @cached_property
    def external_views(self) -> list[dict[str, Any]]:  # type: ignore[override] # as above
        """The menu entry, where there are pages."""
        if not self.fastapi_apps:
            return []
        view = {
            "name": "Hudi tables",
            "href": f"{PAGES}/tables",
            "destination": "nav",
            "category": "browse",
            "url_route": "hudi-tables",
        }
        return [view]
