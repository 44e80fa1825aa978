# SPDX-License-Identifier: Apache-2.0
"""Secrets have no place in a command line, a spec, a report or a log: how we know one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from airflow_hudi.core.job_errors import SecretInSettings

_NAMES = (
    r"secret|passw|passphrase|token|credential|(?:access|account|api|private|encryption)[._-]?key"
)
_SECRET_KEY = re.compile(rf"{_NAMES}|\.sas\.", re.IGNORECASE)
# Who gives a secret, or where it is kept, is none itself: classes, paths, names of mounts.
_SAYS_WHERE = re.compile(
    r"provider(?:s|\.(?:class|type|path))?$|renewal\.credentials$"
    r"|^spark\.kubernetes\.(?:driver|executor)\.secret(?:s|KeyRef)\.",
    re.IGNORECASE,
)
# Each word is looked at once, however long it is: logs have lines of a hundred thousand letters.
_SECRET_VALUE = re.compile(
    rf"(?<![\w.\-])(?=[\w.\-]*(?:{_NAMES}))(?P<name>[\w.\-]+)"
    r"(?P<between>[\"']?\s*[=:]\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;\"'}&]+)",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?P<name>Bearer|Authorization: Basic) +[\w.~+/=\-]{8,}")
# A password may have a slash in it; a user's name alone has none.
_SECRET_IN_URI = re.compile(r"://(?:[^/\s@:]*:[^\s@]{1,200}|[^/\s@]+)@")


def refuse_secrets(keys: Iterable[str]) -> None:
    """Raise :class:`SecretInSettings` where a key, by its name, holds what nobody should read."""
    secrets = tuple(k for k in keys if _SECRET_KEY.search(k) and not _SAYS_WHERE.search(k))
    if secrets:
        raise SecretInSettings(secrets)


def refuse_secret_settings(settings: Mapping[str, str]) -> None:
    """The same for settings whose values may quote one, as JVM options do."""
    refuse_secrets(settings)
    secrets = tuple(key for key, value in settings.items() if redacted(value) != value)
    if secrets:
        raise SecretInSettings(secrets)


def redacted(text: str) -> str:
    """The text without what looks like the value of a secret."""
    without = _SECRET_VALUE.sub(lambda m: f"{m['name']}{m['between']}***", text)
    return _SECRET_IN_URI.sub("://***@", _BEARER.sub(r"\g<name> ***", without))
