# SPDX-License-Identifier: Apache-2.0
"""Hudi's exceptions that mean something to a job, as errors of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from py4j.protocol import Py4JJavaError

from airflow_hudi.core.engine_errors import WriteConflict
from airflow_hudi.core.errors import AirflowHudiError, LockNotAcquired

_PACKAGE = "org.apache.hudi.exception"
_MEANINGS: dict[str, Callable[[str, str], AirflowHudiError]] = {
    f"{_PACKAGE}.HoodieLockException": LockNotAcquired,
    f"{_PACKAGE}.HoodieWriteConflictException": WriteConflict,
}


@contextlib.contextmanager
def translated(base: str) -> Iterator[None]:
    """Inside, what Hudi says of the table comes out as an error of ours, caused by Java's."""
    try:
        yield
    except Py4JJavaError as error:
        for cause in _causes(error):
            meaning = _MEANINGS.get(cause.getClass().getName())
            if meaning is not None:
                raise meaning(base, str(cause.getMessage())) from error
        raise


def _causes(error: Py4JJavaError) -> Iterator[Any]:
    cause = error.java_exception
    while cause is not None:
        yield cause
        cause = cause.getCause()
