# SPDX-License-Identifier: Apache-2.0
"""What Airflow's own configuration says to this provider: its section ``[hudi]``."""

from __future__ import annotations

from datetime import timedelta

from airflow.providers.common.compat.sdk import conf

from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.policies import DEFAULT_DELAY

SECTION = "hudi"
ROLLBACK_DELAY = "table_service_rollback_delay"


def rollback_delay_of(given: timedelta | float | None) -> timedelta:
    """How old a removable plan must be before it is rolled back: given, configured, or usual.

    :param given: a duration, or a number of minutes
    """
    if isinstance(given, timedelta):
        return given
    usual = DEFAULT_DELAY.total_seconds() / 60
    minutes = conf.getfloat(SECTION, ROLLBACK_DELAY, fallback=usual) if given is None else given
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)):
        raise InvalidWork(f"rollback_delay is {given!r}", cure="give a timedelta, or minutes")
    return timedelta(minutes=minutes)
