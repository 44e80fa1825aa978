# SPDX-License-Identifier: Apache-2.0
"""Secrets have no place in a command line, a spec, a report or a log: how we know one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from airflow_hudi.core.job_errors import SecretInSettings

_SECRET_KEY = re.compile(
    r"secret|passw|token|credential|access\.?key|account\.?key|\.sas\.", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"(?P<name>[\w.\-]*(?:secret|passw(?:or)?d|token|credential|access[._-]?key)[\w.\-]*)"
    r"(?P<between>[\"']?\s*[=:]\s*[\"']?)(?P<value>[^\s,;\"'}&]+)",
    re.IGNORECASE,
)
_SECRET_IN_URI = re.compile(r"://[^/\s@]+@")


def refuse_secrets(keys: Iterable[str]) -> None:
    """Raise :class:`SecretInSettings` where a key, by its name, holds what nobody should read."""
    secrets = tuple(key for key in keys if _SECRET_KEY.search(key))
    if secrets:
        raise SecretInSettings(secrets)


def redacted(text: str) -> str:
    """The text without what looks like the value of a secret."""
    without = _SECRET_VALUE.sub(lambda m: f"{m['name']}{m['between']}***", text)
    return _SECRET_IN_URI.sub("://***@", without)
