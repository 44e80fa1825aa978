# SPDX-License-Identifier: Apache-2.0
"""Links that an operator pushed as XCom when it started."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import TaskInstanceKey, XCom


def stored_link(xcom_key: str, ti_key: TaskInstanceKey) -> str:
    """The pushed address; empty, and so no button, where there is none."""
    value = XCom.get_value(ti_key=ti_key, key=xcom_key)
    return value if isinstance(value, str) else ""
