# SPDX-License-Identifier: Apache-2.0
"""What a reader of a Hudi table sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_hudi.core.reading import ReadWork
from airflow_hudi.operators.base import HudiJobOperator
from airflow_hudi.operators.rendered import listed


class HudiReadOperator(HudiJobOperator):
    """Reads a table as any reader would: row count, content checksum, and a few rows if asked.

    For checks in a DAG: compare the checksum before and after a step that must not change rows.

    :param columns: the columns to read; none given: all but Hudi's own
    :param where: a condition in Spark SQL
    :param show: how many rows to return
    """

    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "columns", "where")
    script = "reading"

    def __init__(
        self,
        *,
        columns: Sequence[str] = (),
        where: str | None = None,
        show: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.columns = columns
        self.where = where
        self.show = show

    def work(self) -> ReadWork:
        """The read, checked as far as it can be without looking at anything."""
        columns = listed("columns", self.columns)
        return ReadWork(columns, self.where, self.show, self.plain_options())
