# SPDX-License-Identifier: Apache-2.0
"""A cluster manager's word on a Spark application: it runs, it is gone, or nobody knows.

Asked about executors on other machines, whose processes this host cannot see. Spark's standalone
master and YARN's resource manager both tell it in JSON, without a login.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any
from urllib.parse import quote

_PATIENCE_SECONDS = 5.0
_YARN = "application_"
_STANDALONE = ("app-", "driver-")
_ENDED_ON_YARN = ("FINISHED", "FAILED", "KILLED")


def manager_says(url: str, application_id: str | None) -> bool | None:
    """Whether an application runs; None where the manager does not answer or does not know it.

    :param url: of the master's or resource manager's web page, such as ``http://master:8080``
    """
    if not url or application_id is None:
        return None
    base = url.rstrip("/")
    if application_id.startswith(_YARN):
        return _on_yarn(_answer(f"{base}/ws/v1/cluster/apps/{quote(application_id)}"))
    if application_id.startswith(_STANDALONE):
        return _standalone(_answer(f"{base}/json/"), application_id)
    return None


def _on_yarn(said: Any) -> bool | None:
    app = said.get("app") if isinstance(said, dict) else None
    state = app.get("state") if isinstance(app, dict) else None
    return None if state is None else state not in _ENDED_ON_YARN


def _standalone(said: Any, application_id: str) -> bool | None:
    if not isinstance(said, dict):
        return None
    if application_id in _ids(said.get("activeapps")):
        return True
    return False if application_id in _ids(said.get("completedapps")) else None


def _ids(apps: Any) -> list[Any]:
    return [app.get("id") for app in apps or () if isinstance(app, dict)]


def _answer(url: str) -> Any:
    """The JSON behind a URL; None where there is none: silence is no proof of death."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE_SECONDS) as answer:  # noqa: S310 - checked
            return json.load(answer)
    except (OSError, ValueError):
        return None
