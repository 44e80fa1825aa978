# SPDX-License-Identifier: Apache-2.0
"""A Python function that Hudi calls right before a commit, under the table's lock."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started

from airflow_hudi.spark.engine.jvm import HudiJvm
from airflow_hudi.spark.engine.protocol import BeforeCommit


class CommitUnderLock:
    """The commit metadata that Hudi is about to write."""

    def __init__(self, metadata: Any) -> None:
        self._metadata = metadata

    @property
    def extra(self) -> Mapping[str, str]:
        """A copy of the extra metadata that will be recorded."""
        return {str(key): str(value) for key, value in self._metadata.getExtraMetadata().items()}

    def record(self, key: str, value: str) -> None:
        """Add to, or replace in, the extra metadata."""
        self._metadata.addMetadata(key, value)

    def as_json(self) -> str:
        """Hudi's own JSON of the commit metadata."""
        return str(self._metadata.toJsonString())


class BeforeCommitHook:
    """What Java sees of the function; it remembers what the function raised."""

    def __init__(self, before_commit: BeforeCommit) -> None:
        self._before_commit = before_commit
        self._raised: BaseException | None = None
        self.was_called = False

    def accept(self, _meta_client: Any, metadata: Any) -> None:
        """Java's call; whatever it raises ends the write, and Java sees only the text of it."""
        self.was_called = True
        try:
            self._before_commit(CommitUnderLock(metadata))
        except BaseException as error:
            self._raised = error
            raise RuntimeError("stopped before the commit") from error  # py4j takes no other kind

    @contextlib.contextmanager
    def own_errors(self) -> Iterator[None]:
        """Inside, an error of the function comes out as it went in, caused by Java's."""
        try:
            yield
        except (Py4JError, PySparkException) as error:
            if self._raised is None:
                raise
            raise self._raised from error

    class Java:
        """py4j reads this."""

        implements = ("java.util.function.BiConsumer",)


def listen(jvm: HudiJvm) -> None:
    """Let Java call Python back, from now on."""
    ensure_callback_server_started(jvm.gateway)  # type: ignore[no-untyped-call]
