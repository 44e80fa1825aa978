# SPDX-License-Identifier: Apache-2.0
"""Template fields when they are rendered: a template in the place of a list or mapping gives a text
unless the DAG renders native objects, and a text is a sequence too, of its letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_hudi.core.job_errors import InvalidWork

_CURE = "pass {kind}; a template gives one only where the DAG has render_template_as_native_obj"


def one_text(name: str, value: Any, *, cure: str) -> str:
    """One text that says something."""
    if not isinstance(value, str):
        raise InvalidWork(_said(name, value), cure=cure)
    if not value.strip():
        raise InvalidWork(f"{name} is empty", cure="did a template render to nothing?")
    return value


def texts(name: str, value: Any) -> dict[str, str]:
    """A mapping of texts, such as settings are."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidWork(_said(name, value), cure=_CURE.format(kind="a mapping"))
    return {str(key): str(item) for key, item in value.items()}


def listed(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts, such as columns are."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidWork(_said(name, value), cure=_CURE.format(kind="a list"))
    return tuple(str(item) for item in value)


def _said(name: str, value: Any) -> str:
    kind = "text" if isinstance(value, str) else type(value).__name__
    return f"{name} is the {kind} {value!r:.80}"
