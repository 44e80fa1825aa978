# SPDX-License-Identifier: Apache-2.0
"""The pages as a FastAPI app inside Airflow's API server; it reads, and never writes.

Whoever may see assets in Airflow may see the tables below the warehouse of a connection of type
``hudi``. Nothing else of a connection is shown, and no other connection's existence is confirmed.
"""

from __future__ import annotations

import logging

from airflow.api_fastapi.core_api.security import requires_access_asset
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse

from airflow_hudi.core.connection import HudiSettings
from airflow_hudi.core.errors import (
    AirflowHudiError,
    InvalidInput,
    NoHudiConnection,
    NotInWarehouse,
    TableNotFound,
    UnsafePath,
)
from airflow_hudi.core.storage import open_storage
from airflow_hudi.core.table import load_table
from airflow_hudi.hooks.hudi import HudiHook
from airflow_hudi.plugins.pages import load_view, render_problem, render_table, render_tables
from airflow_hudi.plugins.warehouse import load_tables, table_storage

log = logging.getLogger(__name__)

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
}


def create_app() -> FastAPI:
    """The app; every page asks Airflow who is there and what they may see."""
    app = FastAPI(
        title="Hudi tables",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(requires_access_asset(method="GET"))],
    )
    # plain functions: FastAPI runs them in threads, for they wait for a database and a storage
    app.get("/tables", response_class=HTMLResponse)(show_tables)
    app.get("/table", response_class=HTMLResponse)(show_table)
    app.add_exception_handler(AirflowHudiError, _show_problem)
    return app


def show_tables(conn_id: str = HudiHook.default_conn_name) -> HTMLResponse:
    """All tables of a connection's warehouse."""
    warehouse = _settings(conn_id).warehouse
    found = load_tables(open_storage(warehouse))
    return _response(render_tables(found, conn_id=conn_id, warehouse=warehouse))


def show_table(table: str, conn_id: str = HudiHook.default_conn_name) -> HTMLResponse:
    """One table of a connection's warehouse."""
    view = load_view(load_table(table_storage(_settings(conn_id), table)))
    return _response(render_table(view, conn_id=conn_id))


def _settings(conn_id: str) -> HudiSettings:
    hook = HudiHook(conn_id)
    try:
        connection = hook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise NoHudiConnection(conn_id) from error
    if connection.conn_type != HudiHook.conn_type:
        raise NoHudiConnection(conn_id)
    try:
        return hook.settings
    except InvalidInput as error:
        # the sentence repeats values of the connection: for the log, not for the page
        log.warning("Connection %s of type hudi cannot be used: %s", conn_id, error)
        raise NoHudiConnection(conn_id) from error


async def _show_problem(_: Request, error: Exception) -> HTMLResponse:
    return _response(render_problem(str(error)), status=_status(error))


def _status(error: Exception) -> int:
    if isinstance(error, (NotInWarehouse, UnsafePath)):
        return 403
    if isinstance(error, (TableNotFound, NoHudiConnection)):
        return 404
    return 400 if isinstance(error, InvalidInput) else 503


def _response(page: str, *, status: int = 200) -> HTMLResponse:
    return HTMLResponse(page, status_code=status, headers=_HEADERS)
