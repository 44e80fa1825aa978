# SPDX-License-Identifier: Apache-2.0
"""The stored small tables: packing a table with Hudi's own view of it, and unpacking it again.

Per table two files in `<release>/`: `<name>.zip`, the base folder without checksum files and with
empty data files, and `<name>.json`: how it was made, what Hudi says, and the exact times of the
files (layout 1 keeps completion times only there, and a zip rounds them to two seconds).
"""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BASE = "<base>"
"""Stands for the table's base path in the JSON file."""

_ZIP_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes from the same table
_NO_CONTENT = b""


@dataclass(frozen=True)
class StoredTable:
    """One small table on disk, packed."""

    release: str
    name: str

    @property
    def archive(self) -> Path:
        return HERE / self.release / f"{self.name}.zip"

    @property
    def facts(self) -> Path:
        return HERE / self.release / f"{self.name}.json"

    def describe(self) -> dict[str, Any]:
        """Steps, Hudi's view, and file times; `built_at` is the base path inside plans."""
        facts: dict[str, Any] = json.loads(self.facts.read_text(encoding="utf-8"))
        return facts

    def unpack(self, folder: Path) -> Path:
        """Lay the table out below `folder`, with its file times, and return its base."""
        base = folder / self.name
        with zipfile.ZipFile(self.archive) as archive:
            archive.extractall(base)
        for path, milliseconds in self.describe()["mtimes"].items():
            nanoseconds = milliseconds * 1_000_000
            os.utime(base / path, ns=(nanoseconds, nanoseconds))
        return base


def stored_tables() -> list[StoredTable]:
    """All there are, by release and name."""
    return [StoredTable(path.parent.name, path.stem) for path in sorted(HERE.glob("*/*.zip"))]


def pack(table: StoredTable, base: Path, facts: dict[str, Any]) -> None:
    """Store a table and what is known of it."""
    table.archive.parent.mkdir(exist_ok=True)
    paths = sorted(path for path in base.rglob("*") if path.is_file() and path.suffix != ".crc")
    names = [path.relative_to(base).as_posix() for path in paths]
    with zipfile.ZipFile(table.archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in zip(names, paths, strict=True):
            entry = zipfile.ZipInfo(name, _ZIP_DATE)
            content = _NO_CONTENT if _is_data(name) else path.read_bytes()
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    mtimes = {
        name: path.stat().st_mtime_ns // 1_000_000 for name, path in zip(names, paths, strict=True)
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False).replace(str(base), BASE)
    known = {"built_at": str(base), **json.loads(text), "mtimes": mtimes}
    table.facts.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _is_data(name: str) -> bool:
    """Outside `.hoodie` only names count, but for the small file that marks a partition."""
    return not name.startswith(".hoodie/") and not name.endswith(".hoodie_partition_metadata")
