# SPDX-License-Identifier: Apache-2.0
"""What a finished job tells the assets among its task's outlets: instant and rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import Asset, AssetAlias

from airflow_hudi.assets import hudi_asset
from airflow_hudi.core.jobs import JobReport
from airflow_hudi.core.values import to_json

if TYPE_CHECKING:
    from airflow.sdk import Context


def announce(context: Context, report: JobReport) -> None:
    """Give the event of the table's asset its metadata; an alias stands for any table."""
    metadata = {"instant": report.instant, "rows": to_json(report.rows), "table": report.table}
    asset = hudi_asset(report.table)
    for outlet in context["ti"].task.outlets:
        if isinstance(outlet, AssetAlias):
            _events(context)[outlet].add(asset, extra=metadata)
        elif isinstance(outlet, Asset) and outlet.uri == asset.uri:
            _events(context)[outlet].extra.update(metadata)


def _events(context: Context) -> Any:
    return context["outlet_events"]
