# SPDX-License-Identifier: Apache-2.0
"""The hook of connection type ``hudi``: what is in the connection, and the tables it leads to."""

from __future__ import annotations

from functools import cached_property, partial

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

from airflow_hudi.core.connection import HudiSettings, parse_connection, table_uri
from airflow_hudi.core.errors import AirflowHudiError
from airflow_hudi.core.storage import Storage, open_storage
from airflow_hudi.core.table import Table, open_table
from airflow_hudi.hooks import checks


class HudiHook(BaseHook):
    """Opens the tables of one Hudi connection, without a JVM.

    Nothing is looked up before it is asked for, so that a DAG file may make a hook.

    :param hudi_conn_id: the connection, of type ``hudi``
    """

    conn_name_attr = "hudi_conn_id"
    default_conn_name = "hudi_default"
    conn_type = "hudi"
    hook_name = "Apache Hudi"

    def __init__(self, hudi_conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.hudi_conn_id = hudi_conn_id

    @cached_property
    def settings(self) -> HudiSettings:
        """What the connection says; looked up once."""
        connection = self.get_connection(self.hudi_conn_id)
        return parse_connection(
            host=connection.host,
            schema=connection.schema,
            port=connection.port,
            extra=connection.extra_dejson,
        )

    def get_conn(self) -> Storage:
        """The warehouse as a storage; nothing is read yet."""
        return open_storage(self.settings.warehouse)

    def table_uri(self, table: str) -> str:
        """Where a table is.

        :param table: a name below the warehouse, an absolute path, or a URI
        """
        return table_uri(self.settings, table)

    def open_table(self, table: str) -> Table:
        """The table of that name, or :class:`~airflow_hudi.core.errors.TableNotFound`.

        :param table: a name below the warehouse, an absolute path, or a URI
        """
        return open_table(self.table_uri(table))

    def control_storage(self) -> Storage:
        """The folder where jobs leave their records; nothing is read yet."""
        return open_storage(self.settings.control_uri)

    def test_connection(self) -> tuple[bool, str]:
        """Try what the connection names: warehouse, control folder, lock, and the way to Spark."""
        try:
            settings = self.settings
        except (AirflowHudiError, AirflowNotFoundException) as error:
            return False, str(error)
        return checks.summary(
            [
                checks.run_check("warehouse", partial(checks.look_at_warehouse, settings)),
                checks.run_check("control folder", partial(checks.look_at_control, settings)),
                checks.run_check("lock", partial(checks.look_at_lock, settings)),
                checks.run_check("spark-submit", checks.look_at_spark_submit),
                self._check_spark_connection(),
            ]
        )

    def _check_spark_connection(self) -> checks.Check:
        conn_id = self.settings.spark_conn_id
        try:
            connection = self.get_connection(conn_id)
        except AirflowNotFoundException:
            said = f"there is no connection {conn_id!r}; add it, or name another in spark_conn_id"
            return checks.Check("Spark connection", passed=False, said=said)
        said = f"{conn_id} (of type {connection.conn_type})"
        return checks.Check("Spark connection", passed=True, said=said)
