# SPDX-License-Identifier: Apache-2.0
"""What Airflow's own configuration says to this provider: its section ``[hudi]``."""

from __future__ import annotations

import math
from datetime import timedelta

from airflow.providers.common.compat.sdk import conf

from airflow_hudi.core.job_errors import InvalidWork
from airflow_hudi.core.services.policies import DEFAULT_DELAY

SECTION = "hudi"
ROLLBACK_DELAY = "table_service_rollback_delay"

_LONGEST = timedelta.max.total_seconds() / 60


def rollback_delay_of(given: timedelta | float | None) -> timedelta:
    """How old a removable plan must be before it is rolled back: given, configured, or usual.

    :param given: a duration, or a number of minutes
    """
    if isinstance(given, timedelta):
        return given
    if given is None:
        return _configured()
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise InvalidWork(f"rollback_delay is {given!r}", cure="give a timedelta, or minutes")
    if not 0 <= given < _LONGEST:
        raise InvalidWork(f"rollback_delay is {given!r} minutes", cure="give 0, or more minutes")
    return timedelta(minutes=given)


def _configured() -> timedelta:
    # As text: what Airflow raises for a wrong number is another class in each of its releases.
    text = conf.get(SECTION, ROLLBACK_DELAY, fallback=None)
    if text is None:
        return DEFAULT_DELAY
    minutes = _number(str(text))
    if not 0 <= minutes < _LONGEST:
        raise InvalidWork(
            f"[{SECTION}] {ROLLBACK_DELAY} in Airflow's configuration is {text!r}",
            cure="set it to a number of minutes, 0 or more",
        )
    return timedelta(minutes=minutes)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
