# SPDX-License-Identifier: Apache-2.0
"""What a run of an example DAG comes to, as text: what ran, the table's timeline, its rows."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from airflow_hudi.cli import timeline
from airflow_hudi.cli.shared import duration
from airflow_hudi.core.checksums import Content
from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.jobs import JobReport
from airflow_hudi.core.reading import Reading
from airflow_hudi.core.table import open_table
from demo.environment import short

DONE = "done"
NOTHING_TO_DO = "nothing to do"
SKIPPED = "skipped"
FAILED = "failed"
NOT_STARTED = "not started"

_COMMAND = ".venv/bin/python -m airflow_hudi"


@dataclass(frozen=True, slots=True)
class Told:
    """How one task ended."""

    task: str
    outcome: str
    seconds: float | None = None
    report: JobReport | None = None
    error: str = ""

    @property
    def effect(self) -> str:
        """What it did to its table, in a few words."""
        report = self.report
        if report is None or self.outcome != DONE:
            return ""
        if report.reading is not None:
            return f"{report.reading.rows} rows read"
        if report.cleaning is not None:
            done = report.cleaning
            return f"{len(done.rolled_back)} rolled back, {done.files_deleted} files deleted"
        return str(report.plan or report.rows or "")


@dataclass(frozen=True, slots=True)
class Story:
    """A run from its first task to its last."""

    example: str
    tasks: tuple[Told, ...]
    seconds: float
    expected: Content | None = None
    """The rows that a reader must see in the end, where the example says so."""
    further: tuple[tuple[str, str], ...] = field(default=())
    """Where to look next: what to type or to open, and what it shows."""

    @property
    def is_good(self) -> bool:
        """Whether every task did what it should, and the rows are what they should be."""
        failed = any(told.outcome in (FAILED, NOT_STARTED) for told in self.tasks)
        return not failed and self._rows_are_right is not False

    def as_text(self) -> str:
        """The story, one part after another."""
        parts = [self._what_ran(), *map(_drawn, self._tables), self._rows(), self._further()]
        return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))

    @property
    def _tables(self) -> list[str]:
        """The tables that were worked on, in order."""
        return list(dict.fromkeys(told.report.table for told in self.tasks if told.report))

    @property
    def _reading(self) -> Reading | None:
        readings = [told.report.reading for told in self.tasks if told.report]
        return next((reading for reading in reversed(readings) if reading), None)

    @property
    def _rows_are_right(self) -> bool | None:
        """None where nothing was read, or nothing is expected."""
        reading, expected = self._reading, self.expected
        if reading is None or expected is None:
            return None
        return (reading.rows, reading.checksum) == (expected.rows, expected.checksum)

    def _what_ran(self) -> Iterator[str]:
        yield f"What ran: {self.example}, {len(self.tasks)} tasks in {duration(self.seconds)}"
        yield ""
        yield from _columns([_cells(told) for told in self.tasks])
        for told in self.tasks:
            if told.error:
                yield from ("", f"  {told.task} failed: {short(told.error)}")

    def _rows(self) -> Iterator[str]:
        reading, expected = self._reading, self.expected
        if reading is None:
            return
        yield "What a reader sees"
        yield ""
        yield f"  {reading.rows} rows, checksum {reading.checksum}, read by Spark"
        if expected is not None:
            verdict = "equal" if self._rows_are_right else "NOT EQUAL"
            counted = f"{expected.rows} rows, checksum {expected.checksum}, computed without Spark"
            yield f"  {counted}: {verdict}"

    def _further(self) -> Iterator[str]:
        own = [(f"{_COMMAND} plans --all {short(table)}", "its plans") for table in self._tables]
        yield "Look further"
        yield ""
        yield from _columns([list(one) for one in (*own, *self.further)])


def _cells(told: Told) -> list[str]:
    took = "" if told.seconds is None else f"{duration(told.seconds):>7}"
    instant = told.report.instant if told.report else None
    return [told.task, told.outcome, took, instant or "", told.effect]


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width)
        yield f"  {'  '.join(cells)}".rstrip()


def _drawn(table: str) -> Iterator[str]:
    yield f"The table, as `{_COMMAND} timeline {short(table)}` draws it, without a JVM"
    yield ""
    try:
        text = timeline.load_report(open_table(table), argparse.Namespace(history=False)).as_text()
    except AirflowHudiError as error:
        text = str(error)
    yield from (f"  {short(line)}".rstrip() for line in text.splitlines())
