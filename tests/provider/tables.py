# SPDX-License-Identifier: Apache-2.0
"""Tables on the local disk that a test writes itself, and a connection that leads to them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi.core.properties import format_properties
from tests.builders import at, the_properties


@dataclass(frozen=True)
class LocalTable:
    """A layout 2 table whose commits are written by hand."""

    base: Path

    def create(self) -> LocalTable:
        (self.base / ".hoodie" / "timeline").mkdir(parents=True)
        (self.base / ".hoodie" / "hoodie.properties").write_bytes(
            format_properties(the_properties())
        )
        return self

    def commit(self, requested: int, completed: int, *partitions: str) -> str:
        """A delta commit, in seconds after the builders' epoch; its requested time comes back."""
        stats = {part: [{"fileId": f"f-{part}", "numInserts": 3}] for part in partitions}
        said = {"operationType": "UPSERT", "partitionToWriteStats": stats}
        folder = self.base / ".hoodie" / "timeline"
        (folder / f"{at(requested)}.deltacommit.requested").write_bytes(b"x")
        name = f"{at(requested)}_{at(completed)}.deltacommit"
        (folder / name).write_text(json.dumps(said))
        return at(requested)


@dataclass
class FakeTaskInstance:
    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def connect(
    monkeypatch: pytest.MonkeyPatch, warehouse: Path, conn_id: str = "hudi_default"
) -> None:
    """A Hudi connection, as an environment variable."""
    said = json.dumps({"conn_type": "hudi", "host": str(warehouse)})
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", said)
