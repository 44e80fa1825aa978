# SPDX-License-Identifier: Apache-2.0
"""RFC-61: the names of log files, and the order in which a file slice's log files are merged.

Two orders are here because two exist. The RFC keeps the base instant in the name, puts the writer's
instant behind the write token and sorts by base instant, version, token, "the file with a larger
instant within the write token is considered as fresher". Hudi 1.0 shipped another name: the time in
it is the *writer's* requested instant, the token stays as it was, and the order is time, version,
token, suffix. Which one a table has, its version decides; on the same file both are well defined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_hudi.core.instants import InstantTime

_LOG_NAME = re.compile(
    r"\.(?P<file_id>.+)_(?P<time>[^._]*)\.(?P<extension>log|archive)\.(?P<version>[0-9]+)"
    r"(?:_(?P<token>[0-9]+-[0-9]+-[0-9]+(?:-[0-9]+)?)(?P<suffix>\.cdc)?)?",
    re.ASCII,
)
_TASK_TOKEN_PARTS = 3


@dataclass(frozen=True, slots=True)
class LogFileName:
    """The parts of one log file's name."""

    file_id: str
    time: InstantTime
    """Table version 8 on: the write that made it. Before: the slice's base instant."""
    version: int
    write_token: str | None = None
    suffix: str = ""
    extension: str = "log"

    @property
    def writer_instant(self) -> InstantTime | None:
        """The instant behind an RFC-61 write token."""
        parts = (self.write_token or "").split("-")
        return InstantTime(parts[-1]) if len(parts) > _TASK_TOKEN_PARTS else None

    def __str__(self) -> str:
        token = "" if self.write_token is None else f"_{self.write_token}{self.suffix}"
        return f".{self.file_id}_{self.time}.{self.extension}.{self.version}{token}"


def parse_log_name(name: str) -> LogFileName | None:
    """The parts of a log file's name, or None for any other file."""
    match = _LOG_NAME.fullmatch(name)
    if match is None:
        return None
    return LogFileName(
        file_id=match["file_id"],
        time=InstantTime(match["time"]),
        version=int(match["version"]),
        write_token=match["token"],
        suffix=match["suffix"] or "",
        extension=match["extension"],
    )


def shipped_order(log: LogFileName) -> tuple[str, int, bool, str, str]:
    """The sort key Hudi uses: time, version, token (as text; none first), suffix."""
    has_token = log.write_token is not None
    return log.time, log.version, has_token, log.write_token or "", log.suffix


def rfc61_order(log: LogFileName) -> tuple[str, int, str, str]:
    """The sort key of the RFC: base instant, version, then the writer with the later instant."""
    return log.time, log.version, log.writer_instant or "", log.write_token or ""
