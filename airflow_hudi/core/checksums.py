# SPDX-License-Identifier: Apache-2.0
"""A short name for the content of a table: equal rows, equal name, whatever order they come in.

The same function runs on Spark's executors over a table and in a test over a model of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_BITS = 128


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows, and the checksum of all of them."""

    rows: int = 0
    total: int = 0
    """The sum of the rows' digests, so that parts can be added up in any order."""

    def __add__(self, other: Content) -> Content:
        return Content(self.rows + other.rows, (self.total + other.total) % (1 << _BITS))

    @property
    def checksum(self) -> str:
        """The name of the content."""
        return f"{self.total:0{_BITS // 4}x}"[:16]


def content_of(rows: Iterable[Mapping[str, object]]) -> Content:
    """The content that these rows are; a row is a mapping of column names to plain values."""
    content = Content()
    for row in rows:
        text = json.dumps(row, sort_keys=True, ensure_ascii=False, default=str)
        digest = hashlib.sha256(text.encode()).digest()[: _BITS // 8]
        content += Content(1, int.from_bytes(digest, "big"))
    return content
