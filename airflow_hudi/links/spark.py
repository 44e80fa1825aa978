# SPDX-License-Identifier: Apache-2.0
"""The button that leads from a task to its Spark application."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import BaseOperator, BaseOperatorLink, TaskInstanceKey

from airflow_hudi.links.stored import stored_link


class HudiSparkLink(BaseOperatorLink):
    """Leads to where the Spark application can be watched.

    An operator pushes the tracking URL under :attr:`xcom_key` as soon as it knows it.
    """

    name = "Spark application"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """What the operator pushed, or nothing."""
        return stored_link(self.xcom_key, ti_key)
