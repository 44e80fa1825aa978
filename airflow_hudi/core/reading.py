# SPDX-License-Identifier: Apache-2.0
"""Reading a table as a job: how many rows it shows, their checksum, and a few of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from airflow_hudi.core.job_errors import InvalidWork

_MOST_ROWS = 1000


@dataclass(frozen=True, slots=True)
class ReadWork:
    """Read what a reader of the table sees now."""

    KIND: ClassVar[str] = "read"
    columns: tuple[str, ...] = ()
    """None given: all but Hudi's own."""
    where: str | None = None
    """A condition in Spark SQL."""
    show: int = 0
    """How many rows to return."""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not 0 <= self.show <= _MOST_ROWS:
            cure = f"it may be 0 to {_MOST_ROWS}: a report is not the place for a table"
            raise InvalidWork(f"show is {self.show}", cure=cure)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read."""

    rows: int
    checksum: str
    """Of the rows' content, whatever order they came in; see :mod:`.checksums`."""
    sample: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    """A few rows; what JSON has no word for (dates, decimals, bytes) is text."""

    def __post_init__(self) -> None:
        rows = json.loads(json.dumps(self.sample, default=str))
        object.__setattr__(self, "sample", tuple(rows))
