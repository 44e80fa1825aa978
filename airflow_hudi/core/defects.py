# SPDX-License-Identifier: Apache-2.0
"""What a reader could not read, as values: a damaged file is a fact about a table, not a crash."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DefectKind(str, Enum):
    """What is wrong with a file."""

    EMPTY = "empty"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"
    MISSING = "missing"
    UNKNOWN_NAME = "unknown_name"
    COMPLETED_TWICE = "completed_twice"


@dataclass(frozen=True, slots=True)
class Defect:
    """One file that is not what it should be, and why we think so."""

    path: str
    kind: DefectKind
    because: str

    def __str__(self) -> str:
        return f"{self.path}: {self.because}"


def empty(path: str) -> Defect:
    """A file that should say something and has no bytes."""
    return Defect(path, DefectKind.EMPTY, "the file is empty")


def unreadable(path: str, because: object) -> Defect:
    """A file whose bytes make no sense."""
    return Defect(path, DefectKind.UNREADABLE, f"cannot be decoded: {because}"[:300])


def missing(path: str) -> Defect:
    """A file that should be there and was not listed."""
    because = "there is no such file: an old Hudi did not write it, or somebody removed it"
    return Defect(path, DefectKind.MISSING, because)


def vanished(path: str) -> Defect:
    """A file that was listed and is gone: archived, rolled back or completed meanwhile."""
    return Defect(path, DefectKind.VANISHED, "the file was listed but is gone; list again")
