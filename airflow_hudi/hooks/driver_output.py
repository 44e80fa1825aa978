# SPDX-License-Identifier: Apache-2.0
"""A driver's output, as it comes into being, in a form that a task's log can carry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from airflow_hudi.core.jobs import PROGRESS
from airflow_hudi.core.redaction import redacted

_TAIL = 20_000
# What every driver prints at its start and nobody needs.
_NOISE = re.compile(
    r"Setting default log level to|To adjust logging level use|Using Spark's default log4j"
    r"|Unable to load native-hadoop library|Your hostname, .* resolves to|Set SPARK_LOCAL_IP"
    r"|Unable to attach Serviceability Agent|WARNING: An illegal reflective|^\s*$"
    r"|Service 'SparkUI' could not bind|WARNING: Using incubator modules"
)


class DriverOutput:
    """Reads a growing file line by line; what was given out once is not given out again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""

    def new_lines(self) -> Iterator[str]:
        """The whole lines that came since the last call: progress, warnings, prints; no noise."""
        for line in self._read():
            text = redacted(line.decode(errors="replace").rstrip())
            if not _NOISE.search(text):
                yield text.removeprefix(PROGRESS)

    def last_lines(self, count: int = 20) -> str:
        """The end of the output, for an error that has nothing better to show."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(max(0, self._path.stat().st_size - _TAIL))
                data = stream.read()
        except OSError:
            return ""
        lines = redacted(data.decode(errors="replace")).splitlines()
        kept = [line.removeprefix(PROGRESS) for line in lines if not _NOISE.search(line)]
        return "\n".join(kept[-count:])

    def _read(self) -> list[bytes]:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._position)
                data = stream.read()
        except OSError:  # not on this host, or not there yet
            return []
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines
