# SPDX-License-Identifier: Apache-2.0
"""A visitor to our pages, as one would come through Airflow's API server."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

with warnings.catch_warnings():
    # a package Airflow's server imports brings Starlette's test client, which wants another httpx
    warnings.filterwarnings("ignore", message="Using `httpx` with")
    from airflow.api_fastapi.app import create_auth_manager, init_plugins, purge_cached_app
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from airflow.api_fastapi.core_api.security import get_user
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

from airflow_hudi.plugins.app import create_app

__all__ = ["FastAPI", "TestClient", "a_visitor", "init_plugins"]

PREFIX = "/airflow/hudi"  # Airflow below a prefix, as behind a proxy


@contextmanager
def a_visitor(role: str | None, *, logged_in: bool = True) -> Iterator[TestClient]:
    """A browser whose user has this role in Airflow, or that has not logged in."""
    create_auth_manager()
    app = create_app()
    if logged_in:
        app.dependency_overrides[get_user] = lambda: SimpleAuthManagerUser(
            username="somebody", role=role
        )
    root = FastAPI()
    root.mount(PREFIX, app)
    try:
        yield TestClient(root, base_url=f"http://airflow{PREFIX}/")
    finally:
        purge_cached_app()
